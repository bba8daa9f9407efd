//! The Rust master and the unmodified one side by side: both are asked the same and must answer the same. So are strict masters
//! beside them, where the test stands in the table of sharp edges; see [`crate::strict`].

use crate::rig::{START, tenant};
use crate::same::twin::{Twin, config, segment};
use crate::strict::Beside;
use moonquake_clock::{Clocks, Span, Thread};
use moonquake_protocol::{
    CopyStartResponse, ErrorCode, MoveStartResponse, ObjectMeta, ReplicaDescriptor, ReplicaType,
    ReplicateConfig, Request, Response, Segment, Uuid,
};

/// What most calls return.
pub(crate) type Answer<T = ()> = Result<T, ErrorCode>;

/// Two clients that write.
pub(crate) const WRITER: Uuid = Uuid::new(7, 1);
pub(crate) const OTHER: Uuid = Uuid::new(7, 2);

pub(crate) struct Pair {
    twin: Twin,
    beside: Beside,
}

/// Unwraps the response of one method.
macro_rules! ask {
    ($pair:expr, $method:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        match $pair.send(&moonquake_protocol::Request::$method { $($field $(: $value)?),* }) {
            moonquake_protocol::Response::$method(result) => result,
            other => panic!("{other:?}"),
        }
    };
}
pub(crate) use ask;

pub(crate) use crate::same::twin::owner;

impl Pair {
    /// Both masters with upstream's defaults and segments of these sizes.
    pub(crate) fn with_segments(sizes: &[u64]) -> Pair {
        Pair::flagged([], sizes)
    }

    /// The same with some flags.
    pub(crate) fn flagged<const N: usize>(flags: [(&str, &str); N], sizes: &[u64]) -> Pair {
        let mut pair = Pair {
            twin: Twin::start(flags),
            beside: Beside::start(&config(flags), START),
        };
        for (number, size) in (0..).zip(sizes) {
            pair.mount(&segment(number, *size), owner(number)).unwrap();
        }
        pair
    }

    /// Asks both.
    pub(crate) fn send(&mut self, request: &Request) -> Response {
        let answer = self.twin.call(request);
        self.beside.ask(self.twin.now, request, &answer, &self.twin.ours);
        answer
    }

    /// Lets time pass on both clocks of both.
    pub(crate) fn pass(&mut self, span: Span) {
        self.twin.pass(span);
    }

    /// Lets one background thread of both make a round.
    pub(crate) fn tick(&mut self, thread: Thread) {
        if self.twin.round(thread) {
            self.beside.tick(self.twin.now, thread, &self.twin.ours);
        }
    }

    /// The instant of both.
    pub(crate) fn clocks(&self) -> Clocks {
        self.twin.now
    }

    /// Sets both clocks to an instant after `base`, given in nanoseconds.
    pub(crate) fn at(&mut self, base: Clocks, after_ns: u64) {
        self.twin.set(base + Span::from_ns(after_ns));
    }

    /// Lets time pass to the end of a grace period, so that the segment leaves.
    pub(crate) fn pass_grace(&mut self, span: Span) {
        self.twin.pass(span);
        self.run_timers();
    }

    /// Does what the timer of graceful unmounts has to do by now.
    pub(crate) fn run_timers(&mut self) {
        self.twin.run_timers();
        self.beside.run_timers(self.twin.now, &self.twin.ours);
    }

    /// Waits until what follows an unmount in the background has been done.
    pub(crate) fn settle(&mut self) {
        self.twin.settle();
        self.beside.settle(&self.twin.ours);
    }

    /// The bytes that are taken, by both.
    pub(crate) fn allocated(&mut self) -> u64 {
        self.twin.compare_state();
        self.twin.ours.view().allocated_bytes
    }

    /// The bytes of all mounted segments, by both.
    pub(crate) fn capacity(&mut self) -> u64 {
        self.twin.compare_state();
        self.twin.ours.view().capacity_bytes
    }

    /// The readable keys, of both; looking grants no lease.
    pub(crate) fn keys(&self) -> Vec<String> {
        let admin = self.twin.real.master.admin();
        let real = admin.keys().unwrap_or_else(|error| panic!("{error}"));
        let view = self.twin.ours.view();
        let ours: Vec<String> = view.keys.into_keys().map(|(_, key)| key).collect();
        assert_eq!(ours, real, "keys");
        real
    }

    pub(crate) fn mount(&mut self, segment: &Segment, client_id: Uuid) -> Answer {
        let segment = segment.clone();
        ask!(self, MountSegment { segment, client_id })
    }

    pub(crate) fn remount(&mut self, segments: &[Segment], client_id: Uuid) -> Answer {
        let segments = segments.to_vec();
        ask!(self, ReMountSegment { segments, client_id })
    }

