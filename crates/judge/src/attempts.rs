//! Every attempt to write a key, from the answers of the master that the link saw.
//!
//! An attempt begins when a PutStart (or UpsertStart) is handled with success. Upstream knows a write only by key and
//! client, so what a PutEnd does and whose PutEnd it was are two questions: [`Attempt::fate`] answers the first (the
//! master's effect, on the key's current attempt), [`Attempt::own_end`] the second (the attempt of the operation that
//! sent it).

use crate::copies::{Copies, Done};
use crate::rpc::{self, Entry, Family};
use crate::view::{Frame, Pos, View};
use moonquake_evidence::{Change, Leg, Op, Range};
use moonquake_scenario::{ArgValue, Verb};
use std::collections::BTreeMap;

/// What became of an attempt at the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Some PutEnd completed it.
    Completed(Pos),
    /// Some PutRevoke ended it.
    Revoked(Pos),
    /// A later PutStart took the key: its ranges wait for the release timeout of its own start.
    Preempted(Pos),
    /// A later UpsertStart took the key: its ranges wait for the release timeout from there on.
    Overtaken(Pos),
}

/// One attempt to write a key.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) key: String,
    pub(crate) client: String,
    /// The operation that sent the PutStart.
    pub(crate) op: Option<Op>,
    /// Where its PutStart was handled.
    pub(crate) start: Pos,
    pub(crate) ranges: Vec<Range>,
    /// Ranges that copies and moves added to its object, each from where on.
    pub(crate) copied: Vec<(Pos, Range)>,
    /// Ranges that moves took from its object, each from where on; they are quarantined.
    pub(crate) moved: Vec<(Pos, Range)>,
    /// Whether it began with an UpsertStart.
    pub(crate) upserts: bool,
    /// The first success of a PutEnd that its own operation sent.
    pub(crate) own_end: Option<Pos>,
    /// What became of it; none while it is unfinished.
    pub(crate) fate: Option<Fate>,
    /// Where its completed object was taken away or replaced by the answer of a call.
    pub(crate) removed: Option<Pos>,
    /// Where an upsert took its completed object's place; its bytes are quarantined from there on.
    pub(crate) replaced: Option<Pos>,
    /// Where its memory went with the master's state or with the segment.
    pub(crate) lost: Option<Pos>,
    /// Where a new master began that knows nothing of it.
    pub(crate) forgotten: Option<Pos>,
}

impl Fate {
    /// Where it met that.
    pub(crate) fn pos(self) -> Pos {
        match self {
            Fate::Completed(at) | Fate::Revoked(at) | Fate::Preempted(at) | Fate::Overtaken(at) => at,
        }
    }
}

impl Attempt {
    /// Whether it was begun and not ended, revoked, preempted or lost before `pos`.
    pub(crate) fn unfinished_at(&self, pos: Pos) -> bool {
        let over = self.fate.is_some_and(|fate| fate.pos() < pos);
        self.start < pos && !over && !self.lost_at(pos)
    }

    /// Whether its memory was gone before `pos`.
    pub(crate) fn lost_at(&self, pos: Pos) -> bool {
        self.lost.is_some_and(|at| at < pos)
    }

    /// Where the memory of one of its ranges was gone. What a move took from it before it was lost waits in quarantine
    /// whatever becomes of the rest.
    pub(crate) fn lost_of(&self, range: &Range) -> Option<Pos> {
        let taken = self
            .moved
            .iter()
            .find(|(_, taken)| taken == range)
            .map(|(at, _)| *at);
        match taken {
            Some(taken) if self.lost.is_none_or(|lost| taken < lost) => self.forgotten,
            _ => self.lost,
        }
    }

    /// Whether one of its ranges overlaps `range`.
    pub(crate) fn overlaps(&self, range: &Range) -> bool {
        self.places().any(|own| own.overlaps(range))
    }

