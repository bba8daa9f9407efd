//! Segments come and go. Mirrors `master_service.cpp:MountSegment`, `ReMountSegment`, `UnmountSegment`,
//! `GracefulUnmountSegment` and `ClientMonitorFunc`.

use crate::Master;
use crate::due::Due;
use crate::segments::Mounted;
use moonquake_clock::{Clocks, DeadlineId, MonotonicNs, Span};
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{ClientStatus, ErrorCode, Segment, SegmentStatus, Uuid};

/// A graceful unmount that waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GracefulUnmount {
    due: Due,
    segment: Uuid,
    client: Uuid,
}

impl GracefulUnmount {
    /// Its place in upstream's queue.
    fn rank(&self) -> MonotonicNs {
        self.due.base.monotonic + self.due.length
    }
}

/// How long a grace period lasts. Upstream's end of it is a signed number of nanoseconds that wraps around, so a period of some
/// centuries is over before it begins.
fn grace_from(now: MonotonicNs, grace_ms: u64) -> Span {
    let now = now.0.cast_signed();
    let length = grace_ms.cast_signed().wrapping_mul(1_000_000);
    let left = i128::from(now.wrapping_add(length)) - i128::from(now);
    Span::from_ns(u64::try_from(left).unwrap_or(0))
}

impl Master {
    /// Mounts a segment. Everybody may use it at once; the client is watched from here on, but not OK yet.
    pub(crate) fn mount_segment(
        &mut self,
        now: Clocks,
        segment: &Segment,
        client: Uuid,
    ) -> Result<(), ErrorCode> {
        self.clients.ping(client, now);
        if let Mounted::New(mount) = self.mount(segment, client)? {
            self.close_returning(now, mount, false);
        }
        self.clients.set_host(client, &segment.host_id);
        Ok(())
    }

    fn mount(&mut self, segment: &Segment, client: Uuid) -> Result<Mounted, ErrorCode> {
        match self.segments.mount(segment, client) {
            Err(ErrorCode::UnavailableInCurrentStatus) if !self.guarded(Guard::NoMountWhileUnmounting) => {
                Ok(Mounted::Already)
            }
            mounted => mounted,
        }
    }

    /// Mounts all segments of a client again and makes it OK; does nothing for a client that is OK already.
    pub(crate) fn remount_segments(
        &mut self,
        now: Clocks,
        segments: &[Segment],
        client: Uuid,
    ) -> Result<(), ErrorCode> {
        let host = segments
            .iter()
            .map(|segment| segment.host_id.as_str())
            .find(|host| !host.is_empty());
        self.clients.set_host(client, host.unwrap_or_default());
        if segments.iter().any(|segment| !self.may_remount(segment, client)) {
            return Err(ErrorCode::InvalidParams);
        }
        if self.clients.is_ok(client) {
            return Ok(());
        }
        self.clients.ping(client, now);
        let existed: Vec<bool> = segments
            .iter()
            .map(|segment| self.segments.by_segment(segment.id).is_some())
            .collect();
        let result = self.mount_each(now, segments, client);
        match result {
            Ok(()) => self.clients.set_ok(client),
            Err(_) => {
                for (segment, _) in segments.iter().zip(existed).filter(|(_, existed)| !existed) {
                    self.unmount(now, segment.id, client);
                }
            }
        }
        result
    }

    fn mount_each(&mut self, now: Clocks, segments: &[Segment], client: Uuid) -> Result<(), ErrorCode> {
        for segment in segments {
            if !self.may_remount(segment, client) {
                return Err(ErrorCode::InvalidParams);
            }
            match self.mount(segment, client) {
                Ok(Mounted::New(mount)) => self.close_returning(now, mount, true),
                // An invalid segment is passed over here and found missing below.
                Ok(Mounted::Already) | Err(ErrorCode::InvalidParams) => {}
                Err(code) => return Err(code),
            }
        }
        let missing = |segment: &Segment| self.segments.by_segment(segment.id).is_none();
        if segments.iter().any(missing) {
            Err(ErrorCode::InternalError)
        } else {
            Ok(())
        }
    }

    /// Unmounts a segment as a client asks for it; without the quirk `unmount-by-anyone` it must be its own.
    pub(crate) fn unmount_asked(
        &mut self,
        now: Clocks,
        segment: Uuid,
        client: Uuid,
    ) -> Result<(), ErrorCode> {
        let mounted = self.segments.mount_of(segment).is_some();
        let owned = self
            .segments
            .of_client(client)
            .is_some_and(|ids| ids.contains(&segment));
        if mounted && !owned && !self.config.quirks.has(Quirk::UnmountByAnyone) {
            return Err(ErrorCode::IllegalClient);
        }
        self.unmount_segment(now, segment, client);
        Ok(())
    }

