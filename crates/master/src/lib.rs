//! The master of the store as a deterministic state machine: no I/O, no threads, no clock of its own.
//!
//! [`Master::handle`] answers one request at an instant that the caller names; [`Master::tick`] does exactly one round
//! of one background thread. Mirrors upstream `mooncake-store/src/master_service.cpp` in base mode (no HA, no
//! snapshots, one tenant, offset allocator, every strategy of placement).
//!
//! # Limits
//!
//! - Of the replica kinds there are those in memory and, where a client reports one, those on a client's own disk.
//! - Where upstream's handler throws because 2^32 or more replicas are asked for, the answer is INTERNAL_ERROR, in a batch for each key.
//!   With fewer it throws or not as the memory of its machine is (10^8 are answered, 10^9 were too many for one with 23 GB); here such a
//!   write gets the replicas that there is room for.
//! - Sums that overflow upstream do not overflow here: grace periods from about 2^63 ns on, most of which end at once there, time-outs
//!   of tasks near 2^63 ns, and mounted bytes from 2^63 on: it takes a segment of 2^64-1 bytes, shows its gauge as -1 and their sum as 0.
//!   Just below the sum is rounded there, as it goes through a floating-point number.
//! - A pattern with more than 200 groups one in the other is refused with INVALID_PARAMS.
//! - The search for a pattern with a back reference ends after a million steps a key, or a thousand once all keys of the request
//!   have used twenty million beyond their thousands, and takes the key for one that does not match.
//! - Upstream makes room for as many moves as a drain job allows at once, and dies of a number for which it cannot have that; here no
//!   such room is made.
//! - The timer of graceful unmounts runs when the next request or tick comes.

mod access;
mod addresses;
mod beside;
mod clients;
mod closing;
mod config;
mod copies;
mod disks;
mod dispatch;
mod drain;
mod due;
mod evict;
mod flags;
mod ids;
mod leases;
mod mounting;
mod objects;
mod owners;
mod pattern;
mod placement;
mod puts;
mod quarantine;
mod reads;
mod refuse;
mod removal;
mod segments;
mod select;
mod sweep;
mod tasks;
mod tenants;
mod upserts;
mod view;
mod writes;

#[cfg(test)]
mod tests;

use moonquake_offset as allocator;

pub use config::{ConfigError, MasterConfig};
pub use drain::{DrainJob, DrainRequest, JobStatus};
pub use owners::Held;
pub use placement::Strategy;
pub use refuse::refuse;
pub use view::{MountTold, Place, View};

use clients::Clients;
use closing::Departures;
use copies::CopyTask;
use disks::Disks;
use drain::DrainJobs;
use ids::Ids;
use moonquake_clock::{Clocks, MonotonicNs, Thread};
use moonquake_faults::Guard;
use moonquake_protocol::{ErrorCode, Request, Response};
use mounting::GracefulUnmount;
use objects::{Id, Objects};
use placement::Dice;
use quarantine::Quarantined;
use segments::Segments;
use std::collections::{BTreeMap, BTreeSet};
use tasks::Tasks;

/// The master.
#[derive(Clone, Debug)]
pub struct Master {
    config: MasterConfig,
    started: Clocks,
    objects: Objects,
    segments: Segments,
    clients: Clients,
    copies: BTreeMap<String, CopyTask>,
    tasks: Tasks,
    drains: DrainJobs,
    disks: Disks,
    quarantined: Vec<Quarantined>,
    graceful: Vec<GracefulUnmount>,
    departures: Departures,
    /// The engine of the thread that serves requests.
    dice: Dice,
    /// The engine of the eviction thread.
    eviction_dice: Dice,
    ids: Ids,
    last_replica: u64,
    /// Before this the task clean-up thread does nothing.
    task_cleanup_due: MonotonicNs,
    /// When the last round swept.
    last_sweep: Clocks,
    /// Whether a failed allocation asks for eviction.
    need_eviction: bool,
    /// Whether the clean-up worker has something to do.
    cleanup_due: bool,
    /// Room for the order of a batch read.
    read_order: Vec<(usize, usize, Option<Id>)>,
    /// Whether the owners of segments tell this master what has landed.
    hears_owners: bool,
    /// The replicas whose writers have written them to the last byte, by id.
    landed: BTreeSet<u64>,
}

