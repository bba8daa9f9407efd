//! Stories that differ from a proven injection in one thing.

use crate::telling::{MIB, Story, range, scenario_in};
use moonquake_clock::Span;
use moonquake_evidence::{Change, Leg, Op, Range};

fn object() -> Range {
    range(0, 4 * MIB)
}

fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

fn proven(story: &Story) -> bool {
    let judgement = story.judge();
    assert_eq!(
        judgement.proof.proven,
        judgement.proof.missing.is_empty(),
        "{}",
        judgement.proof.text()
    );
    judgement.proof.proven
}

/// A put beside the timeline whose PutEnd has been sent; the fault strikes there.
fn put_end_sent(dimension: &str, action: &str) -> (Story, Op, u64) {
    let fault = format!(
        "dimension = \"{dimension}\"\ntarget = \"w1\"\nat = \"client.put.end_sent\"\nof = \"p1\"\naction = {action}"
    );
    let resume = match action {
        "\"hold\"" => "{ id = \"r\", do = \"resume\" },\n",
        _ => "",
    };
    let steps = format!(
        "{{ id = \"before\", who = \"r1\", do = \"exist\", key = \"k\", async = true }},\n\
         {{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", async = true }},\n\
         {{ id = \"same\", who = \"r1\", do = \"exist\", key = \"k\" }},\n\
         {{ id = \"other\", who = \"r1\", do = \"exist\", key = \"other\" }},\n{resume}"
    );
    let mut story = Story::new(&scenario_in("", &fault, &steps));
    let op = story.begin("p1");
    story.call(op, "PutStart", "k", "ok", &[object()]);
    story.state.allocated_bytes = 4 * MIB;
    story.transfer(op, true, &object());
    let message = story.send(op, "PutEnd", "k");
    (story, op, message)
}

fn let_go(story: &mut Story, message: u64) {
    let resume = story.begin("r");
    story.release();
    story.handle(message, "ok", &[]);
    story.deliver(message);
    story.end(resume, "ok");
}

#[test]
fn a_message_that_was_handled_before_is_not_on_its_way() {
    for early in [false, true] {
        let (mut story, op, message) = put_end_sent("network", "\"cut\"");
        if early {
            story.handle(message, "ok", &[]);
        }
        story.inject_on(Some(op), Some(message), None);
        story.leg(message, Leg::Closed);
        story.end(op, "RPC_FAIL");
        assert_eq!(proven(&story), !early);
    }
}

#[test]
fn a_lost_message_does_not_arrive() {
    for arrives in [false, true] {
        let (mut story, op, message) = put_end_sent("network", "\"drop\"");
        story.inject_on(Some(op), Some(message), None);
        story.leg(message, Leg::RequestLost);
        if arrives {
            story.handle(message, "ok", &[]);
        }
        assert_eq!(proven(&story), !arrives);
    }
}

#[test]
fn a_hold_shows_only_if_something_happens_meanwhile() {
    for meanwhile in [false, true] {
        let (mut story, op, message) = put_end_sent("network", "\"hold\"");
        story.inject_on(Some(op), Some(message), None);
        if meanwhile {
            story.one("other", "ExistKey", "other", "false");
        }
        let_go(&mut story, message);
        assert_eq!(proven(&story), meanwhile);
    }
}

#[test]
fn an_order_is_between_requests_of_one_key_and_the_other_left_later() {
    for (overtaken_by, expected) in [("same", true), ("other", false), ("before", false)] {
        let (mut story, op, message) = put_end_sent("race", "\"hold\"");
        let early = story.begin("before");
        let sent_before = story.send(early, "ExistKey", "k");
        story.inject_on(Some(op), Some(message), None);
        match overtaken_by {
            "same" => drop(story.one("same", "ExistKey", "k", "false")),
            other => {
                let op = story.begin("other");
                if other == "before" {
                    story.handle(sent_before, "false", &[]);
                } else {
                    story.call(op, "ExistKey", "other", "false", &[]);
                }
                story.end(op, "false");
            }
        }
        let_go(&mut story, message);
        assert_eq!(proven(&story), expected, "{overtaken_by}");
    }
}

#[test]
fn a_writer_that_has_reported_does_not_die_in_its_put() {
    for reported in [false, true] {
        let fault = "dimension = \"crash\"\ntarget = \"w1\"\nat = \"client.put.end_response\"\nof = \"p1\"\naction = \"kill\"";
        let steps = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },";
        let mut story = Story::new(&scenario_in("", fault, steps));
        let op = story.begin("p1");
        story.call(op, "PutStart", "k", "ok", &[object()]);
        story.transfer(op, true, &object());
        story.call(op, "PutEnd", "k", "ok", &[]);
        if reported {
            story.end(op, "ok");
        }
        story.inject(Some(op));
        story.change("w1", Change::Killed);
        assert_eq!(proven(&story), !reported);
    }
}

#[test]
fn a_request_may_reach_the_master_at_the_instant_of_its_senders_death_and_not_before() {
    for (later, expected) in [(Span::ZERO, true), (Span::from_ns(1), false)] {
        let (mut story, op, message) = put_end_sent("crash", "\"kill\"");
        story.handle(message, "ok", &[]);
        story.pass(later).inject_on(Some(op), Some(message), None);
        story.change("w1", Change::Killed);
        story.end(op, "no result");
        assert_eq!(proven(&story), expected, "{later} later");
    }
}

