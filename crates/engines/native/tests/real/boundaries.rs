//! Deadlines of the store at one nanosecond before, exactly at and one after, by the unmodified master.
//!
//! The expected values come from the description of the store, not from a run. `MOONQUAKE_REPEAT` says how often each is measured
//! (once by default).

use crate::Test;
use crate::rig::{CLIENT, MIB, Rig, tenant};
use moonquake_clock::{Clocks, Thread};
use moonquake_protocol::{ReplicateConfig, Request, Uuid};

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

/// Removing a leased key is refused until the lease of 10 s has passed, its last nanosecond included.
fn lease() {
    let mut rig = Rig::with_segments(1);
    triple([-706, 0, 0], |repetition, offset_ns| {
        let key = format!("k{repetition}_{offset_ns}");
        let base = rig.master.clocks();
        rig.put(&key, MIB);
        assert_eq!(rig.get(&key), 0);
        rig.at(base, after(10 * SECOND, offset_ns));
        let code = rig.remove(&key);
        if code != 0 {
            rig.at(base, 11 * SECOND);
            assert_eq!(rig.remove(&key), 0, "the key can be removed later");
        }
        code
    });
}

/// A second PutStart is refused up to and including 30 s after the first.
fn discard() {
    let mut rig = Rig::with_segments(1);
    triple([-705, -705, 0], |repetition, offset_ns| {
        let key = format!("k{repetition}_{offset_ns}");
        let base = rig.master.clocks();
        rig.put_start(&key, 1_000).expect("a place for the object");
        rig.at(base, after(30 * SECOND, offset_ns));
        rig.put_start(&key, 1_000).err().unwrap_or(0)
    });
}

/// An unfinished put is given up more than 600 s after its PutStart, by the sweep that falls due then.
fn release() {
    let mut rig = Rig::with_segments(1);
    triple([MIB, MIB, 0], |repetition, offset_ns| {
        let base = rig.swept();
        assert_eq!(rig.allocated(), 0, "the last one is gone");
        rig.put_start(&format!("k{repetition}_{offset_ns}"), MIB)
            .expect("a place for the object");
        rig.at(base, after(600 * SECOND, offset_ns));
        assert_eq!(rig.allocated(), MIB, "nothing is freed without a tick");
        rig.tick(Thread::Eviction);
        rig.allocated()
    });
}

/// Preempted memory is free exactly 600 s after the PutStart that got it, if a sweep runs then.
fn quarantine() {
    let mut rig = Rig::with_segments(1);
    // The second put stays; its predecessor's memory is what is waited for.
    triple([2 * MIB, MIB, MIB], |repetition, offset_ns| {
        rig.swept();
        let base = rig.swept();
        assert_eq!(rig.allocated(), 0, "the last one is gone");
        let key = format!("k{repetition}_{offset_ns}");
        // One second after the sweep, so that the next sweep is due when the quarantine ends.
        rig.at(base, SECOND);
        rig.put_start(&key, MIB).expect("a place for the object");
        rig.at(base, 32 * SECOND);
        rig.put_start(&key, MIB)
            .expect("a place for the second writer's object");
        assert_eq!(rig.put_end(&key), 0);
        rig.at(base, after(601 * SECOND, offset_ns));
        rig.tick(Thread::Eviction);
        let allocated = rig.allocated();
        assert_eq!(rig.remove(&key), 0, "never read, so no lease");
        allocated
    });
}

/// The idle sweep runs more than 600 s after the last one, however long ago the quarantine has ended.
fn sweep() {
    let mut rig = Rig::with_segments(1);
    triple([2 * MIB, 2 * MIB, MIB], |repetition, offset_ns| {
        rig.swept();
        let before = rig.swept();
        assert_eq!(rig.allocated(), 0, "the last one is gone");
        let key = format!("k{repetition}_{offset_ns}");
        rig.at(before, 500 * SECOND);
        rig.put_start(&key, MIB).expect("a place for the object");
        rig.at(before, 540 * SECOND);
        rig.put_start(&key, MIB)
            .expect("a place for the second writer's object");
        assert_eq!(rig.put_end(&key), 0);
        rig.at(before, 601 * SECOND);
        rig.tick(Thread::Eviction);
        // The quarantine ends 499 s after this sweep, which leaves it alone.
        let base = rig.master.clocks();
        rig.at(base, after(600 * SECOND, offset_ns));
        rig.tick(Thread::Eviction);
        let allocated = rig.allocated();
        assert_eq!(rig.remove(&key), 0, "never read, so no lease");
        allocated
    });
}

