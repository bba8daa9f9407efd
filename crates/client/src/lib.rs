//! The Store client as a set of state machines without I/O, threads or a clock of their own.
//!
//! An [`Operation`] says what it wants next ([`Want`]): send this request, move these bytes, done. Whoever drives it
//! does that and tells it what [`Happened`]. Each crossing is a phase of the catalogue, so that no phase can be
//! forgotten and none needs a mark in the code. Mirrors upstream `client_service.cpp` and `transfer_task.cpp`.

mod background;
mod batch_get;
mod batch_put;
mod close;
mod get;
mod lanes;
mod master_pool;
mod operation;
mod outcome;
mod put;
mod ranged_get;
mod replica;
mod session;
mod single;
mod staging;
mod tasks;

pub use background::{Heartbeat, Mount, PingRound, Remount};
pub use batch_get::BatchGet;
pub use batch_put::BatchPut;
pub use close::Close;
pub use get::Get;
pub use lanes::{Admission, LANE_COOLDOWN, LANES, Lanes};
pub use master_pool::{CONNECT_ATTEMPTS, MasterPool, Wire};
pub use operation::{
    BufferPart, BufferPlace, ByteRange, Call, CallPhases, Happened, Move, MoveFailure, Moved, Near,
    Operation, RpcFailure, Want,
};
pub use outcome::Outcome;
pub use put::{Put, PutKind};
pub use ranged_get::RangedGet;
pub use replica::{memory_of, preferred, preferred_replica};
pub use session::{GetSession, GetStart, NoSession, PutSession, PutWrite, ReadSession};
pub use single::{Known, Single, granted_by};
pub use staging::{NearMemory, STAGING_BYTES, StagingBlock, StagingMemory};
pub use tasks::{QueuedTask, RunTasks, TASK_WORKERS};

use moonquake_clock::Rules;
use moonquake_faults::{Guard, Guards, Quirk, Quirks};
use moonquake_protocol::{BufferDescriptor, ErrorCode, Uuid};

/// The largest slice in which the real client submits a write. Mirrors `types.h:kMaxSliceSize`.
pub const SLICE_BYTES: u64 = (16 << 20) - 16;

/// What every operation of one client shares.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The id that the master knows it by. A restarted client comes back under a new one.
    pub client_id: Uuid,
    /// The tenant sent with every request that names none of its own.
    pub tenant_id: String,
    /// The endpoints of this client's own segments; replicas there are preferred.
    pub local_endpoints: Vec<String>,
    /// The bytes of the largest slice in which a write is submitted.
    pub slice_bytes: u64,
    /// The bytes of its staging memory.
    pub staging_bytes: u64,
    /// Whether it gives its objects checksums, and compares what it reads with theirs. Mirrors `MOONCAKE_STORE_CHECKSUM`.
    pub checksums: bool,
    /// How its deadlines are compared.
    pub rules: Rules,
    /// Which behaviours of upstream it has.
    pub quirks: Quirks,
    /// The checks that it makes: all, but for a test that lifts one.
    pub guards: Guards,
}

impl ClientConfig {
    /// A client with that id and upstream's behaviour.
    pub fn new(client_id: Uuid) -> ClientConfig {
        ClientConfig {
            client_id,
            tenant_id: "default".to_owned(),
            local_endpoints: Vec::new(),
            slice_bytes: SLICE_BYTES,
            staging_bytes: STAGING_BYTES,
            checksums: false,
            rules: Rules::default(),
            quirks: Quirks::all(),
            guards: Guards::default(),
        }
    }

    /// Whether a check is made, which only a test changes.
    pub(crate) fn guarded(&self, guard: Guard) -> bool {
        self.guards.stand(guard)
    }

    /// Whether a read may put so many bytes there, as far as is known before staging memory is asked for. Mirrors
    /// `real_client.cpp:get_into_range_internal` and `batch_get_into_internal`.
    pub(crate) fn has_room(&self, memory: NearMemory, at: u64, size: u64) -> bool {
        memory.holds(at, size) || !self.guarded(Guard::ShortBufferRefused)
    }

    /// The checksum with which a read of a whole object compares its bytes; none of an object that was given none. Mirrors
    /// `client_service.cpp:Client::VerifyObjectChecksum`.
    pub(crate) fn to_compare(&self, checksum: Option<u64>) -> Option<u64> {
        checksum.filter(|_| self.checksums && self.guarded(Guard::ChecksumCompared))
    }

    /// What a put is told whose key exists. Mirrors `client_service.cpp:Client::Put`, which calls it success.
    pub(crate) fn put_of_existing(&self) -> Outcome {
        if self.quirks.has(Quirk::ExistingKeyIsSuccess) {
            Outcome::Ok
        } else {
            Outcome::Error(ErrorCode::ObjectAlreadyExists)
        }
    }

    /// Whether a transfer with that range is a copy within this process, which nothing limits. Mirrors
    /// `transfer_task.cpp:TransferSubmitter::selectStrategy`.
    pub(crate) fn copies_itself(&self, buffer: &BufferDescriptor) -> bool {
        self.owns(buffer) && self.guarded(Guard::CopyWithinHasNoLimit)
    }

    /// How a whole replica is written: in one go, or in slices beside each other.
    pub(crate) fn write(&self, wanted: Move) -> Want {
        let mut slices = wanted.sliced(self.slice_bytes);
        match slices.pop() {
            Some(only) if slices.is_empty() => Want::Move(only),
            last => {
                slices.extend(last);
                Want::Moves(slices)
            }
        }
    }

    /// Whether a range lies in this client's own memory: what has no endpoint lies nowhere. Mirrors
    /// `client_service.cpp:IsReplicaOnLocalMemory` and `transfer_task.cpp:isSameProcessEndpoint`.
    pub(crate) fn owns(&self, buffer: &BufferDescriptor) -> bool {
        let endpoint = &buffer.transport_endpoint;
        !endpoint.is_empty() && self.local_endpoints.contains(endpoint)
    }

    /// Whether a transfer that is given up is fenced first, which upstream does not do.
    pub(crate) fn fences(&self) -> bool {
        !self.quirks.has(Quirk::TransferOutlivesOperation)
    }
}
