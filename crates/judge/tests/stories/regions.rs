//! The bytes lane: who owned which bytes, when, and who touched them.

use crate::telling::{MIB, Story, all, finding, range, scenario_in, status};
use moonquake_judge::{Epoch, Judgement, NOBODY, Place, Status, Touched, regions};

const FAULT: &str = "dimension = \"buffer\"\ntarget = \"w1\"\nat = \"client.put.start_response\"\nof = \"p1\"\naction = \"hold\"";
const STEPS: &str = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", from = \"src\", async = true },\n\
     { id = \"p2\", who = \"w2\", do = \"put\", key = \"n\", size = \"2MiB\" },\n\
     { id = \"g1\", who = \"r1\", do = \"get\", key = \"n\", into = \"b1\" },\n\
     { id = \"f1\", who = \"w1\", do = \"fill\", into = \"src\", size = \"4MiB\" },\n\
     { do = \"resume\" }";

fn of<'a>(places: &'a [Place], name: &str) -> &'a Place {
    places.iter().find(|place| place.name == name).unwrap()
}

/// Owner, bytes and the number of late accesses of each epoch.
fn told(place: &Place) -> Vec<(&str, u64, u64, usize)> {
    let late = |epoch: &Epoch| epoch.accesses.iter().filter(|access| access.late).count();
    let line = |epoch: &'_ Epoch| (epoch.from / MIB, epoch.to / MIB, late(epoch));
    let epochs = place.epochs.iter();
    epochs
        .map(|epoch| {
            let (from, to, late) = line(epoch);
            (epoch.owner.as_str(), from, to, late)
        })
        .collect()
}

/// p1 fails and is revoked after one part; p2 gets half of its range; p1's second and third part land late.
fn late_writer() -> Story {
    let mut story = Story::new(&scenario_in("", FAULT, STEPS));
    let p1 = story.begin("p1");
    story.call(p1, "PutStart", "k", "ok", &[range(0, 4 * MIB)]);
    let transfer = story.open_with(p1, true, &range(0, 4 * MIB), Some("src"));
    story.part(transfer, 1);
    story.call(p1, "PutRevoke", "k", "ok", &[]);
    story.end(p1, "TRANSFER_FAIL");
    story.read();
    story.put("p2", "n", &range(0, 2 * MIB));
    story.parts(transfer, 2..=3);
    let g1 = story.begin("g1");
    story.call(g1, "GetReplicaList", "n", "ok", &[range(0, 2 * MIB)]);
    let read = story.open_with(g1, false, &range(0, 2 * MIB), Some("b1"));
    story.parts(read, 1..=2);
    story.end(g1, "ok");
    story.instant("f1");
    story
}

#[test]
fn a_late_write_stands_in_the_epoch_that_it_hits() {
    let story = late_writer();
    let places = regions(&story.plan, &story.evidence());
    let names: Vec<&str> = places.iter().map(|place| place.name.as_str()).collect();
    assert_eq!(names, ["n1", "b1", "src"]);
    let n1 = of(&places, "n1");
    assert_eq!(n1.size, 16 * MIB);
    assert_eq!(
        told(n1),
        [
            ("k by w1 (p1)", 0, 4, 0),
            (NOBODY, 0, 2, 0),
            (NOBODY, 2, 4, 1),
            ("n by w2 (p2)", 0, 2, 1)
        ]
    );
    let hit = &n1.epochs[3];
    assert!(hit.readable_at.is_some() && hit.until.is_none());
    let late: Vec<_> = hit.accesses.iter().filter(|access| access.late).collect();
    assert_eq!(
        (late[0].who.as_str(), late[0].from, late[0].to),
        ("w1", MIB, 2 * MIB)
    );
    // The reader of n reads what it was told of.
    assert_eq!(
        hit.accesses
            .iter()
            .filter(|access| !access.write && !access.late)
            .count(),
        2
    );
}

#[test]
fn a_buffer_is_the_operations_until_its_result_and_the_callers_after_it() {
    let story = late_writer();
    let places = regions(&story.plan, &story.evidence());
    assert_eq!(told(of(&places, "src")), [("p1", 0, 4, 0), ("w1", 0, 4, 2)]);
    assert_eq!(told(of(&places, "b1")), [("g1", 0, 2, 0), ("r1", 0, 2, 0)]);
}

