//! Writing evidence, and the finished record of a run.

use crate::{Event, EventId, Kind, Observer, Op};
use moonquake_clock::{Clocks, Span};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What was true before the fault: who ran, with what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The engine's name.
    pub engine: String,
    /// The profile's name, or the quirks of a run that switches them one by one.
    pub profile: String,
    /// The seed, if one was given; without one deliveries are first in, first out.
    pub seed: Option<u64>,
    /// Who is who: versions and, for real processes, the hash of the binary.
    pub versions: BTreeMap<String, String>,
    /// The configuration in force: deadlines, flags, sizes.
    pub configuration: BTreeMap<String, String>,
    /// What real processes did in real time, by actor, in words; empty without any. Known at the end, and another in each run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub real_time: BTreeMap<String, String>,
}

/// The record of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The state of things before the fault.
    pub baseline: Baseline,
    /// Everything that was seen, in order.
    pub events: Vec<Event>,
}

impl Evidence {
    /// The event of that number.
    pub fn get(&self, id: EventId) -> Option<&Event> {
        self.events.get(usize::try_from(id.0).ok()?)
    }

    /// One JSON object a line: the baseline, then each event.
    pub fn to_json_lines(&self) -> String {
        self.lines(&self.baseline)
    }

    fn lines(&self, baseline: &Baseline) -> String {
        let mut text = serde_json::to_string(baseline).unwrap_or_default();
        for event in &self.events {
            text.push('\n');
            text += &serde_json::to_string(event).unwrap_or_default();
        }
        text.push('\n');
        text
    }

    /// SHA-256 over [`Evidence::to_json_lines`] without what differs in each run, [`Baseline::real_time`], in hexadecimal.
    pub fn hash(&self) -> String {
        let baseline = Baseline {
            real_time: BTreeMap::new(),
            ..self.baseline.clone()
        };
        hex_sha256(self.lines(&baseline).as_bytes())
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// How far back the run may stand that an event continues.
const INTERLEAVED: usize = 16;

/// Collects events in order and numbers them.
#[derive(Debug, Default)]
pub struct Log {
    events: Vec<Event>,
}

impl Log {
    /// An empty log.
    pub fn new() -> Log {
        Log::default()
    }

    /// Appends an event. Parts of one transfer that land in a row, at the same instant and with nothing but other bytes
    /// between them, become one event.
    pub fn push(
        &mut self,
        at: Span,
        clocks: Clocks,
        actor: &str,
        observer: Observer,
        op: Option<Op>,
        kind: Kind,
    ) -> EventId {
        let same = |event: &Event| {
            event.at == at && event.observer == observer && event.actor == actor && event.op == op
        };
        // Parts and the accesses that a witness saw of them come in turns; nothing else may stand between.
        let bytes = |event: &&mut Event| matches!(event.kind, Kind::Payload { .. } | Kind::Access { .. });
        let mut tail = self.events.iter_mut().rev().take_while(bytes).take(INTERLEAVED);
        if let Some(last) =
            tail.find_map(|event| (same(event) && merge(&mut event.kind, &kind)).then_some(event))
        {
            return last.id;
        }
        let id = EventId(u32::try_from(self.events.len()).unwrap_or(u32::MAX));
        self.events.push(Event {
            id,
            at,
            clocks,
            actor: actor.to_owned(),
            observer,
            op,
            kind,
        });
        id
    }

    /// The events so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The finished record.
    pub fn finish(self, baseline: Baseline) -> Evidence {
        Evidence {
            baseline,
            events: self.events,
        }
    }
}

/// Folds `next` into `last` if it continues it.
fn merge(last: &mut Kind, next: &Kind) -> bool {
    match (last, next) {
        (
            Kind::Payload {
                transfer,
                range,
                to,
                last_part,
                ..
            },
            Kind::Payload {
                transfer: next_transfer,
                range: next_range,
                from,
                to: next_to,
                first_part,
                last_part: next_last,
                ..
            },
        ) if transfer == next_transfer && *to == *from && *last_part + 1 == *first_part => {
            range.size += next_range.size;
            *to = *next_to;
            *last_part = *next_last;
            true
        }
        (
            Kind::Access {
                buffer, write, to, ..
            },
            Kind::Access {
                buffer: next_buffer,
                write: next_write,
                from,
                to: next_to,
            },
        ) if buffer == next_buffer && write == next_write && *to == *from => {
            *to = *next_to;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Range;

    fn part(number: u32) -> Kind {
        let from = u64::from(number - 1) * 10;
        let range = Range {
            segment: "n1".into(),
            offset: 100 + from,
            size: 10,
        };
        Kind::Payload {
            transfer: 1,
            write: true,
            range,
            from,
            to: from + 10,
            first_part: number,
            last_part: number,
            parts: 4,
        }
    }

    #[test]
    fn parts_in_a_row_become_one_event_and_others_do_not() {
        let mut log = Log::new();
        let mut push = |kind| log.push(Span::ZERO, Clocks::default(), "n1", Observer::Owner, None, kind);
        assert_eq!(
            (push(part(1)), push(part(2)), push(part(4))),
            (EventId(0), EventId(0), EventId(1))
        );
        assert_eq!(push(Kind::Note { text: "x".into() }), EventId(2));
        assert_eq!(push(part(5)), EventId(3));
        let evidence = log.finish(Baseline::default());
        let Kind::Payload {
            range,
            from,
            to,
            first_part,
            last_part,
            ..
        } = &evidence.events[0].kind
        else {
            panic!()
        };
        assert_eq!(
            (range.offset, range.size, *from, *to, *first_part, *last_part),
            (100, 20, 0, 20, 1, 2)
        );
    }

    #[test]
    fn the_hash_depends_on_every_event() {
        let run = |text: &str| {
            let mut log = Log::new();
            log.push(
                Span::ZERO,
                Clocks::default(),
                "m",
                Observer::Timeline,
                None,
                Kind::Note { text: text.into() },
            );
            log.finish(Baseline::default())
        };
        assert_eq!(run("a").hash(), run("a").hash());
        assert_ne!(run("a").hash(), run("b").hash());
        let back: Evidence = serde_json::from_str(&serde_json::to_string(&run("a")).unwrap()).unwrap();
        assert_eq!(back, run("a"));
    }
}
