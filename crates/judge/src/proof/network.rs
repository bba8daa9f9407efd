//! Network and race: what became of one message, on both sides of the link.

use super::liveness::frozen_until;
use super::phase::Done;
use super::progress::Progress;
use super::{Gathered, data, trigger};
use crate::rpc;
use crate::view::{Frame, Pos, View};
use moonquake_evidence::{Kind, Leg, Observer, Op};
use moonquake_faults::Moment;
use moonquake_protocol::ErrorCode;
use moonquake_scenario::{Action, Trigger};
use std::collections::BTreeSet;

pub(crate) fn prove(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    if let Some((op, progress)) = trigger::struck_in_place(gathered, injected, injected, Done::ToMessage) {
        effect(gathered, injected, op, &progress);
    }
}

/// Race: the same, and another request overtook the message.
pub(crate) fn race(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let struck = trigger::struck_in_place(gathered, injected, injected, Done::ToMessage);
    let Some((op, progress)) = struck else { return };
    effect(gathered, injected, op, &progress);
    if gathered.view.plan.fault.action == Some(Action::Duplicate) {
        return;
    }
    let Some(message) = Message::struck(gathered.view, &progress) else {
        return;
    };
    overtaken(gathered, injected, &message);
}

/// What the action must have done to the message or the stream at its phase.
pub(crate) fn effect(gathered: &mut Gathered<'_, '_>, injected: Pos, op: Op, progress: &Progress) {
    let fault = &gathered.view.plan.fault;
    let Some(action) = &fault.action else { return };
    let message = Message::struck(gathered.view, progress);
    match (action, message) {
        (Action::Rate(rate), _) => data::rate(gathered, injected, op, *rate),
        (_, Some(message)) => on_message(gathered, injected, &message, action),
        (_, None) => data::on_stream(gathered, injected, op, progress, action),
    }
}

/// The message at the phase of the fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    number: u64,
    /// Whether it is the request that was struck, and not the response.
    request: bool,
}

impl Message {
    /// The message of the phase at which the fault struck; none if that phase has none.
    pub(crate) fn struck(view: &View<'_>, progress: &Progress) -> Option<Message> {
        let Trigger::At { phase, .. } = &view.plan.fault.trigger else {
            return None;
        };
        let request = match phase.row().moment {
            Moment::Sent => true,
            Moment::Response => false,
            Moment::Before | Moment::Part | Moment::Done => return None,
        };
        let number = progress.call(*phase)?.message;
        Some(Message { number, request })
    }

    /// Where the message arrived after `from`.
    fn arrival<'v, 'a>(&self, view: &'v View<'a>, from: Pos) -> Option<&'v Frame<'a>> {
        let request = self.request;
        view.message(self.number).find(|frame| {
            frame.pos > from
                && match frame.leg {
                    Leg::RequestHandled => request,
                    Leg::ResponseDelivered | Leg::ResponseUndeliverable => !request,
                    _ => false,
                }
        })
    }

    /// Where it was seen to be lost, or its connection to close, after `from`.
    fn fate(&self, view: &View<'_>, from: Pos, legs: &[Leg]) -> Option<Pos> {
        view.message(self.number)
            .find(|frame| frame.pos > from && legs.contains(&frame.leg))
            .map(|frame| frame.pos)
    }

    /// Where it was last seen before `to`.
    fn last_seen(&self, view: &View<'_>, to: Pos) -> Option<Pos> {
        view.message(self.number)
            .filter(|frame| frame.pos < to)
            .last()
            .map(|frame| frame.pos)
    }
}

fn on_message(gathered: &mut Gathered<'_, '_>, injected: Pos, message: &Message, action: &Action) {
    let view = gathered.view;
    let side = if message.request {
        "the request"
    } else {
        "the response"
    };
    let lost = &[Leg::RequestLost, Leg::ResponseLost];
    match action {
        Action::Hold => held(gathered, injected, message, side),
        Action::Drop | Action::Error(ErrorCode::RpcTimeout) => {
            gone(gathered, injected, message, side, lost, "was lost")
        }
        Action::Cut | Action::Error(ErrorCode::RpcFail) => {
            gone(gathered, injected, message, side, &[Leg::Closed], "was cut off");
        }
        Action::Delay(by) => {
            let arrival = message.arrival(view, injected).map(|frame| frame.pos);
            let late = arrival.map(|pos| view.at(pos) - view.at(injected));
            let words = late.map_or_else(|| "never".to_owned(), |late| format!("{late} later"));
            gathered.demand(
                late == Some(*by),
                format!("{side} arrived {words}"),
                format!("{side} arrived {words}, not {by} later"),
                message.last_seen(view, injected).into_iter().chain(arrival),
            );
        }
        Action::Duplicate => twice(gathered, message),
        Action::Error(code) => answered_with(gathered, injected, message, &code.to_string()),
        Action::Kill | Action::Freeze | Action::Restart(_) | Action::Rate(_) | Action::ClockStep { .. } => {
            gathered.lacks("the action is not one that is done to a message", [injected]);
        }
    }
}

