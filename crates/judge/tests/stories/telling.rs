//! A small language for evidence: scenario text makes the plan, and a story writes the events that an engine would.

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span};
use moonquake_evidence::{
    Baseline, Block, Change, Content, Event, EventId, Evidence, Kind, Leg, Observer, Op, Range, Run, State,
};
use moonquake_faults::Profile;
use moonquake_judge::{Finding, Judgement, Status, judge};
use moonquake_scenario::{EngineKind, Plan, Trigger};
use std::collections::BTreeMap;

pub(crate) const MIB: u64 = 1 << 20;

/// A range of segment `n1`.
pub(crate) fn range(offset: u64, size: u64) -> Range {
    Range {
        segment: "n1".into(),
        offset,
        size,
    }
}

/// One run of a pattern over `size` bytes.
pub(crate) fn all(pattern: &str, size: u64) -> Content {
    Content(vec![Run {
        from: 0,
        to: size,
        pattern: pattern.into(),
    }])
}

/// A scenario with one node, clients `w1`, `w2` and `r1`, parts of 1 MiB, and more lines in its world.
pub(crate) fn scenario_in(world: &str, fault: &str, steps: &str) -> String {
    format!(
        "schema = 1\nid = \"test/story\"\ntitle = \"A story\"\nwhy = \"A test.\"\n\
         [world]\nsegments = {{ n1 = \"16MiB\" }}\nclients = [\"w1\", \"w2\", \"r1\"]\nchunk = \"1MiB\"\n{world}\n\
         [fault]\n{fault}\n[timeline]\nsteps = [\n{steps}\n]\n\
         [report]\nexpected = \"Fine.\"\nrepair = \"None.\"\n[[verdict]]\nis = \"holds\"\n"
    )
}