    /// Its ranges, and those that copies added to them.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Range> {
        self.ranges
            .iter()
            .chain(self.copied.iter().map(|(_, range)| range))
    }

    /// The ranges of its object at `pos`, those that a move has taken away left out.
    pub(crate) fn places_at(&self, pos: Pos) -> impl Iterator<Item = &Range> {
        let copied = self.copied.iter().filter(move |(at, _)| *at < pos);
        let moved = move |range: &&Range| !self.moved.iter().any(|(at, taken)| *at < pos && taken == *range);
        self.ranges
            .iter()
            .chain(copied.map(|(_, range)| range))
            .filter(moved)
    }
}

/// Every attempt of a run, in the order of their PutStarts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempts {
    pub(crate) all: Vec<Attempt>,
    pub(crate) copies: Copies,
    /// The latest attempt of each key, while the walk goes on.
    current: BTreeMap<String, usize>,
    /// Those of each key, in order.
    by_key: BTreeMap<String, Vec<usize>>,
}

/// Whether a PutEnd or PutRevoke means replicas in memory. One that names another kind of replica than the put has is
/// accepted and does nothing.
fn is_about_memory(view: &View<'_>, frame: &Frame<'_>) -> bool {
    let action = frame.event.op.and_then(|op| view.action(op));
    match action.and_then(|action| action.args.get("replica_type")) {
        Some(ArgValue::Text(kind)) => matches!(kind.as_str(), "MEMORY" | "ALL"),
        _ => true,
    }
}

impl Attempts {
    /// Reads the attempts out of the record.
    pub(crate) fn of(view: &View<'_>) -> Attempts {
        let mut attempts = Attempts::default();
        let mut handled = view
            .frames
            .iter()
            .filter(|frame| frame.leg == Leg::RequestHandled)
            .peekable();
        let restarts: Vec<Pos> = view
            .changes("master")
            .filter(|(_, change)| *change == Change::Started)
            .map(|(pos, _)| pos)
            .collect();
        for pos in 0..view.end() {
            if restarts.contains(&pos) {
                attempts.forget(pos);
            }
            while let Some(frame) = handled.next_if(|frame| frame.pos <= pos) {
                attempts.handle(view, frame);
            }
            if let Ok(index) = view.states.binary_search_by_key(&pos, |(at, _)| *at) {
                attempts.lose_segments(pos, view.states[index].1);
            }
        }
        attempts
    }

    /// A new master knows nothing of the old one's attempts.
    fn forget(&mut self, pos: Pos) {
        for attempt in &mut self.all {
            attempt.lost.get_or_insert(pos);
            attempt.forgotten.get_or_insert(pos);
        }
        self.copies.forget(pos);
        self.current.clear();
    }

    /// A segment that left takes along what was on it.
    fn lose_segments(&mut self, pos: Pos, state: &moonquake_evidence::State) {
        for attempt in &mut self.all {
            let gone = |range: &Range| !state.segments.contains_key(&range.segment);
            if !attempt.ranges.is_empty() && attempt.places_at(pos).all(gone) {
                attempt.lost.get_or_insert(pos);
            }
        }
    }

    fn handle(&mut self, view: &View<'_>, frame: &Frame<'_>) {
        if let Done::Committed { key, added, taken } = self.copies.handle(view, frame)
            && let Some(attempt) = self.current_of(&key)
        {
            let here = |range| (frame.pos, range);
            attempt.copied.extend(added.into_iter().map(here));
            attempt.moved.extend(taken.into_iter().map(here));
        }
        let Some(family) = rpc::family(frame.rpc) else {
            return;
        };
        for entry in rpc::entries(view, frame) {
            if !rpc::granted(frame.rpc, entry.code) {
                if family == Family::Start && entry.code == Some("NO_AVAILABLE_HANDLE") {
                    self.take_over(frame, &entry.key);
                }
                continue;
            }
            match family {
                Family::End | Family::Revoke if !is_about_memory(view, frame) => {}
                Family::Start => self.begin(frame, entry),
                Family::End => self.end(view, frame, &entry.key),
                Family::Revoke => {
                    if let Some(attempt) = self.current_of(&entry.key)
                        && attempt.fate.is_none()
                    {
                        attempt.fate = Some(Fate::Revoked(frame.pos));
                    }
                }
                Family::Remove => {
                    if let Some(attempt) = self.current_of(&entry.key) {
                        attempt.removed.get_or_insert(frame.pos);
                    }
                    self.current.remove(&entry.key);
                }
                Family::Query | Family::Exist => {}
            }
        }
    }

