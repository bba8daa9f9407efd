//! Limits of the release that follow the virtual clocks: its timers and its long waits.

use super::rig::{LIMIT, Pair, Python};
use crate::Test;
use crate::rig::{Rig, START};
use moonquake_clock::{Clocks, Span};
use moonquake_native::process::{Direction, PauseRule};
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = &[
    ("real_client_page_rpc_limit_follows_the_clock", rpc_limit),
    (
        "real_client_page_transfer_limit_follows_the_clock",
        transfer_limit,
    ),
    (
        "real_client_page_progress_limit_follows_the_clock",
        progress_limit,
    ),
    ("real_client_page_lease_check_follows_the_monotonic_clock", lease),
    ("real_client_page_short_waits_take_real_time", short_waits),
];

const ONE: Span = Span::from_ns(1);

fn rpc_limit() {
    let master = Rig::with_segments(0);
    // Without a segment it has no thread that asks for something of its own.
    let mut python = Python::set_up(&master.master.rpc_addr().to_string(), 0);
    assert_eq!(python.eval("s.is_exist('k')"), "0");
    python.page.log_sockets(true);
    master.master.freeze().expect("the master stands");
    python.begin("s.is_exist('k')");
    python.page.await_sockets(LIMIT).expect("the request goes out");
    let deadline = START.monotonic + Span::from_secs(30);
    assert!(
        python.page.timers().contains(&deadline),
        "{:?}",
        python.page.timers()
    );
    python.at(Span::from_ns(29_999_999_999));
    assert!(
        python.page.timers().contains(&deadline),
        "{:?}",
        python.page.timers()
    );
    assert_eq!(python.finish_within(Duration::ZERO), None);
    python.at(Span::from_secs(30));
    assert_eq!(python.finish(), "-901");
    master.master.resume().expect("the master goes on");
}

/// Waits until the caller, who polls, has looked at the clock so often that it must have seen what it shows now.
fn await_looks(python: &Python) {
    let reads = |python: &Python| {
        let served = python.page.clocks_served();
        served.realtime.reads + served.monotonic.reads
    };
    let enough = reads(python) + 1_000;
    let until = Instant::now() + LIMIT;
    while reads(python) < enough {
        assert!(Instant::now() < until, "nobody looks at the clock");
        std::thread::yield_now();
    }
}

fn transfer_limit() {
    let mut pair = Pair::with_object(1 << 20);
    pair.pause_received_at(300_000);
    pair.begin_get();
    let reader = &pair.reader;
    reader
        .page
        .await_pause(LIMIT)
        .unwrap_or_else(|error| panic!("{error}"));
    // Its 60 s count from when it begins to poll, which may be after the first bytes.
    await_looks(reader);
    reader.at(Span::from_secs(60));
    await_looks(reader);
    assert_eq!(
        reader.finish_within(Duration::ZERO),
        None,
        "more than 60 s, in whole milliseconds"
    );
    reader.at(Span::from_ns(60_001_000_000));
    assert_eq!(reader.finish(), "-800");
    assert_eq!(
        pair.within(&reader.page.drain_sockets(), Direction::Received),
        300_000
    );
    // Nothing cancelled the transfer: it goes on into the buffer that the caller believes to have back.
    reader.page.release_pause();
    let mut late = 0;
    while late < (1 << 20) - 300_000 {
        reader
            .page
            .await_sockets(LIMIT)
            .unwrap_or_else(|error| panic!("{error}: {late} bytes came"));
        late += pair.within(&reader.page.drain_sockets(), Direction::Received);
    }
    assert_eq!(late, (1 << 20) - 300_000);
}

fn progress_limit() {
    let mut pair = Pair::with_object(1 << 20);
    pair.owner.page.pause_at(PauseRule {
        direction: Direction::Sent,
        local_port: Some(pair.data_port),
        peer_port: None,
        at_bytes: pair.answer_bytes + 300_000,
    });
    pair.begin_get();
    pair.await_data(300_000);
    let reader = &pair.reader;
    await_looks(reader);
    let deadline = START.monotonic + Span::from_secs(30);
    reader.at(Span::from_secs(30) - ONE);
    await_looks(reader);
    assert!(
        reader.page.timers().contains(&deadline),
        "{:?}",
        reader.page.timers()
    );
    assert_eq!(
        reader.finish_within(Duration::ZERO),
        None,
        "a nanosecond is missing"
    );
    reader.at(Span::from_secs(30));
    assert_eq!(reader.finish(), "-800");
    pair.owner.page.release_pause();
}

fn lease() {
    for (since, expected) in [
        (Span::from_secs(10) - ONE, "1048576"),
        (Span::from_secs(10), "-707"),
    ] {
        let mut pair = Pair::with_object(1 << 20);
        pair.pause_received_at(1_000);
        pair.begin_get();
        pair.reader
            .page
            .await_pause(LIMIT)
            .unwrap_or_else(|error| panic!("{error}"));
        pair.reader.page.set_clocks(Clocks {
            realtime: START.realtime,
            monotonic: START.monotonic + since,
        });
        pair.reader.page.release_pause();
        assert_eq!(pair.reader.finish(), expected, "{since:?} after the query");
    }
}

fn short_waits() {
    let mut python = Python::start();
    // A lock that is never free, a sleep of the main thread, and two threads that pass the interpreter lock: all under frozen clocks.
    python.eval("[globals().__setitem__('lock', __import__('threading').Lock()), lock.acquire()]");
    let before = python.page.real_time();
    assert_eq!(python.eval("lock.acquire(timeout=0.05)"), "False");
    let locked = python.page.real_time();
    assert!(locked.timed_out > before.timed_out, "{before:?} {locked:?}");
    assert_eq!(python.eval("__import__('time').sleep(0.05)"), "None");
    let slept = python.page.real_time();
    assert!(slept.timed_out > locked.timed_out, "{locked:?} {slept:?}");
    assert!(slept.waits >= slept.timed_out, "{slept:?}");
    let passing = "[(t := __import__('threading').Thread(target=sum, args=(range(3000000),))).start(), sum(range(3000000)), t.join()][1]";
    assert_eq!(python.eval(passing), "4499998500000");
    assert_eq!(python.page.sleepers(), Vec::new());
}
