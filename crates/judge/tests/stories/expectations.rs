//! Expectations, awaits and checks: each kind held, failed and not seen.

use crate::telling::{MIB, Story, all, failed, finding, range, scenario_in, status};
use moonquake_clock::Span;
use moonquake_evidence::{Content, Kind, Observer, Op, Range, Run};
use moonquake_judge::Status;

fn story(steps: &str) -> Story {
    let steps = format!("{steps}\n{{ id = \"stimulus\", who = \"w2\", do = \"exist\", key = \"none\" }},");
    let world = "step = \"0ns\"";
    Story::new(&scenario_in(
        world,
        "dimension = \"misuse\"\ntarget = \"master\"\nstep = \"stimulus\"",
        &steps,
    ))
}

fn one(expect: &str, outcome: &str) -> Status {
    let mut story = story(&format!(
        "{{ id = \"x\", who = \"r1\", do = \"exist\", key = \"k\", expect = {expect} }},"
    ));
    story.one("x", "ExistKey", "k", outcome);
    status(&story.judge(), "x")
}

#[test]
fn a_result_must_be_among_those_allowed() {
    assert_eq!(one("\"true\"", "true"), Status::Held);
    assert_eq!(one("\"true\"", "false"), Status::Failed);
    assert_eq!(one("[\"true\", \"RPC_TIMEOUT\"]", "RPC_TIMEOUT"), Status::Held);
    assert_eq!(one("\"true\"", "no result"), Status::Failed);
    assert_eq!(one("\"true\"", "not run"), Status::Failed);
}

#[test]
fn a_result_that_nobody_saw_never_holds() {
    let mut story = story("{ id = \"x\", who = \"r1\", do = \"exist\", key = \"k\", expect = \"true\" },");
    assert_eq!(status(&story.judge(), "x"), Status::CouldNotSee, "never begun");
    story.begin("x");
    assert_eq!(status(&story.judge(), "x"), Status::CouldNotSee, "never ended");
    assert!(!Status::CouldNotSee.is_fine());
}

#[test]
fn every_repetition_is_judged() {
    let mut story =
        story("{ id = \"x\", who = \"r1\", do = \"exist\", key = \"k\", times = 3, expect = \"true\" },");
    for (repetition, outcome) in [(1, "true"), (2, "false"), (3, "true")] {
        let op = story.begin_again("x", repetition);
        story.end(op, outcome);
    }
    let judgement = story.judge();
    let of_x: Vec<(u32, Status)> = judgement
        .expectations
        .iter()
        .filter(|finding| finding.name == "x")
        .map(|finding| (finding.op.unwrap().repetition, finding.status))
        .collect();
    assert_eq!(of_x, [(1, Status::Held), (2, Status::Failed), (3, Status::Held)]);
}

#[test]
fn every_entry_of_a_batch_must_be_allowed() {
    for (second, expected) in [("true", Status::Held), ("false", Status::Failed)] {
        let mut story = story(
            "{ id = \"x\", who = \"r1\", do = \"batch_exist\", keys = [\"a\", \"b\"], expect = \"true\" },",
        );
        let op = story.begin("x");
        let entries = vec!["true".to_owned(), second.to_owned()];
        let ended = Kind::StepEnded {
            outcome: "ok".into(),
            entries,
            count: None,
            content: None,
            note: None,
        };
        story.event("r1", Observer::Timeline, Some(op), ended);
        assert_eq!(status(&story.judge(), "x"), expected);
    }
}

#[test]
fn a_count_must_be_exact() {
    for (count, expected) in [
        (Some(2), Status::Held),
        (Some(3), Status::Failed),
        (None, Status::Failed),
    ] {
        let mut story = story("{ id = \"x\", who = \"r1\", do = \"remove_all\", count = 2 },");
        let op = story.begin("x");
        let ended = Kind::StepEnded {
            outcome: "ok".into(),
            entries: vec![],
            count,
            content: None,
            note: None,
        };
        story.event("r1", Observer::Timeline, Some(op), ended);
        assert_eq!(status(&story.judge(), "x"), expected, "{count:?}");
    }
}

const PUT: &str =
    "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", bind = \"a1\" },\n";

const GET_INTO: &str = "{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", into = \"b1\" },\n";

fn payload(outcome: &str, content: Option<Content>) -> Status {
    let mut story = story(&format!(
        "{PUT}{{ id = \"x\", who = \"r1\", do = \"get\", key = \"k\", expect = [\"ok\", \"LEASE_EXPIRED\"], payload = \"w1\" }},"
    ));
    story.put("p1", "k", &range(0, 4 * MIB));
    let op = story.begin("x");
    story.end_with(op, outcome, content);
    status(&story.judge(), "x")
}

