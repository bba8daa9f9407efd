//! Every phase of the catalogue is told from every other: the matrix of where the fault should strike and where it did.

use crate::telling::{MIB, Story, range, scenario_in};
use moonquake_clock::Span;
use moonquake_evidence::{Change, Op};

const PUT: [&str; 7] = [
    "start_before",
    "start_sent",
    "start_response",
    "payload_part",
    "payload_done",
    "end_sent",
    "end_response",
];
const REVOKE: [&str; 3] = ["before", "sent", "response"];
/// Of a removal, and of a mount.
const SINGLE: [&str; 3] = ["before", "sent", "response"];
const GET: [&str; 5] = [
    "query_before",
    "query_sent",
    "query_response",
    "payload_part",
    "payload_done",
];

/// A put of four parts that stops at a phase; parts: how many have landed at `payload_part`.
fn put_until(story: &mut Story, phase: &str, parts: u32) -> Op {
    let op = story.begin("p1");
    let at = range(0, 4 * MIB);
    if phase == "start_before" {
        return op;
    }
    let start = story.send(op, "PutStart", "k");
    if phase == "start_sent" {
        return op;
    }
    story.handle(start, "ok", std::slice::from_ref(&at));
    story.state.allocated_bytes = 4 * MIB;
    story.deliver(start);
    if phase == "start_response" {
        return op;
    }
    let transfer = story.open(op, true, &at);
    if phase == "payload_part" {
        story.parts(transfer, 1..=parts);
        return op;
    }
    story.parts(transfer, 1..=4);
    story.close(transfer, "complete");
    if phase == "payload_done" {
        return op;
    }
    let end = story.send(op, "PutEnd", "k");
    if phase == "end_sent" {
        return op;
    }
    story.handle(end, "ok", &[]);
    story.state.keys.insert("k".into(), vec![at]);
    story.deliver(end);
    op
}

/// A put whose transfer the transport closed, stopped at a phase of its revoke.
fn revoke_until(story: &mut Story, phase: &str) -> Op {
    let op = story.begin("p1");
    let at = range(0, 4 * MIB);
    story.call(op, "PutStart", "k", "ok", std::slice::from_ref(&at));
    story.state.allocated_bytes = 4 * MIB;
    let transfer = story.open(op, true, &at);
    story.part(transfer, 1);
    story
        .pass(Span::from_secs(30))
        .close(transfer, "closed: no progress");
    if phase == "before" {
        return op;
    }
    let revoke = story.send(op, "PutRevoke", "k");
    if phase == "sent" {
        return op;
    }
    story.handle(revoke, "ok", &[]);
    story.state.allocated_bytes = 0;
    story.deliver(revoke);
    op
}

fn single_until(story: &mut Story, rpc: &str, phase: &str) -> Op {
    let op = story.begin("p1");
    if phase == "before" {
        return op;
    }
    let call = story.send(op, rpc, "k");
    if phase == "sent" {
        return op;
    }
    story.handle(call, "INVALID_PARAMS", &[]);
    story.deliver(call);
    op
}

fn get_until(story: &mut Story, phase: &str, parts: u32) -> Op {
    let at = range(0, 4 * MIB);
    story.put("p0", "k", &at);
    let op = story.begin("g1");
    if phase == "query_before" {
        return op;
    }
    let query = story.send(op, "GetReplicaList", "k");
    if phase == "query_sent" {
        return op;
    }
    story.handle(query, "ok", std::slice::from_ref(&at));
    story.deliver(query);
    if phase == "query_response" {
        return op;
    }
    let transfer = story.open(op, false, &at);
    if phase == "payload_part" {
        story.parts(transfer, 1..=parts);
        return op;
    }
    story.parts(transfer, 1..=4);
    story.close(transfer, "complete");
    op
}

fn crash_plan(operation: &str, phase: &str, hit: u32) -> String {
    let (target, of) = if operation == "get" {
        ("r1", "g1")
    } else {
        ("w1", "p1")
    };
    let fault = format!(
        "dimension = \"crash\"\ntarget = \"{target}\"\nat = \"client.{operation}.{phase}\"\nof = \"{of}\"\n\
         hit = {hit}\naction = \"kill\""
    );
    let steps = match operation {
        "get" => {
            "{ id = \"p0\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },\n\
             { id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", async = true },"
        }
        "mount" => "{ id = \"p1\", who = \"w1\", do = \"mount_segment\", async = true },",
        "remove" => "{ id = \"p1\", who = \"w1\", do = \"remove\", key = \"k\", async = true },",
        _ => "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", async = true },",
    };
    let end = "\n{ id = \"last\", who = \"w2\", do = \"exist\", key = \"other\", expect = \"false\" },";
    scenario_in(
        "timeouts = { client_ttl = \"300s\" }",
        &fault,
        &format!("{steps}{end}"),
    )
}

/// The story of a put, revoke, get, removal or mount that stops at a phase.
fn until(operation: &str, planned: &str, hit: u32, real: &str, parts: u32) -> (Story, Op) {
    let mut story = Story::new(&crash_plan(operation, planned, hit));
    let op = match operation {
        "put" => put_until(&mut story, real, parts),
        "revoke" => revoke_until(&mut story, real),
        "remove" => single_until(&mut story, "Remove", real),
        "mount" => single_until(&mut story, "MountSegment", real),
        _ => get_until(&mut story, real, parts),
    };
    (story, op)
}

