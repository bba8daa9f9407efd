//! The end of an epoch that no call tells of: a sweep, an unmount, a commit of a copy. It is deduced from states.

use crate::telling::{MIB, Story, range, scenario_in};
use moonquake_clock::Span;
use moonquake_evidence::{Change, EventId, Range};
use moonquake_judge::{Epoch, Idle, Place, regions};

const FAULT: &str = "dimension = \"crash\"\ntarget = \"w1\"\nat = \"client.put.start_response\"\nof = \"p1\"\naction = \"kill\"";
const STEPS: &str = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", bind = \"a1\" },\n\
     { id = \"p2\", who = \"w2\", do = \"put\", key = \"k\", size = \"4MiB\" },\n\
     { id = \"t1\", tick = \"eviction\" },\n\
     { id = \"t2\", tick = \"eviction\" },";

fn of<'a>(places: &'a [Place], name: &str) -> &'a Place {
    places.iter().find(|place| place.name == name).unwrap()
}

/// Owner (or why there is none), until where, and whether it may have ended before.
fn told(place: &Place) -> Vec<(String, Option<EventId>, bool)> {
    let owner = |epoch: &Epoch| match epoch.idle {
        Some(idle) => format!("{idle:?}"),
        None => epoch.owner.clone(),
    };
    let until = |epoch: &Epoch| epoch.until.map(|(_, id)| id);
    let epochs = place.epochs.iter();
    epochs
        .map(|epoch| (owner(epoch), until(epoch), epoch.until_at_the_latest))
        .collect()
}

