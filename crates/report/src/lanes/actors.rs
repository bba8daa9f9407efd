//! What each actor did.

use super::build::{Source, point};
use super::{ActorLane, Change, Message, Operation, Role, Stretch, Transfer};
use crate::RowKind;
use moonquake_evidence::{Event, Kind, Leg, Observer, Op};
use moonquake_faults::Dimension;
use moonquake_scenario::{Action, Step, What};
use std::collections::BTreeMap;

/// The lane of the timeline itself.
const TIMELINE: &str = "checks";

/// The lanes: the timeline's own looks, the master, the clients, the nodes. One that did nothing has none.
pub(super) fn actors(source: &Source<'_>) -> Vec<ActorLane> {
    let world = &source.plan.world;
    let mut lanes = vec![lane(TIMELINE, Role::Timeline), lane("master", Role::Master)];
    lanes.extend(world.clients.iter().map(|name| lane(name, Role::Client)));
    lanes.extend(world.segments.iter().map(|(name, _)| lane(name, Role::Node)));
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (index, lane) in lanes.iter().enumerate() {
        places.entry(lane.name.clone()).or_insert(index);
    }
    operations(source, &places, &mut lanes);
    messages(source, &places, &mut lanes);
    transfers(source, &places, &mut lanes);
    changes(source, &places, &mut lanes);
    background(source, &places, &mut lanes);
    lanes.retain(|lane| lane.role != Role::Timeline || !lane.operations.is_empty());
    lanes
}

fn lane(name: &str, role: Role) -> ActorLane {
    ActorLane {
        name: name.to_owned(),
        role,
        operations: Vec::new(),
        messages: Vec::new(),
        transfers: Vec::new(),
        changes: Vec::new(),
        background: Vec::new(),
    }
}

type Places = BTreeMap<String, usize>;

fn step<'a>(source: &Source<'a>, op: Op) -> Option<&'a Step> {
    source.plan.steps.get(usize::try_from(op.step).ok()?)
}

fn operations(source: &Source<'_>, places: &Places, lanes: &mut [ActorLane]) {
    // Which lane and which place in it each running operation has.
    let mut open: BTreeMap<Op, (usize, usize)> = BTreeMap::new();
    for event in source.loud() {
        let Some(op) = event.op else { continue };
        match &event.kind {
            Kind::StepBegan { text } => {
                let what = step(source, op).map(|step| &step.what);
                let tick = matches!(what, Some(What::Tick(_)));
                let own = match what {
                    Some(What::Check(_) | What::Await { .. }) => TIMELINE,
                    _ => event.actor.as_str(),
                };
                let Some(&place) = places.get(own) else { continue };
                open.insert(op, (place, lanes[place].operations.len()));
                lanes[place].operations.push(Operation {
                    step: source.step_name(op),
                    text: text.clone(),
                    repetition: op.repetition,
                    began: point(event),
                    ended: None,
                    outcome: String::new(),
                    failed: false,
                    tick,
                });
            }
            Kind::StepEnded { outcome, .. } => {
                let Some((place, index)) = open.remove(&op) else {
                    continue;
                };
                let operation = &mut lanes[place].operations[index];
                operation.ended = Some(point(event));
                operation.outcome = outcome.clone();
            }
            _ => {}
        }
    }
    for operation in lanes.iter_mut().flat_map(|lane| &mut lane.operations) {
        let ids = [Some(operation.began.event), operation.ended.map(|at| at.event)];
        operation.failed = ids
            .into_iter()
            .flatten()
            .filter_map(|id| source.fails.get(&id))
            .any(|names| names.contains(&operation.step));
    }
}

fn messages(source: &Source<'_>, places: &Places, lanes: &mut [ActorLane]) {
    let mut known: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for event in source.loud() {
        let Kind::Frame {
            message,
            leg,
            rpc,
            key,
            code,
            ..
        } = &event.kind
        else {
            continue;
        };
        let Some(&place) = places.get(&event.actor) else {
            continue;
        };
        // In a projected record every message has the number 0: then a request begins a new one.
        let fresh = *leg == Leg::RequestSent && *message == 0;
        let known_one = known.get(message).copied().filter(|_| !fresh);
        let (place, index) = known_one.unwrap_or_else(|| {
            lanes[place].messages.push(Message {
                rpc: rpc.clone(),
                key: key.clone().unwrap_or_default(),
                sent: None,
                handled: None,
                answered: None,
                lost: None,
                code: String::new(),
            });
            (place, lanes[place].messages.len() - 1)
        });
        known.insert(*message, (place, index));
        let entry = &mut lanes[place].messages[index];
        let at = point(event);
        match leg {
            Leg::RequestSent => entry.sent = Some(at),
            // A duplicated request is handled twice; the first stays, the second is a message of its own.
            Leg::RequestHandled if entry.handled.is_none() => entry.handled = Some(at),
            Leg::RequestHandled => {
                let mut again = entry.clone();
                (again.sent, again.handled, again.answered) = (entry.sent, Some(at), None);
                again.code = code.clone().unwrap_or_default();
                lanes[place].messages.push(again);
                continue;
            }
            Leg::ResponseDelivered => entry.answered = Some(at),
            Leg::RequestLost | Leg::ResponseLost | Leg::ResponseUndeliverable | Leg::Closed => {
                entry.lost = entry.lost.or(Some(at));
            }
        }
        if let Some(code) = code {
            entry.code = code.clone();
        }
    }
}

