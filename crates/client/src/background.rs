//! What a client with segments does by itself: it mounts them, pings, and remounts when told to.
//! Mirrors `client_service.cpp:MountSegment` and `StorageHeartbeatThreadMain`.

use crate::{Call, CallPhases, Happened, Operation, Outcome, Want};
use moonquake_clock::{Clocks, DeadlineId, Rules, Span};
use moonquake_protocol::{ClientStatus, ErrorCode, Request, Response, Segment, Uuid};

fn call(request: Request) -> Want {
    Want::Call(Call {
        request,
        fences: Vec::new(),
        phases: CallPhases::default(),
    })
}

/// When the next ping is due.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat {
    last_at: Clocks,
}

impl Heartbeat {
    /// The heartbeat of a client that pings at `now`.
    pub fn new(now: Clocks) -> Heartbeat {
        Heartbeat { last_at: now }
    }

    /// How long until the next ping; zero if it is due.
    pub fn until(&self, rules: &Rules, now: Clocks) -> Span {
        rules.until(DeadlineId::Ping, self.last_at, Heartbeat::period(), now)
    }

    /// Notes a ping at `now`.
    pub fn beat(&mut self, now: Clocks) {
        self.last_at = now;
    }

    /// The time between two pings.
    pub fn period() -> Span {
        match DeadlineId::Ping.row().length {
            moonquake_clock::Length::FixedNs(ns) => Span::from_ns(ns),
            moonquake_clock::Length::Timeout(_) => Span::from_secs(1),
        }
    }
}

/// Mounts the segments, one call each.
#[derive(Clone, Debug)]
pub struct Mount {
    client_id: Uuid,
    segments: Vec<Segment>,
    mounted: usize,
}

impl Mount {
    /// Mounts `segments` for `client_id`.
    pub fn new(client_id: Uuid, segments: Vec<Segment>) -> Mount {
        Mount {
            client_id,
            segments,
            mounted: 0,
        }
    }

    fn mount_on(&mut self) -> Want {
        match self.segments.get(self.mounted) {
            Some(segment) => {
                self.mounted += 1;
                call(Request::MountSegment {
                    segment: segment.clone(),
                    client_id: self.client_id,
                })
            }
            None => Want::Done(Outcome::Ok),
        }
    }
}

impl Operation for Mount {
    fn begin(&mut self, _now: Clocks) -> Want {
        self.mount_on()
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Answered(Ok(Response::MountSegment(Ok(())))) => self.mount_on(),
            Happened::Answered(Ok(Response::MountSegment(Err(code)))) => Want::Done(Outcome::Error(code)),
            Happened::Answered(Err(failure)) => Want::Done(failure.into()),
            _ => Want::Done(Outcome::Error(ErrorCode::RpcFail)),
        }
    }
}

/// One ping, and the remount of all segments if the answer is NEED_REMOUNT. A failed remount is not repeated; the
/// next ping tries again.
#[derive(Clone, Debug)]
pub struct PingRound {
    client_id: Uuid,
    segments: Vec<Segment>,
}

impl PingRound {
    /// A ping of `client_id`, which owns `segments`.
    pub fn new(client_id: Uuid, segments: Vec<Segment>) -> PingRound {
        PingRound { client_id, segments }
    }
}

impl Operation for PingRound {
    fn begin(&mut self, _now: Clocks) -> Want {
        call(Request::Ping {
            client_id: self.client_id,
        })
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Answered(Ok(Response::Ping(Ok(ping))))
                if ping.client_status == ClientStatus::NeedRemount =>
            {
                call(Request::ReMountSegment {
                    segments: self.segments.clone(),
                    client_id: self.client_id,
                })
            }
            Happened::Answered(Ok(response)) => Want::Done(Outcome::of(&response)),
            Happened::Answered(Err(failure)) => Want::Done(failure.into()),
            Happened::Moved(_) | Happened::MovedAll(_) | Happened::Waited => {
                Want::Done(Outcome::Error(ErrorCode::RpcFail))
            }
        }
    }
}
