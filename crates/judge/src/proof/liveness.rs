//! Liveness: the target pinged, and then did not, for longer than a ping takes to come; or the master handled calls, and
//! then did not.

use super::phase::Done;
use super::{Gathered, actors, trigger};
use crate::view::{Pos, View};
use moonquake_clock::{DeadlineId, Length, Span};
use moonquake_evidence::{Change, Kind, Leg, Observer};
use moonquake_scenario::{Verb, What};

pub(crate) fn prove(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    trigger::struck_in_place(gathered, injected, injected, Done::ToActor);
    let until = frozen_until(view, injected);
    if target == "master" {
        return master(gathered, injected, until);
    }
    let pings = actors::pings(view, target, injected);
    let Some(last) = pings.last().copied() else {
        gathered.lacks(
            format!("{target} was never seen to ping, so its silence shows nothing"),
            [injected],
        );
        return;
    };
    let life = actors::sign_of_life(view, target, injected, until);
    let period = ping_period();
    // An absence shows something only in a log that goes on: the link must have seen somebody once a ping was overdue.
    let watched = view.frames.iter().find(|frame| {
        frame.pos > injected && (frame.pos > until || view.at(frame.pos) - view.at(last) > period)
    });
    let over = watched.map_or(injected, |frame| frame.pos.min(until));
    let silent = view.at(over) - view.at(last);
    let quiet = gathered.demand(
        life.is_none() && watched.is_some(),
        format!("{target} pinged before, and nothing came from it for {silent} at least"),
        if life.is_some() {
            format!("{target} was not silent")
        } else {
            "the link saw nobody once a ping was overdue".to_owned()
        },
        [last]
            .into_iter()
            .chain(life)
            .chain(watched.map(|frame| frame.pos)),
    );
    if quiet && silent <= period && !expired(view, target, injected, until) {
        let text = format!("{silent} of silence is not longer than the {period} between two pings");
        gathered.lacks(text, [last]);
    }
}

/// The master pings nobody: it handled calls before, and while it stood still one was sent to it and waited.
fn master(gathered: &mut Gathered<'_, '_>, injected: Pos, until: Pos) {
    let view = gathered.view;
    let handled = |from: Pos, to: Pos| {
        view.frames
            .iter()
            .rev()
            .find(move |frame| frame.leg == Leg::RequestHandled && from <= frame.pos && frame.pos < to)
            .map(|frame| frame.pos)
    };
    let before = handled(0, injected);
    let life = handled(injected, until);
    let still = view
        .changes(target_of(view))
        .find(|(pos, change)| *pos > injected && *change == Change::Frozen)
        .map(|(pos, _)| pos);
    let waited = view
        .frames
        .iter()
        .find(|frame| frame.leg == Leg::RequestSent && injected < frame.pos && frame.pos < until)
        .map(|frame| frame.pos)
        .or_else(|| unanswered(view, injected, until));
    let missing = if life.is_some() {
        "the master handled a call while it should have stood still"
    } else if still.is_none() {
        "nobody saw the master stop"
    } else if waited.is_none() {
        "nobody was seen to wait for the master while it stood still, so its silence shows nothing"
    } else {
        "the master was never seen to handle a call, so its silence shows nothing"
    };
    gathered.demand(
        before.is_some() && life.is_none() && still.is_some() && waited.is_some(),
        "the master handled calls before, stopped, and let one wait that was due then",
        missing,
        before.into_iter().chain(still).chain(waited).chain(life),
    );
}

/// A ping that was due while the master stood still, and was handled when it went on. The link does not note when a ping
/// that is simply answered was sent; but a node pings in each period, and none was handled for longer than that.
fn unanswered(view: &View<'_>, injected: Pos, until: Pos) -> Option<Pos> {
    let resumed = (until < view.end()).then(|| view.at(until))?;
    let nodes = view.plan.world.segments.iter().map(|(node, _)| node);
    nodes
        .filter_map(|node| {
            let last = *actors::pings(view, node, injected).last()?;
            let later = actors::pings(view, node, view.end());
            let next = later.into_iter().find(|pos| *pos >= until)?;
            (resumed - view.at(last) > ping_period() && view.at(next) == resumed).then_some(next)
        })
        .min()
}

fn target_of<'a>(view: &View<'a>) -> &'a str {
    view.plan.fault.target.as_str()
}

/// The end of a freeze or hold: where the injector says that it lets go, where a step `resume` began, or the end.
pub(crate) fn frozen_until(view: &View<'_>, injected: Pos) -> Pos {
    let released = view.released(injected);
    let resumed = (injected..view.end()).find(|pos| {
        let event = &view.events[*pos];
        event.observer == Observer::Timeline
            && matches!(event.kind, Kind::StepBegan { .. })
            && event
                .op
                .and_then(|op| view.step(op))
                .is_some_and(|step| matches!(&step.what, What::Do(action) if action.verb == Verb::Resume))
    });
    released.into_iter().chain(resumed).min().unwrap_or(view.end())
}

fn ping_period() -> Span {
    match DeadlineId::Ping.row().length {
        Length::FixedNs(ns) => Span::from_ns(ns),
        _ => Span::ZERO,
    }
}

/// Whether the master took the node for dead while it was silent.
fn expired(view: &View<'_>, target: &str, from: Pos, to: Pos) -> bool {
    let mounted_before = view
        .state_before(from)
        .is_some_and(|(_, state)| state.segments.contains_key(target));
    mounted_before
        && view
            .states
            .iter()
            .any(|(pos, state)| from < *pos && *pos < to && !state.segments.contains_key(target))
}