fn transfers(source: &Source<'_>, places: &Places, lanes: &mut [ActorLane]) {
    let mut known: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for event in source.loud() {
        let (number, opened) = match &event.kind {
            Kind::TransferOpened {
                transfer,
                write,
                range,
                ..
            } => (*transfer, Some((*write, range))),
            Kind::Payload {
                transfer,
                write,
                range,
                ..
            } => (*transfer, Some((*write, range))),
            Kind::TransferClosed { transfer, .. } => (*transfer, None),
            _ => continue,
        };
        let at = point(event);
        let found = known.get(&number).copied().or_else(|| {
            let (write, range) = opened?;
            let place = *places.get(&event.actor)?;
            lanes[place].transfers.push(Transfer {
                write,
                node: range.segment.clone(),
                range: range.to_string(),
                opened: None,
                parts: Vec::new(),
                closed: None,
                how: String::new(),
            });
            Some((place, lanes[place].transfers.len() - 1))
        });
        let Some((place, index)) = found else { continue };
        known.insert(number, (place, index));
        let entry = &mut lanes[place].transfers[index];
        match &event.kind {
            Kind::TransferOpened { .. } => entry.opened = Some(at),
            // The first and the last stand for all.
            Kind::Payload { .. } if entry.parts.len() < 2 => entry.parts.push(at),
            Kind::Payload { .. } => entry.parts[1] = at,
            Kind::TransferClosed { how, .. } => {
                entry.closed = Some(at);
                entry.how = how.clone();
            }
            _ => {}
        }
    }
}

fn changes(source: &Source<'_>, places: &Places, lanes: &mut [ActorLane]) {
    let steps_a_clock = source.plan.fault.dimension == Dimension::Clock;
    let freezes = source.plan.fault.action == Some(Action::Freeze);
    for event in source.loud() {
        let (what, detail) = match &event.kind {
            Kind::Actor { change, detail } => (format!("{change:?}").to_lowercase(), detail.clone()),
            // A process that stands still says nothing; what the injector tells is all there is to draw.
            Kind::Injected { .. } if freezes => ("frozen".to_owned(), event.kind.line()),
            Kind::Released if freezes => ("resumed".to_owned(), event.kind.line()),
            Kind::Released => ("released".to_owned(), event.kind.line()),
            Kind::ClockRead { .. } if steps_a_clock && is_first_off(source, event) => {
                ("clock".to_owned(), event.kind.line())
            }
            _ => continue,
        };
        let Some(&place) = places.get(&event.actor) else {
            continue;
        };
        lanes[place].changes.push(Change {
            at: point(event),
            what,
            detail,
        });
    }
}

/// Whether a clock reads something else than its start and the time that passed, for the first time.
fn is_first_off(source: &Source<'_>, event: &Event) -> bool {
    let off = |event: &Event, first: &Event| {
        let passed = i128::from(event.at.ns) - i128::from(first.at.ns);
        let moved = |to: u64, from: u64| i128::from(to) - i128::from(from);
        moved(event.clocks.realtime.0, first.clocks.realtime.0) != passed
            || moved(event.clocks.monotonic.0, first.clocks.monotonic.0) != passed
    };
    let mut own = source
        .evidence
        .events
        .iter()
        .filter(|other| other.actor == event.actor && other.observer == Observer::Clock);
    let Some(first) = own.next() else { return false };
    let at = own.find(|other| off(other, first));
    at.is_some_and(|at| at.id == event.id)
}

fn background(source: &Source<'_>, places: &Places, lanes: &mut [ActorLane]) {
    for row in source.rows.iter().filter(|row| row.kind == RowKind::Background) {
        // What stands still draws no line.
        if row.text == "the same state" {
            continue;
        }
        let Some(&place) = places.get(&row.actor) else {
            continue;
        };
        lanes[place].background.push(Stretch {
            from_ns: row.at_ns,
            until_ns: row.until_ns,
            text: row.text.clone(),
        });
    }
}
