//! Connections that send no more than they are told, and read no more of their memory.

use super::rig::{LIMIT, Pair};
use crate::Test;
use moonquake_native::process::{Direction, MeteredBy, SocketAccess};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = &[
    ("real_client_page_credit_of_a_put_is_exact", put),
    ("real_client_page_credit_of_an_owner_is_exact", get),
    ("real_client_page_credit_of_two_streams_of_a_thread", two),
    ("real_client_page_credit_ends_with_the_gates", gates),
    ("real_client_page_credit_hides_no_broken_connection", broken),
];

const SIZE: u64 = 1 << 20;
/// Of the data path: what a client sends before a payload, and what an owner does.
const HEADER_BYTES: u32 = 24;
const STATUS_BYTES: u32 = 8;
/// Within one of the transport's own pieces of 64 KiB, at the end of one, across several, and the rest.
const PARTS: [u64; 4] = [1, 65_535, 300_001, SIZE - 365_537];
const PUT: &str = "s.put_from('other', ctypes.addressof(buf), 1048576)";

/// What the reader has sent to the owner, and what it has received.
#[derive(Default)]
struct Told {
    /// Bytes of the buffer by the connection's own port.
    sent: BTreeMap<u16, u64>,
    received: u64,
}

impl Told {
    fn take(&mut self, pair: &Pair) {
        for access in pair.reader.page.drain_sockets() {
            let SocketAccess {
                local_port,
                peer_port,
                length_bytes,
                direction,
                ..
            } = access;
            if peer_port != pair.data_port {
                continue;
            }
            let bytes = if pair.in_buffer(&access) { length_bytes } else { 0 };
            match direction {
                Direction::Sent => *self.sent.entry(local_port).or_default() += bytes,
                Direction::Received => self.received += bytes,
            }
        }
    }

    fn until(&mut self, pair: &Pair, what: &str, wanted: impl Fn(&Told) -> bool) {
        let end = Instant::now() + LIMIT;
        while !wanted(self) {
            assert!(Instant::now() < end, "{what}: {:?} {}", self.sent, self.received);
            // Another may have taken the line; then there are more.
            let _ = pair.reader.page.await_sockets(Duration::from_millis(50));
            self.take(pair);
        }
    }

    fn sent(&self) -> u64 {
        self.sent.values().sum()
    }

    fn of(&self, local_port: u16) -> u64 {
        self.sent.get(&local_port).copied().unwrap_or(0)
    }
}

/// Begins a put that may send its header alone; says the own port of its connection.
fn begin_put(pair: &mut Pair) -> (Told, u16) {
    pair.reader.page.drain_sockets();
    let page = &pair.reader.page;
    page.meter(MeteredBy::Peer(pair.data_port), HEADER_BYTES)
        .expect("a rule");
    pair.reader.begin(PUT);
    let mut told = Told::default();
    told.until(pair, "the header", |told| !told.sent.is_empty());
    let port = *told.sent.keys().next().expect("a connection");
    (told, port)
}

/// Waits until a connection of the reader has sent all that it may: that is counted behind the line in the log.
fn await_spent(pair: &Pair, ports: (u16, u16)) {
    let end = Instant::now() + LIMIT;
    while pair.reader.page.unspent(ports) != Some(0) {
        assert!(
            Instant::now() < end,
            "{:?} are left",
            pair.reader.page.unspent(ports)
        );
        std::thread::yield_now();
    }
}

/// Fills the reader's buffer from outside.
fn fill(pair: &Pair, byte: u8) {
    let memory = OpenOptions::new()
        .write(true)
        .open(format!("/proc/{}/mem", pair.reader.child.id()))
        .expect("its memory");
    let bytes = vec![byte; usize::try_from(SIZE).expect("it fits")];
    memory
        .write_all_at(&bytes, pair.buffer)
        .expect("the buffer is mapped");
}

fn put() {
    let mut pair = Pair::with_object(SIZE);
    fill(&pair, b'0');
    let (mut told, port) = begin_put(&mut pair);
    let (ports, mut sent) = ((port, pair.data_port), 0);
    await_spent(&pair, ports);
    for (part, bytes) in (b'1'..).zip(PARTS) {
        // Whoever had read ahead would have other bytes.
        fill(&pair, part);
        assert!(pair.reader.page.let_send(ports, bytes));
        sent += bytes;
        told.until(&pair, "a part", |told| told.sent() >= sent);
        await_spent(&pair, ports);
        told.take(&pair);
        assert_eq!(told.sent(), sent);
    }
    assert_eq!(pair.reader.finish(), "0");
    let parts: Vec<String> = (1..)
        .zip(PARTS)
        .map(|(part, bytes)| format!("b'{part}' * {bytes}"))
        .collect();
    let whole = format!("s.get('other') == {}", parts.join(" + "));
    // Its query goes over the same connection, whose next header nobody has let through.
    pair.reader.page.open_gates();
    assert_eq!(pair.reader.eval(&whole), "True");
}

