//! A record without what differs between two runs of real processes, so that its postmortem can be a snapshot.
//!
//! Kept are the marks of the timeline, bound names, bytes, the observer's states, injections, ticks, what witnesses
//! declare, and everything a claim rests on. Between two marks of the timeline real processes run beside each other, so
//! what several observers saw there has no order of its own: it is sorted. Numbers of messages and transfers, details of
//! processes, notes and the origins of clocks go.

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span};
use moonquake_evidence::{Baseline, Event, EventId, Evidence, Kind, Leg, Observer};
use std::collections::{BTreeMap, BTreeSet};

/// What stands in the place of a value that differs between runs or machines.
const VARIES: &str = "varies";

/// A projected record, and how to get from the words about the original to words about this one.
pub(crate) struct Projection {
    /// The record.
    pub(crate) evidence: Evidence,
    /// The new number of every event that is kept.
    pub(crate) numbers: BTreeMap<EventId, EventId>,
    /// Texts that differ between runs, the longest first.
    volatile: Vec<String>,
}

impl Projection {
    /// A sentence about the original record without what differs between runs.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for volatile in &self.volatile {
            text = text.replace(volatile.as_str(), VARIES);
        }
        without_transfer_numbers(&text)
    }
}

/// Projects a record. `cited` are the events that claims rest on.
pub(crate) fn project(evidence: &Evidence, cited: &BTreeSet<EventId>) -> Projection {
    let mut origins: BTreeMap<&str, (Span, Clocks)> = BTreeMap::new();
    let mut marks = 0_u32;
    let mut kept: Vec<(u32, u8, String, Event)> = Vec::new();
    for event in &evidence.events {
        let origin = *origins.entry(&event.actor).or_insert((event.at, event.clocks));
        let is_mark = matches!(event.kind, Kind::StepBegan { .. } | Kind::StepEnded { .. });
        marks = marks.saturating_add(u32::from(is_mark));
        if !is_mark && !stays(event) && !cited.contains(&event.id) {
            continue;
        }
        let mut event = event.clone();
        event.clocks = since(origin, event.clocks);
        neutralise(&mut event.kind, origin);
        let line = format!("{} {}", event.actor, event.kind.line());
        // A mark comes before everything that follows it.
        kept.push((marks, if is_mark { 0 } else { rank(&event.kind) }, line, event));
    }
    kept.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
    let mut numbers = BTreeMap::new();
    let mut transfers: BTreeMap<u64, u64> = BTreeMap::new();
    let mut events = Vec::with_capacity(kept.len());
    for (index, (_, _, _, mut event)) in kept.into_iter().enumerate() {
        let id = EventId(u32::try_from(index).unwrap_or(u32::MAX));
        numbers.insert(event.id, id);
        if let Some(old) = evidence.get(event.id).and_then(|old| transfer_of(&old.kind)) {
            let next = transfers.len() as u64 + 1;
            set_transfer(&mut event.kind, *transfers.entry(old).or_insert(next));
        }
        event.id = id;
        events.push(event);
    }
    let baseline = projected_baseline(&evidence.baseline);
    let mut volatile: Vec<String> = evidence
        .events
        .iter()
        .filter_map(|event| volatile(&event.kind))
        .collect();
    volatile.sort_by(|a, b| (b.len(), a).cmp(&(a.len(), b)));
    volatile.dedup();
    Projection {
        evidence: Evidence { baseline, events },
        numbers,
        volatile,
    }
}

/// The part of an event that an operating system or a process worded.
fn volatile(kind: &Kind) -> Option<String> {
    let text = match kind {
        Kind::StepEnded { note, .. } => note.clone()?,
        Kind::Actor { detail, .. } => detail.clone(),
        Kind::TransferClosed { how, .. } => how.split_once(':')?.1.trim().to_owned(),
        Kind::Note { text } => text.clone(),
        _ => return None,
    };
    // One letter or two would be found in every other word.
    (text.len() > 2).then_some(text)
}

/// `transfer 12` becomes `transfer`.
fn without_transfer_numbers(text: &str) -> String {
    const WORD: &str = "transfer ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(WORD) {
        let (head, tail) = rest.split_at(at + WORD.len());
        let unnumbered = tail.trim_start_matches(|c: char| c.is_ascii_digit());
        out += if unnumbered.len() < tail.len() {
            head.trim_end()
        } else {
            head
        };
        rest = unnumbered;
    }
    out + rest
}

/// Whether an event is the same in every run even if no claim rests on it.
fn stays(event: &Event) -> bool {
    match event.kind {
        Kind::Bound { .. }
        | Kind::Bytes { .. }
        | Kind::Injected { .. }
        | Kind::Released
        | Kind::Reused { .. }
        | Kind::Sight { .. }
        | Kind::Tick { .. } => true,
        Kind::State(_) => event.observer == Observer::Master,
        _ => false,
    }
}

