//! For each invariant a story in which it fails and no other does; and stories near it in which none fails.

use crate::telling::{MIB, Story, all, failed, finding, range, scenario_in};
use moonquake_clock::Span;
use moonquake_evidence::Change;
use moonquake_judge::{INVARIANTS, Judgement, Status};

pub(crate) const K: (u64, u64) = (0, 4 * MIB);

pub(crate) fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

/// A story whose fault does not matter: invariants are judged on every run.
pub(crate) fn story(steps: &str) -> Story {
    let steps = format!("{steps}\n{{ id = \"stimulus\", who = \"w2\", do = \"exist\", key = \"none\" }},");
    Story::new(&scenario_in(
        "",
        "dimension = \"misuse\"\ntarget = \"master\"\nstep = \"stimulus\"",
        &steps,
    ))
}

pub(crate) fn broken(story: &Story) -> Vec<String> {
    let judgement = story.judge();
    assert_eq!(judgement.invariants.len(), INVARIANTS.len());
    for (finding, name) in judgement.invariants.iter().zip(INVARIANTS) {
        assert_eq!(finding.name, name);
        assert!(!finding.actual.ids().is_empty());
    }
    failed(&judgement).into_iter().map(str::to_owned).collect()
}

pub(crate) const PUT: &str =
    "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", bind = \"a1\" },\n";
pub(crate) const GET: &str = "{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\" },\n";

fn put_and_get(pattern: &str) -> Story {
    let mut story = story(&format!("{PUT}{GET}"));
    story.put("p1", "k", &range(K.0, K.1));
    story.get("g1", "k", &range(K.0, K.1), pattern);
    story
}

#[test]
fn a_good_run_breaks_none() {
    assert_eq!(broken(&put_and_get("w1")), [""; 0]);
}

#[test]
fn no_foreign_bytes() {
    for pattern in ["w2", "zero", "unknown"] {
        assert_eq!(broken(&put_and_get(pattern)), ["no-foreign-bytes"], "{pattern}");
    }
}

/// A put of `k` by w1 of which only `landed` of four parts landed, whose PutEnd was nevertheless handled.
fn short_put(landed: u32) -> Vec<String> {
    let mut story = story(&format!("{PUT}{GET}"));
    let at = range(K.0, K.1);
    let op = story.begin("p1");
    story.call(op, "PutStart", "k", "ok", std::slice::from_ref(&at));
    let transfer = story.open(op, true, &at);
    story.parts(transfer, 1..=landed);
    story.call(op, "PutEnd", "k", "ok", &[]);
    story.live("k", &at);
    story.end(op, "ok");
    story.read();
    story.get("g1", "k", &at, "w1");
    broken(&story)
}

#[test]
fn a_put_is_completed_only_when_all_its_bytes_landed() {
    assert_eq!(short_put(3), ["no-foreign-bytes"]);
    assert_eq!(short_put(4), [""; 0]);
}

#[test]
fn bytes_are_foreign_until_their_put_has_ended() {
    let mut story = story(&format!("{}{GET}", PUT.replace(" },", ", async = true },")));
    let at = range(K.0, K.1);
    let op = story.begin("p1");
    story.call(op, "PutStart", "k", "ok", std::slice::from_ref(&at));
    story.transfer(op, true, &at);
    story.state.allocated_bytes = at.size;
    story.get("g1", "k", &at, "w1");
    story.call(op, "PutEnd", "k", "ok", &[]);
    story.end(op, "ok");
    assert_eq!(broken(&story), ["no-foreign-bytes", "invisible-before-put-end"]);
}

#[test]
fn a_pattern_of_another_key_is_foreign() {
    let mut story = story(&format!(
        "{PUT}{{ id = \"p2\", who = \"w2\", do = \"put\", key = \"v\", size = \"4MiB\" }},\n{GET}"
    ));
    story.put("p1", "k", &range(0, 4 * MIB));
    story.put("p2", "v", &range(4 * MIB, 4 * MIB));
    story.get("g1", "k", &range(0, 4 * MIB), "w2");
    assert_eq!(broken(&story), ["no-foreign-bytes"]);
}

