//! What a client does by the clock, seen event by event in virtual time.

use moonquake_clock::Span;
use moonquake_evidence::{Event, Evidence, Kind, Leg};
use moonquake_faults::Profile;
use moonquake_scenario::{EngineKind, RunOptions, parse};
use moonquake_tests::run;

/// Runs steps in a world; the fault is an ordinary step, `x`, and strikes nothing unless told otherwise.
fn play(world: &str, fault: &str, steps: &str) -> Evidence {
    let text = format!(
        r#"
schema = 1
id = "misuse/by-the-clock"
title = "By the clock"
why = "When things happen."
[world]
{world}
[fault]
{fault}
[timeline]
steps = [
{steps}
]
[report]
expected = "Something."
repair = "None needed."
[[verdict]]
is = "holds"
"#
    );
    let plan = parse::from_str("clock.scenario.toml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{}", errors.plain()));
    run(EngineKind::Model, &plan, &RunOptions::new(Profile::Upstream)).unwrap()
}

const NO_FAULT: &str = "dimension = \"misuse\"\ntarget = \"master\"\nstep = \"x\"";

/// The events that show a request of that name arrive at the master from an actor.
fn handled<'a>(evidence: &'a Evidence, of: &'a str, name: &'a str) -> impl Iterator<Item = &'a Event> {
    evidence.events.iter().filter(move |event| {
        let Kind::Frame { rpc, leg, .. } = &event.kind else {
            return false;
        };
        event.actor == of && rpc == name && *leg == Leg::RequestHandled
    })
}

/// When the only repetition of each step ended, and with what, in the order of their ends.
fn ends(evidence: &Evidence) -> Vec<(u32, Span, String)> {
    let end = |event: &Event| match (&event.kind, event.op) {
        (Kind::StepEnded { outcome, .. }, Some(op)) => Some((op.step, event.at, outcome.clone())),
        _ => None,
    };
    evidence.events.iter().filter_map(end).collect()
}

/// Mirrors ZeroSegmentClientStartsHeartbeatOnlyAfterMount of `non_ha_reconnect_test.cpp`: no ping before a mount was answered,
/// one right after it and one each second; a client that mounts nothing never pings, whatever else it does.
#[test]
fn model_zero_segment_client_starts_heartbeat_only_after_mount() {
    let evidence = play(
        "segments = { n1 = \"16MiB\" }\nclients = [\"w1\"]",
        NO_FAULT,
        r#"  { id = "x", at = "start + 2s", who = "w1", do = "put", key = "k", size = "1MiB", expect = "ok" },
  { at = "start + 5s", who = "w1", do = "get", key = "k", expect = "ok" },"#,
    );
    assert_eq!(handled(&evidence, "w1", "Ping").count(), 0);
    let pings: Vec<u64> = handled(&evidence, "n1", "Ping").map(|ping| ping.at.ns).collect();
    let each_second: Vec<u64> = (0..=5).map(|second| second * 1_000_000_000).collect();
    assert_eq!(pings, each_second);
    let mounted = evidence.events.iter().find(|event| {
        matches!(&event.kind, Kind::Frame { rpc, leg: Leg::ResponseDelivered, .. } if rpc == "MountSegment")
    });
    let first = handled(&evidence, "n1", "Ping").next().unwrap();
    assert!(mounted.unwrap().id < first.id);
}

/// Mirrors DefaultRpcTimeoutIs30s and TimeoutEnvOverridesAreOptIn of `rpc_timeout_test.cpp`: a master that says nothing is given
/// up after 30 s, or after what the client was told, and at that instant.
#[test]
fn model_timeout_overrides_are_opt_in() {
    for (timeouts, length) in [("", 30_000), ("timeouts = { rpc = \"500ms\" }", 500)] {
        let world = format!("segments = {{ n1 = \"16MiB\" }}\nclients = [\"w1\"]\n{timeouts}");
        let fault = "dimension = \"network\"\ntarget = \"w1\"\nat = \"client.get.query_sent\"\nof = \"x\"\naction = \"drop\"";
        let steps = r#"  { id = "x", at = "start + 1s", who = "w1", do = "get", key = "k" },"#;
        let evidence = play(&world, fault, steps);
        let told = (0, Span::from_ms(1_000 + length), "RPC_TIMEOUT".to_owned());
        assert_eq!(ends(&evidence), [told]);
    }
}