#[test]
fn every_byte_of_a_payload_counts_if_the_read_succeeded() {
    let mixed = Content(vec![
        Run {
            from: 0,
            to: 4 * MIB - 1,
            pattern: "w1".into(),
        },
        Run {
            from: 4 * MIB - 1,
            to: 4 * MIB,
            pattern: "w2".into(),
        },
    ]);
    assert_eq!(payload("ok", Some(all("w1", 4 * MIB))), Status::Held);
    assert_eq!(payload("ok", Some(mixed)), Status::Failed);
    assert_eq!(payload("ok", None), Status::CouldNotSee);
    assert_eq!(payload("ok", Some(Content(vec![]))), Status::Failed);
    assert_eq!(payload("LEASE_EXPIRED", None), Status::Held);
}

/// A get beside the timeline that ends at `ends` with `outcome`, awaited for at most 20 s.
fn awaited(ends: Option<Span>, outcome: &str) -> Status {
    let mut story = story(&format!(
        "{PUT}{{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", async = true }},\n\
         {{ id = \"w\", await = \"g1\", within = \"20s\", expect = \"TRANSFER_FAIL\" }},"
    ));
    story.put("p1", "k", &range(0, 4 * MIB));
    let op = story.begin("g1");
    let wait = story.begin("w");
    if let Some(ends) = ends {
        story.at(ends).end(op, outcome);
    }
    let over = ends.is_some();
    story
        .at(ends.unwrap_or(Span::from_secs(20)))
        .end(wait, if over { "ok" } else { "not yet" });
    let judgement = story.judge();
    assert!(
        judgement.expectations.iter().all(|finding| finding.name != "g1"),
        "its await speaks for it"
    );
    status(&judgement, "w")
}

#[test]
fn the_result_of_a_step_beside_the_timeline_counts_at_its_await() {
    assert_eq!(awaited(Some(Span::from_secs(20)), "TRANSFER_FAIL"), Status::Held);
    assert_eq!(
        awaited(Some(Span::from_secs(5)), "ok"),
        Status::Failed,
        "another result"
    );
    assert_eq!(awaited(None, ""), Status::Failed, "out of time");
}

#[test]
fn a_wait_for_a_mount_is_checked_with_the_observer() {
    for (outcome, mounted, expected) in [
        ("ok", true, Status::Held),
        ("ok", false, Status::Failed),
        ("not yet", true, Status::Failed),
    ] {
        let mut story = story("{ id = \"w\", await = \"n1 mounted\", within = \"2s\" },");
        if !mounted {
            story.state.segments.clear();
        }
        let op = story.begin("w");
        story.end(op, outcome);
        story.read();
        assert_eq!(status(&story.judge(), "w"), expected, "{outcome}, {mounted}");
    }
}

#[test]
fn a_wait_for_quiet_must_end_in_time() {
    let cases = [
        (2, "ok", Status::Held),
        (3, "ok", Status::Failed),
        (2, "not yet", Status::Failed),
    ];
    for (after, outcome, expected) in cases {
        let mut story = story("{ id = \"w\", await = \"quiet\", within = \"2s\" },");
        let op = story.begin("w");
        story.at(Span::from_secs(after)).end(op, outcome);
        assert_eq!(status(&story.judge(), "w"), expected, "{outcome} after {after} s");
    }
}

/// A put of 4 MiB into a1, then a tick across which allocated bytes change, then a check.
fn across(check: &str, change: i64, other: Option<Range>) -> Status {
    let mut story = story(&format!(
        "{PUT}{{ id = \"t\", tick = \"eviction\" }},\n{{ id = \"c\", check = \"{check}\", of = \"a1\" }},"
    ));
    story.put("p1", "k", &range(0, 4 * MIB));
    let op = story.begin("t");
    story.state.allocated_bytes = story.state.allocated_bytes.checked_add_signed(change).unwrap();
    if let Some(other) = other {
        story.state.keys.insert("other".into(), vec![other]);
    }
    story.end(op, "ok");
    story.read();
    story.instant("c");
    status(&story.judge(), "c")
}

