//! A small plan and a tape to write evidence on.

pub(crate) mod cases;

use cases::Case;
use moonquake_report::Postmortem;

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span};
use moonquake_evidence::{Baseline, EventId, Evidence, Kind, Leg, Log, Observer, Op, Range, State};
use moonquake_faults::{Dimension, PhaseId};
use moonquake_scenario::{
    Action, Base, Check, CheckKind, Do, Fault, Instant, Moment, Plan, ReportText, Step, Timeouts, Trigger,
    Verb, Verdict, VerdictLine, What, World,
};
use std::collections::BTreeMap;

const REPLAY: &str = "moonquake run scenarios/crash-writer-dies-before-payload.scenario.toml --engine model --profile upstream";

pub(crate) fn postmortem((plan, evidence, judgement): &Case) -> Postmortem {
    Postmortem::new(plan, evidence, judgement, REPLAY).unwrap()
}

pub(crate) fn projected((plan, evidence, judgement): &Case) -> Postmortem {
    Postmortem::projected(plan, evidence, judgement, REPLAY).unwrap()
}

/// A put that dies after the answer to PutStart, and the boundary of its discard.
pub(crate) fn plan() -> Plan {
    let steps = vec![
        step(0, Some("p1"), None, "w1 put k 4MiB as a1", &[]),
        step(1, None, Some("fault"), "r1 get k", &["REPLICA_IS_NOT_READY"]),
        step(
            2,
            Some("s2"),
            Some("p1 + discard"),
            "w2 put_start k 4MiB",
            &["OBJECT_ALREADY_EXISTS"],
        ),
        step(
            3,
            Some("s3"),
            Some("p1 + discard + 1ns"),
            "w2 put k 4MiB as a2",
            &["ok"],
        ),
        check(4, "a1 and a2 are disjoint"),
    ];
    Plan {
        id: "put-start/writer-dies-before-payload".into(),
        title: "Writer dies after the PutStart response, before the payload".into(),
        why: "PutStart hands out memory that nobody has written yet.\nIf the writer dies here, readers must not see it.".into(),
        see: vec!["kvcache-ai/Mooncake#975".into(), "https://example.org/a?b=1&c=2".into(), "a note".into()],
        world: World {
            segments: vec![("n1".into(), 16 << 20)],
            clients: vec!["w1".into(), "w2".into(), "r1".into()],
            timeouts: Timeouts::default(),
            step: Span::ZERO,
            chunk_bytes: 64 << 10,
            slice_bytes: World::SLICE_BYTES,
            local_buffer_bytes: World::LOCAL_BUFFER_BYTES,
            checksums: false,
            flags: BTreeMap::new(),
        },
        fault: Fault {
            dimension: Dimension::Crash,
            target: "w1".into(),
            trigger: Trigger::At { phase: PhaseId::from_name("client.put.start_response").unwrap(), of: None, hit: 1 },
            action: Some(Action::Kill),
        },
        watch: vec!["a1".into()],
        steps,
        report: ReportText {
            expected: "No reader sees k before PutEnd. w2 is refused up to and including 30 s and admitted 1 ns later.".into(),
            repair: "Degrade: k is unavailable for 30 s and 4 MiB is stranded until the sweep.".into(),
        },
        verdicts: vec![VerdictLine { profiles: vec![], engines: vec![], is: Verdict::Holds, because: None, violates: vec![] }],
        path: "scenarios/crash-writer-dies-before-payload.scenario.toml".into(),
        sha256: "0f".repeat(32),
    }
}

fn step(index: usize, id: Option<&str>, at: Option<&str>, text: &str, expect: &[&str]) -> Step {
    let what = What::Do(Do {
        who: Some("w1".into()),
        verb: Verb::Put,
        key: Some("k".into()),
        ..Do::default()
    });
    let at = at.map(|text| Instant {
        base: Base::Step(0, Moment::Handled),
        terms: vec![],
        text: text.into(),
    });
    Step {
        index,
        id: id.map(Into::into),
        at,
        what,
        expect: expect.iter().map(|&name| name.into()).collect(),
        is_async: false,
        times: 1,
        every: None,
        until: None,
        text: text.into(),
    }
}

fn check(index: usize, text: &str) -> Step {
    let check = Check {
        kind: CheckKind::Disjoint,
        of: vec!["a1".into(), "a2".into()],
        since: None,
        size_bytes: None,
        payload: None,
    };
    Step {
        what: What::Check(check),
        ..step(index, None, None, text, &[])
    }
}

pub(crate) fn range(offset_mib: u64) -> Range {
    Range {
        segment: "n1".into(),
        offset: offset_mib << 20,
        size: 4 << 20,
    }
}

/// Writes evidence.
pub(crate) struct Tape {
    log: Log,
    at: Span,
    op: Option<Op>,
    /// The repetition of the steps that begin.
    pub(crate) repetition: u32,
    /// The number of the last message.
    pub(crate) message: u64,
    /// What each actor's wall clock is ahead of the timeline.
    pub(crate) wall_ahead: BTreeMap<String, Span>,
    /// What differs between two runs of real processes: where the wall clock starts, and a number in each detail.
    pub(crate) luck: u64,
}