/// The first read from an owner that is gone finds the connection broken that its client had; the next is refused at once, with four
/// attempts to connect. For a second nobody tries again: a read meanwhile waits for the end of that second, one at its end does not, and
/// one behind it begins another.
#[test]
fn model_an_owner_that_is_gone_is_tried_once_a_second() {
    let evidence = play(
        "segments = { n1 = \"16MiB\" }\nclients = [\"w1\", \"r1\"]",
        "dimension = \"crash\"\ntarget = \"n1\"\nafter = \"s1\"\naction = \"kill\"",
        r#"  { who = "w1", do = "put", key = "k", size = "1MiB", expect = "ok" },
  { who = "r1", do = "get", key = "k", expect = "ok" },
  { id = "s1", at = "start + 1s", who = "r1", do = "get_start", key = "k", expect = "ok" },
  { who = "r1", do = "get_read", use = "s1" },
  { who = "r1", do = "get_read", use = "s1" },
  { id = "g2", at = "start + 1s + 1ns", who = "r1", do = "get_read", use = "s1", async = true },
  { id = "g3", at = "start + 2s - 1ns", who = "r1", do = "get_read", use = "s1", async = true },
  { at = "start + 3s - 1ns", who = "r1", do = "get_read", use = "s1" },
  { at = "start + 4s", who = "r1", do = "get_read", use = "s1" },
  { at = "start + 5s + 1ns", who = "r1", do = "get_read", use = "s1" },"#,
    );
    let reads: Vec<(u32, u64)> = ends(&evidence)
        .into_iter()
        .filter(|(_, _, outcome)| outcome == "TRANSFER_FAIL")
        .map(|(step, at, _)| (step, at.ns))
        .collect();
    let second = 1_000_000_000;
    assert_eq!(
        reads,
        [
            (3, second),
            (4, second),
            (5, 2 * second),
            (6, 2 * second),
            (7, 3 * second),
            (8, 4 * second),
            (9, 5 * second + 1)
        ]
    );
}

/// A client has four workers: the fifth task waits, and is taken by the first of them that is done.
#[test]
fn model_a_client_has_four_workers() {
    let keys = "k{i}";
    let evidence = play(
        "segments = { n1 = \"16MiB\", n2 = \"16MiB\" }\nclients = [\"w1\"]\nchunk = \"256KiB\"",
        "dimension = \"buffer\"\ntarget = \"n2\"\nat = \"client.copy.payload_part\"\nof = \"x1\"\naction = \"freeze\"",
        &format!(
            r#"  {{ who = "w1", do = "put", key = "{keys}", size = "1MiB", preferred_segments = ["n1"], times = 6 }},
  {{ who = "w1", do = "create_copy_task", key = "{keys}", targets = ["n2"], times = 6 }},
  {{ who = "n1", do = "poll_tasks", expect = "ok" }},
  {{ id = "x1", who = "n1", do = "run_task", async = true }},
  {{ who = "n1", do = "run_task", async = true }},
  {{ who = "n1", do = "run_task", async = true }},
  {{ who = "n1", do = "run_task", async = true }},
  {{ id = "x5", who = "n1", do = "run_task", expect = "ok" }},
  {{ do = "resume" }},
  {{ await = "quiet", within = "1s" }},
  {{ who = "n1", do = "run_task", expect = "ok" }},"#
        ),
    );
    let starts: Vec<u32> = handled(&evidence, "n1", "CopyStart")
        .filter_map(|event| Some(event.op?.step))
        .collect();
    assert_eq!(starts, [3, 4, 5, 6, 10], "the fifth had no worker");
}
