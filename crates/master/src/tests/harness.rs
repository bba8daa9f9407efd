//! A master with a clock, and short names for what tests do with it.

use crate::{Master, MasterConfig};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span, Thread};
use moonquake_protocol::{
    BufferDescriptor, ErrorCode, ObjectMeta, ReplicaDescriptor, ReplicaType, ReplicateConfig, Request,
    Response, Segment, Uuid,
};

pub(super) const MIB: u64 = 1 << 20;
pub(super) const NS: Span = Span::from_ns(1);

/// When every test begins; the two clocks differ, so that no rule can look at the wrong one unnoticed.
pub(super) const START: Clocks = Clocks {
    realtime: RealtimeNs(1_700_000_000_000_000_000),
    monotonic: MonotonicNs(5_000_000_000_000),
};

pub(super) struct Harness {
    pub(super) master: Master,
    pub(super) now: Clocks,
}

/// A client by number.
pub(super) fn client(number: u64) -> Uuid {
    Uuid::new(0xC11E, number)
}

/// A segment of that name; its id and base follow from the first letter.
pub(super) fn segment(name: &str, size: u64) -> Segment {
    let number = name.bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    Segment {
        id: Uuid::new(0x5E6, number),
        name: name.to_owned(),
        base: 0x1_0000_0000 + (number % 0x1000) * 0x10_0000_0000,
        size,
        te_endpoint: format!("{name}:12001"),
        protocol: "tcp".to_owned(),
        host_id: String::new(),
    }
}

/// Unwraps the response of one method.
macro_rules! answer {
    ($harness:expr, $method:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        match $harness.send(&Request::$method { $($field $(: $value)?),* }) {
            Response::$method(result) => result,
            other => panic!("{other:?}"),
        }
    };
}
pub(super) use answer;

impl Harness {
    pub(super) fn new(config: MasterConfig) -> Harness {
        Harness {
            master: Master::new(config, START).unwrap(),
            now: START,
        }
    }

    /// A default master with these segments, mounted by client 0.
    pub(super) fn with_segments(segments: &[(&str, u64)]) -> Harness {
        Harness::configured(MasterConfig::default(), segments)
    }

    pub(super) fn configured(config: MasterConfig, segments: &[(&str, u64)]) -> Harness {
        let mut harness = Harness::new(config);
        for (name, size) in segments {
            harness.mount(name, *size).unwrap();
        }
        harness
    }

    pub(super) fn send(&mut self, request: &Request) -> Response {
        self.master.handle(self.now, request, &[])
    }

    pub(super) fn advance(&mut self, span: Span) {
        self.now = self.now + span;
    }

    /// Moves to that long after the start.
    pub(super) fn at(&mut self, since_start: Span) {
        self.now = START + since_start;
    }

    pub(super) fn tick(&mut self, thread: Thread) {
        self.master.tick(self.now, thread);
    }

    pub(super) fn mount(&mut self, name: &str, size: u64) -> Result<(), ErrorCode> {
        answer!(
            self,
            MountSegment {
                segment: segment(name, size),
                client_id: client(0)
            }
        )
    }

    pub(super) fn unmount(&mut self, name: &str) -> Result<(), ErrorCode> {
        answer!(
            self,
            UnmountSegment {
                segment_id: segment(name, 1).id,
                client_id: client(0)
            }
        )
    }

    pub(super) fn put_start_as(
        &mut self,
        client_id: Uuid,
        key: &str,
        size: u64,
        config: &ReplicateConfig,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        answer!(
            self,
            PutStart {
                client_id,
                key: key.to_owned(),
                slice_length: size,
                config: config.clone(),
                tenant_id: String::new(),
            }
        )
    }

