//! What the log of socket calls sees, and standing still at a byte.

use super::rig::{LIMIT, Pair};
use crate::Test;
use moonquake_native::process::{Direction, PauseRule, SocketAccess};
use std::time::Duration;

pub(crate) const TESTS: &[Test] = &[
    ("real_client_page_log_has_the_bytes_of_a_get", log_of_a_get),
    ("real_client_page_log_has_the_bytes_of_a_put", log_of_a_put),
    ("real_client_page_log_loses_nothing", log_is_whole),
    ("real_client_page_pause_holds_at_the_byte", pause_received),
    ("real_client_page_pause_holds_the_sender_too", pause_sent),
];

const SIZE: u64 = 1 << 20;

/// The pieces of the buffer that were touched, in order of address, each next to the one before.
fn covered(pair: &Pair, accesses: &[SocketAccess], direction: Direction) -> (u64, u64) {
    let mut pieces: Vec<(u64, u64)> = accesses
        .iter()
        .filter(|access| access.direction == direction && pair.in_buffer(access))
        .map(|access| (access.address, access.length_bytes))
        .collect();
    pieces.sort_unstable();
    let start = pieces[0].0;
    let mut end = start;
    for (address, length) in pieces {
        assert_eq!(address, end, "no gap, nothing twice");
        end += length;
    }
    (start, end)
}

fn log_of_a_get() {
    let mut pair = Pair::with_object(SIZE);
    pair.reader.page.drain_sockets();
    assert_eq!(pair.get(), "1048576");
    let accesses = pair.reader.page.drain_sockets();
    assert_eq!(
        covered(&pair, &accesses, Direction::Received),
        (pair.buffer, pair.buffer + SIZE)
    );
    assert_eq!(pair.within(&accesses, Direction::Sent), 0);
    assert_eq!(pair.reader.eval("buf.raw == b'x' * 1048576"), "True");
}

fn log_of_a_put() {
    let mut pair = Pair::with_object(SIZE);
    pair.reader.page.drain_sockets();
    assert_eq!(
        pair.reader
            .eval("s.put_from('other', ctypes.addressof(buf), 1048576)"),
        "0"
    );
    let accesses = pair.reader.page.drain_sockets();
    assert_eq!(
        covered(&pair, &accesses, Direction::Sent),
        (pair.buffer, pair.buffer + SIZE)
    );
    assert_eq!(pair.within(&accesses, Direction::Received), 0);
}

fn log_is_whole() {
    let mut pair = Pair::with_object(SIZE);
    pair.reader.page.drain_sockets();
    pair.reader.begin("sum(s.is_exist('k') for _ in range(3000))");
    let mut accesses = Vec::new();
    let answer = loop {
        accesses.extend(pair.reader.page.drain_sockets());
        if let Some(answer) = pair.reader.finish_within(Duration::from_millis(1)) {
            break answer;
        }
    };
    accesses.extend(pair.reader.page.drain_sockets());
    assert_eq!(answer, "3000");
    let sent = accesses
        .iter()
        .filter(|access| access.direction == Direction::Sent);
    assert!(sent.count() >= 3_000);
    let gaps = accesses
        .windows(2)
        .filter(|pair| pair[1].sequence != pair[0].sequence + 1);
    assert_eq!(gaps.count(), 0);
    assert_eq!(pair.reader.page.sockets_lost(), 0);
}

fn pause_received() {
    let mut pair = Pair::with_object(SIZE);
    for at_bytes in [0, 1, 65_537, SIZE - 1] {
        assert_eq!(pair.reader.eval("ctypes.memset(buf, 0, 1048576) * 0"), "0");
        pair.reader.page.drain_sockets();
        pair.pause_received_at(at_bytes);
        pair.begin_get();
        let tid = pair
            .reader
            .page
            .await_pause(LIMIT)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(tid, pair.reader.child.id(), "a thread of the transport");
        let accesses = pair.reader.page.drain_sockets();
        assert_eq!(pair.within(&accesses, Direction::Received), at_bytes);
        assert_eq!(pair.reader.page.moved_bytes(), pair.answer_bytes + at_bytes);
        let memory = pair.read_buffer();
        let arrived = memory.iter().take_while(|byte| **byte == b'x').count() as u64;
        let untouched = memory.iter().rev().take_while(|byte| **byte == 0).count() as u64;
        assert_eq!((arrived, untouched), (at_bytes, SIZE - at_bytes));
        assert_eq!(pair.reader.finish_within(Duration::ZERO), None);
        pair.reader.page.release_pause();
        assert_eq!(pair.reader.finish(), "1048576");
        assert_eq!(pair.reader.eval("buf.raw == b'x' * 1048576"), "True");
    }
}

fn pause_sent() {
    let mut pair = Pair::with_object(SIZE);
    pair.reader.page.drain_sockets();
    pair.reader.page.pause_at(PauseRule {
        direction: Direction::Sent,
        local_port: None,
        peer_port: Some(pair.data_port),
        at_bytes: 500_000,
    });
    pair.reader
        .begin("s.put_from('other', ctypes.addressof(buf), 1048576)");
    pair.reader
        .page
        .await_pause(LIMIT)
        .unwrap_or_else(|error| panic!("{error}"));
    let accesses = pair.reader.page.drain_sockets();
    let sent: u64 = accesses
        .iter()
        .filter(|access| access.direction == Direction::Sent && access.peer_port == pair.data_port)
        .map(|access| access.length_bytes)
        .sum();
    assert_eq!(sent, 500_000);
    // The header of the transfer went first.
    assert!(pair.within(&accesses, Direction::Sent) < 500_000);
    pair.reader.page.release_pause();
    assert_eq!(pair.reader.finish(), "0");
}