    /// Unmounts a segment. Its replicas are out of reach at once; what is left of their objects is
    /// cleaned by [`Master::settle_cleanup`].
    pub(crate) fn unmount_segment(&mut self, now: Clocks, segment: Uuid, client: Uuid) {
        if self.unmount(now, segment, client) {
            self.cleanup_due = true;
        }
    }

    /// Takes the mount away; whether there was one.
    fn unmount(&mut self, now: Clocks, segment: Uuid, client: Uuid) -> bool {
        let Some(mount) = self.segments.mount_of(segment) else {
            return false;
        };
        self.note_departure(now, mount);
        self.segments.unmount(segment, client).is_some()
    }

    /// Whether a client may remount a segment: it is unknown, or its own and the same in every field. Mirrors
    /// `segment.cpp:ValidateRemountSegment`.
    fn may_remount(&self, segment: &Segment, client: Uuid) -> bool {
        let own = self
            .segments
            .of_client(client)
            .is_some_and(|ids| ids.contains(&segment.id));
        self.segments
            .by_segment(segment.id)
            .is_none_or(|mount| mount.segment == *segment && own)
            || !self.guarded(Guard::RemountByOwner)
    }

    /// Takes a segment out of placement and unmounts it after the grace period.
    pub(crate) fn graceful_unmount_segment(
        &mut self,
        now: Clocks,
        segment: Uuid,
        client: Uuid,
        grace_ms: u64,
    ) -> Result<(), ErrorCode> {
        let owned = self
            .segments
            .of_client(client)
            .ok_or(ErrorCode::SegmentNotFound)?;
        // A stale id in the list does not count: upstream asks for mounted segments.
        if !owned.contains(&segment) || self.segments.mount_of(segment).is_none() {
            return Err(ErrorCode::InvalidParams);
        }
        if self.guarded(Guard::GracefulUnmountCloses) {
            self.segments.begin_graceful_unmount(segment)?;
        }
        self.renew_grace_by_mistake(now, segment);
        let due = Due {
            id: DeadlineId::Grace,
            base: now,
            length: grace_from(now.monotonic, grace_ms),
        };
        self.graceful.push(GracefulUnmount { due, segment, client });
        Ok(())
    }

    /// A request starts the grace of earlier ones again, if a test has made the deadline count from the last.
    fn renew_grace_by_mistake(&mut self, now: Clocks, segment: Uuid) {
        let rules = &self.config.rules;
        for timer in self.graceful.iter_mut().filter(|timer| timer.segment == segment) {
            timer.due.base = rules.base(DeadlineId::Grace, timer.due.base, now);
        }
    }

    /// Does what the timer of graceful unmounts has done by now. It runs by itself upstream; here every request and
    /// every tick first catches up with it, and so should an observer.
    pub fn run_graceful_timer(&mut self, now: Clocks) {
        while let Some(index) = self.next_graceful(now) {
            let timer = self.graceful.remove(index);
            self.unmount_segment(now, timer.segment, timer.client);
        }
    }

    fn next_graceful(&self, now: Clocks) -> Option<usize> {
        let timers = self.graceful.iter().enumerate();
        let due = timers.filter(|(_, timer)| timer.due.reached(&self.config.rules, now));
        due.min_by_key(|(_, timer)| timer.rank()).map(|(index, _)| index)
    }

    /// One round of the client monitor: silent clients expire, and everything they mounted goes with them.
    pub(crate) fn monitor_clients(&mut self, now: Clocks) {
        let expired = self
            .clients
            .expire(&self.config.rules, self.config.client_ttl, now);
        if expired.is_empty() || !self.guarded(Guard::SilentClientExpires) {
            return;
        }
        self.graceful.retain(|timer| !expired.contains(&timer.client));
        for client in expired {
            for segment in self.segments.of_client(client).unwrap_or_default().to_vec() {
                self.unmount(now, segment, client);
            }
        }
        self.clear_unreachable();
    }

    /// What a ping is answered.
    pub(crate) fn ping_status(&self, client: Uuid) -> ClientStatus {
        if self.guarded(Guard::PingAsksForRemount) {
            self.clients.status(client)
        } else {
            ClientStatus::Ok
        }
    }

    /// Status of the latest mount of a name.
    pub(crate) fn segment_status(&self, name: &str) -> Result<SegmentStatus, ErrorCode> {
        let latest = self
            .segments
            .latest_of_name(name)
            .ok_or(ErrorCode::SegmentNotFound)?;
        self.segment_status_by_id(latest.0)
    }

    /// Status of a segment id.
    pub(crate) fn segment_status_by_id(&self, id: Uuid) -> Result<SegmentStatus, ErrorCode> {
        self.segments
            .by_segment(id)
            .map(|mount| mount.status)
            .ok_or(ErrorCode::SegmentNotFound)
    }
}
