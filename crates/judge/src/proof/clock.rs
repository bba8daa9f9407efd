//! Clock: the target's own clock, read back, jumped by exactly the step; everybody else's did not move.

use super::phase::Done;
use super::{Gathered, trigger};
use crate::view::{Pos, View};
use moonquake_clock::{Clocks, Domain, Span};
use moonquake_evidence::{Kind, Observer};
use moonquake_scenario::Action;
use std::collections::BTreeSet;

/// By how much both clocks of an actor are ahead of the timeline, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    pub(crate) realtime_ns: i128,
    pub(crate) monotonic_ns: i128,
}

impl Ahead {
    fn of(view: &View<'_>, pos: Pos, clocks: Clocks) -> Ahead {
        let at = i128::from(view.at(pos).ns);
        Ahead {
            realtime_ns: i128::from(clocks.realtime.0) - at,
            monotonic_ns: i128::from(clocks.monotonic.0) - at,
        }
    }
}

/// The reading of an actor's clocks at a place, if that event is one. What the injector says is none.
fn reading(view: &View<'_>, actor: &str, pos: Pos) -> Option<Ahead> {
    let event = view.events.get(pos)?;
    match event.kind {
        Kind::ClockRead { realtime, monotonic }
            if event.observer == Observer::Clock && event.actor == actor =>
        {
            Some(Ahead::of(view, pos, Clocks { realtime, monotonic }))
        }
        _ => None,
    }
}

/// How far ahead an actor's clocks were before `to`. A reading is what the process itself last saw, which may be a
/// while ago; so the furthest one counts. An actor that was never read counts by the clocks of its own frames.
pub(crate) fn ahead_before(view: &View<'_>, actor: &str, to: Pos) -> Option<(Ahead, Pos)> {
    let furthest = |all: &mut dyn Iterator<Item = (Ahead, Pos)>| {
        all.reduce(|best, next| {
            if next.0.realtime_ns > best.0.realtime_ns {
                next
            } else {
                best
            }
        })
    };
    let to = to.min(view.end());
    let read = furthest(&mut (0..to).filter_map(|pos| Some((reading(view, actor, pos)?, pos))));
    read.or_else(|| {
        let own = (0..to).filter(|pos| {
            let event = &view.events[*pos];
            event.actor == actor && matches!(event.observer, Observer::Link | Observer::Owner)
        });
        furthest(&mut own.map(|pos| (Ahead::of(view, pos, view.events[pos].clocks), pos)))
    })
}

/// The first reading of an actor's clocks in `(from, to)`.
pub(crate) fn read_between(view: &View<'_>, actor: &str, from: Pos, to: Pos) -> Option<(Ahead, Pos)> {
    (from + 1..to.min(view.end())).find_map(|pos| Some((reading(view, actor, pos)?, pos)))
}

pub(crate) fn prove(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    let Some(Action::ClockStep { by_ns, clock }) = view.plan.fault.action else {
        gathered.lacks("the plan steps no clock", [injected]);
        return;
    };
    trigger::struck_in_place(gathered, injected, injected, Done::ToActor);
    let next = view.next_step(injected);
    let Some((before, was)) = ahead_before(view, target, injected) else {
        gathered.lacks(
            format!("the clocks of {target} were not read before the injection"),
            [injected],
        );
        return;
    };
    let Some((after, now)) = read_between(view, target, injected, next) else {
        gathered.lacks(
            format!("the clocks of {target} were not read back before the next step"),
            [injected],
        );
        return;
    };
    let by = i128::from(by_ns);
    let (wall, monotonic) = (
        after.realtime_ns - before.realtime_ns,
        after.monotonic_ns - before.monotonic_ns,
    );
    let right = match clock {
        Domain::Realtime => (wall, monotonic) == (by, 0),
        Domain::Monotonic => (wall, monotonic) == (0, by),
    };
    let moved = format!("{} (wall) and {} (monotonic)", signed(wall), signed(monotonic));
    gathered.demand(
        right,
        format!("{target}'s own clocks moved by {moved} against the timeline"),
        format!("{target}'s own clocks moved by {moved} instead of {}", signed(by)),
        [was, now],
    );
    others(gathered, injected, next);
}

/// A signed length of time.
fn signed(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    let length = Span::from_ns(u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX));
    format!("{sign}{length}")
}

/// Everybody else whose clocks were read after the injection stands where they stood; somebody must have been read.
fn others(gathered: &mut Gathered<'_, '_>, injected: Pos, next: Pos) {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    let names: BTreeSet<&str> = view.events[injected.min(view.end())..next.min(view.end())]
        .iter()
        .filter(|event| event.observer == Observer::Clock && event.actor != target)
        .map(|event| event.actor.as_str())
        .collect();
    if names.is_empty() {
        gathered.lacks("nobody else's clock was read after the injection", [injected]);
    }
    for name in names {
        let Some((after, now)) = read_between(view, name, injected, next) else {
            continue;
        };
        // Before anybody moves a clock alone, all actors share both clocks; so the target's old reading serves for an
        // actor that had done nothing yet.
        let before = ahead_before(view, name, injected).or_else(|| ahead_before(view, target, injected));
        let Some((before, was)) = before else { continue };
        gathered.demand(
            after == before,
            format!("the clocks of {name} did not move"),
            format!("the clocks of {name} moved too"),
            [was, now],
        );
    }
}

/// Whether every frame of an actor shows clocks that far ahead of the timeline.
pub(crate) fn own_frames_agree(view: &View<'_>, actor: &str, ahead: Ahead) -> bool {
    let frames = view.frames.iter().filter(|frame| frame.event.actor == actor);
    frames
        .map(|frame| Ahead::of(view, frame.pos, frame.event.clocks))
        .all(|own| own == ahead)
}
