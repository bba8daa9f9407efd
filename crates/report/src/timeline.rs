//! The evidence as rows for people: what belongs together becomes one row, no id is left out.

use moonquake_clock::{Clocks, Span};
use moonquake_evidence::{Event, EventId, Evidence, Kind, Leg, Op, State};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// Everything before the first step that no claim rests on.
    Setup,
    /// A step begins.
    Step,
    /// The injector says that it injects, or that it releases what it held.
    Injection,
    /// A step has its result.
    Result,
    /// One event, or a few that are one thing: a request with its answer, a transfer from open to close.
    Event,
    /// Events without news that no claim rests on: pings, clocks that move, a state that did not change.
    Background,
}

/// A row of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    /// Its events, in order.
    pub events: Vec<EventId>,
    /// The time of the first event, counted from the start in nanoseconds. Steered by the harness, never measured.
    pub at_ns: u64,
    /// The time of the last event.
    pub until_ns: u64,
    /// Whom it is about; empty where it is about several.
    pub actor: String,
    /// Who saw it; empty where several did.
    pub observer: String,
    /// What happened, as plain text.
    pub text: String,
    /// The instant that the step was planned for, as the scenario writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instant: Option<String>,
    /// The names of the steps and invariants whose failure it shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fails: Vec<String>,
    /// Whether it proves the injection.
    #[serde(skip_serializing_if = "is_false")]
    pub proves: bool,
    /// How far the actor's own clocks are off the timeline's time, where the fault steps a clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_off: Option<String>,
}

impl Row {
    /// Its time in the words of `shown`: one instant, or from the first to the last event.
    pub(crate) fn when(&self, shown: impl Fn(u64) -> String) -> String {
        if self.at_ns == self.until_ns {
            shown(self.at_ns)
        } else {
            format!("{} to {}", shown(self.at_ns), shown(self.until_ns))
        }
    }
}

/// What the rows are made with, apart from the evidence.
pub(crate) struct Context {
    /// Events that a claim rests on: these are never hidden in a summary.
    pub(crate) cited: BTreeSet<EventId>,
    /// For each event the names of what it shows to have failed.
    pub(crate) fails: BTreeMap<EventId, Vec<String>>,
    /// The events that prove the injection.
    pub(crate) proves: BTreeSet<EventId>,
    /// The name of each step and the instant it is planned for, by its index.
    pub(crate) steps: Vec<(String, Option<String>)>,
    /// The steps that are checks: what these find is told elsewhere.
    pub(crate) checks: BTreeSet<u32>,
    /// Whether to show how far an actor's clocks are off.
    pub(crate) show_clocks: bool,
}

impl Context {
    fn step(&self, index: u32) -> Option<&(String, Option<String>)> {
        self.steps.get(usize::try_from(index).ok()?)
    }

    /// The name of an operation: that of its step, and which repetition it is.
    fn name_of(&self, op: Op) -> String {
        let name = self
            .step(op.step)
            .map(|(name, _)| name.clone())
            .unwrap_or_default();
        match op.repetition {
            0 | 1 => name,
            repetition => format!("{name}, repetition {repetition}"),
        }
    }
}

/// The rows of the timeline.
pub(crate) fn rows(evidence: &Evidence, context: &Context) -> Vec<Row> {
    let events = &evidence.events;
    let first_step = events
        .iter()
        .position(|event| matches!(event.kind, Kind::StepBegan { .. }))
        .unwrap_or(events.len());
    let quiet = quiet_events(events, first_step, &context.cited);
    let clocks_off = if context.show_clocks {
        clocks_off(events)
    } else {
        BTreeMap::new()
    };
    let mut rows = Vec::new();
    let mut index = 0;
    while index < events.len() {
        let rest = &events[index..];
        let run = quiet[index..].iter().take_while(|quiet| **quiet).count();
        let setup = index < first_step;
        // A summary never reaches from the setup into the steps.
        let run = if setup { run.min(first_step - index) } else { run };
        let taken = if run > 1 {
            rows.push(summary(&rest[..run], setup, context));
            run
        } else if let Some((row, taken)) = call(rest).or_else(|| transfer(rest)) {
            rows.push(row);
            taken
        } else {
            rows.push(single(&rest[0], context, quiet[index]));
            1
        };
        if let Some(row) = rows.last_mut() {
            finish(row, context, &clocks_off);
        }
        index += taken;
    }
    rows
}

