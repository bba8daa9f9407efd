//! Every deadline of the master at -1 ns, 0 and +1 ns, and what each flip of its rule would change.

use super::copies::copy;
use super::harness::*;
use super::segments::graceful;
use crate::MasterConfig;
use moonquake_clock::{Clocks, DeadlineId, Domain, Rule, Rules, Span, Thread};
use moonquake_protocol::ErrorCode;

const DISCARD: Span = Span::from_secs(30);
const RELEASE: Span = Span::from_secs(600);

fn flipped(flip: impl Fn(&mut Rules)) -> MasterConfig {
    let mut config = MasterConfig::default();
    flip(&mut config.rules);
    config
}

/// Whether a story has reached its deadline, told at an instant under some configuration.
type Story = fn(MasterConfig, Clocks) -> bool;

/// A deadline of the master with the instant it falls due and a story that shows it.
type Told = (DeadlineId, Span, Story);

fn stories() -> Vec<Told> {
    [of_writes(), of_copies_and_segments(), of_objects()].concat()
}

fn of_writes() -> Vec<Told> {
    vec![
        (DeadlineId::Discard, DISCARD, |config, now| {
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.put_start("k", MIB).unwrap();
            harness.now = now;
            harness.put_start("k", MIB).is_ok()
        }),
        (DeadlineId::Release, RELEASE, |config, now| {
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.put_start("k", MIB).unwrap();
            harness.now = now;
            harness.master.sweep(now);
            harness.put_end("k") == Err(ErrorCode::ObjectNotFound)
        }),
        (DeadlineId::Quarantine, RELEASE, |config, now| {
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.put_start("k", MIB).unwrap();
            harness.at(DISCARD + NS);
            harness.put_start("k", MIB).unwrap();
            harness.put_end("k").unwrap();
            harness.now = now;
            harness.master.release_quarantine(now);
            harness.allocated() == MIB
        }),
        (DeadlineId::IdleSweep, RELEASE, |config, now| {
            // Given up a nanosecond before the sweep is due, so that the sweep alone decides.
            let config = MasterConfig {
                rules: sooner(config.rules, DeadlineId::Release),
                ..config
            };
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.put_start("k", MIB).unwrap();
            harness.now = now;
            harness.tick(Thread::Eviction);
            harness.allocated() == 0
        }),
    ]
}

fn of_copies_and_segments() -> Vec<Told> {
    vec![
        (DeadlineId::CopyTimeout, RELEASE, |config, now| {
            let mut harness = Harness::configured(config, &[("a", MIB), ("b", MIB)]);
            harness.put_with("k", 10, &on("a"));
            copy(&mut harness, "k", "a", &["b"]).unwrap();
            harness.now = now;
            harness.master.sweep(now);
            !harness.master.copies.contains_key("k")
        }),
        (DeadlineId::Grace, Span::from_secs(20), |config, now| {
            let mut harness = Harness::configured(config, &[("a", MIB)]);
            graceful(&mut harness, "a", 0, 20_000).unwrap();
            harness.now = now;
            harness.master.run_graceful_timer(now);
            harness.master.view().segments.is_empty()
        }),
        (DeadlineId::ClientTtl, Span::from_secs(10), |config, now| {
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.tick(Thread::ClientMonitor);
            harness.now = now;
            harness.tick(Thread::ClientMonitor);
            harness.master.view().segments.is_empty()
        }),
    ]
}

