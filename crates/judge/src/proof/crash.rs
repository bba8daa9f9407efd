//! Crash: the phase's frame is the target's last one, and somebody else saw the end of the process.

use super::phase::Done;
use super::{Gathered, actors, trigger};
use crate::view::Pos;

pub(crate) fn prove(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    let Some(death) = death(gathered, injected) else {
        return;
    };
    let back = actors::started(view, target, death).unwrap_or(view.end());
    let life = actors::sign_of_life(view, target, death, back);
    gathered.demand(
        life.is_none(),
        format!("nothing came from {target} after its end"),
        format!("{target} went on after its end"),
        life.into_iter().chain([death]),
    );
}

/// The death of the target at its phase or after its step, as the link or the observer of its process saw it.
pub(crate) fn death(gathered: &mut Gathered<'_, '_>, injected: Pos) -> Option<Pos> {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    let Some(death) = actors::killed(view, target, injected) else {
        gathered.lacks(format!("nobody but the injector saw {target} end"), [injected]);
        return None;
    };
    let last = actors::last_act(view, target, death);
    let detail = view.events[death].kind.line();
    let text = format!("{target} was seen to end: {detail}");
    gathered.saw(text, [death].into_iter().chain(last));
    trigger::struck_in_place(gathered, injected, death, Done::ToActor);
    Some(death)
}
