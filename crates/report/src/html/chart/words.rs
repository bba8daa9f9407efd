//! What each event is, in a few words.

use super::scene::Class;
use super::wide::short;
use crate::html::text::readable;
use crate::{ActorLane, Lanes, Message, Point, Role, Transfer};
use moonquake_evidence::EventId;
use std::collections::BTreeMap;

/// A word about an event, how important it is, and its look.
pub(super) type Word = (Class, String, &'static str);

/// Of several words about one event the most important.
#[derive(Debug, Default)]
struct Words(BTreeMap<EventId, Word>);

impl Words {
    fn add(&mut self, point: Option<Point>, class: Class, text: String, look: &'static str) {
        let Some(point) = point else { return };
        match self.0.get_mut(&point.event) {
            Some(known) if known.0 <= class => {}
            Some(known) => *known = (class, text, look),
            None => {
                self.0.insert(point.event, (class, text, look));
            }
        }
    }
}

/// The words about all events that have a mark.
pub(super) fn words(lanes: &Lanes) -> BTreeMap<EventId, Word> {
    let mut words = Words::default();
    for lane in &lanes.actors {
        operations(&mut words, lane);
        lane.messages
            .iter()
            .for_each(|message| of_message(&mut words, message));
        lane.transfers
            .iter()
            .for_each(|transfer| of_transfer(&mut words, transfer, &lane.name));
        for change in &lane.changes {
            words.add(
                Some(change.at),
                Class::Change,
                format!("{} {}", lane.name, change.what),
                "t-b",
            );
        }
    }
    for place in &lanes.places {
        for epoch in &place.epochs {
            words.add(
                Some(epoch.since),
                Class::Epoch,
                format!("{}: {}", place.name, epoch.owner),
                "",
            );
        }
    }
    words.0
}

/// The late accesses among the events of one slot: `LATE r1 writes b1, reads n1`. What one part of a payload does at both
/// of its ends is said of both, and the write first: it is what does the damage.
pub(super) fn late_words(lanes: &Lanes, is_here: impl Fn(Point) -> bool) -> Option<(Point, String)> {
    let mut late: Vec<(bool, &str, &str, Point)> = Vec::new();
    for place in &lanes.places {
        let accesses = place.epochs.iter().flat_map(|epoch| &epoch.accesses);
        for access in accesses.filter(|access| access.late && is_here(access.at)) {
            late.push((!access.write, &access.who, &place.name, access.at));
        }
    }
    late.sort();
    late.dedup_by_key(|(read, who, place, _)| (*read, *who, *place));
    let at = late.first()?.3;
    let (mut text, mut named) = (String::new(), "");
    for (read, who, place, _) in late {
        let comma = if text.is_empty() { "" } else { "," };
        let who_again = if who == named {
            String::new()
        } else {
            format!(" {who}")
        };
        let verb = if read { "reads" } else { "writes" };
        text += &format!("{comma}{who_again} {verb} {place}");
        named = who;
    }
    Some((at, format!("LATE{text}")))
}

fn operations(words: &mut Words, lane: &ActorLane) {
    for operation in &lane.operations {
        let look = if operation.failed { "t-b" } else { "" };
        let name = short(operation, &lane.name);
        let who = match lane.role {
            Role::Client | Role::Node => format!("{} ", lane.name),
            Role::Timeline | Role::Master => String::new(),
        };
        words.add(Some(operation.began), Class::Begin, format!("{who}{name}"), look);
        let has_id = !operation.step.starts_with("step ");
        let result = if has_id { &operation.step } else { &name };
        words.add(
            operation.ended,
            Class::End,
            format!("{result} → {}", operation.outcome),
            look,
        );
    }
}

fn of_message(words: &mut Words, message: &Message) {
    let look = if message.lost.is_none() { "t-s" } else { "t-b" };
    let rpc = &message.rpc;
    words.add(message.sent, Class::Sent, format!("{rpc} sent"), "t-s");
    words.add(
        message.handled,
        Class::Handled,
        format!("{rpc} → {}", message.code),
        look,
    );
    words.add(
        message.answered,
        Class::Answered,
        format!("{rpc} answered"),
        "t-s",
    );
    words.add(message.lost, Class::Lost, format!("{rpc} lost"), "t-b");
}

fn of_transfer(words: &mut Words, transfer: &Transfer, who: &str) {
    let verb = if transfer.write { "writes" } else { "reads" };
    let range = readable(&transfer.range);
    words.add(
        transfer.opened,
        Class::Open,
        format!("{who} {verb} {range}"),
        "t-s",
    );
    words.add(
        transfer.closed,
        Class::Close,
        format!("transfer {}", transfer.how),
        "t-s",
    );
    for part in &transfer.parts {
        words.add(Some(*part), Class::Part, format!("{who} {verb} a part"), "t-s");
    }
}