#[test]
fn invisible_before_put_end() {
    for how in ["exist", "list", "state"] {
        let mut story = story(
            "{ id = \"s1\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
             { id = \"x\", who = \"r1\", do = \"exist\", key = \"k\" },",
        );
        let at = range(K.0, K.1);
        let op = story.begin("s1");
        story.call(op, "PutStart", "k", "ok", std::slice::from_ref(&at));
        story.state.allocated_bytes = at.size;
        story.end(op, "ok");
        story.read();
        let op = story.begin("x");
        match how {
            "exist" => drop(story.call(op, "ExistKey", "k", "true", &[])),
            "list" => drop(story.call(op, "GetReplicaList", "k", "ok", &[at])),
            _ => drop(story.state.keys.insert("k".into(), vec![at])),
        }
        story.end(op, "true");
        story.read();
        assert_eq!(broken(&story), ["invisible-before-put-end"], "{how}");
    }
}

/// The race of a stale PutEnd: p1's held request, or the second attempt's own, ends the second attempt.
fn second_attempt(own: bool) -> Vec<String> {
    let mut story = story(
        "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", async = true },\n\
         { id = \"s2\", at = \"p1 + discard + 2s\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
         { id = \"e2\", who = \"w1\", do = \"put_end\", key = \"k\" },\n\
         { id = \"x\", who = \"r1\", do = \"exist\", key = \"k\" },",
    );
    let op = story.begin("p1");
    story.call(op, "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    story.state.allocated_bytes = 4 * MIB;
    story.transfer(op, true, &range(0, 4 * MIB));
    let end = story.send(op, "PutEnd", "k");
    story.read();
    story.at(secs(32));
    story.state.allocated_bytes = 8 * MIB;
    story.one_with("s2", "PutStart", "k", "ok", &[range(4 * MIB, 4 * MIB)]);
    story.state.keys.insert("k".into(), vec![range(4 * MIB, 4 * MIB)]);
    if own {
        story.one("e2", "PutEnd", "k", "ok");
    } else {
        story.handle(end, "ok", &[]);
    }
    story.one("x", "ExistKey", "k", "true");
    broken(&story)
}

#[test]
fn only_the_put_end_of_its_own_attempt_makes_a_key_visible() {
    assert_eq!(second_attempt(false), ["invisible-before-put-end"]);
    assert_eq!(second_attempt(true), [""; 0]);
}

#[test]
fn a_strangers_put_end_makes_nothing_visible() {
    for (who, expected) in [("w1", vec![]), ("w2", vec!["invisible-before-put-end"])] {
        let mut story = story(&format!(
            "{{ id = \"s1\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" }},\n\
             {{ id = \"e1\", who = \"{who}\", do = \"put_end\", key = \"k\" }},\n\
             {{ id = \"x\", who = \"r1\", do = \"exist\", key = \"k\" }},"
        ));
        story.state.allocated_bytes = 4 * MIB;
        story.one_with("s1", "PutStart", "k", "ok", &[range(K.0, K.1)]);
        story.state.keys.insert("k".into(), vec![range(K.0, K.1)]);
        story.one("e1", "PutEnd", "k", "ok");
        story.one("x", "ExistKey", "k", "true");
        assert_eq!(broken(&story), expected, "{who} ends it");
    }
}

/// A put_end by itself that waits in the network while its client begins a second attempt; or that is sent after it.
#[test]
fn a_put_end_belongs_to_the_attempt_at_which_it_was_sent() {
    for (late, expected) in [(true, vec!["invisible-before-put-end"]), (false, vec![])] {
        let mut story = story(
            "{ id = \"s1\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
             { id = \"e1\", who = \"w1\", do = \"put_end\", key = \"k\", async = true },\n\
             { id = \"s2\", at = \"s1 + discard + 2s\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
             { id = \"x\", who = \"r1\", do = \"exist\", key = \"k\" },",
        );
        story.state.allocated_bytes = 4 * MIB;
        story.one_with("s1", "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
        let op = story.begin("e1");
        let sent = late.then(|| story.send(op, "PutEnd", "k"));
        story.read();
        story.at(secs(32));
        story.state.allocated_bytes = 8 * MIB;
        story.one_with("s2", "PutStart", "k", "ok", &[range(4 * MIB, 4 * MIB)]);
        let sent = sent.unwrap_or_else(|| story.send(op, "PutEnd", "k"));
        story.handle(sent, "ok", &[]);
        story.state.keys.insert("k".into(), vec![range(4 * MIB, 4 * MIB)]);
        story.one("x", "ExistKey", "k", "true");
        assert_eq!(broken(&story), expected);
    }
}

/// k is read, removed at once by force, and its range given away `after` the query was sent.
fn give_away(after: Span, who: &str, range_of_n: (u64, u64), write_only: bool) -> Vec<String> {
    let mut story = story(&format!(
        "{PUT}{GET}{{ id = \"d\", who = \"w2\", do = \"remove\", key = \"k\", force = true }},\n\
         {{ id = \"n\", who = \"{who}\", do = \"put\", key = \"n\", size = \"4MiB\" }},"
    ));
    story.put("p1", "k", &range(K.0, K.1));
    story.get("g1", "k", &range(K.0, K.1), "w1");
    story.one("d", "Remove", "k", "ok");
    story.at(after);
    let at = range(range_of_n.0, range_of_n.1);
    if write_only {
        let op = story.begin("n");
        story.transfer(op, true, &at);
        story.end(op, "ok");
    } else {
        story.put("n", "n", &at);
    }
    broken(&story)
}

#[test]
fn lease_protects_bytes() {
    let last = secs(10) - Span::from_ns(1);
    assert_eq!(
        give_away(last, "w2", K, false),
        ["lease-protects-bytes"],
        "given at the last nanosecond"
    );
    assert_eq!(
        give_away(last, "w2", K, true),
        ["lease-protects-bytes"],
        "written at the last nanosecond"
    );
    assert_eq!(
        give_away(last, "w2", (3 * MIB, 4 * MIB), false),
        ["lease-protects-bytes"],
        "one part of it"
    );
    assert_eq!(give_away(secs(10), "w2", K, false), [""; 0], "the lease is over");
    assert_eq!(
        give_away(last, "w2", (4 * MIB, 4 * MIB), false),
        [""; 0],
        "other bytes"
    );
    assert_eq!(give_away(last, "r1", K, false), [""; 0], "the reader itself");
}

fn slow_get(ends: Span, outcome: &str) -> Vec<String> {
    let mut story = story(&format!("{PUT}{GET}"));
    let at = range(K.0, K.1);
    story.put("p1", "k", &at);
    let op = story.begin("g1");
    story.call(op, "GetReplicaList", "k", "ok", std::slice::from_ref(&at));
    story.transfer(op, false, &at);
    story.at(ends);
    let content = (outcome == "ok").then(|| all("w1", at.size));
    story.end_with(op, outcome, content);
    story.read();
    broken(&story)
}

#[test]
fn no_success_after_lease() {
    assert_eq!(slow_get(secs(10), "ok"), ["no-success-after-lease"]);
    assert_eq!(slow_get(secs(10) - Span::from_ns(1), "ok"), [""; 0]);
    assert_eq!(slow_get(secs(10), "LEASE_EXPIRED"), [""; 0]);
}

#[test]
fn a_read_of_a_session_rests_on_the_lease_of_its_session() {
    for (at, expected) in [
        (secs(10) - Span::from_ns(1), vec![]),
        (secs(10), vec!["no-success-after-lease"]),
    ] {
        let mut story = story(&format!(
            "{PUT}{{ id = \"s1\", who = \"r1\", do = \"get_start\", key = \"k\" }},\n\
             {{ id = \"x\", who = \"r1\", do = \"get_read\", use = \"s1\" }},"
        ));
        let k = range(K.0, K.1);
        story.put("p1", "k", &k);
        story.one_with("s1", "GetReplicaList", "k", "ok", std::slice::from_ref(&k));
        story.at(at);
        let op = story.begin("x");
        story.transfer(op, false, &k);
        story.end_with(op, "ok", Some(all("w1", k.size)));
        story.read();
        assert_eq!(broken(&story), expected);
    }
}

#[test]
fn a_read_rests_on_the_session_that_it_names() {
    for (named, expected) in [("s1", vec!["no-success-after-lease"]), ("s2", vec![])] {
        let mut story = story(&format!(
            "{PUT}{{ id = \"s1\", who = \"r1\", do = \"get_start\", key = \"k\" }},\n\
             {{ id = \"s2\", who = \"r1\", do = \"get_start\", key = \"k\" }},\n\
             {{ id = \"x\", who = \"r1\", do = \"get_read\", use = \"{named}\" }},"
        ));
        let k = range(K.0, K.1);
        story.put("p1", "k", &k);
        story.one_with("s1", "GetReplicaList", "k", "ok", std::slice::from_ref(&k));
        story.at(secs(5));
        story.one_with("s2", "GetReplicaList", "k", "ok", std::slice::from_ref(&k));
        story.at(secs(12));
        let op = story.begin("x");
        story.transfer(op, false, &k);
        story.end_with(op, "ok", Some(all("w1", k.size)));
        story.read();
        assert_eq!(broken(&story), expected, "{named}");
    }
}

/// A second PutStart of k at `at`, granted; before it the first attempt came to `fate`.
fn two_writers(at: Span, fate: &str) -> Vec<String> {
    let mut story = story(
        "{ id = \"s1\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
         { id = \"e1\", who = \"w1\", do = \"put_revoke\", key = \"k\" },\n\
         { id = \"s2\", who = \"w2\", do = \"put_start\", key = \"k\", size = \"4MiB\" },",
    );
    story.state.allocated_bytes = 4 * MIB;
    story.one_with("s1", "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    story.at(at);
    match fate {
        "revoked" => {
            story.state.allocated_bytes = 0;
            story.one("e1", "PutRevoke", "k", "ok");
        }
        "master restarted" => {
            story.change("master", Change::Killed);
            story.change("master", Change::Started);
            story.state.allocated_bytes = 0;
            story.read();
        }
        "segment left" => {
            let segments = std::mem::take(&mut story.state.segments);
            story.state.allocated_bytes = 0;
            story.read();
            story.state.segments = segments;
            story.read();
        }
        _ => {}
    }
    story.state.allocated_bytes += 4 * MIB;
    story.one_with("s2", "PutStart", "k", "ok", &[range(4 * MIB, 4 * MIB)]);
    broken(&story)
}

#[test]
fn one_writer_per_key() {
    assert_eq!(two_writers(secs(30), "unfinished"), ["one-writer-per-key"]);
    assert_eq!(two_writers(secs(30) + Span::from_ns(1), "unfinished"), [""; 0]);
    for fate in ["revoked", "master restarted", "segment left"] {
        assert_eq!(two_writers(secs(1), fate), [""; 0], "{fate}");
    }
}

#[test]
fn bytes_accounted() {
    for (change, expected) in [(-1_i64, true), (0, false), (1, true), (4 * MIB as i64, true)] {
        let mut story = put_and_get("w1");
        story.state.allocated_bytes = story.state.allocated_bytes.checked_add_signed(change).unwrap();
        story.read();
        let expected: &[&str] = if expected { &["bytes-accounted"] } else { &[] };
        assert_eq!(broken(&story), expected, "{change} bytes off");
    }
}

/// An attempt that nobody ends; its bytes come back at `freed`, a sweep ran at `tick`.
fn abandoned(tick: Option<Span>, freed: Span, until: Span) -> Vec<String> {
    let mut story = story(
        "{ id = \"s1\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
         { id = \"t\", tick = \"eviction\" },",
    );
    story.state.allocated_bytes = 4 * MIB;
    story.one_with("s1", "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    let mut moments: Vec<Span> = tick.into_iter().chain([freed, until]).collect();
    moments.sort();
    for moment in moments {
        story.at(moment);
        if moment >= freed {
            story.state.allocated_bytes = 0;
        }
        if Some(moment) == tick {
            story.instant("t");
        }
        story.read();
    }
    broken(&story)
}

#[test]
fn an_abandoned_write_keeps_its_bytes_until_a_sweep_after_the_release_timeout() {
    let ns = Span::from_ns(1);
    let due = secs(600) + ns;
    assert_eq!(abandoned(Some(due), due, secs(700)), [""; 0]);
    assert_eq!(
        abandoned(None, secs(599), secs(700)),
        ["bytes-accounted"],
        "freed too early"
    );
    assert_eq!(
        abandoned(None, secs(600), secs(700)),
        ["bytes-accounted"],
        "freed at the instant itself"
    );
    assert_eq!(
        abandoned(None, secs(900), secs(901)),
        [""; 0],
        "nobody swept, nobody says when"
    );
    assert_eq!(
        abandoned(Some(due), secs(900), secs(901)),
        [""; 0],
        "late, and still in quarantine"
    );
}

/// A readable object whose replica is copied or moved to `[8 MiB, 12 MiB)`, with what the master says is allocated
/// while the copy runs, and after its end or revoke.
fn copied(calls: [&str; 2], open: u64, over: u64, keeps: &[u64]) -> Vec<String> {
    let mut story = story(&format!(
        "{PUT}{{ id = \"c1\", who = \"w1\", do = \"exist\", key = \"k\" }},\n\
         {{ id = \"c2\", who = \"w1\", do = \"exist\", key = \"k\" }},"
    ));
    story.put("p1", "k", &range(K.0, K.1));
    let target = range(8 * MIB, K.1);
    let op = story.begin("c1");
    story.call(op, calls[0], "k", "ok", std::slice::from_ref(&target));
    story.end(op, "ok");
    story.state.allocated_bytes = open * MIB;
    story.read();
    story.at(secs(1));
    let op = story.begin("c2");
    story.call(op, calls[1], "k", "ok", &[]);
    story.end(op, "ok");
    story.state.allocated_bytes = over * MIB;
    let ranges = keeps.iter().map(|offset| range(offset * MIB, K.1)).collect();
    story.state.keys.insert("k".into(), ranges);
    story.read();
    broken(&story)
}

#[test]
fn bytes_of_copies_are_accounted() {
    let copy = ["CopyStart", "CopyEnd"];
    assert_eq!(copied(copy, 8, 8, &[0, 8]), [""; 0]);
    assert_eq!(copied(copy, 4, 8, &[0, 8]), ["bytes-accounted"], "no target");
    assert_eq!(copied(copy, 8, 4, &[0, 8]), ["bytes-accounted"], "counted once");
    let revoked = ["CopyStart", "CopyRevoke"];
    assert_eq!(copied(revoked, 8, 4, &[0]), [""; 0]);
    assert_eq!(
        copied(revoked, 8, 8, &[0]),
        ["bytes-accounted"],
        "the target leaks"
    );
    let moved = ["MoveStart", "MoveEnd"];
    assert_eq!(copied(moved, 8, 8, &[8]), [""; 0]);
    assert_eq!(
        copied(moved, 8, 4, &[8]),
        ["bytes-accounted"],
        "the source is not quarantined"
    );
}

/// The wall clock of a master is stepped over the timeout of a copy, and its monotonic one gets there later.
fn copied_under_a_step(after_step: u64, after_both: u64) -> Vec<String> {
    let mut story = story(&format!(
        "{PUT}{{ id = \"c1\", who = \"w1\", do = \"exist\", key = \"k\" }},\n\
         {{ id = \"t1\", tick = \"eviction\" }},\n{{ id = \"t2\", tick = \"eviction\" }},"
    ));
    story.put("p1", "k", &range(K.0, K.1));
    let op = story.begin("c1");
    story.call(op, "CopyStart", "k", "ok", &[range(8 * MIB, K.1)]);
    story.end(op, "ok");
    story.state.allocated_bytes = 8 * MIB;
    story.read();
    story.wall_ns.insert("master".into(), 601_000_000_000);
    story.clock("master");
    story.state.allocated_bytes = after_step * MIB;
    story.instant("t1");
    story.at(secs(601));
    story.state.allocated_bytes = after_both * MIB;
    story.instant("t2");
    broken(&story)
}

#[test]
fn bytes_of_a_copy_may_be_kept_or_freed_while_one_clock_alone_is_past_its_timeout() {
    assert_eq!(copied_under_a_step(4, 4), [""; 0], "it counts on the wall clock");
    assert_eq!(
        copied_under_a_step(8, 4),
        [""; 0],
        "it counts on the monotonic clock"
    );
    assert_eq!(
        copied_under_a_step(8, 8),
        ["bytes-accounted"],
        "it counts on none"
    );
}

/// A get into b1 that fails at 60 s; a part lands by `by`, a fill of the caller follows.
fn late(outcome: &str, lands: bool, witness: bool) -> (Vec<String>, Judgement) {
    let mut story = story(
        "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },\n\
         { id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", into = \"b1\" },\n\
         { id = \"f\", who = \"r1\", do = \"fill\", into = \"b1\", pattern = \"mine\" },",
    );
    let at = range(K.0, K.1);
    story.put("p1", "k", &at);
    let op = story.begin("g1");
    story.call(op, "GetReplicaList", "k", "ok", std::slice::from_ref(&at));
    let transfer = story.open_with(op, false, &at, Some("b1"));
    story.part(transfer, 1);
    story.at(secs(9));
    let content = (outcome == "ok").then(|| all("w1", at.size));
    story.end_with(op, outcome, content);
    let fill = story.begin("f");
    story.access(fill, "b1", true, 0, 4 * MIB);
    story.end(fill, "ok");
    if lands {
        story.part(transfer, 2);
    }
    if witness {
        story.access(op, "b1", true, MIB, 2 * MIB);
    }
    story.read();
    (broken(&story), story.judge())
}

#[test]
fn no_access_after_failure() {
    let failed = vec!["no-access-after-failure".to_owned()];
    assert_eq!(late("TRANSFER_FAIL", true, false).0, failed, "the owner saw it");
    assert_eq!(late("TRANSFER_FAIL", false, true).0, failed, "the witness saw it");
    assert_eq!(
        late("TRANSFER_FAIL", false, false).0,
        [""; 0],
        "the caller's own fill is none"
    );
    assert_eq!(late("ok", true, true).0, [""; 0], "it did not fail");
    assert_eq!(late("no result", true, true).0, [""; 0], "it reported nothing");
}

#[test]
fn every_failure_names_the_events_that_show_it() {
    let (_, judgement) = late("TRANSFER_FAIL", true, true);
    let finding = finding(&judgement, "no-access-after-failure");
    assert_eq!(finding.status, Status::Failed);
    assert_eq!(
        finding.actual.ids().len(),
        2,
        "the failure and the access: {}",
        finding.actual
    );
}