#[test]
fn a_restart_lasts_as_long_as_it_says_and_somebody_answers() {
    for (down, answers, expected) in [(5, true, true), (4, true, false), (5, false, false)] {
        let fault =
            "dimension = \"restart\"\ntarget = \"master\"\nafter = \"x\"\naction = { restart = \"5s\" }";
        let steps = "{ id = \"x\", who = \"r1\", do = \"exist\", key = \"k\" },";
        let mut story = Story::new(&scenario_in("", fault, steps));
        let op = story.one("x", "ExistKey", "k", "false");
        story.inject(Some(op));
        story.change("master", Change::Killed);
        story.pass(secs(down)).change("master", Change::Started);
        if answers {
            story.ping("n1");
        }
        assert_eq!(proven(&story), expected, "down {down} s, answers {answers}");
    }
}

#[test]
fn a_rate_is_neither_faster_nor_slower() {
    for (each_ms, expected) in [(10_240, true), (10_239, false), (10_241, false)] {
        let fault = "dimension = \"buffer\"\ntarget = \"w1\"\nat = \"client.put.start_response\"\nof = \"p1\"\n\
                     action = { rate = \"100KiB/s\" }";
        let steps = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", async = true },\n\
                     { await = \"p1\", within = \"90s\" },";
        let mut story = Story::new(&scenario_in("", fault, steps));
        let op = story.begin("p1");
        story.call(op, "PutStart", "k", "ok", &[object()]);
        story.inject(Some(op));
        let transfer = story.open(op, true, &object());
        for part in 1..=4 {
            story.pass(Span::from_ms(each_ms)).part(transfer, part);
        }
        story.close(transfer, "complete");
        assert_eq!(proven(&story), expected, "a part every {each_ms} ms");
    }
}

#[test]
fn a_cut_stream_brings_nothing_more() {
    for more in [false, true] {
        let fault = "dimension = \"network\"\ntarget = \"w1\"\nat = \"client.put.payload_part\"\nof = \"p1\"\naction = \"cut\"";
        let steps = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },";
        let mut story = Story::new(&scenario_in("", fault, steps));
        let op = story.begin("p1");
        story.call(op, "PutStart", "k", "ok", &[object()]);
        let transfer = story.open(op, true, &object());
        story.part(transfer, 1);
        story.inject_on(Some(op), None, Some(transfer));
        story.close(transfer, "closed: cut");
        if more {
            story.part(transfer, 2);
        }
        assert_eq!(proven(&story), !more);
    }
}

#[test]
fn a_call_that_only_left_did_not_reach_the_master() {
    for handled in [false, true] {
        let fault = "dimension = \"misuse\"\ntarget = \"master\"\nstep = \"x\"";
        let steps = "{ id = \"x\", who = \"w2\", do = \"put_end\", key = \"k\" },";
        let mut story = Story::new(&scenario_in("", fault, steps));
        let op = story.begin("x");
        let message = story.send(op, "PutEnd", "k");
        if handled {
            story.handle(message, "OBJECT_NOT_FOUND", &[]);
        } else {
            story.leg(message, Leg::RequestLost);
        }
        assert_eq!(proven(&story), handled);
    }
}

#[test]
fn after_a_step_means_after_its_last_repetition() {
    for times in [1, 2] {
        let fault = "dimension = \"crash\"\ntarget = \"w1\"\nafter = \"x\"\naction = \"kill\"";
        let steps = "{ id = \"x\", who = \"r1\", do = \"exist\", key = \"k\", times = 2 },";
        let mut story = Story::new(&scenario_in("", fault, steps));
        for repetition in 1..=times {
            let op = story.begin_again("x", repetition);
            story.call(op, "ExistKey", "k", "false", &[]);
            story.end(op, "false");
        }
        let op = Op {
            step: 0,
            repetition: times,
        };
        story.inject(Some(op));
        story.change("w1", Change::Killed);
        if times == 1 {
            let op = story.begin_again("x", 2);
            story.end(op, "false");
        }
        assert_eq!(proven(&story), times == 2, "after repetition {times} of 2");
    }
}

#[test]
fn somebody_elses_clock_must_have_been_read() {
    for others in [false, true] {
        let mut story = Story::new(&crate::cases::clock_plan());
        let op = story.put("p1", "k", &object());
        story.inject(Some(op));
        story.wall_ns.insert("master".into(), 61_000_000_000);
        if others {
            story.clock("r1");
        }
        story.read();
        assert_eq!(proven(&story), others);
    }
}

#[test]
fn a_frozen_master_stopped_answered_nobody_and_was_asked() {
    for flaw in [
        "none",
        "only a ping waited",
        "did not stop",
        "answered",
        "was not asked",
        "had not answered before",
    ] {
        let fault = "dimension = \"liveness\"\ntarget = \"master\"\nafter = \"t0\"\naction = \"freeze\"";
        let steps = "{ id = \"t0\", tick = \"client_monitor\" },\n\
                     { id = \"g\", who = \"r1\", do = \"exist\", key = \"k\", async = true },\n\
                     { id = \"r\", do = \"resume\" },";
        let mut story = Story::new(&scenario_in("", fault, steps));
        if flaw == "had not answered before" {
            story.events.clear();
        }
        let op = story.instant("t0");
        story.inject(Some(op));
        if flaw != "did not stop" {
            story.change("master", Change::Frozen);
        }
        if flaw != "was not asked" && flaw != "only a ping waited" {
            let asked = story.begin("g");
            let message = story.send(asked, "ExistKey", "k");
            if flaw == "answered" {
                story.handle(message, "false", &[]);
            }
        }
        story.pass(secs(5));
        let resume = story.begin("r");
        story.release();
        story.change("master", Change::Resumed);
        if flaw != "was not asked" {
            story.ping("n1");
        }
        story.end(resume, "ok");
        story.read();
        let is_right = flaw == "none" || flaw == "only a ping waited";
        assert_eq!(proven(&story), is_right, "{flaw}");
    }
}
