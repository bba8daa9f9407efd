//! `bytes-accounted`: allocated bytes are the sum of live, unfinished and quarantined replicas.
//!
//! For every state that the observer read, evidence gives two bounds:
//!
//! - *lower*: the readable ranges of that state, and every attempt that is unfinished or was preempted and cannot be
//!   due yet, since its release instant (PutStart + release, or the UpsertStart that overtook it + release) lies ahead on both clocks
//!   of the master;
//! - *upper*: that, and what may still be in quarantine: attempts that are due, were revoked, or were removed inside a
//!   lease. Bytes that a sweep should have freed count as quarantined here; that they are late is told by
//!   `crash-is-bounded`.
//!
//! A round certainly sweeps when more than the release timeout has passed since the last round that can have swept. A master may
//! count on either of its clocks, and its monotonic one is the timeline's: what is certain is so on both.
//! The targets of a copy count like an unfinished write, the source of a move that has ended like a quarantined one.
//! Segments that left, and a master that started anew, take their bytes along. Runs that promote or offload replicas, or
//! clear them one by one, are not judged.

use super::Judged;
use crate::attempts::{Attempt, Attempts, Fate};
use crate::copies::{Copy, was_away};
use crate::master_clock::MasterClock;
use crate::rpc;
use crate::view::{Pos, View};
use moonquake_evidence::{Change, Kind, Leg, Observer, Range, State};

/// The bounds for one state.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) pos: Pos,
    pub(super) allocated: u64,
    pub(super) lower: u64,
    pub(super) upper: u64,
    /// The attempts, by number, whose bytes a sweep should have freed, with what `upper` still counts of them.
    pub(super) overdue: Vec<(usize, u64)>,
}

/// The accounts of a run; or why it is not judged.
pub(super) type Accounts = Result<Vec<Account>, (String, Pos)>;

pub(super) fn judge(view: &View<'_>, accounts: &Accounts) -> Judged {
    let accounts = match accounts {
        Ok(accounts) => accounts,
        Err((why, pos)) => return Judged::new(crate::Status::NotApplicable, why.clone(), [*pos]),
    };
    let wrong = accounts
        .iter()
        .filter(|a| a.allocated < a.lower || a.allocated > a.upper);
    let failures = wrong
        .map(|account| {
            let text = format!(
                "{} bytes allocated at {}, and replicas account for {} to {}",
                account.allocated,
                view.at(account.pos),
                account.lower,
                account.upper
            );
            (text, vec![account.pos])
        })
        .collect();
    let places: Vec<Pos> = accounts.iter().map(|account| account.pos).collect();
    Judged::over(failures, &places, "state|", "the master's state was never read")
}

pub(super) fn accounts(view: &View<'_>, attempts: &Attempts) -> Accounts {
    if let Some(frame) = view.frames.iter().find(|frame| {
        frame.leg == Leg::RequestHandled && frame.code == Some("ok") && rpc::moves_replicas(frame.rpc)
    }) {
        return Err((
            format!("{} moves replicas, which is not followed here", frame.rpc),
            frame.pos,
        ));
    }
    let clock = MasterClock::of(view);
    let sweeps = sweeps(view, &clock);
    let account = |(pos, state): &(Pos, &State)| account(view, attempts, &clock, &sweeps, *pos, state);
    Ok(view.states.iter().map(account).collect())
}

fn account(
    view: &View<'_>,
    attempts: &Attempts,
    clock: &MasterClock,
    sweeps: &[Pos],
    pos: Pos,
    state: &State,
) -> Account {
    let mut live: Vec<&Range> = state.keys.values().flatten().collect();
    live.sort();
    live.dedup();
    let mut account = Account {
        pos,
        allocated: state.allocated_bytes,
        lower: live.iter().map(|range| range.size).fold(0, u64::saturating_add),
        upper: 0,
        overdue: Vec::new(),
    };
    account.upper = account.lower;
    for (index, attempt) in attempts.all.iter().enumerate() {
        if attempt.start > pos {
            continue;
        }
        // The source of a move waits in quarantine whatever becomes of the target.
        for (taken, range) in attempt.moved.iter().filter(|(at, _)| *at < pos) {
            if attempt.lost_of(range).is_some_and(|at| at < pos) {
                continue;
            }
            let bytes = hidden([range], &live, state);
            account.add(moved_source(view, range, *taken, clock, sweeps, pos), bytes);
        }
        if attempt.lost_at(pos) {
            continue;
        }
        let bytes = hidden(attempt.places_at(pos), &live, state);
        let fate = attempt.fate.filter(|fate| fate.pos() < pos);
        match standing(view, (attempt, fate), clock, sweeps, pos) {
            Standing::Overdue => {
                account.add(Standing::Overdue, bytes);
                account.overdue.push((index, bytes));
            }
            other => account.add(other, bytes),
        }
    }
    for copy in attempts.copies.all.iter().filter(|copy| copy.is_open_at(pos)) {
        let bytes = hidden(&copy.targets, &live, state);
        account.add(
            copy_targets(view, attempts, copy, clock, sweeps, (pos, state)),
            bytes,
        );
    }
    account
}

