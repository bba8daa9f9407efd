//! A late access of each kind, made on purpose, turns the answer about a buffer of the real client to `yes`; without one it is `no`.

use crate::Test;
use moonquake_evidence::{Evidence, Kind};
use moonquake_faults::Profile;
use moonquake_judge::{Touch, Touched, judge};
use moonquake_native::selftest::socket_log;
use moonquake_native::{HostedEngine, Plant, PlantedBy, PlantedIn, run_planted};
use moonquake_scenario::{Engine, EngineKind, Plan, RunOptions, parse};
use moonquake_witness::selftest::Measured;
use moonquake_witness::{AccessKind, Way};

pub(crate) const TESTS: &[Test] = &[
    ("real_sight_says_no_where_nothing_was_touched", clean),
    ("real_sight_tells_each_planted_access", planted),
    ("real_sight_tells_reads_when_the_bytes_move", exact),
    ("real_sight_of_the_socket_log_is_as_it_claims", log),
];

/// A get that fails without a late byte.
const CLEAN: &[u8] = br#"
schema = 1
id     = "planted/clean"
title  = "A get fails, and nothing lands later"
why    = "The witness must say no here, and yes as soon as somebody touches the buffer."
[world]
segments = { n1 = "16MiB" }
clients  = ["w1", "r1"]
chunk    = "256KiB"
[fault]
dimension = "network"
target    = "r1"
at        = "client.get.payload_part"
of        = "g1"
hit       = 1
action    = "cut"
[watch]
buffer = "b1"
[timeline]
steps = [
  { id = "p1", who = "w1", do = "put", key = "k", size = "1MiB", expect = "ok" },
  { id = "g1", who = "r1", do = "get", key = "k", into = "b1", expect = "TRANSFER_FAIL" },
  { at = "g1 + 1s", who = "w1", do = "exist", key = "k", expect = "true" },
  { check = "untouched", of = ["b1"], since = "g1.done" },
]
[report]
expected = "Nobody touches b1 once the get has failed."
repair   = "None."
[[verdict]]
is = "holds"
"#;

/// A put that fails, and nothing lands in its range later.
const CLEAN_RANGE: &[u8] = br#"
schema = 1
id     = "planted/clean-range"
title  = "A put fails, and nothing lands later"
why    = "The witness must say no here, and yes as soon as somebody touches the range."
[world]
segments = { n1 = "16MiB" }
clients  = ["w1", "r1"]
chunk    = "256KiB"
[fault]
dimension = "network"
target    = "w1"
at        = "client.put.payload_part"
of        = "p1"
hit       = 1
action    = "cut"
[watch]
buffer = "a1"
[timeline]
steps = [
  { id = "p1", who = "w1", do = "put", key = "k", size = "1MiB", bind = "a1", expect = "TRANSFER_FAIL" },
  { at = "p1 + 1s", who = "r1", do = "exist", key = "k", expect = "false" },
  { check = "untouched", of = ["a1"], since = "p1.done" },
]
[report]
expected = "Nobody touches a1 once the put has failed."
repair   = "None."
[[verdict]]
is = "holds"
"#;

fn plan(text: &[u8]) -> Plan {
    parse::from_str("sight", text).unwrap_or_else(|errors| panic!("{}", errors.plain()))
}

fn options() -> RunOptions {
    RunOptions::new(Profile::Upstream)
}

fn answer(plan: &Plan, evidence: &Evidence) -> Touched {
    let judgement = judge(plan, evidence, Profile::Upstream, EngineKind::Hosted);
    let named = judgement.buffer.names.into_iter().next();
    named.expect("an answer about the buffer").answer
}

fn clean() {
    for text in [CLEAN, CLEAN_RANGE] {
        let plan = plan(text);
        let evidence = HostedEngine
            .run(&plan, &options())
            .unwrap_or_else(|error| panic!("{}: {error}", plan.id));
        let answer = answer(&plan, &evidence);
        assert!(matches!(answer, Touched::No { .. }), "{}: {answer:?}", plan.id);
    }
}

fn planted() {
    for plant in Plant::ALL {
        let (plan, who) = match plant.within {
            PlantedIn::Buffers => (plan(CLEAN), "r1"),
            PlantedIn::Segments => (plan(CLEAN_RANGE), "n1"),
        };
        let evidence =
            run_planted(&plan, &options(), plant).unwrap_or_else(|error| panic!("{plant:?}: {error}"));
        let answer = answer(&plan, &evidence);
        let Touched::Yes { touches } = &answer else {
            panic!("{plant:?}: {answer:?}");
        };
        let [touch] = touches.as_slice() else {
            panic!("{plant:?} is one access: {touches:?}");
        };
        let (from, to) = (Plant::FROM, Plant::FROM + Plant::BYTES);
        assert_eq!((touch.who.as_str(), touch.write), (who, plant.write), "{plant:?}");
        match plant.by {
            // The log has each access to the byte, page faults have pages.
            PlantedBy::Socket => assert_eq!((touch.from, touch.to), (from, to), "{plant:?}"),
            PlantedBy::Cpu | PlantedBy::Peer => {
                assert_eq!((touch.from, touch.to), (4096, 8192), "{plant:?}");
            }
        }
    }
}

fn log() {
    let row = socket_log().unwrap_or_else(|why| panic!("{why}"));
    assert!(row.broken().is_empty(), "{:?}", row.broken());
    let cells = row.cells.as_ref().expect("it was tried");
    for kind in AccessKind::ALL {
        let cell = cells.iter().find(|cell| cell.kind == kind).expect("each kind");
        let wanted = match kind.way {
            Way::Socket => Measured::Seen,
            Way::Cpu | Way::File | Way::Peer => Measured::NotSeen,
            Way::Nic => continue,
        };
        assert_eq!(cell.measured, wanted, "{kind}");
    }
}

/// A put whose second half moves after it has failed.
const SLOW_PUT: &str =
    include_str!("../../../../../../scenarios/buffer/source-read-after-a-failed-put.scenario.toml");

fn exact() {
    let plan = plan(SLOW_PUT.as_bytes());
    let evidence = HostedEngine
        .run(&plan, &options())
        .unwrap_or_else(|error| panic!("{error}"));
    let failed = evidence.events.iter().position(
        |event| matches!(&event.kind, Kind::StepEnded { outcome, .. } if outcome == "TRANSFER_FAIL"),
    );
    let failed = failed.expect("the put fails");
    let reads = |(place, event): (usize, &moonquake_evidence::Event)| match &event.kind {
        Kind::Access {
            buffer,
            write: false,
            from,
            to,
        } if buffer == "src" => Some((place < failed, *from, *to)),
        _ => None,
    };
    let reads: Vec<(bool, u64, u64)> = evidence.events.iter().enumerate().filter_map(reads).collect();
    // The first part moves before the fault; three of four have moved by the failure, and no kernel has more.
    assert_eq!(
        reads,
        [
            (true, 1 << 20, 2 << 20),
            (true, 2 << 20, 3 << 20),
            (false, 3 << 20, 4 << 20)
        ]
    );
    let touches = match answer(&plan, &evidence) {
        Touched::Yes { touches } => touches,
        other => panic!("{other:?}"),
    };
    let late: Vec<(u64, u64)> = touches
        .iter()
        .map(|touch: &Touch| (touch.from, touch.to))
        .collect();
    assert_eq!(
        late,
        [(3 << 20, 4 << 20)],
        "only what was read behind the failure is late"
    );
}
