//! What a client with segments does by itself: it mounts them, pings, and remounts when told to.
//! Mirrors `client_service.cpp:MountSegment` and `StorageHeartbeatThreadMain`.

use crate::{Call, CallPhases, Happened, Operation, Outcome, RpcFailure, Want};
use moonquake_clock::{Clocks, DeadlineId, Rules, Span};
use moonquake_protocol::fingerprint::SERVICE_VERSION;
use moonquake_protocol::{ErrorCode, Request, Response, Segment, Uuid};

fn call(request: Request) -> Want {
    Want::Call(Call {
        request,
        fences: Vec::new(),
        phases: CallPhases::default(),
    })
}

/// After so many pings in a row that failed the client connects anew. Mirrors `max_ping_fail_count` in
/// `client_service.cpp:StorageHeartbeatThreadMain`.
const FAILED_PINGS: u32 = 3;

/// When the next ping is due, and how many have failed in a row.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat {
    last_at: Clocks,
    failed: u32,
}

impl Heartbeat {
    /// The heartbeat of a client that pings at `now`.
    pub fn new(now: Clocks) -> Heartbeat {
        Heartbeat {
            last_at: now,
            failed: 0,
        }
    }

    /// How long until the next ping; zero if it is due.
    pub fn until(&self, rules: &Rules, now: Clocks) -> Span {
        rules.until(DeadlineId::Ping, self.last_at, Heartbeat::period(), now)
    }

    /// The round of a ping is over at `now`; the thread sleeps from then on, however long the round took.
    pub fn rest(&mut self, now: Clocks, failed: u32) {
        (self.last_at, self.failed) = (now, failed);
    }

    /// The next round of `client_id`.
    pub fn round(&self, client_id: Uuid) -> PingRound {
        PingRound {
            client_id,
            failed: self.failed,
            connecting: false,
        }
    }

    /// The time between two pings.
    pub fn period() -> Span {
        match DeadlineId::Ping.row().length {
            moonquake_clock::Length::FixedNs(ns) => Span::from_ns(ns),
            _ => Span::from_secs(1),
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

/// One ping. If it is the third in a row to fail, the client connects anew, which is one ServiceReady, and pings again at
/// once. The result says whether the master asks for a remount.
///
/// The version of the master is looked at when the client connects and at no other time: a master of another version is
/// refused then, and obeyed as soon as it answers a ping.
#[derive(Clone, Debug)]
pub struct PingRound {
    client_id: Uuid,
    /// Pings in a row that have failed.
    failed: u32,
    connecting: bool,
}

impl PingRound {
    fn ping(&mut self) -> Want {
        self.connecting = false;
        call(Request::Ping {
            client_id: self.client_id,
        })
    }

    /// The ping failed: the client waits for the next one, or connects anew.
    fn failed(&mut self, outcome: Outcome) -> Want {
        self.failed = self.failed.saturating_add(1);
        if self.failed < FAILED_PINGS {
            return Want::Done(outcome);
        }
        self.connecting = true;
        call(Request::ServiceReady {})
    }

    fn connected(&mut self, answer: Result<Response, RpcFailure>) -> Want {
        match answer {
            Ok(Response::ServiceReady(Ok(version))) if version == SERVICE_VERSION => {
                self.failed = 0;
                self.ping()
            }
            Ok(Response::ServiceReady(Ok(_))) => Want::Done(Outcome::Error(ErrorCode::InvalidVersion)),
            Ok(Response::ServiceReady(Err(code))) => Want::Done(Outcome::Error(code)),
            Ok(_) => Want::Done(Outcome::Error(ErrorCode::RpcFail)),
            Err(failure) => Want::Done(failure.into()),
        }
    }
}

impl Operation for PingRound {
    fn begin(&mut self, _now: Clocks) -> Want {
        self.ping()
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        match happened {
            Happened::Answered(answer) if self.connecting => self.connected(answer),
            Happened::Answered(Ok(response @ Response::Ping(Ok(_)))) => {
                self.failed = 0;
                Want::Done(Outcome::of(&response))
            }
            Happened::Answered(Ok(Response::Ping(Err(code)))) => self.failed(Outcome::Error(code)),
            Happened::Answered(Err(failure)) => self.failed(failure.into()),
            Happened::Answered(Ok(_))
            | Happened::Staged(_)
            | Happened::Summed(_)
            | Happened::Moved(_)
            | Happened::MovedAll(_)
            | Happened::Waited => self.failed(Outcome::Error(ErrorCode::RpcFail)),
        }
    }

    fn failed_pings(&self) -> u32 {
        self.failed
    }
}

/// Remounts the segments, all in one call. It runs beside the pings, one at a time; one that failed is not repeated, the
/// next ping asks again.
#[derive(Clone, Debug)]
pub struct Remount {
    client_id: Uuid,
    segments: Vec<Segment>,
}

impl Remount {
    /// A remount of `segments`, which are those of the client that are not on their way out.
    pub fn new(client_id: Uuid, segments: Vec<Segment>) -> Remount {
        Remount { client_id, segments }
    }
}

impl Operation for Remount {
    fn begin(&mut self, _now: Clocks) -> Want {
        call(Request::ReMountSegment {
            segments: self.segments.clone(),
            client_id: self.client_id,
        })
    }

    fn next(&mut self, _now: Clocks, happened: Happened) -> Want {
        Want::Done(match happened {
            Happened::Answered(Ok(response)) => Outcome::of(&response),
            Happened::Answered(Err(failure)) => failure.into(),
            _ => Outcome::Error(ErrorCode::RpcFail),
        })
    }
}
