//! What must be the same on every engine: operations, result codes, the readable keys, places and allocated bytes.

use crate::{Event, EventId, Evidence, Kind, Observer, Op, Range};
use std::fmt::Write as _;

/// A line of the projection, with the event that it is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projected {
    /// The event.
    pub id: EventId,
    /// The operation that it belongs to.
    pub op: Option<Op>,
    /// The line. It alone must be the same on every engine: events are numbered by each as it sees them.
    pub text: String,
}

/// The projection, one line an event: results of steps, bound names and the observer's state. No ports, pids, pings,
/// message numbers or wall times.
pub fn projection(evidence: &Evidence) -> Vec<String> {
    projected(evidence).into_iter().map(|line| line.text).collect()
}

/// The projection with the events that it is made from.
pub fn projected(evidence: &Evidence) -> Vec<Projected> {
    let lines = evidence.events.iter().filter_map(|event| {
        Some(Projected {
            id: event.id,
            op: event.op,
            text: line(event)?,
        })
    });
    lines.collect()
}

/// The line of an event, if the projection shows it.
fn line(event: &Event) -> Option<String> {
    let op = event
        .op
        .map(|op| format!("step {} ({})", op.step + 1, op.repetition))
        .unwrap_or_default();
    match &event.kind {
        Kind::StepEnded {
            outcome,
            entries,
            count,
            content,
            ..
        } => {
            let mut line = format!("{} {} {op}: {outcome}", event.at, event.actor);
            if !entries.is_empty() {
                let _infallible = write!(line, " [{}]", entries.join(", "));
            }
            if let Some(count) = count {
                let _infallible = write!(line, ", count {count}");
            }
            if let Some(content) = content {
                let _infallible = write!(line, "; {content}");
            }
            Some(line)
        }
        Kind::Bound { name, range } => {
            let place = range.as_ref().map_or("never".to_owned(), Range::to_string);
            Some(format!("{} {name} = {place}", event.at))
        }
        Kind::Bytes { name, content } => {
            let content = content.as_ref().map_or("none".to_owned(), ToString::to_string);
            Some(format!("{} {name}: {content}", event.at))
        }
        Kind::State(state) if event.observer == Observer::Master => {
            let mut line = format!(
                "{} allocated {} of {}",
                event.at, state.allocated_bytes, state.capacity_bytes
            );
            for (key, ranges) in &state.keys {
                let places: Vec<String> = ranges.iter().map(Range::to_string).collect();
                let _infallible = write!(line, "; {key} at {}", places.join(" "));
            }
            for segment in state.segments.keys() {
                let _infallible = write!(line, "; mounted {segment}");
            }
            Some(line)
        }
        _ => None,
    }
}
