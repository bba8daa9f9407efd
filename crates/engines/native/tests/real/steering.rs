//! Clocks and threads do what they are told, and nothing else happens.

use crate::Test;
use crate::rig::{MIB, Rig, START};
use moonquake_clock::{MonotonicNs, RealtimeNs, Span, Thread};
use moonquake_native::process::ThreadView;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = &[
    ("real_process_sees_the_clocks_it_is_given", clocks_are_read_back),
    ("real_clocks_step_apart", clocks_step_apart),
    ("real_tick_is_one_round_of_one_thread", one_round),
    ("real_nothing_happens_without_a_tick", nothing_by_itself),
    (
        "real_early_tick_of_the_task_cleanup_says_that_it_did_nothing",
        early_tick,
    ),
    ("real_unmount_is_over_when_the_cleanup_worker_sleeps", cleanup),
    ("real_idle_master_uses_no_processor", idle),
    ("real_frozen_master_answers_when_it_goes_on", freeze),
    ("real_restart_forgets_everything_but_address_and_time", restart),
    ("real_stop_is_orderly_and_kill_is_not", endings),
];

fn clocks_are_read_back() {
    let mut rig = Rig::with_segments(1);
    assert_eq!(
        rig.master.served().realtime.last,
        START.realtime,
        "from the first instruction on"
    );
    assert_eq!(rig.master.served().monotonic.last, START.monotonic);
    let before = rig.master.served();
    rig.at(START, 123_456_789);
    assert_eq!(
        rig.master.served(),
        before,
        "setting a clock is no evidence that it was read"
    );
    rig.put("k", MIB);
    let after = rig.master.served();
    assert_eq!(after.realtime.last, START.realtime + Span::from_ns(123_456_789));
    assert!(after.realtime.reads > before.realtime.reads);
}

fn clocks_step_apart() {
    let mut rig = Rig::with_segments(1);
    rig.put("wall", MIB);
    rig.put("monotonic", MIB);
    assert_eq!((rig.get("wall"), rig.get("monotonic")), (0, 0));
    rig.master.set_monotonic(START.monotonic + Span::from_secs(3_600));
    assert_eq!(
        rig.remove("monotonic"),
        -706,
        "leases do not follow the monotonic clock"
    );
    rig.master.set_realtime(START.realtime + Span::from_secs(10));
    assert_eq!(rig.remove("wall"), 0, "they follow the wall clock");
    assert_eq!(
        rig.master.clocks().realtime,
        RealtimeNs(START.realtime.0 + 10_000_000_000)
    );
    assert_eq!(
        rig.master.clocks().monotonic,
        MonotonicNs(START.monotonic.0 + 3_600_000_000_000)
    );
}

/// The threads that a clock moves. Those that serve requests come and go with them.
fn timed_threads(rig: &Rig) -> Vec<ThreadView> {
    rig.master
        .threads()
        .into_iter()
        .filter(|thread| thread.requested.is_some())
        .collect()
}

fn one_round() {
    let rig = Rig::with_segments(1);
    rig.master.set_clocks(START + Span::from_secs(60));
    for thread in Thread::ALL {
        for _ in 0..5 {
            let before = timed_threads(&rig);
            let tick = rig.master.tick(thread).unwrap_or_else(|error| panic!("{error}"));
            let after = timed_threads(&rig);
            assert_eq!(after.len(), before.len(), "no thread comes or goes");
            let moved: Vec<u32> = after
                .iter()
                .zip(&before)
                .map(|(after, before)| after.sleeps - before.sleeps)
                .collect();
            assert_eq!(moved.iter().sum::<u32>(), 1, "{}: {moved:?}", thread.name());
            let slept = after
                .iter()
                .zip(&before)
                .find(|(after, before)| after.sleeps != before.sleeps);
            assert_eq!(slept.map(|(after, _)| after.sleeps), Some(tick.sleeps));
            assert!(after.iter().all(|thread| thread.asleep), "all sleep again");
        }
    }
}

