//! The evidence, indexed. Each kind of fact is taken only from the observer who can see it, so nothing that the
//! injector says finds its way in.

use crate::Cited;
use crate::overlaps::InSegments;
use crate::rpc::{self, Family};
use moonquake_clock::Span;
use moonquake_evidence::{Block, Change, Event, EventId, Kind, Leg, Observer, Op, Range, State, staging_of};
use moonquake_scenario::{Do, Plan, Step, Verb, What};
use std::collections::BTreeMap;

/// The place of an event in the record. Unlike its id it exists for every event by construction.
pub(crate) type Pos = usize;

/// A frame on the link, seen by [`Observer::Link`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) pos: Pos,
    pub(crate) event: &'a Event,
    pub(crate) message: u64,
    pub(crate) leg: Leg,
    pub(crate) rpc: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) code: Option<&'a str>,
    pub(crate) ranges: &'a [Range],
    /// In a batch, how many of the ranges belong to each entry.
    pub(crate) shares: &'a [u32],
    pub(crate) lease_ms: Option<u64>,
}

/// A part of a payload, seen by [`Observer::Owner`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landed<'a> {
    pub(crate) pos: Pos,
    pub(crate) event: &'a Event,
    pub(crate) write: bool,
    pub(crate) range: &'a Range,
    pub(crate) count: u32,
    pub(crate) parts: u32,
    pub(crate) transfer: u64,
}

/// One transfer on the data path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfer<'a> {
    pub(crate) op: Option<Op>,
    pub(crate) write: bool,
    pub(crate) opened: Option<Pos>,
    pub(crate) buffer: Option<&'a str>,
    /// Where in its client's staging memory its bytes lie, if they lie there.
    pub(crate) block: Option<Block>,
    /// The client that moves the bytes.
    pub(crate) client: &'a str,
    /// The range at the owner, as it was opened.
    pub(crate) range: Option<&'a Range>,
    pub(crate) landed: Vec<Landed<'a>>,
    pub(crate) closed: Option<(Pos, &'a str)>,
}

impl Transfer<'_> {
    /// The place at its client's end and the offset of its first byte there: a buffer that the scenario names, or the
    /// client's staging memory.
    pub(crate) fn client_end(&self) -> Option<(String, u64)> {
        match (self.buffer, self.block) {
            (Some(name), _) => Some((name.to_owned(), 0)),
            (None, Some(block)) => Some((staging_of(self.client), block.from)),
            (None, None) => None,
        }
    }

    /// The number of parts that landed before `until`.
    pub(crate) fn parts_before(&self, until: Pos) -> u64 {
        let before = self.landed.iter().filter(|landed| landed.pos < until);
        before.map(|landed| u64::from(landed.count)).sum()
    }

    /// The number of parts the payload has, if any landed.
    pub(crate) fn parts(&self) -> Option<u64> {
        self.landed.first().map(|landed| u64::from(landed.parts))
    }

    /// The place at which the last part landed, if all did before `until`.
    pub(crate) fn complete_at(&self, until: Pos) -> Option<Pos> {
        let all = self.parts()?;
        let done = self.parts_before(until) >= all;
        let last = self.landed.iter().rev().find(|landed| landed.pos < until)?;
        done.then_some(last.pos)
    }
}

/// One repetition of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) began: Option<Pos>,
    pub(crate) ended: Option<Pos>,
}

/// The result of a step as the timeline wrote it down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) pos: Pos,
    pub(crate) event: &'a Event,
    pub(crate) outcome: &'a str,
    pub(crate) entries: &'a [String],
    pub(crate) count: Option<i64>,
    pub(crate) content: Option<&'a moonquake_evidence::Content>,
    pub(crate) note: Option<&'a str>,
}

/// The transfers of one operation.
#[derive(Clone, Debug, Default)]
struct OfOp<'a> {
    all: Vec<u64>,
    /// Those whose range nobody saw.
    nowhere: Vec<u64>,
    /// The others, by their numbers in `all`.
    ranges: InSegments<'a>,
}

/// The plan and the evidence of one run, with everything that the judge looks up.
pub(crate) struct View<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) events: &'a [Event],
    pub(crate) frames: Vec<Frame<'a>>,
    messages: BTreeMap<u64, Vec<usize>>,
    pub(crate) transfers: BTreeMap<u64, Transfer<'a>>,
    pub(crate) runs: BTreeMap<Op, Run>,
    pub(crate) states: Vec<(Pos, &'a State)>,
    pub(crate) bound: BTreeMap<&'a str, (Pos, Option<&'a Range>)>,
    /// The transfers of each operation.
    of_op: BTreeMap<Op, OfOp<'a>>,
    /// The ranges that handled queries told of, by the place of the frame in `frames`.
    queried: InSegments<'a>,
    /// Where memory can have been taken from somebody by something else than an answer to whoever has it.
    takings: Vec<Pos>,
    /// Where somebody saw an actor start or end.
    changes: Vec<Pos>,
    last: EventId,
}