fn gone(
    gathered: &mut Gathered<'_, '_>,
    injected: Pos,
    message: &Message,
    side: &str,
    legs: &[Leg],
    how: &str,
) {
    let view = gathered.view;
    let fate = message.fate(view, injected, legs);
    let arrival = message.arrival(view, injected).map(|frame| frame.pos);
    let left = message.last_seen(view, injected);
    gathered.demand(
        fate.is_some() && arrival.is_none(),
        format!("{side} left one side and {how} before the other"),
        if arrival.is_some() {
            format!("{side} arrived")
        } else {
            format!("nobody saw that {side} {how}")
        },
        left.into_iter().chain(fate).chain(arrival),
    );
}

fn held(gathered: &mut Gathered<'_, '_>, injected: Pos, message: &Message, side: &str) {
    let view = gathered.view;
    let until = frozen_until(view, injected);
    let arrival = message.arrival(view, injected).map(|frame| frame.pos);
    let waited = arrival.is_none_or(|pos| pos > until);
    let left = message.last_seen(view, injected);
    let steps = view.next_step(injected) < until;
    // An absence shows something only in a log that goes on.
    let watched = view.seen_by(Observer::Link, injected);
    let missing = if !waited {
        format!("{side} was not held")
    } else if !steps {
        format!("nothing happened while {side} was held")
    } else {
        "the link was not seen after the injection".to_owned()
    };
    gathered.demand(
        waited && steps && watched.is_some(),
        format!("{side} left one side and did not arrive until it was let go"),
        missing,
        left.into_iter().chain(arrival).chain(watched),
    );
}

/// The master handled the request twice, the second time right after the first.
fn twice(gathered: &mut Gathered<'_, '_>, message: &Message) {
    let view = gathered.view;
    let leg = if message.request {
        Leg::RequestHandled
    } else {
        Leg::ResponseDelivered
    };
    let sights: Vec<Pos> = view
        .message(message.number)
        .filter(|f| f.leg == leg)
        .map(|f| f.pos)
        .collect();
    let right_after = match sights.as_slice() {
        [first, second, ..] => !view
            .frames
            .iter()
            .any(|f| f.leg == leg && *first < f.pos && f.pos < *second),
        _ => false,
    };
    gathered.demand(
        right_after,
        "the message arrived twice in a row",
        "the message did not arrive twice in a row",
        sights,
    );
}

/// The client was answered with the code, which is not the master's own.
fn answered_with(gathered: &mut Gathered<'_, '_>, injected: Pos, message: &Message, code: &str) {
    let view = gathered.view;
    let own = view.leg(message.number, Leg::RequestHandled);
    let told = view
        .message(message.number)
        .find(|frame| frame.pos > injected && frame.leg == Leg::ResponseDelivered);
    let foreign = own.is_none_or(|own| own.code != Some(code)) && !(message.request && own.is_some());
    let right = told.is_some_and(|told| told.code == Some(code)) && foreign;
    gathered.demand(
        right,
        format!("the client was answered with {code}, which the master did not say"),
        format!("nobody saw the client answered with {code} in the master's place"),
        told.into_iter().chain(own).map(|frame| frame.pos),
    );
}

/// The keys of a call.
fn keys<'a>(view: &View<'a>, frame: &Frame<'a>) -> impl Iterator<Item = String> + use<'a> {
    rpc::entries(view, frame).into_iter().map(|entry| entry.key)
}

/// A request on the same key that left later was handled while the message waited.
fn overtaken(gathered: &mut Gathered<'_, '_>, injected: Pos, message: &Message) {
    let view = gathered.view;
    let Some(arrival) = message.arrival(view, injected).map(|frame| frame.pos) else {
        gathered.lacks("the message never arrived, so no order was seen", [injected]);
        return;
    };
    // The keys of a batch are told with its answers.
    let own: BTreeSet<String> = view
        .message(message.number)
        .flat_map(|frame| keys(view, frame))
        .collect();
    let other = view.frames.iter().find(|frame| {
        let left = view.leg(frame.message, Leg::RequestSent).map(|sent| sent.pos);
        frame.leg == Leg::RequestHandled
            && frame.message != message.number
            && injected < frame.pos
            && frame.pos < arrival
            && left.is_some_and(|left| left > injected)
            && (own.is_empty() || keys(view, frame).any(|key| own.contains(&key)))
    });
    match other {
        Some(other) => {
            let line = other.event.kind.line();
            gathered.saw(
                format!("a later request overtook it: {line}"),
                [other.pos, arrival],
            );
        }
        None => gathered.lacks("no later request was handled before it", [injected, arrival]),
    }
}

/// Whether the timeline went on in `(from, to)`.
pub(crate) fn went_on(view: &View<'_>, from: Pos, to: Pos) -> bool {
    (from + 1..to.min(view.end())).any(|pos| {
        let event = &view.events[pos];
        let step = event.observer == Observer::Timeline && matches!(event.kind, Kind::StepBegan { .. });
        step || event.at > view.at(from)
    })
}
