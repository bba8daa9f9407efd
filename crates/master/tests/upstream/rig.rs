//! A master with a clock, and short names for what the cases do with it.

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span, Thread};
use moonquake_faults::{QUIRKS, Quirk, Quirks};
use moonquake_master::{DrainJob, DrainRequest, Master, MasterConfig};
use moonquake_protocol::{
    BufferDescriptor, CopyStartResponse, ErrorCode, MoveStartResponse, ReplicaDescriptor, ReplicaStatus,
    ReplicaType, ReplicateConfig, Request, Response, Segment, SegmentStatus, Uuid,
};
use std::collections::BTreeSet;

pub(crate) use crate::wishes::*;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const NS: Span = Span::from_ns(1);

/// What most calls return.
pub(crate) type Answer<T = ()> = Result<T, ErrorCode>;

/// When every case begins; the two clocks differ, so that no rule can look at the wrong one unnoticed.
const START: Clocks = Clocks {
    realtime: RealtimeNs(1_700_000_000_000_000_000),
    monotonic: MonotonicNs(5_000_000_000_000),
};

/// The master of one case.
#[derive(Clone)]
pub(crate) struct Rig {
    master: Master,
    pub(crate) now: Clocks,
    /// The tenant that requests name.
    pub(crate) tenant: &'static str,
}

/// A client by number.
pub(crate) const fn client(number: u64) -> Uuid {
    Uuid::new(0xC11E, number)
}

/// The client that writes where a case does not say who does.
pub(crate) const WRITER: Uuid = client(1);
/// Another client.
pub(crate) const OTHER: Uuid = client(2);

fn number_of(name: &str) -> u64 {
    name.bytes()
        .fold(7, |sum, byte| sum * 31 % 0xFFFF_FFFB + u64::from(byte))
}

/// The client that mounts the segment of that name.
pub(crate) fn owner(name: &str) -> Uuid {
    Uuid::new(0x0F0F, number_of(name))
}

/// A segment; id and base follow from the name, and its endpoint is its name.
pub(crate) fn segment(name: &str, size: u64) -> Segment {
    Segment {
        id: Uuid::new(0x5E6, number_of(name)),
        name: name.to_owned(),
        base: 0x3_0000_0000 + (number_of(name) % 0x1000) * 0x1_0000_0000,
        size,
        te_endpoint: name.to_owned(),
        protocol: "tcp".to_owned(),
        host_id: String::new(),
    }
}

/// Unwraps the response of one method.
macro_rules! ask {
    ($rig:expr, $method:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        match $rig.send(&moonquake_protocol::Request::$method { $($field $(: $value)?),* }) {
            moonquake_protocol::Response::$method(result) => result,
            other => panic!("{other:?}"),
        }
    };
}
pub(crate) use ask;

impl Rig {
    /// A master with upstream's defaults and nothing mounted.
    pub(crate) fn new() -> Rig {
        Rig::configured(|_| {})
    }

    /// The same with some values changed.
    pub(crate) fn configured(change: impl FnOnce(&mut MasterConfig)) -> Rig {
        let mut config = MasterConfig::default();
        change(&mut config);
        Rig {
            master: Master::new(config, START).unwrap(),
            now: START,
            tenant: "",
        }
    }

    /// A master that tells tenants apart, as upstream does with `enable_multi_tenants`.
    pub(crate) fn with_tenants() -> Rig {
        let ids = QUIRKS.iter().map(|row| row.id);
        let others: BTreeSet<Quirk> = ids.filter(|id| *id != Quirk::TenantIgnored).collect();
        Rig::configured(|config| config.quirks = Quirks::from(others)).node("test_segment")
    }

    /// A master with one segment of 16 MiB and a lease of so many milliseconds.
    pub(crate) fn with_lease(ms: u64) -> Rig {
        Rig::configured(|config| config.lease = Span::from_ms(ms)).node("test_segment")
    }