/// Whether an event can take memory from somebody other than by its own answer: a round of the master's threads, a call
/// that takes away, an actor that came or went.
fn takes_memory(event: &Event) -> bool {
    match &event.kind {
        _ if event.observer == Observer::Injector => false,
        Kind::Tick { .. } | Kind::Actor { .. } => true,
        Kind::Frame {
            leg: Leg::RequestHandled,
            rpc,
            ..
        } => {
            let harmless = matches!(
                rpc::family(rpc),
                Some(Family::Start | Family::End | Family::Query | Family::Exist)
            );
            !harmless && !rpc::is_ping(rpc) && !rpc::is_replication_start(rpc)
        }
        _ => false,
    }
}

impl<'a> View<'a> {
    /// Indexes the record; nothing if it has no event.
    pub(crate) fn new(plan: &'a Plan, events: &'a [Event]) -> Option<View<'a>> {
        let last = events.last()?.id;
        let mut view = View {
            plan,
            events,
            frames: Vec::new(),
            messages: BTreeMap::new(),
            transfers: BTreeMap::new(),
            runs: BTreeMap::new(),
            states: Vec::new(),
            bound: BTreeMap::new(),
            of_op: BTreeMap::new(),
            queried: InSegments::default(),
            takings: Vec::new(),
            changes: Vec::new(),
            last,
        };
        for (pos, event) in events.iter().enumerate() {
            view.index(pos, event);
        }
        view.index_transfers();
        view.index_queries();
        Some(view)
    }

    fn index_transfers(&mut self) {
        let mut of_op: BTreeMap<Op, Vec<u64>> = BTreeMap::new();
        for (number, transfer) in &self.transfers {
            if let Some(op) = transfer.op {
                of_op.entry(op).or_default().push(*number);
            }
        }
        let indexed = |all: Vec<u64>| {
            let range = |number: &u64| self.transfers.get(number).and_then(|transfer| transfer.range);
            OfOp {
                nowhere: all
                    .iter()
                    .copied()
                    .filter(|number| range(number).is_none())
                    .collect(),
                ranges: InSegments::of(
                    all.iter()
                        .zip(0..)
                        .filter_map(|(number, place)| Some((range(number)?, place))),
                ),
                all,
            }
        };
        self.of_op = of_op.into_iter().map(|(op, all)| (op, indexed(all))).collect();
    }

    fn index_queries(&mut self) {
        let queries = self.frames.iter().zip(0..).filter(|(frame, _)| {
            frame.leg == Leg::RequestHandled && rpc::family(frame.rpc) == Some(Family::Query)
        });
        let told = queries.flat_map(|(frame, place)| frame.ranges.iter().map(move |range| (range, place)));
        self.queried = InSegments::of(told);
    }

    fn index(&mut self, pos: Pos, event: &'a Event) {
        if takes_memory(event) {
            self.takings.push(pos);
        }
        match (&event.kind, event.observer) {
            (_, Observer::Injector) => {}
            (
                Kind::Frame {
                    message,
                    leg,
                    rpc,
                    key,
                    code,
                    ranges,
                    shares,
                    lease_ms,
                },
                Observer::Link,
            ) => {
                self.messages.entry(*message).or_default().push(self.frames.len());
                self.frames.push(Frame {
                    pos,
                    event,
                    message: *message,
                    leg: *leg,
                    rpc,
                    key: key.as_deref(),
                    code: code.as_deref(),
                    ranges,
                    shares,
                    lease_ms: *lease_ms,
                });
            }
            (Kind::StepBegan { .. }, Observer::Timeline) => {
                if let Some(op) = event.op {
                    self.runs.entry(op).or_default().began.get_or_insert(pos);
                }
            }
            (Kind::StepEnded { .. }, Observer::Timeline) => {
                if let Some(op) = event.op {
                    self.runs.entry(op).or_default().ended.get_or_insert(pos);
                }
            }
            (Kind::Actor { .. }, Observer::Link | Observer::Master) => self.changes.push(pos),
            (Kind::State(state), Observer::Master) => self.states.push((pos, state)),
            (Kind::Bound { name, range }, _) => {
                self.bound.entry(name).or_insert((pos, range.as_ref()));
            }
            (_, Observer::Owner) => self.index_data(pos, event),
            _ => {}
        }
    }

    fn index_data(&mut self, pos: Pos, event: &'a Event) {
        match &event.kind {
            Kind::TransferOpened {
                transfer,
                write,
                buffer,
                block,
                range,
            } => {
                let entry = self.transfers.entry(*transfer).or_default();
                entry.op = event.op;
                entry.write = *write;
                entry.opened.get_or_insert(pos);
                entry.buffer = buffer.as_deref();
                entry.block = *block;
                entry.client = &event.actor;
                entry.range = Some(range);
            }
            Kind::Payload {
                transfer,
                write,
                range,
                first_part,
                last_part,
                parts,
                ..
            } => {
                let entry = self.transfers.entry(*transfer).or_default();
                entry.op = entry.op.or(event.op);
                entry.write = *write;
                entry.landed.push(Landed {
                    pos,
                    event,
                    write: *write,
                    range,
                    count: last_part.saturating_sub(*first_part).saturating_add(1),
                    parts: *parts,
                    transfer: *transfer,
                });
            }
            Kind::TransferClosed { transfer, how } => {
                let entry = self.transfers.entry(*transfer).or_default();
                entry.op = entry.op.or(event.op);
                entry.closed.get_or_insert((pos, how));
            }
            _ => {}
        }
    }

    /// The id of the event at a place.
    pub(crate) fn id(&self, pos: Pos) -> EventId {
        self.events.get(pos).map_or(self.last, |event| event.id)
    }

    /// The timeline's time at a place.
    pub(crate) fn at(&self, pos: Pos) -> Span {
        let event = self.events.get(pos).or(self.events.last());
        event.map_or(Span::ZERO, |event| event.at)
    }

    /// One past the last place.
    pub(crate) fn end(&self) -> Pos {
        self.events.len()
    }

    /// A statement shown by these places; by the end of the record if there are none, since an absence is shown by
    /// all of it.
    pub(crate) fn cited(&self, text: impl Into<String>, places: impl IntoIterator<Item = Pos>) -> Cited {
        let mut ids = places.into_iter().map(|pos| self.id(pos));
        let first = ids.next().unwrap_or(self.last);
        Cited::new(text, first).and_all(ids)
    }

    /// The first event that an observer saw after `from`: its log goes on there.
    pub(crate) fn seen_by(&self, observer: Observer, from: Pos) -> Option<Pos> {
        (from..self.end())
            .skip(1)
            .find(|pos| self.events[*pos].observer == observer)
    }

    /// The first event of the injector that says that it injects.
    pub(crate) fn injected(&self) -> Option<Pos> {
        self.events.iter().position(|event| {
            event.observer == Observer::Injector && matches!(event.kind, Kind::Injected { .. })
        })
    }

    /// Where the injector says that it ends what it began at `after`.
    pub(crate) fn released(&self, after: Pos) -> Option<Pos> {
        (after..self.end()).find(|pos| {
            let event = &self.events[*pos];
            event.observer == Observer::Injector && matches!(event.kind, Kind::Released)
        })
    }

    /// What became of an actor, as the link or the observer of its process saw it.
    pub(crate) fn changes(&self, actor: &'a str) -> impl Iterator<Item = (Pos, Change)> + '_ {
        self.changes
            .iter()
            .filter_map(move |pos| match &self.events[*pos] {
                Event {
                    kind: Kind::Actor { change, .. },
                    actor: own,
                    ..
                } if own == actor => Some((*pos, *change)),
                _ => None,
            })
    }

    /// The frames of one operation.
    pub(crate) fn frames_of(&self, op: Op) -> impl Iterator<Item = &Frame<'a>> + '_ {
        self.frames.iter().filter(move |frame| frame.event.op == Some(op))
    }

    /// Every sight of one message, in order.
    pub(crate) fn message(&self, message: u64) -> impl Iterator<Item = &Frame<'a>> + '_ {
        let places = self.messages.get(&message);
        places.into_iter().flatten().map(|index| &self.frames[*index])
    }

    /// The first sight of a message on a leg.
    pub(crate) fn leg(&self, message: u64, leg: Leg) -> Option<&Frame<'a>> {
        self.message(message).find(|frame| frame.leg == leg)
    }

    /// The transfers of one operation.
    pub(crate) fn transfers_of(&self, op: Op) -> impl Iterator<Item = (u64, &Transfer<'a>)> + '_ {
        let all = self.of_op.get(&op).into_iter().flat_map(|of_op| &of_op.all);
        all.filter_map(|number| Some((*number, self.transfers.get(number)?)))
    }

    /// Those of them whose range overlaps one of these.
    pub(crate) fn transfers_over<'b>(
        &self,
        op: Op,
        ranges: impl IntoIterator<Item = &'b Range>,
    ) -> impl Iterator<Item = &Transfer<'a>> + '_ {
        let of_op = self.of_op.get(&op);
        let places = of_op.map_or_else(Vec::new, |of_op| of_op.ranges.over_any(ranges));
        let numbers = places.into_iter().filter_map(move |place| of_op?.all.get(place));
        numbers.filter_map(|number| self.transfers.get(number))
    }

    /// Those of them whose range nobody saw.
    pub(crate) fn transfers_nowhere(&self, op: Op) -> impl Iterator<Item = &Transfer<'a>> + '_ {
        let nowhere = self.of_op.get(&op).into_iter().flat_map(|of_op| &of_op.nowhere);
        nowhere.filter_map(|number| self.transfers.get(number))
    }

    /// The handled queries that told of bytes of these ranges, in order.
    pub(crate) fn queries_over<'b>(
        &self,
        ranges: impl IntoIterator<Item = &'b Range>,
    ) -> impl Iterator<Item = &Frame<'a>> + '_ {
        let places = self.queried.over_any(ranges).into_iter();
        places.filter_map(|place| self.frames.get(place))
    }

    /// The places between two others at which memory can have been taken from somebody.
    pub(crate) fn takings(&self, from: Pos, until: Pos) -> impl Iterator<Item = Pos> + '_ {
        let first = self.takings.partition_point(|pos| *pos <= from);
        let between = self.takings[first..].iter().copied();
        between.take_while(move |pos| *pos < until)
    }

    /// Every part that landed, in order.
    pub(crate) fn landed(&self) -> Vec<Landed<'a>> {
        let mut all: Vec<Landed<'a>> = self
            .transfers
            .values()
            .flat_map(|transfer| transfer.landed.iter().copied())
            .collect();
        all.sort_by_key(|landed| landed.pos);
        all
    }

    /// The result of an operation, if it came.
    pub(crate) fn ended(&self, op: Op) -> Option<Ended<'a>> {
        let pos = self.runs.get(&op)?.ended?;
        let event = self.events.get(pos)?;
        match &event.kind {
            Kind::StepEnded {
                outcome,
                entries,
                count,
                content,
                note,
            } => Some(Ended {
                pos,
                event,
                outcome,
                entries,
                count: *count,
                content: content.as_ref(),
                note: note.as_deref(),
            }),
            _ => None,
        }
    }

    /// What the entries of a batch read brought, by key.
    pub(crate) fn brought(
        &self,
        op: Op,
    ) -> impl Iterator<Item = (&'a str, &'a moonquake_evidence::Content)> + '_ {
        self.events.iter().filter_map(move |event| match &event.kind {
            Kind::Brought { key, content }
                if event.op == Some(op) && event.observer == Observer::Timeline =>
            {
                Some((key.as_str(), content))
            }
            _ => None,
        })
    }

    /// The repetitions of a step that were seen, in order.
    pub(crate) fn repetitions(&self, step: usize) -> Vec<(Op, Run)> {
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        let from = Op { step, repetition: 0 };
        let to = Op {
            step,
            repetition: u32::MAX,
        };
        self.runs.range(from..=to).map(|(op, run)| (*op, *run)).collect()
    }

    /// The step of an operation.
    pub(crate) fn step(&self, op: Op) -> Option<&'a Step> {
        self.plan.steps.get(usize::try_from(op.step).ok()?)
    }

    /// The operation's verb and arguments.
    pub(crate) fn action(&self, op: Op) -> Option<&'a Do> {
        match &self.step(op)?.what {
            What::Do(action) => Some(action),
            _ => None,
        }
    }

    /// The verb of an operation.
    pub(crate) fn verb(&self, op: Op) -> Option<Verb> {
        self.action(op).map(|action| action.verb)
    }

    /// The step as people call it: its id, or its number from 1.
    pub(crate) fn name(&self, step: usize) -> String {
        let id = self.plan.steps.get(step).and_then(|step| step.id.clone());
        id.unwrap_or_else(|| format!("step {}", step + 1))
    }

    /// The operation as people call it.
    pub(crate) fn op_name(&self, op: Op) -> String {
        let name = self.name(usize::try_from(op.step).unwrap_or(usize::MAX));
        let many = self
            .step(op)
            .is_some_and(|step| step.times > 1 || step.until.is_some());
        if many {
            format!("{name} ({})", op.repetition)
        } else {
            name
        }
    }

    /// The last state of the master before a place.
    pub(crate) fn state_before(&self, pos: Pos) -> Option<(Pos, &'a State)> {
        self.states.iter().rev().find(|(at, _)| *at < pos).copied()
    }

    /// The place of the first step that begins after `pos`, or the end.
    pub(crate) fn next_step(&self, pos: Pos) -> Pos {
        (pos + 1..self.end())
            .find(|pos| {
                let event = &self.events[*pos];
                event.observer == Observer::Timeline && matches!(event.kind, Kind::StepBegan { .. })
            })
            .unwrap_or(self.end())
    }
}