    fn current_of(&mut self, key: &str) -> Option<&mut Attempt> {
        self.all.get_mut(*self.current.get(key)?)
    }

    /// A start that finds no room has already taken the key: what was there before is gone although the call failed.
    fn take_over(&mut self, frame: &Frame<'_>, key: &str) {
        self.supersede(frame, key);
        self.current.remove(key);
    }

    fn supersede(&mut self, frame: &Frame<'_>, key: &str) {
        let (pos, upserts) = (frame.pos, frame.rpc.contains("Upsert"));
        if let Some(previous) = self.current_of(key) {
            if previous.fate.is_none() {
                let taken = if upserts { Fate::Overtaken } else { Fate::Preempted };
                previous.fate = Some(taken(pos));
            } else {
                previous.removed.get_or_insert(pos);
                previous.replaced.get_or_insert(pos);
            }
        }
    }

    fn begin(&mut self, frame: &Frame<'_>, entry: Entry<'_>) {
        self.supersede(frame, &entry.key);
        self.current.insert(entry.key.clone(), self.all.len());
        let of_key = self.by_key.entry(entry.key.clone()).or_default();
        of_key.push(self.all.len());
        self.all.push(Attempt {
            key: entry.key,
            client: frame.event.actor.clone(),
            op: frame.event.op,
            start: frame.pos,
            ranges: entry.ranges,
            copied: Vec::new(),
            moved: Vec::new(),
            upserts: frame.rpc.contains("Upsert"),
            own_end: None,
            fate: None,
            removed: None,
            replaced: None,
            lost: None,
            forgotten: None,
        });
    }

    fn end(&mut self, view: &View<'_>, frame: &Frame<'_>, key: &str) {
        if let Some(attempt) = self.current_of(key)
            && attempt.fate.is_none()
            && attempt.client == frame.event.actor
        {
            attempt.fate = Some(Fate::Completed(frame.pos));
        }
        if let Some(owner) = self.owner_of(view, frame, key) {
            self.all[owner].own_end.get_or_insert(frame.pos);
        }
    }

    /// The attempt whose own operation sent this PutEnd: the attempt of the same operation, or, for a call by itself,
    /// the latest that its client had begun on the key when the call was sent.
    fn owner_of(&self, view: &View<'_>, frame: &Frame<'_>, key: &str) -> Option<usize> {
        let op = frame.event.op;
        let by_itself = op.is_none_or(|op| matches!(view.verb(op), Some(Verb::Rpc(_)) | None));
        let sent = view
            .leg(frame.message, Leg::RequestSent)
            .map_or(frame.pos, |sent| sent.pos);
        let own = |(_, attempt): &(usize, &Attempt)| attempt.client == frame.event.actor;
        let mut candidates = self.numbered_of(key).filter(own);
        let found = if by_itself {
            candidates.rfind(|(_, attempt)| attempt.start <= sent)
        } else {
            // A start that was handled twice made two attempts; its client heard of the first.
            candidates.find(|(_, attempt)| attempt.op == op)
        };
        found.map(|(index, _)| index)
    }

    /// The latest attempt of a key that began before `pos`.
    pub(crate) fn latest(&self, key: &str, pos: Pos) -> Option<&Attempt> {
        self.of_key(key).rfind(|attempt| attempt.start < pos)
    }

    /// The attempts of a key, in order.
    pub(crate) fn of_key(&self, key: &str) -> impl DoubleEndedIterator<Item = &Attempt> {
        self.numbered_of(key).map(|(_, attempt)| attempt)
    }

    fn numbered_of(&self, key: &str) -> impl DoubleEndedIterator<Item = (usize, &Attempt)> {
        let of_key = self.by_key.get(key).into_iter().flatten();
        of_key.filter_map(|index| Some((*index, self.all.get(*index)?)))
    }
}