fn of_objects() -> Vec<Told> {
    vec![
        (DeadlineId::GroupRefresh, Span::from_secs(5), |config, now| {
            let mut harness = Harness::configured(config, &[("a", MIB)]);
            harness.put_with("k", 10, &in_group("g"));
            harness.get("k").unwrap();
            let lease = |harness: &Harness| {
                let id = harness.master.objects.find("k").unwrap();
                harness.master.objects.lease_end(id)
            };
            let before = lease(&harness);
            harness.now = now;
            harness.get("k").unwrap();
            lease(&harness) != before
        }),
        (DeadlineId::Lease, Span::from_secs(10), |config, now| {
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.put("k", MIB);
            harness.get("k").unwrap();
            harness.now = now;
            harness.remove("k", false).is_ok()
        }),
        (DeadlineId::SoftPin, Span::from_secs(1_800), |config, now| {
            let config = MasterConfig {
                allow_evict_soft_pinned_objects: false,
                ..config
            };
            let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
            harness.put_with("k", MIB, &super::pins::pinned(None));
            harness.now = now;
            harness.master.evict_batch(now, 1.0, 1.0);
            harness.keys().is_empty()
        }),
    ]
}

/// The same rules with one deadline that is always reached in time: inclusive, on the same clock.
fn sooner(mut rules: Rules, id: DeadlineId) -> Rules {
    let rule = rules.get(id);
    rules.set(
        id,
        Rule {
            compare: moonquake_clock::Compare::Inclusive,
            ..rule
        },
    );
    rules
}

fn with_domain(now: Clocks, domain: Domain) -> Clocks {
    match domain {
        Domain::Realtime => Clocks {
            monotonic: START.monotonic,
            ..now
        },
        Domain::Monotonic => Clocks {
            realtime: START.realtime,
            ..now
        },
    }
}

#[test]
fn each_boundary_lies_where_the_table_says() {
    for (id, due, story) in stories() {
        let strict = Rules::default().get(id).compare == moonquake_clock::Compare::Strict;
        let at = START + due;
        assert!(!story(MasterConfig::default(), at.back(NS)), "{id:?} at -1 ns");
        assert_eq!(story(MasterConfig::default(), at), !strict, "{id:?} at 0");
        assert!(story(MasterConfig::default(), at + NS), "{id:?} at +1 ns");
    }
}

#[test]
fn each_deadline_looks_at_one_clock_alone() {
    for (id, due, story) in stories() {
        let domain = Rules::default().get(id).domain;
        let other = match domain {
            Domain::Realtime => Domain::Monotonic,
            Domain::Monotonic => Domain::Realtime,
        };
        let at = START + due + NS;
        assert!(
            story(MasterConfig::default(), with_domain(at, domain)),
            "{id:?} on its clock"
        );
        assert!(
            !story(MasterConfig::default(), with_domain(at, other)),
            "{id:?} on the other"
        );
    }
}

#[test]
fn each_flip_changes_an_answer() {
    for (id, due, story) in stories() {
        let at = START + due;
        let compare = flipped(|rules| rules.flip_compare(id));
        assert_ne!(
            story(compare, at),
            story(MasterConfig::default(), at),
            "{id:?} compare"
        );
        let moved = flipped(|rules| rules.flip_domain(id));
        let on_own = with_domain(at + NS, Rules::default().get(id).domain);
        assert_ne!(
            story(moved, on_own),
            story(MasterConfig::default(), on_own),
            "{id:?} domain"
        );
    }
}

#[test]
fn a_discard_timeout_of_zero_still_needs_time_to_pass() {
    let config = MasterConfig {
        discard: Span::ZERO,
        ..MasterConfig::default()
    };
    let mut harness = Harness::configured(config, &[("a", 16 * MIB)]);
    harness.put_start("k", MIB).unwrap();
    assert_eq!(harness.put_start("k", MIB), Err(ErrorCode::ObjectAlreadyExists));
    harness.advance(NS);
    harness.put_start("k", MIB).unwrap();
}

#[test]
fn a_release_timeout_that_does_not_exceed_discard_is_refused() {
    for (discard, fine) in [(600, false), (601, false), (599, true)] {
        let config = MasterConfig {
            discard: Span::from_secs(discard),
            ..MasterConfig::default()
        };
        assert_eq!(crate::Master::new(config, START).is_ok(), fine);
    }
    let config = MasterConfig {
        soft_pin: Span::from_secs(86_401),
        ..MasterConfig::default()
    };
    assert!(crate::Master::new(config, START).is_err());
}