#[test]
fn quarantined_means_not_fewer_bytes_and_nothing_else_there() {
    assert_eq!(across("quarantined", 0, None), Status::Held);
    assert_eq!(across("quarantined", 1, None), Status::Held);
    assert_eq!(across("quarantined", -1, None), Status::Failed);
    assert_eq!(across("quarantined", 0, Some(range(4 * MIB, MIB))), Status::Held);
    assert_eq!(
        across("quarantined", 0, Some(range(4 * MIB - 1, MIB))),
        Status::Failed
    );
}

#[test]
fn a_range_given_away_again_is_not_quarantined() {
    for (offset, expected) in [(0, Status::Failed), (4 * MIB, Status::Held)] {
        let mut story = story(&format!(
            "{PUT}{{ id = \"s\", who = \"w2\", do = \"put_start\", key = \"n\", size = \"4MiB\" }},\n\
             {{ id = \"c\", check = \"quarantined\", of = \"a1\" }},"
        ));
        story.put("p1", "k", &range(0, 4 * MIB));
        story.one_with("s", "PutStart", "n", "ok", &[range(offset, 4 * MIB)]);
        story.instant("c");
        assert_eq!(status(&story.judge(), "c"), expected);
    }
}

#[test]
fn released_means_fewer_bytes_by_exactly_the_sizes_named() {
    assert_eq!(across("released", -4 * MIB as i64, None), Status::Held);
    assert_eq!(across("released", -4 * MIB as i64 + 1, None), Status::Failed);
    assert_eq!(across("released", 0, None), Status::Failed);
}

#[test]
fn a_check_looks_across_the_last_step_that_is_no_check() {
    let mut story = story(&format!(
        "{PUT}{{ id = \"t\", tick = \"eviction\" }},\n{{ id = \"c0\", check = \"allocated\", size = \"0B\" }},\n\
         {{ id = \"c\", check = \"released\", of = \"a1\" }},"
    ));
    story.put("p1", "k", &range(0, 4 * MIB));
    story.dead("k");
    story.instant("t");
    story.instant("c0");
    story.instant("c");
    assert_eq!(status(&story.judge(), "c"), Status::Held);
}

#[test]
fn ranges_are_disjoint_or_not() {
    for (second, expected) in [
        (Some(range(4 * MIB, MIB)), Status::Held),
        (Some(range(4 * MIB - 1, MIB)), Status::Failed),
        (
            Some(Range {
                segment: "n2".into(),
                offset: 0,
                size: MIB,
            }),
            Status::Held,
        ),
        (None, Status::Failed),
    ] {
        let mut story = story(&format!(
            "{PUT}{{ id = \"p2\", who = \"w2\", do = \"put\", key = \"v\", size = \"1MiB\", bind = \"a2\" }},\n\
             {{ id = \"c\", check = \"disjoint\", of = [\"a1\", \"a2\"] }},"
        ));
        story.put("p1", "k", &range(0, 4 * MIB));
        story.bind("a2", second.clone());
        story.instant("c");
        assert_eq!(status(&story.judge(), "c"), expected, "{second:?}");
    }
}

#[test]
fn allocated_is_the_state_of_that_moment() {
    for (size, expected) in [("4MiB", Status::Held), ("0B", Status::Failed)] {
        let mut story = story(&format!(
            "{PUT}{{ id = \"c\", check = \"allocated\", size = \"{size}\" }},"
        ));
        story.put("p1", "k", &range(0, 4 * MIB));
        story.instant("c");
        assert_eq!(status(&story.judge(), "c"), expected);
    }
}

#[test]
fn bytes_are_read_for_the_check_itself() {
    let cases = [
        (Some(Some(all("w1", MIB))), Status::Held),
        (Some(Some(all("w2", MIB))), Status::Failed),
        (Some(None), Status::Failed),
        (None, Status::CouldNotSee),
    ];
    for (content, expected) in cases {
        let mut story = story(&format!(
            "{PUT}{GET_INTO}{{ id = \"c\", check = \"bytes\", of = \"b1\", payload = \"w1\" }},"
        ));
        story.put("p1", "k", &range(0, 4 * MIB));
        let op = story.begin("c");
        if let Some(content) = content.clone() {
            let bytes = Kind::Bytes {
                name: "b1".into(),
                content,
            };
            story.event("master", Observer::Witness, Some(op), bytes);
        }
        story.end(op, "ok");
        assert_eq!(status(&story.judge(), "c"), expected, "{content:?}");
    }
}