    /// Mounts 16 MiB.
    pub(crate) fn node(self, name: &str) -> Rig {
        self.node_of(name, 16 * MIB)
    }

    /// Mounts that many bytes.
    pub(crate) fn node_of(self, name: &str, size: u64) -> Rig {
        self.node_on(name, size, "")
    }

    /// Mounts that many bytes of a host.
    pub(crate) fn node_on(mut self, name: &str, size: u64, host: &str) -> Rig {
        let segment = Segment {
            host_id: host.to_owned(),
            ..segment(name, size)
        };
        self.mount(&segment, owner(name)).unwrap();
        self
    }

    pub(crate) fn send(&mut self, request: &Request) -> Response {
        self.master.handle(self.now, request, &[])
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: Span) {
        self.now = self.now + span;
    }

    /// Lets so many milliseconds pass.
    pub(crate) fn pass_ms(&mut self, ms: u64) {
        self.pass(Span::from_ms(ms));
    }

    /// One round of a background thread.
    pub(crate) fn tick(&mut self, thread: Thread) {
        self.master.tick(self.now, thread);
    }

    /// One round of the eviction thread.
    pub(crate) fn evict(&mut self) {
        self.tick(Thread::Eviction);
    }

    /// What the clean-up worker does after an unmount.
    pub(crate) fn settle(&mut self) {
        self.master.settle_cleanup();
    }

    pub(crate) fn allocated(&self) -> u64 {
        self.master.view().allocated_bytes
    }

    /// The readable keys; looking grants no lease.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.master.view().keys.into_keys().map(|(_, key)| key).collect()
    }

    /// Whether the key can be read; looking grants no lease.
    pub(crate) fn shows(&self, key: &str) -> bool {
        self.keys().iter().any(|one| one == key)
    }

    fn tenant_id(&self) -> String {
        self.tenant.to_owned()
    }
}

/// Segments.
impl Rig {
    pub(crate) fn mount(&mut self, segment: &Segment, client_id: Uuid) -> Answer {
        let segment = segment.clone();
        ask!(self, MountSegment { segment, client_id })
    }

    pub(crate) fn unmount(&mut self, name: &str) -> Answer {
        let (segment_id, client_id) = (segment(name, 1).id, owner(name));
        ask!(
            self,
            UnmountSegment {
                segment_id,
                client_id
            }
        )
    }

    pub(crate) fn graceful(&mut self, segment_id: Uuid, client_id: Uuid, grace_period_ms: u64) -> Answer {
        ask!(
            self,
            GracefulUnmountSegment {
                segment_id,
                client_id,
                grace_period_ms
            }
        )
    }

    pub(crate) fn status(&mut self, name: &str) -> Answer<SegmentStatus> {
        let segment_name = name.to_owned();
        ask!(self, QuerySegmentStatus { segment_name })
    }

    pub(crate) fn status_of(&mut self, segment_id: Uuid) -> Answer<SegmentStatus> {
        ask!(self, QuerySegmentStatusById { segment_id })
    }

    pub(crate) fn create_drain_job(&mut self, request: &DrainRequest) -> Answer<Uuid> {
        self.master.create_drain_job(self.now, request)
    }

    pub(crate) fn drain_job(&self, job: Uuid) -> Answer<DrainJob> {
        self.master.drain_job(job)
    }

    pub(crate) fn cancel_drain_job(&mut self, job: Uuid) -> Answer {
        self.master.cancel_drain_job(self.now, job)
    }

    /// A ping of the owner of each segment.
    pub(crate) fn ping(&mut self, names: &[&str]) {
        for name in names {
            let client_id = owner(name);
            ask!(self, Ping { client_id }).unwrap();
        }
    }
}

/// Writes.
impl Rig {
    pub(crate) fn start(
        &mut self,
        who: Uuid,
        key: &str,
        size: u64,
        config: &ReplicateConfig,
    ) -> Answer<Replicas> {
        let (key, config, tenant_id) = (key.to_owned(), config.clone(), self.tenant_id());
        ask!(
            self,
            PutStart {
                client_id: who,
                key,
                slice_length: size,
                config,
                tenant_id
            }
        )
    }

