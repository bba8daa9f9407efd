//! Restart: the old instance ended, a new one started, and its first answers come from somebody who knows nothing.

use super::{Gathered, actors, crash};
use crate::view::Pos;
use moonquake_evidence::Leg;
use moonquake_scenario::Action;

pub(crate) fn prove(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    let Some(death) = crash::death(gathered, injected) else {
        return;
    };
    let Some(start) = actors::started(view, target, death) else {
        gathered.lacks(format!("no new instance of {target} was seen to start"), [death]);
        return;
    };
    let life = actors::sign_of_life(view, target, death, start);
    gathered.demand(
        life.is_none(),
        format!("nothing came from {target} while it was down"),
        format!("{target} went on while it was down"),
        life.into_iter().chain([death, start]),
    );
    if let Some(Action::Restart(down)) = &view.plan.fault.action {
        let was = view.at(start) - view.at(death);
        gathered.demand(
            was == *down,
            format!("a new instance of {target} started after {was}"),
            format!("{target} was down for {was} instead of {down}"),
            [death, start],
        );
    }
    first_answers(gathered, start);
}

fn first_answers(gathered: &mut Gathered<'_, '_>, start: Pos) {
    let view = gathered.view;
    let target = view.plan.fault.target.as_str();
    let first = view.frames.iter().find(|frame| {
        frame.pos > start
            && match frame.leg {
                Leg::RequestHandled => target == "master" || frame.event.actor == target,
                Leg::RequestSent => frame.event.actor == target,
                _ => false,
            }
    });
    match first {
        Some(frame) => {
            let line = frame.event.kind.line();
            gathered.saw(
                format!("the first frame of the new instance: {line}"),
                [frame.pos],
            );
        }
        None if target == "master" => {
            gathered.lacks("the new master was not seen to answer anything", [start]);
        }
        // A client that does nothing after its restart sends nothing; its closed and new connections are all there is.
        None => {}
    }
}