fn nothing_by_itself() {
    let mut rig = Rig::with_segments(1);
    rig.put_start("k", MIB).expect("a place for the object");
    let before = timed_threads(&rig);
    rig.at(START, 2_000_000_000_000);
    // Real time passes while these are answered, and a master that ran by itself would sweep at once.
    for _ in 0..200 {
        assert_eq!(rig.allocated(), MIB);
    }
    assert_eq!(timed_threads(&rig), before, "no thread has moved");
    rig.tick(Thread::Eviction);
    assert_eq!(rig.allocated(), 0);
}

fn early_tick() {
    let rig = Rig::with_segments(0);
    let round = |after: Span| {
        rig.master.set_clocks(START + after);
        rig.master
            .tick(Thread::TaskCleanup)
            .unwrap_or_else(|error| panic!("{error}"))
            .did_round
    };
    assert!(!round(Span::ZERO));
    assert!(!round(Span::from_ns(29_999_999_999)));
    assert!(round(Span::from_secs(30)));
    assert!(!round(Span::from_ns(59_999_999_999)));
    assert!(round(Span::from_secs(60)));
}

fn cleanup() {
    let mut rig = Rig::with_segments(1);
    for repetition in 0..20 {
        rig.put(&format!("k{repetition}"), MIB);
        assert_eq!(rig.unmount(0), 0);
        rig.master
            .await_cleanup_idle()
            .unwrap_or_else(|error| panic!("{error}"));
        let metrics = rig
            .master
            .admin()
            .metrics()
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (
                metrics.key_count(),
                metrics.capacity_bytes(),
                metrics.allocated_bytes()
            ),
            (0, 0, 0)
        );
        rig.mount(0);
    }
}

fn idle() {
    let rig = Rig::with_segments(1);
    let used_before = rig.master.cpu_time().expect("processor time");
    let started = Instant::now();
    // Not a wait for something: the measurement is of real time in which nothing happens.
    std::thread::sleep(Duration::from_secs(2));
    let used = rig.master.cpu_time().expect("processor time") - used_before;
    let share = used.as_secs_f64() / started.elapsed().as_secs_f64();
    println!("idle: {:.3} % of a core", share * 100.0);
    assert!(share < 0.05, "{:.1} % of a core", share * 100.0);
}

fn freeze() {
    let mut rig = Rig::with_segments(1);
    rig.put("k", MIB);
    rig.master.freeze().unwrap_or_else(|error| panic!("{error}"));
    assert!(
        !rig.answers_within(Duration::from_millis(100)),
        "nobody is there to answer"
    );
    rig.master.resume().unwrap_or_else(|error| panic!("{error}"));
    assert!(
        rig.answers_within(Duration::from_secs(20)),
        "what was sent has waited"
    );
    assert_eq!(rig.get("k"), 0);

    rig.master.freeze().unwrap_or_else(|error| panic!("{error}"));
    let started = Instant::now();
    drop(rig);
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "a frozen master ends as soon"
    );
}

fn restart() {
    let mut rig = Rig::with_segments(1);
    rig.put("k", MIB);
    rig.at(START, 5_000_000_000);
    let (pid, rpc_addr, admin_addr) = (rig.master.pid(), rig.master.rpc_addr(), rig.master.admin_addr());
    rig.master.restart().unwrap_or_else(|error| panic!("{error}"));
    rig.reconnect();
    assert_ne!(rig.master.pid(), pid);
    assert_eq!(
        (rig.master.rpc_addr(), rig.master.admin_addr()),
        (rpc_addr, admin_addr)
    );
    assert_eq!(
        rig.master.served().realtime.last,
        START.realtime + Span::from_secs(5)
    );
    assert_eq!(rig.get("k"), -704, "the object is forgotten");
    rig.mount(0);
    rig.put("k", MIB);
}

fn endings() {
    let rig = Rig::with_segments(1);
    assert_eq!(rig.master.exit_status(), None);
    let status = rig.master.stop().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(status.code(), Some(0), "{}", rig.master.log_tail());
    assert_eq!(rig.master.exit_status(), Some(status));

    let rig = Rig::with_segments(1);
    let status = rig.master.kill().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(status.signal(), Some(9));
    assert_eq!(rig.master.exit_status(), Some(status));
}
