//! Stories of `crash-is-bounded`: after a crash the key becomes writable and the bytes come back.

use crate::invariants::{broken, secs, story};
use crate::telling::{MIB, Story, finding, range, scenario_in};
use moonquake_clock::Span;
use moonquake_evidence::{Change, Op};
use moonquake_judge::Status;

fn crash(steps: &str) -> Story {
    let fault = "dimension = \"crash\"\ntarget = \"w1\"\nat = \"client.put.start_response\"\nof = \"p1\"\naction = \"kill\"";
    let steps = format!(
        "{{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", bind = \"a1\" }},\n{steps}"
    );
    Story::new(&scenario_in("", fault, &steps))
}

fn die_after_put_start(story: &mut Story) -> Op {
    let op = story.begin("p1");
    story.call(op, "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    story.bind_of(op, &range(0, 4 * MIB));
    story.state.allocated_bytes = 4 * MIB;
    story.inject(Some(op));
    story.change("w1", Change::Killed);
    story.end(op, "no result");
    story.read();
    op
}

#[test]
fn crash_is_bounded_for_the_next_writer() {
    for (at, expected) in [
        (secs(30), vec![]),
        (secs(30) + Span::from_ns(1), vec!["crash-is-bounded"]),
    ] {
        let mut story =
            crash("{ id = \"s2\", who = \"w2\", do = \"put_start\", key = \"k\", size = \"4MiB\" },");
        die_after_put_start(&mut story);
        story.at(at);
        story.one("s2", "PutStart", "k", "OBJECT_ALREADY_EXISTS");
        assert_eq!(broken(&story), expected, "refused at {at}");
    }
}

#[test]
fn crash_is_bounded_for_its_bytes() {
    let tell = |freed: bool| {
        let mut story = crash("{ id = \"t\", at = \"p1 + release + 1ns\", tick = \"eviction\" },");
        die_after_put_start(&mut story);
        story.at(secs(600) + Span::from_ns(1));
        if freed {
            story.state.allocated_bytes = 0;
        }
        story.instant("t");
        broken(&story)
    };
    assert_eq!(tell(true), [""; 0]);
    assert_eq!(tell(false), ["crash-is-bounded"]);
}

/// A writer that dies at 10 s; the sweep at its release timeout comes too early for its bytes, the next one does not.
#[test]
fn a_sweep_at_the_release_timeout_itself_frees_nothing() {
    for (swept, expected) in [
        (secs(610), vec![]),
        (secs(610) + Span::from_ns(1), vec!["crash-is-bounded"]),
    ] {
        let mut story = crash("{ id = \"t\", tick = \"eviction\" },");
        story.at(secs(10));
        die_after_put_start(&mut story);
        story.at(swept);
        story.instant("t");
        story.pass(secs(1)).read();
        assert_eq!(
            broken(&story),
            expected,
            "still allocated after the sweep at {swept}"
        );
    }
}

#[test]
fn an_upsert_takes_a_key_over_at_any_age() {
    let mut story = story(
        "{ id = \"s1\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
         { id = \"s2\", who = \"w2\", do = \"upsert_start\", key = \"k\", size = \"4MiB\" },",
    );
    story.state.allocated_bytes = 4 * MIB;
    story.one_with("s1", "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    story.state.allocated_bytes = 8 * MIB;
    story.one_with("s2", "UpsertStart", "k", "ok", &[range(4 * MIB, 4 * MIB)]);
    assert_eq!(broken(&story), [""; 0]);
}

#[test]
fn a_crash_that_leaves_nothing_behind_binds_nobody() {
    let mut story = crash("{ id = \"s2\", who = \"w2\", do = \"put_start\", key = \"k\", size = \"4MiB\" },");
    let op = story.put("p1", "k", &range(0, 4 * MIB));
    story.inject(Some(op));
    story.change("w1", Change::Killed);
    story.one("s2", "PutStart", "k", "OBJECT_ALREADY_EXISTS");
    assert_eq!(
        finding(&story.judge(), "crash-is-bounded").status,
        Status::NotApplicable
    );
}