    pub(crate) fn unmount(&mut self, number: u64) -> Answer {
        let (segment_id, client_id) = (segment(number, 1).id, owner(number));
        let answer = ask!(
            self,
            UnmountSegment {
                segment_id,
                client_id
            }
        );
        self.settle();
        answer
    }

    /// Asks a segment to leave after so many milliseconds.
    pub(crate) fn graceful(&mut self, number: u64, grace_period_ms: u64) -> Answer {
        let (segment_id, client_id) = (segment(number, 1).id, owner(number));
        ask!(
            self,
            GracefulUnmountSegment {
                segment_id,
                client_id,
                grace_period_ms
            }
        )
    }

    pub(crate) fn start(
        &mut self,
        key: &str,
        size: u64,
        config: &ReplicateConfig,
    ) -> Answer<Vec<ReplicaDescriptor>> {
        let (key, config, tenant_id) = (key.to_owned(), config.clone(), tenant());
        ask!(
            self,
            PutStart {
                client_id: WRITER,
                key,
                slice_length: size,
                config,
                tenant_id
            }
        )
    }

    pub(crate) fn end(&mut self, who: Uuid, key: &str) -> Answer {
        let object_meta = ObjectMeta {
            key: key.to_owned(),
            object_checksum: None,
        };
        let (replica_type, tenant_id) = (ReplicaType::All, tenant());
        ask!(
            self,
            PutEnd {
                client_id: who,
                object_meta,
                replica_type,
                tenant_id
            }
        )
    }

    /// A whole put.
    pub(crate) fn put(&mut self, key: &str, size: u64, config: &ReplicateConfig) -> Vec<ReplicaDescriptor> {
        let replicas = self.start(key, size, config).unwrap();
        self.end(WRITER, key).unwrap();
        replicas
    }

    pub(crate) fn upsert(
        &mut self,
        who: Uuid,
        key: &str,
        size: u64,
        config: &ReplicateConfig,
    ) -> Answer<Vec<ReplicaDescriptor>> {
        let (key, config, tenant_id) = (key.to_owned(), config.clone(), tenant());
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

    pub(crate) fn get(&mut self, key: &str) -> Answer<Vec<ReplicaDescriptor>> {
        let (key, tenant_id) = (key.to_owned(), tenant());
        ask!(self, GetReplicaList { key, tenant_id }).map(|answer| answer.replicas)
    }

    pub(crate) fn exist(&mut self, key: &str) -> bool {
        let (key, tenant_id) = (key.to_owned(), tenant());
        ask!(self, ExistKey { key, tenant_id }).unwrap()
    }

    pub(crate) fn remove(&mut self, key: &str) -> Answer {
        let (key, force, tenant_id) = (key.to_owned(), false, tenant());
        ask!(
            self,
            Remove {
                key,
                force,
                tenant_id
            }
        )
    }

    pub(crate) fn copy(&mut self, key: &str, from: &str, to: &[&str]) -> Answer<CopyStartResponse> {
        let (client_id, key, tenant_id) = (WRITER, key.to_owned(), tenant());
        let tgt_segments = to.iter().map(|name| (*name).to_owned()).collect();
        ask!(
            self,
            CopyStart {
                client_id,
                key,
                tenant_id,
                src_segment: from.to_owned(),
                tgt_segments
            }
        )
    }

    pub(crate) fn copy_end(&mut self, key: &str) -> Answer {
        let (client_id, key, tenant_id) = (WRITER, key.to_owned(), tenant());
        ask!(
            self,
            CopyEnd {
                client_id,
                key,
                tenant_id
            }
        )
    }

    pub(crate) fn move_to(&mut self, key: &str, from: &str, to: &str) -> Answer<MoveStartResponse> {
        let (client_id, key, tenant_id) = (WRITER, key.to_owned(), tenant());
        let (src_segment, tgt_segment) = (from.to_owned(), to.to_owned());
        ask!(
            self,
            MoveStart {
                client_id,
                key,
                tenant_id,
                src_segment,
                tgt_segment
            }
        )
    }

    pub(crate) fn move_end(&mut self, key: &str) -> Answer {
        let (client_id, key, tenant_id) = (WRITER, key.to_owned(), tenant());
        ask!(
            self,
            MoveEnd {
                client_id,
                key,
                tenant_id
            }
        )
    }
}

/// One replica, on that segment if possible.
pub(crate) fn on(name: &str) -> ReplicateConfig {
    ReplicateConfig {
        preferred_segments: vec![name.to_owned()],
        ..ReplicateConfig::default()
    }
}

fn endpoint(replica: &ReplicaDescriptor) -> Option<&str> {
    Some(&replica.memory_buffer()?.transport_endpoint)
}

/// The endpoints of the replicas in memory, in their order.
pub(crate) fn endpoints(replicas: &[ReplicaDescriptor]) -> Vec<&str> {
    replicas.iter().filter_map(endpoint).collect()
}
