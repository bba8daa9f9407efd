//! A real master and a Rust one that are told the same.

use crate::echo::peer::{Peer, draws};
use crate::rig::START;
use moonquake_clock::{Clocks, Span, Thread};
use moonquake_master::{Master, MasterConfig};
use moonquake_native::process::{MasterProcess, StartOptions};
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaType, ReplicateConfig, Request, Response, Segment, Uuid,
};
use proptest::strategy::Strategy;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub(crate) const MIB: u64 = 1 << 20;
/// The seed of both sides.
const SEED: u64 = 1;

pub(crate) struct Twin {
    pub(crate) real: Peer,
    pub(crate) ours: Master,
    pub(crate) now: Clocks,
}

/// An owner by number.
pub(crate) fn owner(number: u64) -> Uuid {
    Uuid::new(200, number)
}

pub(crate) fn segment(number: u64, size: u64) -> Segment {
    Segment {
        id: Uuid::new(100, number),
        name: format!("n{number}"),
        base: (number + 1) << 40,
        size,
        te_endpoint: format!("h{number}:1"),
        protocol: "tcp".to_owned(),
        ..Segment::default()
    }
}

fn owned<const N: usize>(flags: [(&str, &str); N]) -> BTreeMap<String, String> {
    let owned = |(flag, value): (&str, &str)| (flag.to_owned(), value.to_owned());
    flags.map(owned).into()
}

/// How the Rust master of a twin behaves.
pub(crate) fn config<const N: usize>(flags: [(&str, &str); N]) -> MasterConfig {
    let config = MasterConfig {
        placement_seed: SEED,
        ..MasterConfig::default()
    };
    config
        .with_flags(&owned(flags))
        .unwrap_or_else(|error| panic!("{error}"))
}

impl Twin {
    pub(crate) fn start<const N: usize>(flags: [(&str, &str); N]) -> Twin {
        let config = config(flags);
        let flags = owned(flags);
        let options = StartOptions {
            flags,
            clocks: START,
            seed: SEED,
            ..StartOptions::default()
        };
        let master = MasterProcess::start(options).unwrap_or_else(|error| panic!("{error}"));
        Twin {
            real: Peer::of(master, draws()),
            ours: Master::new(config, START).unwrap_or_else(|error| panic!("{error}")),
            now: START,
        }
    }

    pub(crate) fn draw<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        self.real.draw(strategy)
    }

    /// The answer, which both give.
    pub(crate) fn call(&mut self, request: &Request) -> Response {
        let real = self.real.call(request);
        let ours = self.ours.handle(self.now, request, &[]);
        assert_eq!(
            ours,
            real,
            "ours, then the real one's, to {request:?} {} ns after the start",
            self.now.realtime.0 - START.realtime.0
        );
        if real == Response::GracefulUnmountSegment(Ok(())) {
            // The thread that ends it starts after the answer; time must not move before it waits.
            let waits = self.real.master.await_graceful_unmount();
            waits.unwrap_or_else(|error| panic!("{error}"));
        }
        real
    }

    /// 0 or the error number that both give.
    pub(crate) fn code(&mut self, request: &Request) -> i32 {
        self.call(request).error().map_or(0, ErrorCode::value)
    }

    pub(crate) fn pass(&mut self, span: Span) {
        self.set(self.now + span);
    }

    /// Sets both clocks of both.
    pub(crate) fn set(&mut self, now: Clocks) {
        self.now = now;
        self.real.master.set_clocks(now);
    }

    /// One round of a thread on both sides. One that waits for its deadline may find that it has not come; then neither does.
    pub(crate) fn tick(&mut self, thread: Thread) {
        self.round(thread);
    }

    /// [`Twin::tick`]; whether they did a round.
    pub(crate) fn round(&mut self, thread: Thread) -> bool {
        let tick = self
            .real
            .master
            .tick(thread)
            .unwrap_or_else(|error| panic!("{error}"));
        if tick.did_round {
            self.ours.tick(self.now, thread);
        }
        tick.did_round
    }

    /// The clean-up after an unmount, which the real master does by itself.
    pub(crate) fn settle(&mut self) {
        let master = &self.real.master;
        master
            .await_cleanup_idle()
            .unwrap_or_else(|error| panic!("{error}"));
        self.ours.settle_cleanup();
    }

    /// What the timer of graceful unmounts has to do by now, and the clean-up after it.
    pub(crate) fn run_timers(&mut self) {
        let master = &self.real.master;
        master.run_due_timers().unwrap_or_else(|error| panic!("{error}"));
        self.ours.run_graceful_timer(self.now);
        self.settle();
    }

    /// What an observer sees is the same on both sides.
    pub(crate) fn compare_state(&mut self) {
        let admin = self.real.master.admin();
        let metrics = admin.metrics().unwrap_or_else(|error| panic!("{error}"));
        let view = self.ours.view();
        assert_eq!(view.allocated_bytes, metrics.allocated_bytes(), "allocated bytes");
        assert_eq!(view.capacity_bytes, metrics.capacity_bytes(), "capacity");
        assert_eq!(
            self.ours.ids_made(),
            self.real.master.ids_made(),
            "ids that were made"
        );
    }

    pub(crate) fn mount(&mut self, number: u64, size: u64, owner: Uuid) -> i32 {
        let segment = segment(number, size);
        self.code(&Request::MountSegment {
            segment,
            client_id: owner,
        })
    }

    pub(crate) fn put_start(&mut self, key: &str, size: u64, config: &ReplicateConfig) -> i32 {
        self.code(&Request::PutStart {
            client_id: owner(0),
            key: key.to_owned(),
            slice_length: size,
            config: config.clone(),
            tenant_id: String::new(),
        })
    }

    pub(crate) fn put_end(&mut self, key: &str) -> i32 {
        self.code(&Request::PutEnd {
            client_id: owner(0),
            object_meta: ObjectMeta {
                key: key.to_owned(),
                object_checksum: None,
            },
            replica_type: ReplicaType::Memory,
            tenant_id: String::new(),
        })
    }

    pub(crate) fn put(&mut self, key: &str, size: u64, config: &ReplicateConfig) -> i32 {
        let code = self.put_start(key, size, config);
        if code == 0 { self.put_end(key) } else { code }
    }

    /// What the real master's admin server answers, as status and body.
    pub(crate) fn http(&mut self, method: &str, path: &str, body: &str) -> (u16, String) {
        let address = self.real.master.admin_addr();
        let mut stream = TcpStream::connect(address).expect("connect to the admin server");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("set a limit");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("send a request");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer in time");
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), body.to_owned())
    }
}