impl Master {
    /// A master that starts at `now` with nothing mounted.
    ///
    /// # Errors
    /// When the configuration is one that upstream's constructor refuses.
    pub fn new(mut config: MasterConfig, now: Clocks) -> Result<Master, ConfigError> {
        config.validate()?;
        config.apply_quirks_to_rules();
        Ok(Master {
            dice: Dice::of_requests(config.placement_seed),
            eviction_dice: Dice::of_eviction(config.placement_seed),
            ids: Ids::of_seed(config.placement_seed),
            config,
            started: now,
            objects: Objects::default(),
            segments: Segments::default(),
            clients: Clients::default(),
            copies: BTreeMap::new(),
            tasks: Tasks::default(),
            drains: DrainJobs::default(),
            disks: Disks::new(),
            quarantined: Vec::new(),
            graceful: Vec::new(),
            departures: Departures::default(),
            last_replica: 0,
            task_cleanup_due: now.monotonic + Thread::TaskCleanup.period(),
            last_sweep: now,
            need_eviction: false,
            cleanup_due: false,
            read_order: Vec::new(),
            hears_owners: false,
            landed: BTreeSet::new(),
        })
    }

    /// Whether a check is made, which only a test changes.
    pub(crate) fn guarded(&self, guard: Guard) -> bool {
        self.config.guards.stand(guard)
    }

    /// Answers one request that is handled at `now`.
    ///
    /// `fences` are the ids of the first replicas that the writer of this PutEnd or PutRevoke was given, in the order of the
    /// keys of the request. The wire does not carry them; only a master without the quirk `stale-put-end` looks at them.
    pub fn handle(&mut self, now: Clocks, request: &Request, fences: &[Option<u64>]) -> Response {
        let mut answer = Response::ExistKey(Ok(false));
        self.handle_into(now, request, fences, &mut answer);
        answer
    }

    /// [`Master::handle`] over an earlier answer. A read whose like was answered there before allocates nothing.
    pub fn handle_into(
        &mut self,
        now: Clocks,
        request: &Request,
        fences: &[Option<u64>],
        answer: &mut Response,
    ) {
        self.run_graceful_timer(now);
        match self.in_tenant(request) {
            Some(request) if self.read_into(now, &request, answer) => {}
            Some(request) => *answer = self.dispatch(now, &request, fences),
            None => *answer = refuse(request, ErrorCode::InvalidParams),
        }
        self.objects.drop_empty_shards();
    }

    /// Lets a background thread through once, as it is when its wait ends; false if it did no round. The task clean-up thread looks
    /// at the monotonic clock and waits on until its whole period has passed since its last round.
    pub fn tick_if_due(&mut self, now: Clocks, thread: Thread) -> bool {
        if thread == Thread::TaskCleanup {
            if now.monotonic < self.task_cleanup_due {
                self.run_graceful_timer(now);
                return false;
            }
            self.task_cleanup_due = now.monotonic + thread.period();
        }
        self.tick(now, thread);
        true
    }

    /// Exactly one round of a background thread, due or not.
    pub fn tick(&mut self, now: Clocks, thread: Thread) {
        self.run_graceful_timer(now);
        match thread {
            Thread::Eviction => self.eviction_round(now),
            Thread::ClientMonitor => self.monitor_clients(now),
            Thread::TaskCleanup => {
                self.clean_up_tasks(now);
                self.end_soft_pins(now);
            }
            Thread::JobDispatch => self.dispatch_jobs(now),
        }
        self.objects.drop_empty_shards();
    }

    /// How many replica ids were given out. Upstream counts them from the start of the process on.
    pub fn replicas_made(&self) -> u64 {
        self.last_replica
    }

    /// The random engines of the thread that serves requests and of the eviction thread, each as the real process has it
    /// in memory (x86-64, GNU C++ library), so that one can be found and set there.
    pub fn engine_images(&self) -> [Vec<u8>; 2] {
        [self.dice.image(), self.eviction_dice.image()]
    }

    /// The round of the replica clean-up worker that follows an UnmountSegment. Upstream does it in the background, at
    /// once in real time; readers see the same before and after.
    pub fn settle_cleanup(&mut self) {
        if std::mem::take(&mut self.cleanup_due) {
            self.clear_unreachable();
        }
    }
}