impl Account {
    fn add(&mut self, standing: Standing, bytes: u64) {
        match standing {
            Standing::Surely => {
                self.lower = self.lower.saturating_add(bytes);
                self.upper = self.upper.saturating_add(bytes);
            }
            // Overdue is still in quarantine, as far as anybody can see: accounted for, and late.
            Standing::Maybe | Standing::Overdue => self.upper = self.upper.saturating_add(bytes),
            Standing::Freed => {}
        }
    }
}

/// The bytes of ranges on mounted segments that are not readable. `live` is in order.
fn hidden<'a>(ranges: impl IntoIterator<Item = &'a Range>, live: &[&Range], state: &State) -> u64 {
    ranges
        .into_iter()
        .filter(|range| live.binary_search(range).is_err() && state.segments.contains_key(&range.segment))
        .map(|range| range.size)
        .fold(0, u64::saturating_add)
}

/// The source of a move that has ended: quarantined from then on.
fn moved_source(
    view: &View<'_>,
    range: &Range,
    taken: Pos,
    clock: &MasterClock,
    sweeps: &[Pos],
    pos: Pos,
) -> Standing {
    if was_away(view, &range.segment, taken, pos) {
        return Standing::Freed;
    }
    until(view, clock, sweeps, (taken, pos))
}

/// The targets of a copy that has not ended. They may go with its source, which upstream lets them outlive.
fn copy_targets(
    view: &View<'_>,
    attempts: &Attempts,
    copy: &Copy,
    clock: &MasterClock,
    sweeps: &[Pos],
    (pos, state): (Pos, &State),
) -> Standing {
    let is_whole = attempts.latest(&copy.key, pos).is_some_and(|attempt| {
        let there = |range: &Range| state.segments.contains_key(&range.segment);
        !attempt.lost_at(pos) && attempt.places_at(pos).all(there)
    });
    let left = |range: &Range| was_away(view, &range.segment, copy.start, pos);
    match until(view, clock, sweeps, (copy.start, pos)) {
        Standing::Surely if !is_whole || copy.targets.iter().any(left) => Standing::Maybe,
        other => other,
    }
}

/// Kept for the release timeout, and free from the first round on that certainly swept at its end or later.
fn until(view: &View<'_>, clock: &MasterClock, sweeps: &[Pos], (from, pos): (Pos, Pos)) -> Standing {
    let release = i128::from(view.plan.world.timeouts.release.ns);
    let [start, now] = [from, pos].map(|pos| clock.both_at(view, pos));
    let over = |now: [i128; 2]| {
        now.into_iter()
            .zip(start)
            .map(move |(now, start)| now >= start + release)
    };
    let swept =
        |sweep: &Pos| from < *sweep && *sweep < pos && over(clock.both_at(view, *sweep)).all(|over| over);
    if over(now).all(|over| !over) {
        Standing::Surely
    } else if sweeps.iter().any(swept) {
        Standing::Freed
    } else {
        Standing::Maybe
    }
}

/// Whether the bytes of an attempt that is not readable are still allocated.
enum Standing {
    Surely,
    Maybe,
    /// A sweep that came after they were due should have freed them.
    Overdue,
    Freed,
}

