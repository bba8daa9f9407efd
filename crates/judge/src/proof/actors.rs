//! Signs of life and death of an actor, as others see them.

use crate::rpc;
use crate::view::{Pos, View};
use moonquake_evidence::{Change, Kind, Leg, Observer};

/// Where somebody saw the actor die, after `from`.
pub(crate) fn killed<'a>(view: &View<'a>, actor: &'a str, from: Pos) -> Option<Pos> {
    view.changes(actor)
        .find(|(pos, change)| *pos > from && *change == Change::Killed)
        .map(|(pos, _)| pos)
}

/// Where a new instance of the actor started, after `from`.
pub(crate) fn started(view: &View<'_>, actor: &str, from: Pos) -> Option<Pos> {
    (from..view.end()).skip(1).find(|pos| {
        let event = &view.events[*pos];
        event.actor == actor
            && event.observer != Observer::Injector
            && matches!(
                event.kind,
                Kind::Actor {
                    change: Change::Started,
                    ..
                }
            )
    })
}

/// The first sign of life of the actor in `(from, to)`: a request that leaves it, a ping that arrives, bytes that it
/// moves or that move in its segment; for the master a request that it handles.
pub(crate) fn sign_of_life(view: &View<'_>, actor: &str, from: Pos, to: Pos) -> Option<Pos> {
    let within = |pos: Pos| from < pos && pos < to;
    let frame = view.frames.iter().find(|frame| {
        let own = frame.event.actor == actor;
        within(frame.pos)
            && match frame.leg {
                Leg::RequestSent => own,
                Leg::RequestHandled => actor == "master" || (own && rpc::is_ping(frame.rpc)),
                _ => false,
            }
    });
    let moved = view
        .landed()
        .into_iter()
        .find(|landed| within(landed.pos) && (landed.event.actor == actor || landed.range.segment == actor));
    let places = [frame.map(|frame| frame.pos), moved.map(|landed| landed.pos)];
    places.into_iter().flatten().min()
}

/// The pings of an actor before `to`, latest last. Of a ping that is simply answered the link may note its handling
/// alone.
pub(crate) fn pings(view: &View<'_>, actor: &str, to: Pos) -> Vec<Pos> {
    let pings = view
        .frames
        .iter()
        .filter(|frame| frame.pos < to && frame.event.actor == actor && rpc::is_ping(frame.rpc));
    pings.map(|frame| frame.pos).collect()
}

/// The last frame or payload of an actor before `to`.
pub(crate) fn last_act(view: &View<'_>, actor: &str, to: Pos) -> Option<Pos> {
    let frame = view
        .frames
        .iter()
        .rev()
        .find(|frame| frame.pos < to && frame.event.actor == actor);
    let moved = view
        .landed()
        .into_iter()
        .rev()
        .find(|landed| landed.pos < to && landed.event.actor == actor);
    [frame.map(|frame| frame.pos), moved.map(|landed| landed.pos)]
        .into_iter()
        .flatten()
        .max()
}
