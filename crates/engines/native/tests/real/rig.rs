//! A master with one connection to it.

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span, Thread};
use moonquake_native::process::{MasterProcess, StartOptions};
use moonquake_protocol::frame::{FrameDecoder, ResponseHeader, decode_response, encode_request};
use moonquake_protocol::{
    BufferDescriptor, ErrorCode, Literal, ObjectMeta, ReplicaType, ReplicateConfig, Request, Response,
    Segment, Uuid,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// 2026-01-01 and ten days of uptime: no special numbers.
pub(crate) const START: Clocks = Clocks {
    realtime: RealtimeNs(1_767_225_600_000_000_000),
    monotonic: MonotonicNs(864_000_000_000_000),
};
pub(crate) const MIB: u64 = 1 << 20;
/// The client of every test that needs only one.
pub(crate) const CLIENT: Uuid = Uuid::new(7, 7);

pub(crate) struct Rig {
    pub(crate) master: MasterProcess,
    rpc: TcpStream,
}

impl Rig {
    /// A master with this many segments of 64 MiB, each of a client of its own.
    pub(crate) fn with_segments(count: u64) -> Rig {
        Rig::seeded(count, 1)
    }

    pub(crate) fn seeded(count: u64, seed: u64) -> Rig {
        let options = StartOptions {
            clocks: START,
            seed,
            ..StartOptions::default()
        };
        let master = MasterProcess::start(options).unwrap_or_else(|error| panic!("{error}"));
        let mut rig = Rig {
            rpc: connect(&master),
            master,
        };
        for number in 0..count {
            rig.mount(number);
        }
        rig
    }

    pub(crate) fn reconnect(&mut self) {
        self.rpc = connect(&self.master);
    }

    pub(crate) fn call(&mut self, request: &Request) -> Response {
        self.rpc
            .write_all(&encode_request(1, request, Literal::With))
            .expect("send a request");
        let mut decoder = FrameDecoder::<ResponseHeader>::new();
        let mut piece = [0; 65_536];
        loop {
            if let Some(frame) = decoder.next_frame().expect("a frame") {
                let decoded = decode_response(request.rpc(), &frame.header, &frame.body).expect("a response");
                return decoded.unwrap_or_else(|error| panic!("{error:?}"));
            }
            let length = self.rpc.read(&mut piece).expect("an answer in time");
            assert_ne!(length, 0, "the master closed the connection");
            decoder.feed(&piece[..length]);
        }
    }

    /// Whether the admin server answers in time. A request that is not answered is left behind.
    pub(crate) fn answers_within(&mut self, limit: Duration) -> bool {
        let mut stream =
            TcpStream::connect(self.master.admin_addr()).expect("the kernel accepts for the master");
        stream
            .write_all(b"GET /role HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .expect("send a request");
        stream.set_read_timeout(Some(limit)).expect("set a limit");
        stream.read(&mut [0; 1_024]).is_ok_and(|length| length > 0)
    }

    /// 0 or the error number of a call.
    pub(crate) fn code(&mut self, request: &Request) -> i32 {
        self.call(request).error().map_or(0, ErrorCode::value)
    }

    pub(crate) fn mount(&mut self, number: u64) {
        let segment = Segment {
            id: Uuid::new(100, number),
            name: format!("n{number}"),
            base: (number + 1) << 40,
            size: 64 * MIB,
            te_endpoint: format!("n{number}"),
            protocol: "tcp".to_owned(),
            ..Segment::default()
        };
        let code = self.code(&Request::MountSegment {
            segment,
            client_id: Uuid::new(200, number),
        });
        assert_eq!(code, 0, "mount n{number}");
    }

    pub(crate) fn unmount(&mut self, number: u64) -> i32 {
        let request = Request::UnmountSegment {
            segment_id: Uuid::new(100, number),
            client_id: Uuid::new(200, number),
        };
        self.code(&request)
    }

    pub(crate) fn put_start(&mut self, key: &str, size_bytes: u64) -> Result<BufferDescriptor, i32> {
        self.put_start_with(key, size_bytes, ReplicateConfig::default())
    }

    pub(crate) fn put_start_with(
        &mut self,
        key: &str,
        size_bytes: u64,
        config: ReplicateConfig,
    ) -> Result<BufferDescriptor, i32> {
        let request = Request::PutStart {
            client_id: CLIENT,
            key: key.to_owned(),
            slice_length: size_bytes,
            config,
            tenant_id: tenant(),
        };
        match self.call(&request) {
            Response::PutStart(Ok(replicas)) => {
                Ok(replicas[0].memory_buffer().expect("a replica in memory").clone())
            }
            other => Err(other.error().expect("an error").value()),
        }
    }

    pub(crate) fn put_end(&mut self, key: &str) -> i32 {
        self.code(&Request::PutEnd {
            client_id: CLIENT,
            object_meta: ObjectMeta {
                key: key.to_owned(),
                object_checksum: None,
            },
            replica_type: ReplicaType::Memory,
            tenant_id: tenant(),
        })
    }

    pub(crate) fn put(&mut self, key: &str, size_bytes: u64) -> BufferDescriptor {
        let buffer = self.put_start(key, size_bytes).expect("a place for the object");
        assert_eq!(self.put_end(key), 0, "PutEnd of {key}");
        buffer
    }

    /// Reads the replica list, which grants a lease.
    pub(crate) fn get(&mut self, key: &str) -> i32 {
        self.code(&Request::GetReplicaList {
            key: key.to_owned(),
            tenant_id: tenant(),
        })
    }

    pub(crate) fn remove(&mut self, key: &str) -> i32 {
        self.code(&Request::Remove {
            key: key.to_owned(),
            force: false,
            tenant_id: tenant(),
        })
    }

    pub(crate) fn ping(&mut self, client_id: Uuid) -> i32 {
        self.code(&Request::Ping { client_id })
    }

    /// Sets both clocks to an instant after `base`, given in nanoseconds.
    pub(crate) fn at(&self, base: Clocks, after_ns: u64) {
        self.master.set_clocks(base + Span::from_ns(after_ns));
    }

    pub(crate) fn tick(&self, thread: Thread) {
        self.master.tick(thread).unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn allocated(&self) -> u64 {
        self.master
            .admin()
            .metrics()
            .unwrap_or_else(|error| panic!("{error}"))
            .allocated_bytes()
    }

    /// Lets a sweep happen and returns its instant, from which the next one counts.
    pub(crate) fn swept(&self) -> Clocks {
        self.at(self.master.clocks(), 700 * 1_000_000_000);
        self.tick(Thread::Eviction);
        self.master.clocks()
    }
}

fn connect(master: &MasterProcess) -> TcpStream {
    let stream = TcpStream::connect(master.rpc_addr()).expect("connect to the master");
    stream.set_nodelay(true).expect("set TCP_NODELAY");
    // Far above anything seen; only a master that hangs takes it.
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("set a limit");
    stream
}

pub(crate) fn tenant() -> String {
    "default".to_owned()
}
