//! Read leases and soft pins. Mirrors `master_service.h:GrantReadLease`, `IsLeaseExpired`, `EvaluateSoftPin` and
//! `master_service.cpp:GrantLeaseForGroup`.

use crate::Master;
use crate::objects::Id;
use moonquake_clock::{Clocks, DeadlineId, Domain, Span};
use moonquake_faults::Quirk;
use moonquake_protocol::SoftPinAction;

impl Master {
    /// Lengthens the lease of an object to at least one ttl from now; it is never shortened. In a group all members
    /// are lengthened; with the quirk `group-lease-not-extended` only if this object's lease is at least half over or a
    /// member has joined.
    pub(crate) fn grant_lease(&mut self, now: Clocks, id: Id) {
        self.renew_pin_by_mistake(now, id);
        let running = !self.lease_is_over(id, now);
        if self.config.rules.base(DeadlineId::Lease, false, running) {
            return;
        }
        let end = now + self.config.lease;
        if !self.objects.is_in_group(id) {
            self.objects.lengthen_lease(id, end);
            return;
        }
        let half_over = self.is_lease_half_over(now, id);
        let joined = self
            .objects
            .at(id)
            .is_some_and(|object| self.objects.has_joined(object.group()));
        let skips = !half_over && !joined;
        if skips && self.config.quirks.has(Quirk::GroupLeaseNotExtended) {
            if let Some(extra) = self.objects.extra_at(id) {
                extra.told_end = Some(end);
            }
            return;
        }
        self.objects.refresh_group(id, end);
    }

    /// Whether no more than half of a whole lease is left of the object's.
    fn is_lease_half_over(&mut self, now: Clocks, id: Id) -> bool {
        let kept = self.objects.lease_end(id);
        let told = self.objects.extra_at(id).and_then(|extra| extra.told_end);
        let told = told.map_or(kept, |told| told.max_each(kept));
        let half = now + Span::from_ms(self.config.lease_ms() / 2);
        let rules = &self.config.rules;
        let end = rules.base(DeadlineId::GroupRefresh, kept, told);
        rules.reached(DeadlineId::GroupRefresh, end, Span::ZERO, half)
    }

    /// A read starts a soft pin again, if a test has made the deadline count from reads.
    fn renew_pin_by_mistake(&mut self, now: Clocks, id: Id) {
        let renewed = now + self.config.soft_pin;
        let rules = &self.config.rules;
        let extra = self.objects.extra_at(id);
        let pin = extra.and_then(|extra| extra.soft_pin_end.as_mut());
        if let Some(end) = pin {
            *end = rules.base(DeadlineId::SoftPin, *end, renewed);
        }
    }

    /// Whether no reader may still trust the object.
    pub(crate) fn lease_is_over(&self, id: Id, now: Clocks) -> bool {
        let end = self.objects.lease_end(id);
        self.config.rules.reached(DeadlineId::Lease, end, Span::ZERO, now)
    }

    /// The end of the lease as a number to sort by, in the clock that leases are compared on.
    pub(crate) fn lease_rank(&self, id: Id) -> u64 {
        let end = self.objects.lease_end(id);
        match self.config.rules.get(DeadlineId::Lease).domain {
            Domain::Realtime => end.realtime.0,
            Domain::Monotonic => end.monotonic.0,
        }
    }

    /// Whether the object is soft-pinned. A pin that is found to be over is gone for good.
    pub(crate) fn is_soft_pinned(&mut self, id: Id, now: Clocks) -> bool {
        let rules = &self.config.rules;
        let Some(extra) = self.objects.extra_at(id) else {
            return false;
        };
        let over = |end: Clocks| rules.reached(DeadlineId::SoftPin, end, Span::ZERO, now);
        if extra.soft_pin_end.is_some_and(over) {
            extra.soft_pin_end = None;
        }
        extra.soft_pin_end.is_some()
    }

    /// Carries out what the write under way wanted to do with the soft pin. Mirrors
    /// `master_service.h:CommitPendingSoftPin`.
    pub(crate) fn commit_pending_pin(&mut self, now: Clocks, id: Id) {
        self.is_soft_pinned(id, now);
        let Some(extra) = self.objects.extra_at(id) else {
            return;
        };
        let Some(pending) = extra.pending_pin.take() else {
            return;
        };
        match pending.action {
            SoftPinAction::Enable if pending.ttl_ms > 0 => {
                extra.soft_pin_end = Some(now + Span::from_ms(pending.ttl_ms));
            }
            SoftPinAction::Enable | SoftPinAction::Disable => extra.soft_pin_end = None,
            SoftPinAction::Preserve | SoftPinAction::Unknown(_) => {}
        }
    }

    /// Ends every soft pin that is over. Mirrors `master_service.cpp:CleanupExpiredSoftPins`.
    pub(crate) fn end_soft_pins(&mut self, now: Clocks) {
        let ids: Vec<Id> = self.objects.ids().collect();
        for id in ids {
            self.is_soft_pinned(id, now);
        }
    }
}