/// A get into b1 that failed, accesses after it, then `untouched`. The witness is what `blind` says.
fn untouched(since: &str, accesses: &[(&str, Span)], blind: Option<&[&str]>) -> Status {
    let mut story = story(&format!(
        "{PUT}{{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", into = \"b1\" }},\n\
         {{ id = \"f\", who = \"r1\", do = \"fill\", into = \"b1\", pattern = \"mine\" }},\n\
         {{ id = \"c\", check = \"untouched\", of = \"b1\"{since} }},"
    ));
    if let Some(blind) = blind {
        story.sight("b1", blind);
    }
    story.put("p1", "k", &range(0, 4 * MIB));
    let op = story.begin("g1");
    story.access(op, "b1", true, 0, MIB);
    story.end(op, "TRANSFER_FAIL");
    for (step, at) in accesses {
        story.at(*at);
        let op = if *step == "g1" {
            Op {
                step: 1,
                repetition: 1,
            }
        } else {
            story.begin(step)
        };
        story.access(op, "b1", true, 0, MIB);
    }
    story.at(Span::from_secs(9));
    story.instant("c");
    status(&story.judge(), "c")
}

#[test]
fn untouched_is_what_a_witness_that_sees_everything_says() {
    let at = Span::from_secs;
    assert_eq!(untouched("", &[], Some(&[])), Status::Held);
    assert_eq!(
        untouched("", &[("f", at(1))], Some(&[])),
        Status::Held,
        "the caller's own fill"
    );
    assert_eq!(
        untouched("", &[("f", at(1)), ("g1", at(2))], Some(&[])),
        Status::Failed
    );
    assert_eq!(untouched("", &[], Some(&["reads"])), Status::CouldNotSee, "blind");
    assert_eq!(
        untouched("", &[("g1", at(2))], Some(&["reads"])),
        Status::Failed,
        "blind, and it saw one"
    );
    assert_eq!(untouched("", &[], None), Status::CouldNotSee, "no witness");
}

#[test]
fn a_check_speaks_of_its_own_moment() {
    let mut story = story(&format!(
        "{PUT}{GET_INTO}{{ id = \"c\", check = \"untouched\", of = \"b1\" }},\n\
         {{ id = \"n\", check = \"allocated\", size = \"4MiB\" }},\n{{ id = \"t\", tick = \"eviction\" }},"
    ));
    story.sight("b1", &[]);
    story.put("p1", "k", &range(0, 4 * MIB));
    let op = story.begin("g1");
    story.end(op, "TRANSFER_FAIL");
    story.instant("c");
    story.access(op, "b1", true, 0, MIB);
    let number = story.begin("n");
    story.end(number, "ok");
    story.read();
    story.dead("k");
    story.instant("t");
    let judgement = story.judge();
    assert_eq!(status(&judgement, "c"), Status::Held, "an access after the check");
    assert_eq!(
        status(&judgement, "n"),
        Status::Held,
        "a state after the next step"
    );
}

/// A master that is down tells nobody what is allocated; what it told before is no answer.
#[test]
fn the_allocator_is_not_judged_by_an_old_state() {
    let mut story = story(&format!(
        "{PUT}{{ id = \"n\", check = \"allocated\", size = \"4MiB\" }},"
    ));
    story.put("p1", "k", &range(0, 4 * MIB));
    story.read();
    let number = story.begin("n");
    story.end(number, "ok");
    assert_eq!(status(&story.judge(), "n"), Status::CouldNotSee);
}

#[test]
fn untouched_counts_since_an_instant() {
    let at = Span::from_secs;
    assert_eq!(
        untouched(", since = \"g1.done + 3s\"", &[("g1", at(2))], Some(&[])),
        Status::Held
    );
    assert_eq!(
        untouched(", since = \"g1.done + 2s\"", &[("g1", at(2))], Some(&[])),
        Status::Failed
    );
    assert_eq!(
        untouched(", since = \"g1.done\"", &[], Some(&[])),
        Status::Held,
        "not g1's own accesses"
    );
    assert_eq!(
        untouched(", since = \"start\"", &[], Some(&[])),
        Status::Failed,
        "g1's own accesses"
    );
}

#[test]
fn a_finding_says_what_was_expected_and_what_came() {
    let mut story = story(
        "{ id = \"x\", who = \"r1\", do = \"exist\", key = \"k\", expect = [\"true\", \"RPC_FAIL\"] },",
    );
    let op = story.one("x", "ExistKey", "k", "false");
    let judgement = story.judge();
    let finding = finding(&judgement, "x");
    assert_eq!(
        (finding.expected.as_str(), finding.actual.text()),
        ("true or RPC_FAIL", "false")
    );
    assert_eq!(finding.op, Some(op));
    assert_eq!(failed(&judgement), ["x"]);
}
