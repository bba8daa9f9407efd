//! Proving the injection: what observers other than the injector saw of it.
//!
//! The injector's own events are claims. They tell the proofs where to look and nothing more; every statement of a
//! proof rests on the frame log, the owner's log, the state of the master, a clock read back or the end of a process.

mod actors;
mod clock;
mod crash;
mod data;
mod lease;
mod liveness;
mod network;
pub(crate) mod phase;
mod pressure;
mod progress;
mod restart;
mod stimulus;
mod trigger;

use crate::judgement::Proof;
use crate::view::{Pos, View};
use moonquake_evidence::{Kind, Observer};
use moonquake_faults::Dimension;
use moonquake_scenario::Trigger;

/// Gathers what was seen and what is missing.
pub(crate) struct Gathered<'v, 'a> {
    pub(crate) view: &'v View<'a>,
    seen: Vec<(String, Vec<Pos>)>,
    missing: Vec<(String, Vec<Pos>)>,
}

impl Gathered<'_, '_> {
    /// Another observer saw this.
    pub(crate) fn saw(&mut self, text: impl Into<String>, places: impl IntoIterator<Item = Pos>) {
        self.seen.push((text.into(), places.into_iter().collect()));
    }

    /// This should have been seen and was not.
    pub(crate) fn lacks(&mut self, text: impl Into<String>, places: impl IntoIterator<Item = Pos>) {
        self.missing.push((text.into(), places.into_iter().collect()));
    }

    /// Seen if `holds`, else missing.
    pub(crate) fn demand(
        &mut self,
        holds: bool,
        seen: impl Into<String>,
        missing: impl Into<String>,
        places: impl IntoIterator<Item = Pos>,
    ) -> bool {
        if holds {
            self.saw(seen, places);
        } else {
            self.lacks(missing, places);
        }
        holds
    }
}

/// Proves the injection of the plan's fault, or says what is missing.
pub(crate) fn prove(view: &View<'_>) -> Proof {
    let mut gathered = Gathered {
        view,
        seen: Vec::new(),
        missing: Vec::new(),
    };
    let injected = view.injected();
    match view.plan.fault.trigger {
        Trigger::At { .. } | Trigger::After(_) => match injected {
            Some(pos) => by_dimension(&mut gathered, pos),
            None => trigger::never_reached(&mut gathered),
        },
        Trigger::Deadline(ref instant) => lease::deadline(&mut gathered, instant),
        Trigger::Steps(ref steps) => match view.plan.fault.dimension {
            Dimension::Pressure => pressure::prove(&mut gathered, steps),
            _ => stimulus::prove(&mut gathered, steps),
        },
    }
    trigger::steps_ran(&mut gathered);
    finish(gathered, injected)
}

fn by_dimension(gathered: &mut Gathered<'_, '_>, injected: Pos) {
    trigger::claim_fits(gathered, injected);
    match gathered.view.plan.fault.dimension {
        Dimension::Crash => crash::prove(gathered, injected),
        Dimension::Lease => lease::across(gathered, injected),
        Dimension::Clock => clock::prove(gathered, injected),
        Dimension::Liveness => liveness::prove(gathered, injected),
        Dimension::Network => network::prove(gathered, injected),
        Dimension::Restart => restart::prove(gathered, injected),
        Dimension::Buffer => data::buffer(gathered, injected),
        Dimension::Race => network::race(gathered, injected),
        // Their only trigger is `step`; a plan that says otherwise has nothing that could be proven.
        Dimension::Pressure | Dimension::Misuse => {
            gathered.lacks("this dimension has no injection at a phase", [injected]);
        }
    }
}

fn finish(gathered: Gathered<'_, '_>, injected: Option<Pos>) -> Proof {
    let view = gathered.view;
    let mut by: Vec<Observer> = gathered
        .seen
        .iter()
        .flat_map(|(_, places)| places)
        .filter_map(|pos| view.events.get(*pos))
        .map(|event| event.observer)
        .filter(|observer| !matches!(observer, Observer::Injector | Observer::Timeline))
        .collect();
    by.sort_unstable();
    by.dedup();
    let cite = |list: Vec<(String, Vec<Pos>)>| {
        list.into_iter()
            .map(|(text, places)| view.cited(text, places))
            .collect::<Vec<_>>()
    };
    let mut missing = cite(gathered.missing);
    if missing.is_empty() && by.is_empty() {
        missing.push(view.cited(
            "no observer but the injector and the timeline saw the injection",
            injected,
        ));
    }
    Proof {
        proven: missing.is_empty(),
        claimed: injected.map(|pos| view.cited(claim_words(view, pos), [pos])),
        seen: cite(gathered.seen),
        missing,
        by,
    }
}

fn claim_words(view: &View<'_>, pos: Pos) -> String {
    let event = &view.events[pos];
    match &event.kind {
        kind @ Kind::Injected { .. } => format!("{}: {}", event.actor, kind.line()),
        _ => "the injector claims an injection".to_owned(),
    }
}

/// Where somebody other than the injector saw the actor die, after `from`.
pub(crate) fn death_of<'a>(view: &View<'a>, actor: &'a str, from: Pos) -> Option<Pos> {
    actors::killed(view, actor, from)
}
