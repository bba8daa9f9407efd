//! The server among peers that ask for more than they read, and requests that meet a defect.

mod support;

use moonquake_clock::{ClockSource, Clocks, SystemClock};
use moonquake_master::{Master, MasterConfig};
use moonquake_net::{Rounds, serve};
use moonquake_protocol::Literal;
use moonquake_protocol::frame::encode_request;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::served::{LIMIT, any_port, busy, read_answers, start, talk};
use support::{exist, ping};
use tracing_test::traced_test;

/// More than all buffers of the kernel between two sockets hold.
const REQUESTS_MAX: u32 = 4_000_000;

/// A peer that could not write for that long will not be able to: the server has reached its bound by then, or a little later.
const STUCK: Duration = Duration::from_millis(200);

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "a peer that writes and reads at once has two threads"
)]
fn who_does_not_read_is_not_read_from() {
    let (_net, server) = busy();
    let mut peer = TcpStream::connect(server.address()).unwrap();
    peer.set_nonblocking(true).unwrap();
    let frame = |sequence| encode_request(sequence, &exist("k"), Literal::With);
    let other = frame(7);
    // The frame that is being written, and what of it is left.
    let (mut last, mut left) = (0, frame(0));
    loop {
        let mut is_stuck = true;
        loop {
            match peer.write(&left) {
                Ok(count) => {
                    is_stuck = false;
                    left.drain(..count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
            if left.is_empty() {
                last += 1;
                assert!(
                    last < REQUESTS_MAX,
                    "the server reads on although nobody reads its answers"
                );
                left = frame(last);
            }
        }
        // Somebody else's turn, in which the server would have read from this peer as well.
        assert_eq!(talk(&server, &other, 1)[0].0, 7);
        if is_stuck {
            break;
        }
    }
    peer.set_nonblocking(false).unwrap();
    peer.set_read_timeout(Some(LIMIT)).unwrap();
    let mut writer = peer.try_clone().unwrap();
    let rest = std::thread::spawn(move || writer.write_all(&left).unwrap());
    let wanted = usize::try_from(last).unwrap() + 1;
    let order = read_answers(&mut peer, wanted)
        .into_iter()
        .map(|(sequence, ..)| sequence);
    assert!(order.eq(0..=last), "answers are missing or out of order");
    rest.join().unwrap();
}

#[test]
fn a_peer_that_does_not_read_keeps_nobody_from_freezing_or_stopping_the_server() {
    let (_net, mut server) = busy();
    let mut peer = TcpStream::connect(server.address()).unwrap();
    peer.set_write_timeout(Some(STUCK)).unwrap();
    // Answers fill all buffers first, requests then.
    let frames = encode_request(1, &exist("k"), Literal::With).repeat(1_000);
    let stuck = loop {
        if let Err(error) = peer.write_all(&frames) {
            break error;
        }
    };
    assert_eq!(stuck.kind(), ErrorKind::WouldBlock);
    server.freeze();
    server.unfreeze();
    assert_eq!(
        talk(&server, &encode_request(7, &exist("k"), Literal::With), 1)[0].0,
        7
    );
    server.freeze();
    server.stop().unwrap();
}

/// A clock that panics once when it is told to: a defect in the middle of a request.
#[derive(Debug, Default)]
struct Trap {
    clock: SystemClock,
    is_set: AtomicBool,
}

impl ClockSource for Trap {
    fn now(&self) -> Clocks {
        assert!(!self.is_set.swap(false, Ordering::SeqCst), "the trap is sprung");
        self.clock.now()
    }
}

#[test]
#[traced_test]
fn a_request_that_meets_a_defect_costs_its_own_connection() {
    let trap = Arc::new(Trap::default());
    let master = Master::new(MasterConfig::default(), start()).unwrap();
    let mut server = serve(master, trap.clone(), any_port(), Rounds::ByCommand).unwrap();
    let frame = encode_request(3, &ping(1), Literal::With);
    let mut other = TcpStream::connect(server.address()).unwrap();
    other.set_read_timeout(Some(LIMIT)).unwrap();
    other.write_all(&frame).unwrap();
    assert_eq!(read_answers(&mut other, 1).len(), 1);
    trap.is_set.store(true, Ordering::SeqCst);
    assert_eq!(talk(&server, &frame, 1), [], "the request was answered");
    assert!(logs_contain("connection closed: answering it panicked"));
    other.write_all(&frame).unwrap();
    assert_eq!(read_answers(&mut other, 1).len(), 1);
    server.stop().unwrap();
}