impl Tape {
    pub(crate) fn new() -> Tape {
        Tape {
            log: Log::new(),
            at: Span::ZERO,
            op: None,
            repetition: 1,
            message: 0,
            wall_ahead: BTreeMap::new(),
            luck: 0,
        }
    }

    pub(crate) fn push(&mut self, actor: &str, observer: Observer, kind: Kind) -> EventId {
        let ahead = self.wall_ahead.get(actor).copied().unwrap_or_default();
        let clocks = Clocks {
            realtime: RealtimeNs(1_700_000_000_000_000_000 + self.luck) + self.at + ahead,
            monotonic: MonotonicNs(1_000_000_000) + self.at,
        };
        self.log.push(self.at, clocks, actor, observer, self.op, kind)
    }

    pub(crate) fn begin(&mut self, step: u32, actor: &str, text: &str) -> EventId {
        let repetition = self.repetition;
        self.op = Some(Op { step, repetition });
        self.push(actor, Observer::Timeline, Kind::StepBegan { text: text.into() })
    }

    pub(crate) fn end(&mut self, actor: &str, outcome: &str) -> EventId {
        let kind = Kind::StepEnded {
            outcome: outcome.into(),
            entries: vec![],
            count: None,
            content: None,
            note: None,
        };
        let id = self.push(actor, Observer::Timeline, kind);
        self.op = None;
        id
    }

    pub(crate) fn frame(
        &mut self,
        leg: Leg,
        actor: &str,
        rpc: &str,
        code: Option<&str>,
        ranges: Vec<Range>,
    ) -> EventId {
        let key = (rpc != "Ping" && rpc != "MountSegment").then(|| "k".to_owned());
        let kind = Kind::Frame {
            message: self.message,
            leg,
            rpc: rpc.into(),
            key,
            code: code.map(Into::into),
            ranges,
            shares: Vec::new(),
            lease_ms: None,
        };
        self.push(actor, Observer::Link, kind)
    }

    /// A request, its handling and its answer; returns the id of the handling.
    pub(crate) fn call(&mut self, actor: &str, rpc: &str, code: &str, ranges: Vec<Range>) -> EventId {
        self.message += 1;
        self.frame(Leg::RequestSent, actor, rpc, None, vec![]);
        let handled = self.frame(Leg::RequestHandled, actor, rpc, Some(code), ranges.clone());
        self.frame(Leg::ResponseDelivered, actor, rpc, Some(code), ranges);
        handled
    }

    pub(crate) fn state(&mut self, allocated_mib: u64, key: Option<Range>) -> EventId {
        let state = State {
            allocated_bytes: allocated_mib << 20,
            capacity_bytes: 16 << 20,
            keys: key
                .map(|range| ("k".to_owned(), vec![range]))
                .into_iter()
                .collect(),
            segments: [("n1".to_owned(), 16 << 20)].into(),
        };
        self.push("master", Observer::Master, Kind::State(state))
    }

    pub(crate) fn advance(&mut self, to: Span) {
        let by = to - self.at;
        self.at = to;
        self.push("timeline", Observer::Timeline, Kind::Advanced { by });
    }

    pub(crate) fn transfer(&mut self, range: &Range) {
        let transfer = self.luck + 1;
        let opened = Kind::TransferOpened {
            transfer,
            write: true,
            range: range.clone(),
            buffer: None,
            block: None,
        };
        self.push("w2", Observer::Owner, opened);
        let moved = Kind::Payload {
            transfer,
            write: true,
            range: range.clone(),
            from: 0,
            to: range.size,
            first_part: 1,
            last_part: 64,
            parts: 64,
        };
        self.push("n1", Observer::Owner, moved);
        self.push(
            "n1",
            Observer::Owner,
            Kind::TransferClosed {
                transfer,
                how: "complete".into(),
            },
        );
    }

    /// The world is mounted; returns the id of what the witness declares.
    pub(crate) fn setup(&mut self, blind: &[&str]) -> EventId {
        self.call("n1", "MountSegment", "ok", vec![]);
        self.call("n1", "Ping", "ok", vec![]);
        self.state(0, None);
        let sight = Kind::Sight {
            buffer: "a1".into(),
            witness: "segment owner".into(),
            sees: vec!["remote write".into(), "remote read".into()],
            blind: blind.iter().map(|&kind| kind.into()).collect(),
        };
        self.push("n1", Observer::Witness, sight)
    }

    pub(crate) fn finish(self) -> Evidence {
        self.log.finish(Baseline {
            engine: "model".into(),
            profile: "upstream".into(),
            seed: None,
            versions: [("moonquake".to_owned(), "0.1.0".to_owned())].into(),
            configuration: [
                ("client_ttl".to_owned(), "10s".to_owned()),
                ("put_start_discard_timeout_sec".to_owned(), "30s".to_owned()),
                ("rpc_port".to_owned(), (50051 + self.luck).to_string()),
            ]
            .into(),
            real_time: [("n1".to_owned(), format!("{} short waits", self.luck))].into(),
        })
    }
}