/// How an attempt stands that had met that fate by `pos`.
fn standing(
    view: &View<'_>,
    (attempt, fate): (&Attempt, Option<Fate>),
    clock: &MasterClock,
    sweeps: &[Pos],
    pos: Pos,
) -> Standing {
    let release = i128::from(view.plan.world.timeouts.release.ns);
    let (from, surely) = match fate {
        None | Some(Fate::Preempted(_)) => (attempt.start, true),
        // Unless it was given up before that.
        Some(Fate::Overtaken(at)) => match standing(view, (attempt, None), clock, sweeps, at) {
            Standing::Surely => (at, true),
            Standing::Maybe => (at, false),
            over @ (Standing::Overdue | Standing::Freed) => return over,
        },
        // Strict masters quarantine a revoked range; upstream frees it at once.
        Some(Fate::Revoked(at)) => (at, false),
        // Replaced by an upsert: quarantined from then on, unless it was written in place.
        Some(Fate::Completed(_)) if attempt.replaced.is_some_and(|at| at < pos) => {
            if let kept @ Standing::Maybe = leased(view, attempt, clock, sweeps, pos) {
                return kept;
            }
            (attempt.replaced.unwrap_or(attempt.start), false)
        }
        // Completed and not readable: removed or evicted. Only a lease can keep its bytes.
        Some(Fate::Completed(_)) => return leased(view, attempt, clock, sweeps, pos),
    };
    let (due, now) = (clock.at(view, from) + release, clock.at(view, pos));
    let (due_too, now_too) = (timeline(view, from) + release, timeline(view, pos));
    let ahead = |now: i128, due: i128| now < due || (fate.is_none() && now == due);
    match (ahead(now, due), ahead(now_too, due_too)) {
        (true, true) if surely => return Standing::Surely,
        (false, false) => {}
        _ => return Standing::Maybe,
    }
    // An unfinished attempt is given up only after its instant, a quarantined range is free at it.
    let strict = i128::from(fate.is_none());
    let swept = sweeps
        .iter()
        .any(|sweep| *sweep < pos && *sweep > attempt.start && clock.at(view, *sweep) >= due + strict);
    match (swept, fate) {
        (false, _) => Standing::Maybe,
        (true, Some(Fate::Completed(_))) => Standing::Freed,
        (true, _) => Standing::Overdue,
    }
}

/// How a completed attempt stands that is not readable any more: until its last lease is over on both clocks of the
/// master, its bytes may be kept.
fn leased(view: &View<'_>, attempt: &Attempt, clock: &MasterClock, sweeps: &[Pos], pos: Pos) -> Standing {
    let told = view.queries_over(attempt.places());
    let granted = told.filter(|frame| attempt.start < frame.pos && frame.pos < pos);
    let ends = granted.filter_map(|frame| {
        let lease = i128::from(moonquake_clock::Span::from_ms(frame.lease_ms?).ns);
        Some((
            clock.at(view, frame.pos) + lease,
            timeline(view, frame.pos) + lease,
        ))
    });
    let Some((due, due_too)) = ends.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1))) else {
        return Standing::Freed;
    };
    let over = |pos: Pos| clock.at(view, pos) >= due && timeline(view, pos) >= due_too;
    let swept = sweeps
        .iter()
        .any(|sweep| *sweep < pos && *sweep > attempt.start && over(*sweep));
    if swept { Standing::Freed } else { Standing::Maybe }
}

/// The timeline's own time at `pos`.
fn timeline(view: &View<'_>, pos: Pos) -> i128 {
    i128::from(view.at(pos).ns)
}

/// The eviction rounds that certainly swept.
fn sweeps(view: &View<'_>, clock: &MasterClock) -> Vec<Pos> {
    let release = i128::from(view.plan.world.timeouts.release.ns);
    let is_due = |now: [i128; 2], last: [i128; 2]| {
        let dues = now.into_iter().zip(last);
        dues.map(move |(now, last)| now - last > release)
    };
    let mut sweeps = Vec::new();
    // The earliest and the latest instant at which the last sweep can have been, on both clocks.
    let (mut earliest, mut latest) = ([0; 2], [0; 2]);
    for (pos, event) in view.events.iter().enumerate() {
        let master = event.actor == "master" && event.observer != Observer::Injector;
        match &event.kind {
            Kind::Actor {
                change: Change::Started,
                ..
            } if master => {
                let now = clock.both_at(view, pos);
                (earliest, latest) = (now, now);
            }
            Kind::Tick { thread } if thread == "eviction" && event.observer != Observer::Injector => {
                let now = clock.both_at(view, pos);
                if is_due(now, latest).all(|due| due) {
                    sweeps.push(pos);
                    (earliest, latest) = (now, now);
                } else if is_due(now, earliest).any(|due| due) || pressure(view, pos) {
                    latest = now;
                }
            }
            _ => {}
        }
    }
    sweeps
}

/// Whether a round at `pos` can have been one under pressure: the pool was fuller than upstream's watermark, a put had
/// found no room, or the scenario sets flags of eviction.
fn pressure(view: &View<'_>, pos: Pos) -> bool {
    let starved = view.frames.iter().any(|frame| {
        frame.pos < pos
            && frame.leg == Leg::RequestHandled
            && frame
                .code
                .is_some_and(|code| code.contains("NO_AVAILABLE_HANDLE"))
    });
    let full = view.state_before(pos).is_none_or(|(_, state)| {
        u128::from(state.allocated_bytes) * 10 > u128::from(state.capacity_bytes) * 9
    });
    starved || full || view.plan.world.flags.keys().any(|flag| flag.contains("evict"))
}
