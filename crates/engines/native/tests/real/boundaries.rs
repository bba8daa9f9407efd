//! Deadlines of the store at one nanosecond before, exactly at and one after, by the unmodified master and the Rust one.
//!
//! The expected values come from the description of the store, not from a run. `MOONQUAKE_REPEAT` says how often each is measured
//! (once by default).

use crate::Test;
use crate::pair::{Answer, Pair, WRITER, ask, on, owner};
use crate::rig::MIB;
use crate::same::twin::segment;
use moonquake_clock::{Clocks, Thread};
use moonquake_protocol::{ErrorCode, ReplicateConfig};

pub(crate) const TESTS: &[Test] = &[
    ("real_boundary_lease", lease),
    ("real_boundary_discard", discard),
    ("real_boundary_release", release),
    ("real_boundary_quarantine", quarantine),
    ("real_boundary_sweep", sweep),
    ("real_boundary_client_ttl", ttl),
    ("real_boundary_copy_timeout", copy_timeout),
    ("real_boundary_group_refresh", group_refresh),
    ("real_boundary_graceful_unmount", graceful_unmount),
];

const SECOND: u64 = 1_000_000_000;
/// Bytes of each segment.
const SEGMENT: u64 = 64 * MIB;

fn repetitions() -> usize {
    std::env::var("MOONQUAKE_REPEAT")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

/// Measures at -1 ns, 0 and +1 ns and compares; `measure` gets the offset from the deadline, as a signed number of nanoseconds.
fn triple<T: std::fmt::Debug + PartialEq>(expected: [T; 3], mut measure: impl FnMut(usize, i64) -> T) {
    for repetition in 0..repetitions() {
        let measured = [-1, 0, 1].map(|offset_ns| measure(repetition, offset_ns));
        assert_eq!(
            measured, expected,
            "at -1 ns, 0 and +1 ns, repetition {repetition}"
        );
    }
}

fn after(deadline_ns: u64, offset_ns: i64) -> u64 {
    deadline_ns
        .checked_add_signed(offset_ns)
        .expect("a later instant")
}

fn start(pair: &mut Pair, key: &str, size: u64) -> Answer {
    pair.start(key, size, &ReplicateConfig::default()).map(|_| ())
}

/// Lets a sweep happen and returns its instant, from which the next one counts.
fn swept(pair: &mut Pair) -> Clocks {
    pair.at(pair.clocks(), 700 * SECOND);
    pair.tick(Thread::Eviction);
    pair.clocks()
}

/// Removing a leased key is refused until the lease of 10 s has passed, its last nanosecond included.
fn lease() {
    let mut pair = Pair::with_segments(&[SEGMENT]);
    triple(
        [Err(ErrorCode::ObjectHasLease), Ok(()), Ok(())],
        |repetition, offset_ns| {
            let key = format!("k{repetition}_{offset_ns}");
            let base = pair.clocks();
            pair.put(&key, MIB, &ReplicateConfig::default());
            assert!(pair.get(&key).is_ok());
            pair.at(base, after(10 * SECOND, offset_ns));
            let removed = pair.remove(&key);
            if removed.is_err() {
                pair.at(base, 11 * SECOND);
                assert_eq!(pair.remove(&key), Ok(()), "the key can be removed later");
            }
            removed
        },
    );
}

/// A second PutStart is refused up to and including 30 s after the first.
fn discard() {
    let mut pair = Pair::with_segments(&[SEGMENT]);
    let refused = Err(ErrorCode::ObjectAlreadyExists);
    triple([refused, refused, Ok(())], |repetition, offset_ns| {
        let key = format!("k{repetition}_{offset_ns}");
        let base = pair.clocks();
        start(&mut pair, &key, 1_000).expect("a place for the object");
        pair.at(base, after(30 * SECOND, offset_ns));
        start(&mut pair, &key, 1_000)
    });
}

/// An unfinished put is given up more than 600 s after its PutStart, by the sweep that falls due then.
fn release() {
    let mut pair = Pair::with_segments(&[SEGMENT]);
    triple([MIB, MIB, 0], |repetition, offset_ns| {
        let base = swept(&mut pair);
        assert_eq!(pair.allocated(), 0, "the last one is gone");
        start(&mut pair, &format!("k{repetition}_{offset_ns}"), MIB).expect("a place for the object");
        pair.at(base, after(600 * SECOND, offset_ns));
        assert_eq!(pair.allocated(), MIB, "nothing is freed without a tick");
        pair.tick(Thread::Eviction);
        pair.allocated()
    });
}

/// Preempted memory is free exactly 600 s after the PutStart that got it, if a sweep runs then.
fn quarantine() {
    let mut pair = Pair::with_segments(&[SEGMENT]);
    // The second put stays; its predecessor's memory is what is waited for.
    triple([2 * MIB, MIB, MIB], |repetition, offset_ns| {
        swept(&mut pair);
        let base = swept(&mut pair);
        assert_eq!(pair.allocated(), 0, "the last one is gone");
        let key = format!("k{repetition}_{offset_ns}");
        // One second after the sweep, so that the next sweep is due when the quarantine ends.
        pair.at(base, SECOND);
        start(&mut pair, &key, MIB).expect("a place for the object");
        pair.at(base, 32 * SECOND);
        start(&mut pair, &key, MIB).expect("a place for the second writer's object");
        assert_eq!(pair.end(WRITER, &key), Ok(()));
        pair.at(base, after(601 * SECOND, offset_ns));
        pair.tick(Thread::Eviction);
        let allocated = pair.allocated();
        assert_eq!(pair.remove(&key), Ok(()), "never read, so no lease");
        allocated
    });
}

/// The idle sweep runs more than 600 s after the last one, however long ago the quarantine has ended.
fn sweep() {
    let mut pair = Pair::with_segments(&[SEGMENT]);
    triple([2 * MIB, 2 * MIB, MIB], |repetition, offset_ns| {
        swept(&mut pair);
        let before = swept(&mut pair);
        assert_eq!(pair.allocated(), 0, "the last one is gone");
        let key = format!("k{repetition}_{offset_ns}");
        pair.at(before, 500 * SECOND);
        start(&mut pair, &key, MIB).expect("a place for the object");
        pair.at(before, 540 * SECOND);
        start(&mut pair, &key, MIB).expect("a place for the second writer's object");
        assert_eq!(pair.end(WRITER, &key), Ok(()));
        pair.at(before, 601 * SECOND);
        pair.tick(Thread::Eviction);
        // The quarantine ends 499 s after this sweep, which leaves it alone.
        let base = pair.clocks();
        pair.at(base, after(600 * SECOND, offset_ns));
        pair.tick(Thread::Eviction);
        let allocated = pair.allocated();
        assert_eq!(pair.remove(&key), Ok(()), "never read, so no lease");
        allocated
    });
}

/// A client that is silent for more than its ttl of 10 s is expired by the next round of the monitor, and its segment goes.
fn ttl() {
    let mut pair = Pair::with_segments(&[]);
    let client_id = owner(0);
    triple([SEGMENT, SEGMENT, 0], |_, offset_ns| {
        assert_eq!(pair.mount(&segment(0, SEGMENT), client_id), Ok(()));
        assert!(ask!(pair, Ping { client_id }).is_ok());
        // The ttl counts from the round of the monitor that reads the ping.
        pair.tick(Thread::ClientMonitor);
        let base: Clocks = pair.clocks();
        pair.at(base, after(10 * SECOND, offset_ns));
        pair.tick(Thread::ClientMonitor);
        let capacity = pair.capacity();
        pair.at(base, 30 * SECOND);
        pair.tick(Thread::ClientMonitor);
        let later = pair.capacity();
        assert_eq!(later, 0, "the client expires in the end");
        capacity
    });
}

/// A copy is given up by a sweep exactly 600 s after its start, and its target is freed by the same sweep.
fn copy_timeout() {
    let mut pair = Pair::with_segments(&[SEGMENT, SEGMENT]);
    triple([2 * MIB, MIB, MIB], |repetition, offset_ns| {
        let base = swept(&mut pair);
        assert_eq!(pair.allocated(), 0, "the last one is gone");
        let key = format!("k{repetition}_{offset_ns}");
        pair.put(&key, MIB, &on("n0"));
        // One second after the sweep, so that the next sweep is due when the copy is.
        pair.at(base, SECOND);
        assert!(pair.copy(&key, "n0", &["n1"]).is_ok(), "a place for the copy");
        pair.at(base, after(601 * SECOND, offset_ns));
        pair.tick(Thread::Eviction);
        let allocated = pair.allocated();
        swept(&mut pair);
        assert_eq!(pair.remove(&key), Ok(()), "the copy is given up in the end");
        allocated
    });
}

/// A read of a grouped object lengthens its lease of 10 s once 5 s of it are over.
fn group_refresh() {
    let mut pair = Pair::with_segments(&[SEGMENT]);
    let leased = Err(ErrorCode::ObjectHasLease);
    triple([Ok(()), leased, leased], |repetition, offset_ns| {
        let key = format!("k{repetition}_{offset_ns}");
        let base = pair.clocks();
        let config = ReplicateConfig {
            group_ids: Some(vec![format!("g{repetition}_{offset_ns}")]),
            ..ReplicateConfig::default()
        };
        pair.put(&key, MIB, &config);
        assert!(pair.get(&key).is_ok());
        pair.at(base, after(5 * SECOND, offset_ns));
        assert!(pair.get(&key).is_ok());
        pair.at(base, 10 * SECOND);
        let removed = pair.remove(&key);
        if removed.is_err() {
            pair.at(base, 16 * SECOND);
            assert_eq!(pair.remove(&key), Ok(()), "the key can be removed later");
        }
        removed
    });
}

/// A segment that leaves gracefully keeps its objects to the last nanosecond of its grace period, also when another one was
/// asked to leave later and leaves earlier.
fn graceful_unmount() {
    let mut pair = Pair::with_segments(&[]);
    let gone = Err(ErrorCode::ObjectNotFound);
    triple([Ok(()), gone, gone], |repetition, offset_ns| {
        let key = format!("k{repetition}_{offset_ns}");
        pair.mount(&segment(0, SEGMENT), owner(0)).unwrap();
        pair.put(&key, MIB, &ReplicateConfig::default());
        pair.mount(&segment(1, SEGMENT), owner(1)).unwrap();
        let base = pair.clocks();
        for (number, grace_period_ms) in [(0, 20_000), (1, 20_000), (1, 19_000), (0, 60_000)] {
            assert_eq!(pair.graceful(number, grace_period_ms), Ok(()), "segment {number}");
        }
        let go_to = |pair: &mut Pair, after_ns| {
            pair.at(base, after_ns);
            pair.run_timers();
        };
        go_to(&mut pair, 19 * SECOND);
        go_to(&mut pair, after(20 * SECOND, offset_ns));
        let found = pair.get(&key).map(|_| ());
        // The last deadline would take what is mounted next.
        go_to(&mut pair, 60 * SECOND);
        found
    });
}