#[test]
fn what_the_master_no_longer_shows_belongs_to_nobody() {
    let mut story = late_writer();
    story.dead("n");
    story.read();
    let places = regions(&story.plan, &story.evidence());
    let n1 = told(of(&places, "n1"));
    assert_eq!(n1.last(), Some(&(NOBODY, 0, 2, 0)));
}

/// g1 fails and gives its staging block back; g2 takes it, and g1's third part lands there before or after g2's own, or
/// never.
fn staged(late_after_own: Option<bool>) -> Story {
    const STEPS: &str = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },\n\
         { id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", async = true },\n\
         { id = \"g2\", who = \"r1\", do = \"get\", key = \"k\" },\n\
         { do = \"resume\" }";
    let mut story = Story::new(&scenario_in(
        "",
        &FAULT
            .replace("put.start_response", "get.query_response")
            .replace("p1", "g1")
            .replace("w1", "n1"),
        STEPS,
    ));
    let at = range(0, 4 * MIB);
    story.put("p1", "k", &at);
    let g1 = story.begin("g1");
    story.call(g1, "GetReplicaList", "k", "ok", std::slice::from_ref(&at));
    let late = story.open_staged(g1, false, &at, 0);
    story.parts(late, 1..=2);
    story.sight("r1 staging", &[]);
    story.end(g1, "TRANSFER_FAIL");
    let g2 = story.begin("g2");
    story.call(g2, "GetReplicaList", "k", "ok", std::slice::from_ref(&at));
    let own = story.open_staged(g2, false, &at, 0);
    story.parts(own, 1..=2);
    if late_after_own == Some(false) {
        story.part(late, 3);
    }
    story.part(own, 3);
    if late_after_own == Some(true) {
        story.part(late, 3);
    }
    story.part(own, 4);
    story.end_with(g2, "ok", Some(all("w1", 4 * MIB)));
    story
}

fn answer<'a>(judgement: &'a Judgement, name: &str) -> &'a Touched {
    &judgement
        .buffer
        .names
        .iter()
        .find(|answer| answer.name == name)
        .unwrap()
        .answer
}

#[test]
fn staging_memory_goes_from_one_operation_to_the_next() {
    let story = staged(Some(true));
    let places = regions(&story.plan, &story.evidence());
    // Between the two, and after the second, it belongs to no operation.
    assert_eq!(
        told(of(&places, "r1 staging")),
        [
            ("g1", 0, 4, 0),
            (NOBODY, 0, 4, 0),
            ("g2", 0, 4, 1),
            (NOBODY, 0, 4, 0)
        ]
    );
    let judgement = story.judge();
    let Touched::Yes { touches } = answer(&judgement, "r1 staging") else {
        panic!("{:?}", judgement.buffer);
    };
    assert_eq!(
        (touches.len(), touches[0].from, touches[0].to),
        (1, 2 * MIB, 3 * MIB)
    );
    let hit = touches[0].hits[0].to_string();
    assert_eq!(
        hit,
        "r1 staging[2097152, 3145728) belongs to g2 since 0s (epoch 3)"
    );
    assert!(
        finding(&judgement, "no-access-after-failure")
            .actual
            .text()
            .contains(&hit)
    );
}

#[test]
fn a_late_write_over_a_read_is_foreign_whatever_its_pattern_and_one_below_it_is_not() {
    assert_eq!(
        status(&staged(Some(true)).judge(), "no-foreign-bytes"),
        Status::Failed
    );
    assert_eq!(
        status(&staged(Some(false)).judge(), "no-foreign-bytes"),
        Status::Held
    );
}

#[test]
fn staging_memory_that_nobody_touched_late_is_answered_for_too() {
    let mut story = staged(None);
    assert!(matches!(answer(&story.judge(), "r1 staging"), Touched::No { .. }));
    // Without a witness nobody knows.
    story
        .events
        .retain(|event| !event.kind.line().contains("test watches"));
    assert!(matches!(
        answer(&story.judge(), "r1 staging"),
        Touched::CouldNotSee { .. }
    ));
}