    pub(super) fn put_start(&mut self, key: &str, size: u64) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        self.put_start_as(client(1), key, size, &ReplicateConfig::default())
    }

    pub(super) fn put_end_as(&mut self, client_id: Uuid, key: &str) -> Result<(), ErrorCode> {
        self.put_end_fenced(client_id, key, None)
    }

    pub(super) fn put_end_fenced(
        &mut self,
        client_id: Uuid,
        key: &str,
        fence: Option<u64>,
    ) -> Result<(), ErrorCode> {
        let request = Request::PutEnd {
            client_id,
            object_meta: ObjectMeta {
                key: key.to_owned(),
                object_checksum: None,
            },
            replica_type: ReplicaType::All,
            tenant_id: String::new(),
        };
        match self.master.handle(self.now, &request, &[fence]) {
            Response::PutEnd(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn put_end(&mut self, key: &str) -> Result<(), ErrorCode> {
        self.put_end_as(client(1), key)
    }

    pub(super) fn put_revoke_fenced(
        &mut self,
        client_id: Uuid,
        key: &str,
        fence: Option<u64>,
    ) -> Result<(), ErrorCode> {
        let request = Request::PutRevoke {
            client_id,
            key: key.to_owned(),
            replica_type: ReplicaType::All,
            tenant_id: String::new(),
        };
        match self.master.handle(self.now, &request, &[fence]) {
            Response::PutRevoke(result) => result,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn put_revoke(&mut self, key: &str) -> Result<(), ErrorCode> {
        self.put_revoke_fenced(client(1), key, None)
    }

    /// A whole put with a configuration.
    pub(super) fn put_with(
        &mut self,
        key: &str,
        size: u64,
        config: &ReplicateConfig,
    ) -> Vec<ReplicaDescriptor> {
        let replicas = self.put_start_as(client(1), key, size, config).unwrap();
        self.put_end(key).unwrap();
        replicas
    }

    /// A whole put.
    pub(super) fn put(&mut self, key: &str, size: u64) -> Vec<ReplicaDescriptor> {
        self.put_with(key, size, &ReplicateConfig::default())
    }

    pub(super) fn upsert_start(
        &mut self,
        key: &str,
        size: u64,
        config: &ReplicateConfig,
    ) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        answer!(
            self,
            UpsertStart {
                client_id: client(2),
                key: key.to_owned(),
                slice_length: size,
                config: config.clone(),
                tenant_id: String::new(),
            }
        )
    }

    pub(super) fn upsert_end(&mut self, key: &str) -> Result<(), ErrorCode> {
        self.put_end_as(client(2), key)
    }

    pub(super) fn get(&mut self, key: &str) -> Result<Vec<ReplicaDescriptor>, ErrorCode> {
        let key = key.to_owned();
        answer!(
            self,
            GetReplicaList {
                key,
                tenant_id: String::new()
            }
        )
        .map(|response| response.replicas)
    }

    pub(super) fn exist(&mut self, key: &str) -> bool {
        let key = key.to_owned();
        answer!(
            self,
            ExistKey {
                key,
                tenant_id: String::new()
            }
        )
        .unwrap()
    }

    pub(super) fn remove(&mut self, key: &str, force: bool) -> Result<(), ErrorCode> {
        let key = key.to_owned();
        answer!(
            self,
            Remove {
                key,
                force,
                tenant_id: String::new()
            }
        )
    }

    pub(super) fn remove_all(&mut self, force: bool) -> i64 {
        answer!(
            self,
            RemoveAll {
                force,
                tenant_id: String::new()
            }
        )
    }

    pub(super) fn allocated(&self) -> u64 {
        self.master.view().allocated_bytes
    }

    /// The readable keys, without a lease for any.
    pub(super) fn keys(&self) -> Vec<String> {
        self.master.view().keys.into_keys().map(|(_, key)| key).collect()
    }
}

/// The range of a memory replica.
pub(super) fn range(replica: &ReplicaDescriptor) -> &BufferDescriptor {
    replica.memory_buffer().unwrap()
}

/// The segment names of replicas, from their endpoints.
pub(super) fn names(replicas: &[ReplicaDescriptor]) -> Vec<String> {
    let name = |replica| {
        range(replica)
            .transport_endpoint
            .trim_end_matches(":12001")
            .to_owned()
    };
    replicas.iter().map(name).collect()
}

/// A configuration with a group.
pub(super) fn in_group(group: &str) -> ReplicateConfig {
    ReplicateConfig {
        group_ids: Some(vec![group.to_owned()]),
        ..ReplicateConfig::default()
    }
}

/// A configuration with that many replicas.
pub(super) fn replicas(replica_num: u64) -> ReplicateConfig {
    ReplicateConfig {
        replica_num,
        ..ReplicateConfig::default()
    }
}

/// A configuration that prefers a segment.
pub(super) fn on(segment: &str) -> ReplicateConfig {
    ReplicateConfig {
        preferred_segment: segment.to_owned(),
        ..ReplicateConfig::default()
    }
}