/// p1 is handed 4 MiB and dies.
fn dead_writer() -> Story {
    let mut story = Story::new(&scenario_in("", FAULT, STEPS));
    let p1 = story.begin("p1");
    story.call(p1, "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    story.change("w1", Change::Killed);
    story.end(p1, "no result");
    story.state.allocated_bytes = 4 * MIB;
    story.read();
    story
}

/// A round of the eviction thread, and the event that shows it.
fn round(story: &mut Story, step: &str) -> EventId {
    let op = story.begin(step);
    let tick = moonquake_evidence::Kind::Tick {
        thread: "eviction".into(),
    };
    let id = story.event("master", moonquake_evidence::Observer::Master, Some(op), tick);
    story.end(op, "ok");
    id
}

#[test]
fn an_unfinished_write_ends_with_the_round_that_swept_it() {
    let mut story = dead_writer();
    story.at(Span::from_secs(600));
    round(&mut story, "t1");
    story.read();
    story.at(Span::from_secs(1200));
    let swept = round(&mut story, "t2");
    story.state.allocated_bytes = 0;
    story.read();
    let places = regions(&story.plan, &story.evidence());
    assert_eq!(
        told(of(&places, "n1")),
        [
            ("k by w1 (p1)".to_owned(), Some(swept), false),
            ("Free".to_owned(), None, false)
        ]
    );
}

#[test]
fn of_two_rounds_between_two_states_nobody_knows_which_one_swept() {
    let mut story = dead_writer();
    story.at(Span::from_secs(1200));
    round(&mut story, "t1");
    round(&mut story, "t2");
    story.state.allocated_bytes = 0;
    let state = EventId(story.events.len() as u32);
    story.read();
    let places = regions(&story.plan, &story.evidence());
    let n1 = of(&places, "n1");
    assert_eq!(
        told(n1),
        [
            ("k by w1 (p1)".to_owned(), Some(state), true),
            ("Free".to_owned(), None, false)
        ]
    );
    assert!(n1.epochs[1].since_at_the_latest);
}

#[test]
fn a_write_into_swept_memory_is_late_and_the_answer_names_it() {
    let mut story = dead_writer();
    story.plan.watch = vec!["a1".into()];
    story.bind("a1", Some(range(0, 4 * MIB)));
    story.sight("a1", &[]);
    story.at(Span::from_secs(1200));
    round(&mut story, "t1");
    story.state.allocated_bytes = 0;
    story.read();
    let p2 = story.begin("p2");
    story.transfer(p2, true, &range(0, MIB));
    story.end(p2, "ok");
    story.read();
    let places = regions(&story.plan, &story.evidence());
    let free = &of(&places, "n1").epochs[1];
    assert_eq!((free.idle, free.accesses.len()), (Some(Idle::Free), 1));
    assert!(free.accesses[0].late);
    // The same access is late in the answer, and stands on no list of rightful ones.
    let judgement = story.judge();
    let answer = &judgement.buffer.names[0];
    assert_eq!((answer.late_by_others.len(), answer.by_others.len()), (1, 0));
    assert_eq!(answer.late_by_others[0].id, free.accesses[0].id);
    assert_eq!(judgement.buffer.word(), "late, by others");
}

#[test]
fn what_was_taken_from_a_writer_is_quarantined_until_a_round_frees_it() {
    let mut story = dead_writer();
    story.at(Span::from_secs(31));
    let p2 = story.begin("p2");
    let taken = EventId(story.events.len() as u32 + 1);
    story.call(p2, "PutStart", "k", "ok", &[range(4 * MIB, 4 * MIB)]);
    story.state.allocated_bytes = 8 * MIB;
    story.read();
    story.at(Span::from_secs(601));
    let swept = round(&mut story, "t1");
    // Both ranges have 4 MiB: the one that is due is the one that went.
    story.state.allocated_bytes = 4 * MIB;
    story.read();
    let places = regions(&story.plan, &story.evidence());
    assert_eq!(
        told(of(&places, "n1")),
        [
            ("k by w1 (p1)".to_owned(), Some(taken), false),
            ("Quarantined".to_owned(), Some(swept), false),
            ("k by w2 (p2)".to_owned(), None, false),
            ("Free".to_owned(), None, false)
        ]
    );
}

#[test]
fn after_the_last_state_nobody_knows_whether_bytes_are_in_quarantine() {
    let mut story = dead_writer();
    let p2 = story.begin("p2");
    story.call(p2, "PutRevoke", "k", "ok", &[]);
    let places = regions(&story.plan, &story.evidence());
    assert_eq!(told(of(&places, "n1"))[1].0, "Unknown");
}

const COPY: &str = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },\n\
     { id = \"m1\", who = \"n1\", do = \"copy_start\", key = \"k\", src_segment = \"n1\", tgt_segments = [\"n2\"] },\n\
     { id = \"x1\", who = \"n1\", do = \"put_write\", use = \"m1\" },\n\
     { id = \"e1\", who = \"n1\", do = \"copy_end\", key = \"k\" },\n\
     { id = \"t1\", tick = \"client_monitor\" },";

/// A copy of k to n2, written and committed.
fn copied() -> (Story, EventId) {
    let fault = FAULT
        .replace("\"w1\"", "\"n1\"")
        .replace("put.start_response", "put.end_response");
    let text =
        scenario_in("", &fault, COPY).replace("{ n1 = \"16MiB\" }", "{ n1 = \"16MiB\", n2 = \"16MiB\" }");
    let mut story = Story::new(&text);
    let source = range(0, 4 * MIB);
    let target = Range {
        segment: "n2".into(),
        ..source.clone()
    };
    story.put("p1", "k", &source);
    let m1 = story.begin("m1");
    story.call(m1, "CopyStart", "k", "ok", std::slice::from_ref(&target));
    story.end(m1, "ok");
    story.state.allocated_bytes += 4 * MIB;
    story.read();
    let x1 = story.begin("x1");
    story.transfer(x1, true, &target);
    story.end(x1, "ok");
    let e1 = story.begin("e1");
    let committed = EventId(story.events.len() as u32 + 1);
    story.call(e1, "CopyEnd", "k", "ok", &[]);
    story.end(e1, "ok");
    story.state.keys.insert("k".into(), vec![source, target]);
    story.read();
    (story, committed)
}

#[test]
fn a_copy_is_written_rightfully_and_readable_from_its_commit_on() {
    let (story, committed) = copied();
    let places = regions(&story.plan, &story.evidence());
    let [copy] = of(&places, "n2").epochs.as_slice() else {
        panic!("{places:?}")
    };
    assert_eq!(copy.owner, "copy of k by n1 (m1)");
    assert_eq!(copy.readable_at.map(|(_, id)| id), Some(committed));
    assert_eq!(copy.accesses.len(), 4);
    assert!(copy.accesses.iter().all(|access| !access.late), "{copy:?}");
}

#[test]
fn a_commit_after_the_target_is_gone_makes_nothing_readable() {
    let (mut story, _) = copied();
    // The same story with the round that unmounts n2 before the commit.
    let end = story.events.len();
    let committed = (0..end)
        .rev()
        .find(|index| story.events[*index].kind.line().contains("CopyEnd"));
    story.events.truncate(committed.unwrap() - 3);
    story.state.segments.remove("n2");
    story.state.keys.insert("k".into(), vec![range(0, 4 * MIB)]);
    story.state.allocated_bytes = 4 * MIB;
    story.read();
    let e1 = story.begin("e1");
    story.call(e1, "CopyEnd", "k", "REPLICA_IS_GONE", &[]);
    story.end(e1, "REPLICA_IS_GONE");
    story.read();
    let places = regions(&story.plan, &story.evidence());
    let copy = &of(&places, "n2").epochs[0];
    assert!(copy.until.is_some() && copy.readable_at.is_none(), "{copy:?}");
}

#[test]
fn a_copy_goes_with_its_segment() {
    let (mut story, _) = copied();
    let op = story.begin("t1");
    let tick = moonquake_evidence::Kind::Tick {
        thread: "client_monitor".into(),
    };
    let gone = story.event("master", moonquake_evidence::Observer::Master, Some(op), tick);
    story.state.segments.remove("n2");
    story.state.keys.insert("k".into(), vec![range(0, 4 * MIB)]);
    story.state.allocated_bytes -= 4 * MIB;
    story.read();
    let places = regions(&story.plan, &story.evidence());
    assert_eq!(told(of(&places, "n2"))[0].1, Some(gone));
    assert_eq!(
        told(of(&places, "n1")),
        [("k by w1 (p1)".to_owned(), None, false)]
    );
}

#[test]
fn a_rightful_access_stays_one_although_the_operation_is_late_at_the_same_instant() {
    let steps = STEPS.replace("bind = \"a1\"", "from = \"src\"");
    let mut story = Story::new(&scenario_in("", FAULT, &steps));
    story.plan.watch = vec!["src".into()];
    story.sight("src", &[]);
    let p1 = story.begin("p1");
    story.call(p1, "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    story.inject(Some(p1));
    story.access(p1, "src", false, 0, 4 * MIB);
    story.end(p1, "TRANSFER_FAIL");
    story.access(p1, "src", false, MIB, 4 * MIB);
    story.read();
    let answer = story.judge().buffer.names[0].clone();
    assert!(matches!(&answer.answer, moonquake_judge::Touched::Yes { touches } if touches.len() == 1));
    assert_eq!(
        (answer.late_by_others.len(), answer.by_others.len()),
        (0, 1),
        "{answer:?}"
    );
}

#[test]
fn a_source_that_was_read_ahead_is_not_read_again_when_its_bytes_land() {
    let steps = STEPS.replace("bind = \"a1\"", "from = \"src\"");
    let answer = |ahead: u64| {
        let mut story = Story::new(&scenario_in("", FAULT, &steps));
        story.plan.watch = vec!["src".into()];
        story.sight("src", &[]);
        let p1 = story.begin("p1");
        let at = range(0, 4 * MIB);
        story.call(p1, "PutStart", "k", "ok", std::slice::from_ref(&at));
        story.inject(Some(p1));
        let put = story.open_with(p1, true, &at, Some("src"));
        if ahead > 0 {
            story.access(p1, "src", false, 0, ahead);
        }
        story.end(p1, "TRANSFER_FAIL");
        story.pass(Span::from_secs(1));
        story.parts(put, 1..=4);
        story.read();
        story.judge().buffer.names[0].answer.clone()
    };
    assert!(matches!(answer(4 * MIB), moonquake_judge::Touched::No { .. }));
    // Without a word of the witness what landed counts.
    assert!(matches!(answer(0), moonquake_judge::Touched::Yes { .. }));
}