    pub(crate) fn end_as(
        &mut self,
        who: Uuid,
        key: &str,
        kind: ReplicaType,
        checksum: Option<u64>,
    ) -> Answer {
        let tenant_id = self.tenant_id();
        let object_meta = meta(key, checksum);
        ask!(
            self,
            PutEnd {
                client_id: who,
                object_meta,
                replica_type: kind,
                tenant_id
            }
        )
    }

    pub(crate) fn end(&mut self, who: Uuid, key: &str) -> Answer {
        self.end_as(who, key, ReplicaType::Memory, None)
    }

    pub(crate) fn revoke(&mut self, who: Uuid, key: &str) -> Answer {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(
            self,
            PutRevoke {
                client_id: who,
                key,
                replica_type: ReplicaType::Memory,
                tenant_id
            }
        )
    }

    /// A whole put by the writer, if there is room.
    pub(crate) fn try_put(&mut self, key: &str, size: u64, config: &ReplicateConfig) -> Answer<Replicas> {
        let replicas = self.start(WRITER, key, size, config)?;
        self.end(WRITER, key).unwrap();
        Ok(replicas)
    }

    /// A whole put of 1 KiB by the writer.
    pub(crate) fn put(&mut self, key: &str, config: &ReplicateConfig) -> Replicas {
        self.try_put(key, KIB, config).unwrap()
    }

    pub(crate) fn upsert(
        &mut self,
        who: Uuid,
        key: &str,
        size: u64,
        config: &ReplicateConfig,
    ) -> Answer<Replicas> {
        let (key, config, tenant_id) = (key.to_owned(), config.clone(), self.tenant_id());
        ask!(
            self,
            UpsertStart {
                client_id: who,
                key,
                slice_length: size,
                config,
                tenant_id
            }
        )
    }

    pub(crate) fn upsert_end(&mut self, who: Uuid, key: &str) -> Answer {
        let tenant_id = self.tenant_id();
        let object_meta = meta(key, None);
        ask!(
            self,
            UpsertEnd {
                client_id: who,
                object_meta,
                replica_type: ReplicaType::Memory,
                tenant_id
            }
        )
    }

    pub(crate) fn upsert_revoke(&mut self, who: Uuid, key: &str) -> Answer {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(
            self,
            UpsertRevoke {
                client_id: who,
                key,
                replica_type: ReplicaType::Memory,
                tenant_id
            }
        )
    }
}

/// Reads.
impl Rig {
    pub(crate) fn get(&mut self, key: &str) -> Answer<Replicas> {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(self, GetReplicaList { key, tenant_id }).map(|answer| answer.replicas)
    }

    pub(crate) fn batch_get(&mut self, keys: &[&str]) -> Vec<Answer<Replicas>> {
        let (keys, tenant_id) = (owned(keys), self.tenant_id());
        let answers = ask!(self, BatchGetReplicaList { keys, tenant_id });
        answers
            .into_iter()
            .map(|answer| answer.map(|answer| answer.replicas))
            .collect()
    }

    pub(crate) fn exist(&mut self, key: &str) -> bool {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(self, ExistKey { key, tenant_id }).unwrap()
    }

    pub(crate) fn batch_exist(&mut self, keys: &[&str]) -> Vec<bool> {
        let (keys, tenant_id) = (owned(keys), self.tenant_id());
        ask!(self, BatchExistKey { keys, tenant_id })
            .into_iter()
            .map(Result::unwrap)
            .collect()
    }

    /// The keys that the pattern is found in.
    pub(crate) fn matches(&mut self, regex: &str) -> Vec<String> {
        let (regex, tenant_id) = (regex.to_owned(), self.tenant_id());
        ask!(self, GetReplicaListByRegex { regex, tenant_id })
            .unwrap()
            .into_keys()
            .collect()
    }
}