/// A client that is silent for more than its ttl of 10 s is expired by the next round of the monitor, and its segment goes.
fn ttl() {
    let mut rig = Rig::with_segments(0);
    let client = Uuid::new(200, 0);
    triple([64 * MIB, 64 * MIB, 0], |_, offset_ns| {
        rig.mount(0);
        rig.ping(client);
        // The ttl counts from the round of the monitor that reads the ping.
        rig.tick(Thread::ClientMonitor);
        let base: Clocks = rig.master.clocks();
        rig.at(base, after(10 * SECOND, offset_ns));
        rig.tick(Thread::ClientMonitor);
        let capacity = rig.master.admin().metrics().expect("metrics").capacity_bytes();
        rig.at(base, 30 * SECOND);
        rig.tick(Thread::ClientMonitor);
        let later = rig.master.admin().metrics().expect("metrics").capacity_bytes();
        assert_eq!(later, 0, "the client expires in the end");
        capacity
    });
}

/// A copy is given up by a sweep exactly 600 s after its start, and its target is freed by the same sweep.
fn copy_timeout() {
    let mut rig = Rig::with_segments(2);
    triple([2 * MIB, MIB, MIB], |repetition, offset_ns| {
        let base = rig.swept();
        assert_eq!(rig.allocated(), 0, "the last one is gone");
        let key = format!("k{repetition}_{offset_ns}");
        let source = rig.put(&key, MIB).transport_endpoint;
        let target = if source == "n0" { "n1" } else { "n0" };
        // One second after the sweep, so that the next sweep is due when the copy is.
        rig.at(base, SECOND);
        let copy = Request::CopyStart {
            client_id: CLIENT,
            key: key.clone(),
            tenant_id: tenant(),
            src_segment: source,
            tgt_segments: vec![target.to_owned()],
        };
        assert_eq!(rig.code(&copy), 0, "a place for the copy");
        rig.at(base, after(601 * SECOND, offset_ns));
        rig.tick(Thread::Eviction);
        let allocated = rig.allocated();
        rig.swept();
        assert_eq!(rig.remove(&key), 0, "the copy is given up in the end");
        allocated
    });
}

/// A read of a grouped object lengthens its lease of 10 s once 5 s of it are over.
fn group_refresh() {
    let mut rig = Rig::with_segments(1);
    triple([0, -706, -706], |repetition, offset_ns| {
        let key = format!("k{repetition}_{offset_ns}");
        let base = rig.master.clocks();
        let config = ReplicateConfig {
            group_ids: Some(vec![format!("g{repetition}_{offset_ns}")]),
            ..ReplicateConfig::default()
        };
        rig.put_start_with(&key, MIB, config)
            .expect("a place for the object");
        assert_eq!(rig.put_end(&key), 0);
        assert_eq!(rig.get(&key), 0);
        rig.at(base, after(5 * SECOND, offset_ns));
        assert_eq!(rig.get(&key), 0);
        rig.at(base, 10 * SECOND);
        let code = rig.remove(&key);
        if code != 0 {
            rig.at(base, 16 * SECOND);
            assert_eq!(rig.remove(&key), 0, "the key can be removed later");
        }
        code
    });
}

/// A segment that leaves gracefully keeps its objects to the last nanosecond of its grace period, also when another one was
/// asked to leave later and leaves earlier.
fn graceful_unmount() {
    let mut rig = Rig::with_segments(0);
    triple([0, -704, -704], |repetition, offset_ns| {
        let key = format!("k{repetition}_{offset_ns}");
        rig.mount(0);
        rig.put(&key, MIB);
        rig.mount(1);
        let base = rig.master.clocks();
        for (number, grace_period_ms) in [(0, 20_000), (1, 20_000), (1, 19_000), (0, 60_000)] {
            let request = Request::GracefulUnmountSegment {
                segment_id: Uuid::new(100, number),
                client_id: Uuid::new(200, number),
                grace_period_ms,
            };
            assert_eq!(rig.code(&request), 0, "segment {number}");
            let waits = rig.master.await_graceful_unmount();
            waits.unwrap_or_else(|error| panic!("{error}"));
        }
        let go_to = |rig: &Rig, after_ns| {
            rig.at(base, after_ns);
            let done = rig.master.run_due_timers();
            done.unwrap_or_else(|error| panic!("{error}"));
        };
        go_to(&rig, 19 * SECOND);
        go_to(&rig, after(20 * SECOND, offset_ns));
        let code = rig.get(&key);
        // The last deadline would take what is mounted next.
        go_to(&rig, 60 * SECOND);
        code
    });
}
