//! How far an operation had come at one place in the record, from what the link and the owner saw.

use crate::outcome;
use crate::rpc::{self, Family, ReplicationEnd};
use crate::view::{Frame, Pos, View};
use moonquake_evidence::{Leg, Op};
use moonquake_faults::PhaseId;

/// The latest call of one family that an operation had sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call {
    pub(crate) message: u64,
    pub(crate) sent: Option<Pos>,
    pub(crate) handled: Option<Pos>,
    pub(crate) delivered: Option<Pos>,
}

/// How far an operation had come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) began: Option<Pos>,
    pub(crate) ended: Option<Pos>,
    pub(crate) start: Option<Call>,
    pub(crate) end: Option<Call>,
    pub(crate) revoke: Option<Call>,
    pub(crate) query: Option<Call>,
    pub(crate) remove: Option<Call>,
    pub(crate) mount: Option<Call>,
    /// The start of a copy or move, its commit and its revoke.
    pub(crate) copy: Option<Call>,
    pub(crate) copied: Option<Call>,
    pub(crate) uncopied: Option<Call>,
    /// Places of everything that its transfers did.
    pub(crate) data: Vec<Pos>,
    pub(crate) parts_landed: u64,
    /// Parts of all transfers opened so far; those without a landed part count as one.
    pub(crate) parts_known: u64,
    pub(crate) transfers: usize,
    /// Whether the transfers go to the owner (a put) or come from it (a get).
    pub(crate) wrote: Option<bool>,
    pub(crate) open: usize,
    pub(crate) complete: usize,
    pub(crate) broken: usize,
    /// The transfer opened first that was neither closed nor complete.
    pub(crate) first_open: Option<Pos>,
}

impl Progress {
    /// The progress of `op` before `until`.
    pub(crate) fn of(view: &View<'_>, op: Op, until: Pos) -> Progress {
        let run = view.runs.get(&op).copied().unwrap_or_default();
        let mut progress = Progress {
            began: run.began.filter(|pos| *pos < until),
            ended: run.ended.filter(|pos| *pos < until),
            ..Progress::default()
        };
        for frame in view.frames_of(op).filter(|frame| frame.pos < until) {
            progress.add(frame);
        }
        for (_, transfer) in view.transfers_of(op) {
            let Some(opened) = transfer.opened.filter(|pos| *pos < until) else {
                continue;
            };
            let landed = transfer.parts_before(until);
            progress.transfers += 1;
            progress.wrote = Some(transfer.write);
            progress.parts_landed += landed;
            progress.parts_known += transfer.parts().unwrap_or(1);
            progress.data.push(opened);
            let places = transfer.landed.iter().map(|landed| landed.pos);
            progress.data.extend(places.filter(|pos| *pos < until));
            match transfer.closed.filter(|(pos, _)| *pos < until) {
                None => {
                    progress.open += 1;
                    progress.first_open.get_or_insert(opened);
                }
                Some((pos, "complete")) => {
                    progress.complete += 1;
                    progress.data.push(pos);
                }
                Some((pos, _)) => {
                    progress.broken += 1;
                    progress.data.push(pos);
                }
            }
        }
        progress.data.sort_unstable();
        progress
    }

    fn add(&mut self, frame: &Frame<'_>) {
        let slot = match rpc::family(frame.rpc) {
            Some(Family::Start) => &mut self.start,
            Some(Family::End) => &mut self.end,
            Some(Family::Revoke) => &mut self.revoke,
            Some(Family::Query) => &mut self.query,
            _ if rpc::is_removal(frame.rpc) => &mut self.remove,
            _ if frame.rpc == "MountSegment" => &mut self.mount,
            _ if rpc::is_replication_start(frame.rpc) => &mut self.copy,
            _ => match rpc::replication_end(frame.rpc) {
                Some(ReplicationEnd::Commit { .. }) => &mut self.copied,
                Some(ReplicationEnd::Revoke) => &mut self.uncopied,
                None => return,
            },
        };
        let call = slot.get_or_insert_with(Call::default);
        if frame.leg == Leg::RequestSent || call.message != frame.message {
            *call = Call {
                message: frame.message,
                ..Call::default()
            };
        }
        let place = match frame.leg {
            Leg::RequestSent => &mut call.sent,
            Leg::RequestHandled => &mut call.handled,
            Leg::ResponseDelivered => &mut call.delivered,
            _ => return,
        };
        place.get_or_insert(frame.pos);
    }