/// Removals.
impl Rig {
    pub(crate) fn remove(&mut self, key: &str, force: bool) -> Answer {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(
            self,
            Remove {
                key,
                force,
                tenant_id
            }
        )
    }

    pub(crate) fn batch_remove(&mut self, keys: &[&str], force: bool) -> Vec<Answer> {
        let (keys, tenant_id) = (owned(keys), self.tenant_id());
        ask!(
            self,
            BatchRemove {
                keys,
                force,
                tenant_id
            }
        )
    }

    pub(crate) fn remove_by_regex(&mut self, regex: &str, force: bool) -> i64 {
        let (regex, tenant_id) = (regex.to_owned(), self.tenant_id());
        ask!(
            self,
            RemoveByRegex {
                regex,
                force,
                tenant_id
            }
        )
        .unwrap()
    }

    pub(crate) fn remove_all(&mut self, force: bool) -> i64 {
        let tenant_id = self.tenant_id();
        ask!(self, RemoveAll { force, tenant_id })
    }

    /// BatchReplicaClear; an empty name means all segments.
    pub(crate) fn clear(&mut self, who: Uuid, keys: &[&str], segment_name: &str) -> Vec<String> {
        let (object_keys, segment_name) = (owned(keys), segment_name.to_owned());
        ask!(
            self,
            BatchReplicaClear {
                object_keys,
                client_id: who,
                segment_name
            }
        )
        .unwrap()
    }
}

/// Copies and moves.
impl Rig {
    pub(crate) fn copy(
        &mut self,
        who: Uuid,
        key: &str,
        from: &str,
        to: &[&str],
    ) -> Answer<CopyStartResponse> {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        let (src_segment, tgt_segments) = (from.to_owned(), owned(to));
        ask!(
            self,
            CopyStart {
                client_id: who,
                key,
                tenant_id,
                src_segment,
                tgt_segments
            }
        )
    }

    pub(crate) fn copy_end(&mut self, who: Uuid, key: &str) -> Answer {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(
            self,
            CopyEnd {
                client_id: who,
                key,
                tenant_id
            }
        )
    }

    pub(crate) fn copy_revoke(&mut self, who: Uuid, key: &str) -> Answer {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(
            self,
            CopyRevoke {
                client_id: who,
                key,
                tenant_id
            }
        )
    }

    pub(crate) fn move_to(
        &mut self,
        who: Uuid,
        key: &str,
        from: &str,
        to: &str,
    ) -> Answer<MoveStartResponse> {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        let (src_segment, tgt_segment) = (from.to_owned(), to.to_owned());
        ask!(
            self,
            MoveStart {
                client_id: who,
                key,
                tenant_id,
                src_segment,
                tgt_segment
            }
        )
    }

    pub(crate) fn move_end(&mut self, who: Uuid, key: &str) -> Answer {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(
            self,
            MoveEnd {
                client_id: who,
                key,
                tenant_id
            }
        )
    }

    pub(crate) fn move_revoke(&mut self, who: Uuid, key: &str) -> Answer {
        let (key, tenant_id) = (key.to_owned(), self.tenant_id());
        ask!(
            self,
            MoveRevoke {
                client_id: who,
                key,
                tenant_id
            }
        )
    }
}

/// The replicas of an object.
pub(crate) type Replicas = Vec<ReplicaDescriptor>;

/// The range of a memory replica.
pub(crate) fn range(replica: &ReplicaDescriptor) -> &BufferDescriptor {
    replica.memory_buffer().unwrap()
}

/// The segments of replicas, in their order.
pub(crate) fn places(replicas: &[ReplicaDescriptor]) -> Vec<&str> {
    let place = |replica| range(replica).transport_endpoint.as_str();
    replicas.iter().map(place).collect()
}

/// Whether all replicas have that status.
pub(crate) fn all_are(replicas: &[ReplicaDescriptor], status: ReplicaStatus) -> bool {
    replicas.iter().all(|replica| replica.status == status)
}
