//! From plan, evidence and rows to lanes.

use super::{FaultLine, Lanes, Point, actors, deadlines, places};
use crate::{Row, RowKind};
use moonquake_evidence::{Event, EventId, Evidence, Kind, Op};
use moonquake_scenario::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// What the lanes are made from.
pub(crate) struct Source<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) evidence: &'a Evidence,
    pub(crate) rows: &'a [Row],
    /// Events that the timeline sums up: they get no mark of their own.
    pub(crate) quiet: BTreeSet<EventId>,
    /// For each event what it shows to have failed.
    pub(crate) fails: &'a BTreeMap<EventId, Vec<String>>,
}

impl<'a> Source<'a> {
    /// The events that get a mark, in order. What came before the first step is the baseline's.
    pub(crate) fn loud(&self) -> impl Iterator<Item = &'a Event> {
        let events = &self.evidence.events;
        events
            .iter()
            .skip_while(|event| !matches!(event.kind, Kind::StepBegan { .. }))
            .filter(|event| !self.quiet.contains(&event.id))
    }

    /// The name of an operation's step.
    pub(crate) fn step_name(&self, op: Op) -> String {
        usize::try_from(op.step)
            .ok()
            .and_then(|index| self.plan.steps.get(index))
            .map(crate::words::step_name)
            .unwrap_or_default()
    }
}

pub(crate) fn point(event: &Event) -> Point {
    Point {
        at_ns: event.at.ns,
        event: event.id,
    }
}

/// Both lanes of a run.
pub(crate) fn lanes(
    plan: &Plan,
    evidence: &Evidence,
    rows: &[Row],
    fails: &BTreeMap<EventId, Vec<String>>,
) -> Lanes {
    let quiet = rows
        .iter()
        .filter(|row| matches!(row.kind, RowKind::Setup | RowKind::Background))
        .flat_map(|row| row.events.iter().copied())
        .collect();
    let source = Source {
        plan,
        evidence,
        rows,
        quiet,
        fails,
    };
    Lanes {
        actors: actors::actors(&source),
        places: places::places(&source),
        deadlines: deadlines::deadlines(&source),
        fault: fault(&source),
    }
}

fn fault(source: &Source<'_>) -> Option<FaultLine> {
    let is_injection = |event: &&Event| matches!(event.kind, Kind::Injected { .. });
    let event = source.evidence.events.iter().find(is_injection)?;
    let fault = &source.plan.fault;
    let dimension = fault.dimension.row().name;
    let text = match &fault.action {
        Some(action) => action.words(),
        None => dimension.to_owned(),
    };
    Some(FaultLine {
        at: point(event),
        target: fault.target.clone(),
        text,
    })
}