fn get() {
    let mut pair = Pair::with_object(SIZE);
    let page = &pair.owner.page;
    page.meter(MeteredBy::Own(pair.data_port), STATUS_BYTES)
        .expect("a rule");
    pair.reader.page.drain_sockets();
    pair.begin_get();
    let mut told = Told::default();
    told.until(&pair, "the header", |told| !told.sent.is_empty());
    let port = *told.sent.keys().next().expect("a connection");
    let ports = (pair.data_port, port);
    let end = Instant::now() + LIMIT;
    while pair.owner.page.unspent(ports) != Some(0) {
        assert!(Instant::now() < end, "the status does not come");
        std::thread::yield_now();
    }
    let mut received = 0;
    for bytes in PARTS {
        assert_eq!(pair.reader.finish_within(Duration::ZERO), None);
        assert!(pair.owner.page.let_send(ports, bytes));
        received += bytes;
        told.until(&pair, "a part", |told| told.received >= received);
        assert_eq!(told.received, received);
    }
    assert_eq!(pair.reader.finish(), SIZE.to_string());
}

fn two() {
    let mut pair = Pair::with_object(SIZE);
    let page = &pair.reader.page;
    page.meter(MeteredBy::Peer(pair.data_port), HEADER_BYTES)
        .expect("a rule");
    page.drain_sockets();
    let put = |name: &str| {
        format!(
            "(t := __import__('threading').Thread(target=s.put_from, args=('{name}', ctypes.addressof(buf), 1048576))).start() or t"
        )
    };
    pair.reader.begin(&format!(
        "list(map(lambda thread: thread.join(), [{}, {}]))",
        put("one"),
        put("other")
    ));
    let mut told = Told::default();
    told.until(&pair, "two headers", |told| told.sent.len() == 2);
    let ports: Vec<u16> = told.sent.keys().copied().collect();
    let let_send = |port: u16, bytes: u64| assert!(pair.reader.page.let_send((port, pair.data_port), bytes));
    // Neither waits for the other, in whatever order they may go on.
    for (place, bytes) in [(0, 70_000), (1, 1), (0, 200_000), (1, 500_000)] {
        let before = [told.of(ports[0]), told.of(ports[1])];
        let_send(ports[place], bytes);
        told.until(&pair, "a part", |told| {
            told.of(ports[place]) >= before[place] + bytes
        });
        let mut wanted = before;
        wanted[place] += bytes;
        assert_eq!([told.of(ports[0]), told.of(ports[1])], wanted);
    }
    let_send(ports[1], SIZE - 500_001);
    told.until(&pair, "the second", |told| told.of(ports[1]) == SIZE);
    assert_eq!(told.of(ports[0]), 270_000);
    assert_eq!(pair.reader.finish_within(Duration::ZERO), None);
    let_send(ports[0], SIZE - 270_000);
    assert_eq!(pair.reader.finish(), "[None, None]");
}

fn gates() {
    let mut pair = Pair::with_object(SIZE);
    let (_, port) = begin_put(&mut pair);
    assert!(pair.reader.page.let_send((port, pair.data_port), 1_000));
    assert_eq!(pair.reader.finish_within(Duration::from_millis(50)), None);
    pair.reader.page.open_gates();
    assert_eq!(pair.reader.finish(), "0");
    assert_eq!(pair.reader.eval("s.get('other') == buf.raw"), "True");
}

fn broken() {
    let mut pair = Pair::with_object(SIZE);
    let (mut told, port) = begin_put(&mut pair);
    assert!(pair.reader.page.let_send((port, pair.data_port), 1_000));
    told.until(&pair, "a part", |told| told.sent() == 1_000);
    pair.owner.child.kill().expect("it lives");
    assert_eq!(pair.reader.finish(), "-800");
    told.take(&pair);
    assert_eq!(told.sent(), 1_000, "no byte is read to find out");
}