    /// The call that a phase surrounds.
    pub(crate) fn call(&self, phase: PhaseId) -> Option<Call> {
        match phase {
            PhaseId::PutStartBefore | PhaseId::PutStartSent | PhaseId::PutStartResponse => self.start,
            PhaseId::PutEndSent | PhaseId::PutEndResponse => self.end,
            PhaseId::RevokeBefore | PhaseId::RevokeSent | PhaseId::RevokeResponse => self.revoke,
            PhaseId::GetQueryBefore | PhaseId::GetQuerySent | PhaseId::GetQueryResponse => self.query,
            PhaseId::RemoveBefore | PhaseId::RemoveSent | PhaseId::RemoveResponse => self.remove,
            PhaseId::MountBefore | PhaseId::MountSent | PhaseId::MountResponse => self.mount,
            PhaseId::CopyStartBefore | PhaseId::CopyStartSent | PhaseId::CopyStartResponse => self.copy,
            PhaseId::CopyEndSent | PhaseId::CopyEndResponse => self.copied,
            PhaseId::PutPayloadPart
            | PhaseId::PutPayloadDone
            | PhaseId::GetPayloadPart
            | PhaseId::GetPayloadDone
            | PhaseId::CopyPayloadPart
            | PhaseId::CopyPayloadDone => None,
        }
    }

    /// The places that show the progress, latest last.
    pub(crate) fn places(&self) -> Vec<Pos> {
        let calls = [
            self.start,
            self.end,
            self.revoke,
            self.query,
            self.remove,
            self.mount,
            self.copy,
            self.copied,
            self.uncopied,
        ];
        let mut places: Vec<Pos> = calls
            .into_iter()
            .flatten()
            .filter_map(|call| call.delivered.or(call.handled).or(call.sent))
            .chain(self.began)
            .chain(self.data.last().copied())
            .chain(self.ended)
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The progress in words.
    pub(crate) fn words(&self) -> String {
        let call = |name: &str, call: Option<Call>| {
            call.map(|call| {
                let how = if call.delivered.is_some() {
                    "answered"
                } else if call.handled.is_some() {
                    "handled, the answer not delivered"
                } else {
                    "sent, not handled"
                };
                format!("{name} {how}")
            })
        };
        let mut words: Vec<String> = [
            call("GetReplicaList", self.query),
            call("PutStart", self.start),
            call("the start of the copy", self.copy),
            self.data_words(),
            call("PutEnd", self.end),
            call("PutRevoke", self.revoke),
            call("the removal", self.remove),
            call("MountSegment", self.mount),
            call("the end of the copy", self.copied),
            call("the revoke of the copy", self.uncopied),
        ]
        .into_iter()
        .flatten()
        .collect();
        if self.ended.is_some() {
            words.push("result reported".to_owned());
        }
        match (words.is_empty(), self.began) {
            (true, Some(_)) => "begun, nothing sent".to_owned(),
            (true, None) => "not begun".to_owned(),
            _ => words.join(", "),
        }
    }

    fn data_words(&self) -> Option<String> {
        (self.transfers > 0).then(|| {
            let all = self.parts_known;
            let how = if self.complete == self.transfers {
                "transfer complete"
            } else if self.open > 0 {
                "transfer open"
            } else {
                "transfer broken"
            };
            format!("{} of {all} parts landed, {how}", self.parts_landed)
        })
    }
}

/// Whether the result of an operation counts as an end that its own actor reported.
pub(crate) fn reported(view: &View<'_>, op: Op, until: Pos) -> bool {
    view.ended(op)
        .is_some_and(|ended| ended.pos < until && !outcome::is_void(ended.outcome))
}