/// The plan of a scenario text.
pub(crate) fn plan(text: &str) -> Plan {
    moonquake_scenario::parse::from_str("story.scenario.toml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

#[derive(Clone)]
struct Sent {
    actor: String,
    op: Option<Op>,
    rpc: String,
    key: Option<String>,
    code: Option<String>,
    ranges: Vec<Range>,
    lease_ms: Option<u64>,
}
#[derive(Clone)]
struct Moving {
    actor: String,
    op: Option<Op>,
    write: bool,
    range: Range,
    buffer: Option<String>,
}

/// Writes evidence, event by event.
pub(crate) struct Story {
    pub(crate) plan: Plan,
    pub(crate) events: Vec<Event>,
    pub(crate) now: Span,
    /// The master's state as the observer will read it.
    pub(crate) state: State,
    /// By how much an actor's wall clock is off the timeline.
    pub(crate) wall_ns: BTreeMap<String, i128>,
    number: u64,
    messages: BTreeMap<u64, Sent>,
    transfers: BTreeMap<u64, Moving>,
}

impl Story {
    /// The mounted world of a scenario.
    pub(crate) fn new(text: &str) -> Story {
        Story::of(plan(text))
    }

    pub(crate) fn of(plan: Plan) -> Story {
        let capacity = plan.world.segments.iter().map(|(_, size)| size).sum();
        let segments = plan.world.segments.iter().cloned().collect();
        let state = State {
            capacity_bytes: capacity,
            segments,
            ..State::default()
        };
        let mut story = Story {
            plan,
            events: Vec::new(),
            now: Span::ZERO,
            state,
            wall_ns: BTreeMap::new(),
            number: 0,
            messages: BTreeMap::new(),
            transfers: BTreeMap::new(),
        };
        for actor in ["n1", "w1", "w2", "r1"] {
            let started = Kind::Actor {
                change: Change::Started,
                detail: "instance 1".into(),
            };
            story.event(actor, Observer::Timeline, None, started);
        }
        story.ping("n1");
        for name in story.plan.watch.clone() {
            story.sight(&name, &[]);
        }
        story.read();
        story
    }

    pub(crate) fn event(&mut self, actor: &str, observer: Observer, op: Option<Op>, kind: Kind) -> EventId {
        let id = EventId(self.events.len() as u32);
        let (at, clocks) = (self.now, self.clocks(actor));
        self.events.push(Event {
            id,
            at,
            clocks,
            actor: actor.into(),
            observer,
            op,
            kind,
        });
        id
    }

    fn clocks(&self, actor: &str) -> Clocks {
        let wall =
            1_000_000_000_000 + i128::from(self.now.ns) + self.wall_ns.get(actor).copied().unwrap_or(0);
        Clocks {
            realtime: RealtimeNs(wall as u64),
            monotonic: MonotonicNs(500_000 + self.now.ns),
        }
    }

    /// Moves time to an instant.
    pub(crate) fn at(&mut self, span: Span) -> &mut Self {
        self.now = span;
        self
    }

    /// Moves time on.
    pub(crate) fn pass(&mut self, span: Span) -> &mut Self {
        self.now = self.now + span;
        self
    }

    /// A step by its id, or by its number from 1.
    fn step(&self, name: &str) -> usize {
        match name.parse::<usize>() {
            Ok(number) => number - 1,
            Err(_) => self
                .plan
                .step_index(name)
                .unwrap_or_else(|| panic!("no step {name}")),
        }
    }

    fn who(&self, op: Op) -> String {
        match &self.plan.steps[op.step as usize].what {
            moonquake_scenario::What::Do(action) => action.who.clone().unwrap_or("master".into()),
            _ => "master".into(),
        }
    }

    pub(crate) fn begin(&mut self, step: &str) -> Op {
        self.begin_again(step, 1)
    }

    pub(crate) fn begin_again(&mut self, step: &str, repetition: u32) -> Op {
        let step = self.step(step);
        let op = Op {
            step: step as u32,
            repetition,
        };
        let text = self.plan.steps[step].text.clone();
        let who = self.who(op);
        self.event(&who, Observer::Timeline, Some(op), Kind::StepBegan { text });
        op
    }

    pub(crate) fn end(&mut self, op: Op, outcome: &str) -> EventId {
        self.end_with(op, outcome, None)
    }

    pub(crate) fn end_with(&mut self, op: Op, outcome: &str, content: Option<Content>) -> EventId {
        self.end_each(op, outcome, &[], content)
    }

    pub(crate) fn end_each(
        &mut self,
        op: Op,
        outcome: &str,
        each: &[&str],
        content: Option<Content>,
    ) -> EventId {
        let who = self.who(op);
        let ended = Kind::StepEnded {
            outcome: outcome.into(),
            entries: each.iter().map(ToString::to_string).collect(),
            count: None,
            content,
            note: None,
        };
        self.event(&who, Observer::Timeline, Some(op), ended)
    }

    /// The observer reads the master's state, and its clock is read back.
    pub(crate) fn read(&mut self) {
        let state = self.state.clone();
        self.event("master", Observer::Master, None, Kind::State(state));
        self.clock("master");
    }

    pub(crate) fn clock(&mut self, actor: &str) {
        let Clocks { realtime, monotonic } = self.clocks(actor);
        self.event(
            actor,
            Observer::Clock,
            None,
            Kind::ClockRead { realtime, monotonic },
        );
    }

    /// A step that is over at once: a check, a tick, a resume.
    pub(crate) fn instant(&mut self, step: &str) -> Op {
        let op = self.begin(step);
        if let moonquake_scenario::What::Tick(thread) = self.plan.steps[op.step as usize].what {
            self.event(
                "master",
                Observer::Master,
                Some(op),
                Kind::Tick {
                    thread: thread.name().into(),
                },
            );
        }
        self.end(op, "ok");
        self.read();
        op
    }

    pub(crate) fn sight(&mut self, buffer: &str, blind: &[&str]) {
        let sight = Kind::Sight {
            buffer: buffer.into(),
            witness: "test".into(),
            sees: vec!["write".into()],
            blind: blind.iter().map(|kind| (*kind).to_owned()).collect(),
        };
        self.event("master", Observer::Witness, None, sight);
    }

    pub(crate) fn access(&mut self, op: Op, buffer: &str, write: bool, from: u64, to: u64) -> EventId {
        let who = self.who(op);
        self.event(
            &who,
            Observer::Witness,
            Some(op),
            Kind::Access {
                buffer: buffer.into(),
                write,
                from,
                to,
            },
        )
    }

    pub(crate) fn bind(&mut self, name: &str, range: Option<Range>) {
        self.event(
            "n1",
            Observer::Link,
            None,
            Kind::Bound {
                name: name.into(),
                range,
            },
        );
    }

    pub(crate) fn ping(&mut self, actor: &str) {
        self.number += 1;
        let message = self.number;
        let sent = Sent {
            actor: actor.into(),
            op: None,
            rpc: "Ping".into(),
            key: None,
            code: Some("ok".into()),
            ranges: Vec::new(),
            lease_ms: None,
        };
        self.messages.insert(message, sent);
        self.leg(message, Leg::RequestHandled);
    }

    // Messages.

    pub(crate) fn send(&mut self, op: Op, rpc: &str, key: &str) -> u64 {
        self.number += 1;
        let sent = Sent {
            actor: self.who(op),
            op: Some(op),
            rpc: rpc.into(),
            key: Some(key.into()),
            code: None,
            ranges: Vec::new(),
            lease_ms: None,
        };
        self.messages.insert(self.number, sent);
        self.leg(self.number, Leg::RequestSent);
        self.number
    }

    pub(crate) fn handle(&mut self, message: u64, code: &str, ranges: &[Range]) {
        let sent = self.messages.get_mut(&message).unwrap();
        sent.code = Some(code.into());
        sent.ranges = ranges.to_vec();
        if sent.rpc.ends_with("GetReplicaList") && code == "ok" {
            sent.lease_ms = Some(self.plan.world.timeouts.lease.ns / 1_000_000);
        }
        self.leg(message, Leg::RequestHandled);
    }

    /// The answer is another one from here on.
    pub(crate) fn replace_code(&mut self, message: u64, code: &str) {
        self.messages.get_mut(&message).unwrap().code = Some(code.into());
    }

    pub(crate) fn deliver(&mut self, message: u64) {
        self.leg(message, Leg::ResponseDelivered);
    }

    pub(crate) fn leg(&mut self, message: u64, leg: Leg) -> EventId {
        let sent = self.messages[&message].clone();
        let answered = !matches!(leg, Leg::RequestSent | Leg::RequestLost | Leg::Closed);
        let frame = Kind::Frame {
            message,
            leg,
            rpc: sent.rpc,
            key: sent.key,
            code: sent.code.filter(|_| answered),
            ranges: if answered { sent.ranges } else { Vec::new() },
            shares: Vec::new(),
            lease_ms: sent.lease_ms.filter(|_| answered),
        };
        self.event(&sent.actor, Observer::Link, sent.op, frame)
    }

    pub(crate) fn call(&mut self, op: Op, rpc: &str, key: &str, code: &str, ranges: &[Range]) -> u64 {
        let message = self.send(op, rpc, key);
        self.handle(message, code, ranges);
        self.deliver(message);
        message
    }

    // Transfers.

    pub(crate) fn open(&mut self, op: Op, write: bool, range: &Range) -> u64 {
        self.open_with(op, write, range, None)
    }

    pub(crate) fn open_with(&mut self, op: Op, write: bool, range: &Range, buffer: Option<&str>) -> u64 {
        self.open_in(op, write, range, buffer, None)
    }

    /// With the first byte of its block of staging memory.
    pub(crate) fn open_staged(&mut self, op: Op, write: bool, range: &Range, from: u64) -> u64 {
        let to = from + range.size;
        self.open_in(op, write, range, None, Some(Block { from, to }))
    }

    fn open_in(
        &mut self,
        op: Op,
        write: bool,
        range: &Range,
        buffer: Option<&str>,
        block: Option<Block>,
    ) -> u64 {
        self.number += 1;
        let transfer = self.number;
        let buffer = buffer.map(str::to_owned);
        let moving = Moving {
            actor: self.who(op),
            op: Some(op),
            write,
            range: range.clone(),
            buffer,
        };
        let opened = Kind::TransferOpened {
            transfer,
            write,
            range: range.clone(),
            buffer: moving.buffer.clone(),
            block,
        };
        self.event(&moving.actor.clone(), Observer::Owner, Some(op), opened);
        self.transfers.insert(transfer, moving);
        transfer
    }

    /// The n-th part of 1 MiB lands.
    pub(crate) fn part(&mut self, transfer: u64, number: u32) -> EventId {
        let moving = self.transfers[&transfer].clone();
        let from = u64::from(number - 1) * MIB;
        let to = (from + MIB).min(moving.range.size);
        let payload = Kind::Payload {
            transfer,
            write: moving.write,
            range: Range {
                segment: moving.range.segment.clone(),
                offset: moving.range.offset + from,
                size: to - from,
            },
            from,
            to,
            first_part: number,
            last_part: number,
            parts: moving.range.size.div_ceil(MIB) as u32,
        };
        self.event(&moving.actor, Observer::Owner, moving.op, payload)
    }

    pub(crate) fn parts(&mut self, transfer: u64, numbers: std::ops::RangeInclusive<u32>) {
        for number in numbers {
            self.part(transfer, number);
        }
    }

    pub(crate) fn close(&mut self, transfer: u64, how: &str) {
        let moving = self.transfers[&transfer].clone();
        let closed = Kind::TransferClosed {
            transfer,
            how: how.into(),
        };
        self.event(&moving.actor, Observer::Owner, moving.op, closed);
    }

    /// A whole transfer of up to four parts.
    pub(crate) fn transfer(&mut self, op: Op, write: bool, range: &Range) -> u64 {
        let transfer = self.open(op, write, range);
        self.parts(transfer, 1..=range.size.div_ceil(MIB) as u32);
        self.close(transfer, "complete");
        transfer
    }

    // The fault.

    /// The injector claims its injection.
    pub(crate) fn inject(&mut self, op: Option<Op>) -> EventId {
        self.inject_on(op, None, None)
    }

    pub(crate) fn inject_on(
        &mut self,
        op: Option<Op>,
        message: Option<u64>,
        transfer: Option<u64>,
    ) -> EventId {
        let fault = self.plan.fault.clone();
        let phase = match &fault.trigger {
            Trigger::At { phase, .. } => Some(phase.name().to_owned()),
            _ => None,
        };
        let kind = Kind::Injected {
            dimension: fault.dimension.row().name.into(),
            phase,
            action: fault.action.as_ref().map(|action| action.words()),
            message,
            transfer,
        };
        self.event(&fault.target, Observer::Injector, op, kind)
    }

    pub(crate) fn release(&mut self) {
        let target = self.plan.fault.target.clone();
        self.event(&target, Observer::Injector, None, Kind::Released);
    }

    pub(crate) fn change(&mut self, actor: &str, change: Change) {
        let observer = if actor == "master" {
            Observer::Master
        } else {
            Observer::Link
        };
        self.event(
            actor,
            observer,
            None,
            Kind::Actor {
                change,
                detail: "seen".into(),
            },
        );
    }

    // Whole operations.

    /// A put of 4 MiB (or what its range says) that succeeds.
    pub(crate) fn put(&mut self, step: &str, key: &str, at: &Range) -> Op {
        let op = self.begin(step);
        self.call(op, "PutStart", key, "ok", std::slice::from_ref(at));
        self.bind_of(op, at);
        self.transfer(op, true, at);
        self.call(op, "PutEnd", key, "ok", &[]);
        self.live(key, at);
        self.end(op, "ok");
        self.read();
        op
    }

    /// Binds the first name of a step to a range.
    pub(crate) fn bind_of(&mut self, op: Op, at: &Range) {
        let bind = match &self.plan.steps[op.step as usize].what {
            moonquake_scenario::What::Do(action) => action.bind.first().cloned(),
            _ => None,
        };
        if let Some(name) = bind {
            self.bind(&name, Some(at.clone()));
        }
    }

    /// The state lists a key from here on.
    pub(crate) fn live(&mut self, key: &str, at: &Range) {
        self.state.allocated_bytes += at.size;
        self.state.keys.insert(key.into(), vec![at.clone()]);
    }

    /// The state lists a key no more.
    pub(crate) fn dead(&mut self, key: &str) {
        let ranges = self.state.keys.remove(key).unwrap_or_default();
        self.state.allocated_bytes -= ranges.iter().map(|range| range.size).sum::<u64>();
    }

    /// A get that succeeds and brings a pattern.
    pub(crate) fn get(&mut self, step: &str, key: &str, at: &Range, pattern: &str) -> Op {
        let op = self.begin(step);
        self.call(op, "GetReplicaList", key, "ok", std::slice::from_ref(at));
        self.transfer(op, false, at);
        self.end_with(op, "ok", Some(all(pattern, at.size)));
        self.read();
        op
    }

    /// A step of one call.
    pub(crate) fn one(&mut self, step: &str, rpc: &str, key: &str, code: &str) -> Op {
        self.one_with(step, rpc, key, code, &[])
    }

    pub(crate) fn one_with(&mut self, step: &str, rpc: &str, key: &str, code: &str, ranges: &[Range]) -> Op {
        let op = self.begin(step);
        self.call(op, rpc, key, code, ranges);
        if rpc == "Remove" && code == "ok" {
            self.dead(key);
        }
        self.end(op, code);
        self.read();
        op
    }

    // The end.

    pub(crate) fn evidence(&self) -> Evidence {
        Evidence {
            baseline: Baseline::default(),
            events: self.events.clone(),
        }
    }

    pub(crate) fn judge(&self) -> Judgement {
        judge(&self.plan, &self.evidence(), Profile::Upstream, EngineKind::Model)
    }
}

/// Everything that failed, by name.
pub(crate) fn failed(judgement: &Judgement) -> Vec<&str> {
    let all = judgement.expectations.iter().chain(&judgement.invariants);
    let wrong = all.filter(|finding| !finding.status.is_fine());
    wrong.map(|finding| finding.name.as_str()).collect()
}

/// The finding of a name.
pub(crate) fn finding<'a>(judgement: &'a Judgement, name: &str) -> &'a Finding {
    let mut all = judgement.expectations.iter().chain(&judgement.invariants);
    all.find(|finding| finding.name == name)
        .unwrap_or_else(|| panic!("no finding {name}"))
}

pub(crate) fn status(judgement: &Judgement, name: &str) -> Status {
    finding(judgement, name).status
}