/// What the rest of the report has to say about a row.
fn finish(row: &mut Row, context: &Context, clocks_off: &BTreeMap<EventId, String>) {
    for id in &row.events {
        for name in context.fails.get(id).into_iter().flatten() {
            if !row.fails.contains(name) {
                row.fails.push(name.clone());
            }
        }
        row.proves |= context.proves.contains(id);
    }
    if !matches!(row.kind, RowKind::Setup | RowKind::Background) {
        row.clock_off = row.events.first().and_then(|id| clocks_off.get(id)).cloned();
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Which events may be summed up: no claim rests on them and they bring no news.
fn quiet_events(events: &[Event], first_step: usize, cited: &BTreeSet<EventId>) -> Vec<bool> {
    let same_again = same_again(events);
    let mut last_state: Option<&State> = None;
    let mut quiet = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        let no_news = match &event.kind {
            Kind::Injected { .. }
            | Kind::Released
            | Kind::Note { .. }
            | Kind::Sight { .. }
            | Kind::Access { .. }
            | Kind::Reused { .. } => false,
            Kind::State(state) => last_state.replace(state) == Some(state) || index < first_step,
            Kind::Advanced { .. } => true,
            _ if index < first_step => true,
            Kind::Frame { .. } if event.op.is_none() => went_well(&event.kind),
            _ => event.op.is_some_and(|op| same_again.contains(&op)) && went_well(&event.kind),
        };
        quiet.push(no_news && !cited.contains(&event.id));
    }
    quiet
}

/// A frame that arrived and says ok, or something that is no frame.
fn went_well(kind: &Kind) -> bool {
    match kind {
        Kind::Frame { leg, code, .. } => {
            let arrived = matches!(
                leg,
                Leg::RequestSent | Leg::RequestHandled | Leg::ResponseDelivered
            );
            arrived && code.as_deref().is_none_or(|code| code == "ok")
        }
        _ => true,
    }
}

/// Repetitions that end as the one before them did.
fn same_again(events: &[Event]) -> BTreeSet<Op> {
    let mut last: BTreeMap<u32, &Kind> = BTreeMap::new();
    let mut same = BTreeSet::new();
    for event in events {
        let (Some(op), Kind::StepEnded { .. }) = (event.op, &event.kind) else {
            continue;
        };
        if last.insert(op.step, &event.kind) == Some(&event.kind) && op.repetition > 1 {
            same.insert(op);
        }
    }
    same
}

fn single(event: &Event, context: &Context, quiet: bool) -> Row {
    let kind = match &event.kind {
        Kind::StepBegan { .. } => RowKind::Step,
        Kind::StepEnded { .. } => RowKind::Result,
        Kind::Injected { .. } | Kind::Released => RowKind::Injection,
        _ if quiet => RowKind::Background,
        _ => RowKind::Event,
    };
    let text = match &event.kind {
        Kind::Reused { reachable_by, .. } => reachable_by.iter().fold(event.kind.line(), |text, other| {
            let unnamed = format!("step {} ({})", other.step + 1, other.repetition);
            text.replace(&unnamed, &context.name_of(*other))
        }),
        kind => kind.line(),
    };
    let mut row = row_of(kind, std::slice::from_ref(event), text);
    let Some(op) = event.op else {
        return row;
    };
    let (name, instant) = (
        context.name_of(op),
        context.step(op.step).and_then(|(_, instant)| instant.clone()),
    );
    match kind {
        RowKind::Step => {
            row.text = format!("{name}: {}", row.text);
            row.instant = instant;
        }
        RowKind::Result if context.checks.contains(&op.step) => row.text = format!("{name} is over"),
        // An operation may end long after it began, beside others.
        RowKind::Result => row.text = format!("{name} {}", row.text),
        _ => {}
    }
    row
}

/// A request, its handling and the arrival of its answer in a row, at one instant: one row.
fn call(events: &[Event]) -> Option<(Row, usize)> {
    let leg_of = |event: &Event| match &event.kind {
        Kind::Frame { message, leg, .. } => Some((*message, *leg)),
        _ => None,
    };
    let [sent, handled, delivered, ..] = events else {
        return None;
    };
    let (message, first) = leg_of(sent)?;
    let whole = first == Leg::RequestSent
        && leg_of(handled)? == (message, Leg::RequestHandled)
        && leg_of(delivered)? == (message, Leg::ResponseDelivered)
        && sent.at == delivered.at
        && sent.op == delivered.op;
    let (
        Kind::Frame { rpc, key, .. },
        Kind::Frame {
            code: Some(handled_code),
            ..
        },
        Kind::Frame { code, ranges, .. },
    ) = (&sent.kind, &handled.kind, &delivered.kind)
    else {
        return None;
    };
    if !whole || code.as_deref() != Some(handled_code) {
        return None;
    }
    let of = key.as_ref().map(|key| format!("({key})")).unwrap_or_default();
    let given: String = ranges.iter().map(|range| format!(", {range}")).collect();
    let text = format!("{rpc}{of} is sent, handled and answered: {handled_code}{given}");
    Some((row_of(RowKind::Event, &events[..3], text), 3))
}

/// A transfer that opens, moves everything and completes in a row, at one instant: one row.
fn transfer(events: &[Event]) -> Option<(Row, usize)> {
    let [opened, moved, closed, ..] = events else {
        return None;
    };
    let (
        Kind::TransferOpened {
            transfer,
            write,
            range,
            buffer,
            ..
        },
        Kind::Payload {
            transfer: moved_by,
            first_part: 1,
            last_part,
            parts,
            ..
        },
        Kind::TransferClosed {
            transfer: closed_one,
            how,
        },
    ) = (&opened.kind, &moved.kind, &closed.kind)
    else {
        return None;
    };
    if moved_by != transfer || closed_one != transfer || last_part != parts || opened.at != closed.at {
        return None;
    }
    let verb = if *write { "writes" } else { "reads" };
    let buffer = buffer
        .as_ref()
        .map(|name| format!(" with buffer {name}"))
        .unwrap_or_default();
    let text = format!("transfer {transfer} {verb} {range}{buffer}, {parts} of {parts} parts: {how}");
    Some((row_of(RowKind::Event, &events[..3], text), 3))
}

fn row_of(kind: RowKind, events: &[Event], text: String) -> Row {
    let same = |name: fn(&Event) -> &str| {
        let mut names = events.iter().map(name);
        let first = names.next().unwrap_or_default();
        if names.all(|other| other == first) {
            first.to_owned()
        } else {
            String::new()
        }
    };
    let actor = match kind {
        RowKind::Setup | RowKind::Background => same(|event| event.actor.as_str()),
        // A call and a transfer are about the actor that began them.
        _ => events
            .first()
            .map(|event| event.actor.clone())
            .unwrap_or_default(),
    };
    Row {
        kind,
        events: events.iter().map(|event| event.id).collect(),
        at_ns: events.first().map_or(0, |event| event.at.ns),
        until_ns: events.last().map_or(0, |event| event.at.ns),
        actor,
        observer: same(|event| event.observer.name()),
        text,
        instant: None,
        fails: Vec::new(),
        proves: false,
        clock_off: None,
    }
}

/// Many events in one line: repetitions by their result, frames by RPC, moved clocks by their sum, the rest by count.
fn summary(events: &[Event], setup: bool, context: &Context) -> Row {
    let mut ended: BTreeMap<(u32, &str), usize> = BTreeMap::new();
    let mut frames: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut moved, mut states, mut others) = (Span::ZERO, 0_usize, 0_usize);
    for event in events {
        match (&event.kind, event.op) {
            (Kind::StepEnded { outcome, .. }, Some(op)) => {
                *ended.entry((op.step, outcome)).or_default() += 1;
            }
            (Kind::Frame { rpc, .. }, _) => *frames.entry(rpc).or_default() += 1,
            (Kind::Advanced { by }, _) => moved = moved + *by,
            (Kind::State(_), _) => states += 1,
            (Kind::StepBegan { .. }, _) => {}
            _ => others += 1,
        }
    }
    let mut parts: Vec<String> = Vec::new();
    for ((step, outcome), times) in &ended {
        let name = context.step(*step).map_or("a step", |(name, _)| name.as_str());
        parts.push(format!(
            "{name} ends with {outcome} {}",
            counted(*times, "more time")
        ));
    }
    for (rpc, frames) in &frames {
        parts.push(format!("{} of {rpc}", counted(*frames, "frame")));
    }
    match (setup, states) {
        (_, 0) => {}
        (true, states) => parts.push(counted(states, "state")),
        (false, _) => parts.push("the same state".to_owned()),
    }
    if others > 0 {
        parts.push(counted(others, "other event"));
    }
    if moved > Span::ZERO {
        parts.push(format!("all clocks move by {moved}"));
    }
    let kind = if setup {
        RowKind::Setup
    } else {
        RowKind::Background
    };
    row_of(kind, events, parts.join(", "))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// For each event how far its actor's clocks are off, where they are: both clocks are compared with those of the same
/// actor's first event, and with the time that has passed on the timeline.
fn clocks_off(events: &[Event]) -> BTreeMap<EventId, String> {
    let mut origins: BTreeMap<&str, (Span, Clocks)> = BTreeMap::new();
    let mut off = BTreeMap::new();
    for event in events {
        let (at, origin) = *origins.entry(&event.actor).or_insert((event.at, event.clocks));
        let passed = i128::from(event.at.ns) - i128::from(at.ns);
        let wall = i128::from(event.clocks.realtime.0) - i128::from(origin.realtime.0) - passed;
        let monotonic = i128::from(event.clocks.monotonic.0) - i128::from(origin.monotonic.0) - passed;
        let parts: Vec<String> = [("wall", wall), ("monotonic", monotonic)]
            .into_iter()
            .filter(|(_, by)| *by != 0)
            .map(|(name, by)| {
                let sign = if by < 0 { '-' } else { '+' };
                let length = Span::from_ns(u64::try_from(by.unsigned_abs()).unwrap_or(u64::MAX));
                format!("{name} {sign}{length}")
            })
            .collect();
        if !parts.is_empty() {
            off.insert(event.id, parts.join(", "));
        }
    }
    off
}
