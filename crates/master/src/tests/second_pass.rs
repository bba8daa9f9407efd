//! What a round of eviction does beyond its first pass: soft-pinned objects, what a quarantine gave back, and what cannot go.

use super::harness::*;
use super::pins::pinned;
use moonquake_clock::Span;

/// Four soft-pinned objects of one age, and a wish to evict.
fn soft_pinned(harness: &mut Harness) {
    for number in 0..4 {
        harness.put_with(&format!("pinned {number}"), 10, &pinned(None));
    }
    harness.master.need_eviction = true;
}

/// How many keys a round leaves, and whether the wish to evict is still there.
fn round(harness: &mut Harness, ratio: f64) -> (usize, bool) {
    harness.advance(NS);
    harness.master.evict_batch(harness.now, ratio, ratio);
    (harness.keys().len(), harness.master.need_eviction)
}

#[test]
fn of_soft_pinned_objects_of_one_age_only_so_many_go_as_are_missing() {
    for (ratio, left) in [(0.25, 3), (0.5, 2), (0.75, 1), (1.0, 0)] {
        let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
        soft_pinned(&mut harness);
        assert_eq!(round(&mut harness, ratio), (left, false), "{ratio}");
    }
}

#[test]
fn what_a_quarantine_gives_back_need_not_be_evicted() {
    for (ratio, left) in [(0.25, 4), (0.5, 3), (0.75, 2)] {
        let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
        harness.put_start("old", 10).unwrap();
        harness.at(Span::from_secs(31));
        harness.put("old", 10);
        harness.remove("old", false).unwrap();
        soft_pinned(&mut harness);
        harness.at(Span::from_secs(601));
        assert_eq!(round(&mut harness, ratio), (left, false), "{ratio}");
    }
}

#[test]
fn an_unfinished_object_does_not_count_and_the_wish_to_evict_ends() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    harness.put_start("open", 10).unwrap();
    harness.master.need_eviction = true;
    assert_eq!(round(&mut harness, 1.0), (0, false));
    harness.put_end("open").unwrap();
}

#[test]
fn of_an_object_that_is_being_copied_only_the_other_replicas_go() {
    let segments = [("a", MIB), ("b", MIB)];
    let mut harness = Harness::with_segments(&segments);
    harness.put_with("k", 10, &replicas(2));
    harness.mount("c", MIB).unwrap();
    super::copies::copy(&mut harness, "k", "a", &["c"]).unwrap();
    round(&mut harness, 1.0);
    assert_eq!(names(&harness.get("k").unwrap()), ["a"]);
    let target = harness.allocated();
    assert_eq!(target, 20, "the source and the target");
}

/// An object that an upsert has opened, whose soft pin ends five seconds from now.
fn open_under_a_pin(harness: &mut Harness, group: Option<&str>) {
    harness.put_with("open", 10, &pinned(group));
    harness.advance(Span::from_secs(1_795));
    let config = group.map(in_group).unwrap_or_default();
    harness.upsert_start("open", 10, &config).unwrap();
    assert_eq!(harness.master.view().soft_pinned_keys, 1);
}

/// A pin that is over counts until somebody asks for it. A round that looks for the oldest of its candidates asks every object whose
/// lease is over, an object that an upsert has opened too; one that takes most of them anyway asks only those that could go.
#[test]
fn a_round_asks_for_pins_of_what_cannot_go_if_it_picks_its_candidates() {
    for (ratio, pins) in [(0.05, 0), (0.22, 0), (10.0 / 44.0, 1), (0.23, 1), (1.0, 1)] {
        let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
        open_under_a_pin(&mut harness, None);
        harness.put("plain", 10);
        harness.advance(Span::from_secs(5));
        round(&mut harness, ratio);
        assert_eq!(harness.master.view().soft_pinned_keys, pins, "{ratio}");
    }
}

#[test]
fn a_round_without_candidates_asks_nobody_for_pins() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    open_under_a_pin(&mut harness, None);
    harness.put("leased", 10);
    harness.advance(Span::from_secs(5));
    harness.get("leased").unwrap();
    round(&mut harness, 0.05);
    assert_eq!(harness.master.view().soft_pinned_keys, 1);
}

/// The other members of a group are asked before it is seen whether they could go.
#[test]
fn a_group_is_asked_for_the_pins_of_all_its_members() {
    for ratio in [0.05, 1.0] {
        let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
        open_under_a_pin(&mut harness, Some("g"));
        harness.put_with("plain", 10, &in_group("g"));
        harness.advance(Span::from_secs(5));
        round(&mut harness, ratio);
        assert_eq!(harness.keys(), Vec::<String>::new());
        assert_eq!(harness.master.view().soft_pinned_keys, 0, "{ratio}");
    }
}

#[test]
fn what_is_leased_is_not_asked_for_its_pin() {
    let mut harness = Harness::with_segments(&[("a", 4 * MIB)]);
    open_under_a_pin(&mut harness, Some("g"));
    harness.put_with("leased", 10, &in_group("g"));
    harness.put("plain", 10);
    harness.advance(Span::from_secs(5));
    harness.get("leased").unwrap();
    assert_eq!(round(&mut harness, 0.05), (1, false), "the plain one goes");
    assert_eq!(harness.master.view().soft_pinned_keys, 1);
}