/// The order of what was seen between two marks.
fn rank(kind: &Kind) -> u8 {
    match kind {
        Kind::Sight { .. } => 1,
        Kind::Tick { .. } => 2,
        Kind::Frame { leg, .. } => match leg {
            Leg::RequestSent => 3,
            Leg::RequestHandled | Leg::RequestLost => 4,
            Leg::ResponseDelivered | Leg::ResponseLost | Leg::ResponseUndeliverable | Leg::Closed => 5,
        },
        Kind::Bound { .. } => 6,
        Kind::TransferOpened { .. } => 7,
        Kind::Payload { .. } => 8,
        Kind::Injected { .. } => 9,
        Kind::Actor { .. } => 10,
        Kind::Released => 11,
        Kind::Access { .. } | Kind::Reused { .. } => 12,
        Kind::TransferClosed { .. } => 13,
        Kind::ClockRead { .. } => 14,
        Kind::Bytes { .. } => 15,
        Kind::State(_) => 16,
        Kind::Advanced { .. } => 18,
        _ => 17,
    }
}

fn since((at, origin): (Span, Clocks), clocks: Clocks) -> Clocks {
    Clocks {
        realtime: RealtimeNs(clocks.realtime.since(origin.realtime).ns.saturating_add(at.ns)),
        monotonic: MonotonicNs(clocks.monotonic.since(origin.monotonic).ns.saturating_add(at.ns)),
    }
}

fn neutralise(kind: &mut Kind, origin: (Span, Clocks)) {
    match kind {
        Kind::StepEnded { note, .. } => *note = None,
        Kind::Frame { message, .. } => *message = 0,
        Kind::Injected {
            message, transfer, ..
        } => (*message, *transfer) = (None, None),
        Kind::Actor { detail, .. } => *detail = VARIES.to_owned(),
        Kind::ClockRead { realtime, monotonic } => {
            let read = Clocks {
                realtime: *realtime,
                monotonic: *monotonic,
            };
            let read = since(origin, read);
            (*realtime, *monotonic) = (read.realtime, read.monotonic);
        }
        Kind::TransferClosed { how, .. } => {
            // What follows the colon is the word of an operating system.
            if let Some((word, _)) = how.split_once(':') {
                *how = word.to_owned();
            }
        }
        Kind::Note { text } => *text = VARIES.to_owned(),
        _ => {}
    }
    set_transfer(kind, 0);
}

fn transfer_of(kind: &Kind) -> Option<u64> {
    match kind {
        Kind::TransferOpened { transfer, .. }
        | Kind::Payload { transfer, .. }
        | Kind::TransferClosed { transfer, .. } => Some(*transfer),
        _ => None,
    }
}

fn set_transfer(kind: &mut Kind, number: u64) {
    match kind {
        Kind::TransferOpened { transfer, .. }
        | Kind::Payload { transfer, .. }
        | Kind::TransferClosed { transfer, .. } => *transfer = number,
        _ => {}
    }
}

fn projected_baseline(baseline: &Baseline) -> Baseline {
    let masked = |map: &BTreeMap<String, String>, varies: fn(&str, &str) -> bool| {
        map.iter()
            .map(|(name, value)| {
                let value = if varies(name, value) { VARIES } else { value };
                (name.clone(), value.to_owned())
            })
            .collect()
    };
    Baseline {
        versions: masked(&baseline.versions, |_, _| true),
        configuration: masked(&baseline.configuration, names_a_place),
        real_time: BTreeMap::new(),
        ..baseline.clone()
    }
}

/// Whether a setting names a place of this machine: a port, a process, a path, an address.
fn names_a_place(name: &str, value: &str) -> bool {
    let words = ["port", "pid", "path", "dir", "address", "endpoint", "host", "url"];
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let port = value
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    parts.any(|part| words.contains(&part)) || value.contains(['/', '\\']) || port
}

#[cfg(test)]
mod tests {
    use super::{names_a_place, without_transfer_numbers};

    #[test]
    fn numbers_of_transfers_go_and_other_numbers_stay() {
        assert_eq!(
            without_transfer_numbers("transfer 12 ends: 3"),
            "transfer ends: 3"
        );
        assert_eq!(
            without_transfer_numbers("a transfer of 3, transfer 4"),
            "a transfer of 3, transfer"
        );
    }

    #[test]
    fn places_of_a_machine_are_told_from_settings() {
        for (name, value) in [
            ("rpc_port", "50051"),
            ("x", "127.0.0.1:1"),
            ("x", "/tmp/a"),
            ("pid", "7"),
        ] {
            assert!(names_a_place(name, value), "{name} {value}");
        }
        for (name, value) in [("default_kv_lease_ttl", "10s"), ("portions", "3"), ("x", "a: b")] {
            assert!(!names_a_place(name, value), "{name} {value}");
        }
    }
}