fn die(story: &mut Story, op: Op) {
    let target = story.plan.fault.target.clone();
    story.inject(Some(op));
    story.change(&target, Change::Killed);
    story.end(op, "no result");
    story.read();
    story.one("last", "ExistKey", "other", "false");
}

fn proven_at(operation: &str, planned: &str, real: &str) -> bool {
    let (mut story, op) = until(operation, planned, 1, real, 1);
    die(&mut story, op);
    story.judge().proof.proven
}

#[test]
fn each_phase_is_proven_where_it_is_and_nowhere_else() {
    let all = [
        ("put", &PUT[..]),
        ("revoke", &REVOKE[..]),
        ("get", &GET[..]),
        ("remove", &SINGLE[..]),
        ("mount", &SINGLE[..]),
    ];
    for (operation, phases) in all {
        for planned in phases {
            for real in phases {
                assert_eq!(
                    proven_at(operation, planned, real),
                    planned == real,
                    "client.{operation}.{planned} planned, struck at {real}"
                );
            }
        }
    }
}

#[test]
fn a_part_is_told_from_the_other_parts_and_from_the_end() {
    for operation in ["put", "get"] {
        for hit in 1..=4 {
            for parts in 1..=4 {
                let (mut story, op) = until(operation, "payload_part", hit, "payload_part", parts);
                die(&mut story, op);
                assert_eq!(
                    story.judge().proof.proven,
                    hit == parts,
                    "{operation}: part {parts}, hit {hit}"
                );
            }
            let (mut story, op) = until(operation, "payload_part", hit, "payload_done", 4);
            die(&mut story, op);
            assert!(!story.judge().proof.proven, "{operation} was done at part {hit}");
        }
    }
}

#[test]
fn a_phase_of_put_is_none_of_revoke() {
    let (mut story, op) = until("put", "payload_part", 1, "payload_part", 1);
    // The transport closed the transfer: the put is about to revoke, it does not stand in its payload any more.
    let transfer = story
        .events
        .iter()
        .rev()
        .find_map(|event| match event.kind {
            moonquake_evidence::Kind::Payload { transfer, .. } => Some(transfer),
            _ => None,
        })
        .unwrap();
    story.close(transfer, "closed: no progress");
    die(&mut story, op);
    assert!(!story.judge().proof.proven);
}

#[test]
fn a_claimed_crash_proves_nothing_at_any_phase() {
    for (operation, phases) in [("put", &PUT[..]), ("revoke", &REVOKE[..]), ("get", &GET[..])] {
        for phase in phases {
            let (mut story, op) = until(operation, phase, 1, phase, 1);
            story.inject(Some(op));
            story.end(op, "ok");
            story.read();
            let judgement = story.judge();
            assert!(!judgement.proof.proven, "client.{operation}.{phase}");
            assert!(judgement.proof.claimed.is_some());
        }
    }
}

#[test]
fn an_actor_that_goes_on_did_not_die() {
    for life in ["frame", "ping", "payload"] {
        let (mut story, op) = until("put", "start_response", 1, "start_response", 1);
        story.inject(Some(op));
        story.change("w1", Change::Killed);
        match life {
            "frame" => drop(story.send(op, "PutEnd", "k")),
            "ping" => story.ping("w1"),
            _ => {
                let transfer = story.open(op, true, &range(0, 4 * MIB));
                story.part(transfer, 1);
            }
        }
        story.read();
        assert!(!story.judge().proof.proven, "{life}");
    }
}

#[test]
fn the_wrong_operation_and_the_wrong_actor_are_not_meant() {
    let (mut story, op) = until("put", "start_response", 1, "start_response", 1);
    story.inject(Some(op));
    story.change("w2", Change::Killed);
    story.end(op, "no result");
    assert!(!story.judge().proof.proven, "w2 died instead of w1");

    let (mut story, op) = until("put", "start_response", 1, "start_response", 1);
    let other = story.begin("last");
    story.inject(Some(other));
    story.change("w1", Change::Killed);
    story.end(op, "no result");
    assert!(!story.judge().proof.proven, "another operation was struck");
}

#[test]
fn a_phase_that_was_never_reached_says_so() {
    let mut story = Story::new(&crash_plan("revoke", "sent", 1));
    let at = range(0, 4 * MIB);
    story.put("p1", "k", &at);
    let judgement = story.judge();
    assert_eq!(judgement.verdict, moonquake_scenario::Verdict::NotReproduced);
    let text = judgement.proof.text();
    assert!(
        text.contains("client.revoke.sent was never reached: p1 ended with ok (e"),
        "{text}"
    );
}

#[test]
fn a_crash_after_a_step_strikes_before_the_next_one() {
    let fault = "dimension = \"crash\"\ntarget = \"w1\"\nafter = \"p1\"\naction = \"kill\"";
    let steps = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },\n\
                 { id = \"last\", who = \"w2\", do = \"exist\", key = \"other\", expect = \"false\" },";
    let text = scenario_in("", fault, steps);
    let mut story = Story::new(&text);
    let op = story.put("p1", "k", &range(0, 4 * MIB));
    story.inject(Some(op));
    story.change("w1", Change::Killed);
    story.one("last", "ExistKey", "other", "false");
    let judgement = story.judge();
    assert!(judgement.proof.proven, "{}", judgement.proof.text());

    let mut story = Story::new(&text);
    let op = story.put("p1", "k", &range(0, 4 * MIB));
    story.one("last", "ExistKey", "other", "false");
    story.inject(Some(op));
    story.change("w1", Change::Killed);
    assert!(!story.judge().proof.proven, "a step came between");
}
