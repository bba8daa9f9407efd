//! What is drawn, and in which order: every mark has a slot, slots of one instant form a group.

use crate::{Lanes, Point};
use moonquake_evidence::EventId;
use std::collections::{BTreeMap, BTreeSet};

/// The most slots; a picture with more helps nobody, and a page must stay small.
const MAX_SLOTS: usize = 170;

/// What a mark is. The order is that of importance: where there are too many, the last go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Fault,
    Change,
    Begin,
    End,
    Late,
    Epoch,
    Lost,
    Handled,
    Sent,
    Answered,
    Open,
    Close,
    Part,
    Access,
}

/// A place in the order of marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) at_ns: u64,
    pub(super) event: EventId,
}

/// Slots of one instant, from the first to the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) at_ns: u64,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The order of everything that is drawn.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) slots: Vec<Slot>,
    pub(super) groups: Vec<Group>,
    places: BTreeMap<EventId, usize>,
    /// How many marks have no slot.
    pub(super) left_out: usize,
}

type Anchors = BTreeMap<EventId, (u64, BTreeSet<Class>)>;

impl Scene {
    pub(super) fn new(lanes: &Lanes) -> Scene {
        let mut anchors = anchors(lanes);
        let all = anchors.len();
        let mut slots = 0;
        for least in [
            None,
            Some(Class::Access),
            Some(Class::Part),
            Some(Class::Close),
            Some(Class::Open),
            Some(Class::Answered),
            Some(Class::Sent),
            Some(Class::Handled),
        ] {
            if let Some(least) = least {
                anchors.retain(|_, (_, classes)| classes.iter().any(|class| *class < least));
            }
            slots = count(&anchors);
            if slots <= MAX_SLOTS {
                break;
            }
        }
        let mut scene = Scene {
            slots: Vec::with_capacity(slots),
            groups: Vec::new(),
            places: BTreeMap::new(),
            left_out: 0,
        };
        let mut last: Option<(u64, BTreeSet<Class>)> = None;
        for (event, (at_ns, classes)) in anchors {
            let joins = last
                .as_ref()
                .is_some_and(|(at, before)| *at == at_ns && shares(before, &classes));
            if !joins && scene.slots.len() < 2 * MAX_SLOTS {
                scene.open(at_ns, event);
            } else if !joins {
                continue;
            }
            scene.places.insert(event, scene.slots.len() - 1);
            last = Some((at_ns, classes));
        }
        scene.left_out = all - scene.places.len();
        scene
    }

    fn open(&mut self, at_ns: u64, event: EventId) {
        let index = self.slots.len();
        self.slots.push(Slot { at_ns, event });
        match self.groups.last_mut() {
            Some(group) if group.at_ns == at_ns => group.last = index,
            _ => self.groups.push(Group {
                at_ns,
                first: index,
                last: index,
            }),
        }
    }

    /// The slot of an event, if it has one.
    pub(super) fn slot(&self, point: Point) -> Option<usize> {
        self.places.get(&point.event).copied()
    }

    /// The last slot that is not after an event, for what has no mark of its own.
    pub(super) fn slot_before(&self, point: Point) -> Option<usize> {
        let (_, slot) = self.places.range(..=point.event).next_back()?;
        Some(*slot)
    }
}

/// How many slots the anchors need.
fn count(anchors: &Anchors) -> usize {
    let mut slots = 0;
    let mut last: Option<&(u64, BTreeSet<Class>)> = None;
    for anchor in anchors.values() {
        let joins = last.is_some_and(|(at, before)| *at == anchor.0 && shares(before, &anchor.1));
        slots += usize::from(!joins);
        last = Some(anchor);
    }
    slots
}

/// Whether a mark may stand in the slot of the one before it, because both are one thing.
fn shares(before: &BTreeSet<Class>, now: &BTreeSet<Class>) -> bool {
    use Class::{Access, Answered, Begin, Change, Close, End, Epoch, Fault, Late, Open, Part, Sent};
    const PAIRS: [(Class, Class); 17] = [
        (Begin, Sent),
        (Begin, Open),
        (Begin, End),
        (Answered, End),
        (Answered, Open),
        (Answered, Sent),
        (Close, End),
        (Close, Sent),
        (Part, Access),
        (Part, Late),
        (Access, Access),
        (Late, Late),
        (Access, Close),
        (Late, Close),
        (Part, Close),
        (Access, Epoch),
        (Fault, Change),
    ];
    let pair = |(first, second): &(Class, Class)| before.contains(first) && now.contains(second);
    PAIRS.iter().any(pair)
}

fn anchors(lanes: &Lanes) -> Anchors {
    let mut anchors = Anchors::new();
    let mut add = |point: Option<Point>, class: Class| {
        if let Some(point) = point {
            let entry = anchors
                .entry(point.event)
                .or_insert((point.at_ns, BTreeSet::new()));
            entry.1.insert(class);
        }
    };
    add(lanes.fault.as_ref().map(|fault| fault.at), Class::Fault);
    for lane in &lanes.actors {
        for operation in &lane.operations {
            add(Some(operation.began), Class::Begin);
            add(operation.ended, Class::End);
        }
        for message in &lane.messages {
            add(message.sent, Class::Sent);
            add(message.handled, Class::Handled);
            add(message.answered, Class::Answered);
            add(message.lost, Class::Lost);
        }
        for transfer in &lane.transfers {
            add(transfer.opened, Class::Open);
            add(transfer.closed, Class::Close);
            transfer
                .parts
                .iter()
                .for_each(|part| add(Some(*part), Class::Part));
        }
        lane.changes
            .iter()
            .for_each(|change| add(Some(change.at), Class::Change));
    }
    for epoch in lanes.places.iter().flat_map(|place| &place.epochs) {
        add(Some(epoch.since), Class::Epoch);
        add(epoch.readable_at, Class::Epoch);
        for access in &epoch.accesses {
            add(
                Some(access.at),
                if access.late { Class::Late } else { Class::Access },
            );
        }
    }
    anchors
}
