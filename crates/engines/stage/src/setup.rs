//! The world before the first step.

use crate::actors::Actor;
use crate::inject::FaultState;
use crate::memory::Buffers;
use crate::ports::Ports;
use crate::sessions::GetSessions;
use crate::state::{Stage, Staged, StepRecord};
use crate::underway::Underway;
use moonquake_client::{ClientConfig, MasterPool};
use moonquake_clock::{Clocks, DeadlineId, MonotonicNs, RealtimeNs, Rules, Span};
use moonquake_evidence::{Baseline, Kind, Log, Observer};
use moonquake_protocol::Uuid;
use moonquake_scenario::{Plan, RunOptions, Timeouts, World};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the wall clock of every actor shows at the start, in nanoseconds: 2026-01-01 00:00:00 UTC.
pub const REALTIME_START: u64 = 1_767_225_600_000_000_000;
/// What the monotonic clock of every actor shows at the start, in nanoseconds.
pub const MONOTONIC_START: u64 = 1_000_000_000_000_000;
/// The distance in bytes between the base addresses of two segments.
pub const SEGMENT_STRIDE: u64 = 1 << 40;

/// The distance in bytes between the segments of two instances of one node.
pub(crate) const INSTANCE_STRIDE: u64 = 1 << 36;

pub(crate) const FIRST_BASE: u64 = 0x1000_0000_0000;

/// Both clocks at the start.
pub fn start_clocks() -> Clocks {
    Clocks {
        realtime: RealtimeNs(REALTIME_START),
        monotonic: MonotonicNs(MONOTONIC_START),
    }
}

/// How clients compare deadlines in a run.
fn client_rules(options: &RunOptions) -> Rules {
    let mut rules = options.rules.clone();
    options.quirks.apply_to(&mut rules);
    rules
}

fn actor(plan: &Plan, options: &RunOptions, name: &str, memory: Option<u64>) -> Actor {
    let mut config = ClientConfig::new(Uuid::default());
    config.slice_bytes = plan.world.slice_bytes;
    config.staging_bytes = plan.world.local_buffer_bytes;
    config.checksums = plan.world.checksums;
    config.rules = client_rules(options);
    config.guards = options.guards.clone();
    config.quirks = options.quirks.clone();
    Actor {
        config,
        alive: false,
        frozen: false,
        closed: false,
        instance: 0,
        memory,
        home: name.to_owned(),
        segments: Vec::new(),
        mounted: BTreeSet::new(),
        heartbeat: None,
        pool: MasterPool::default(),
        put_sessions: BTreeMap::new(),
        get_sessions: GetSessions::default(),
        tasks: VecDeque::new(),
        attempts: BTreeMap::new(),
    }
}

/// An empty stage for a plan.
pub(crate) fn stage<'a, P: Ports>(plan: &'a Plan, options: &'a RunOptions, ports: P) -> Stage<'a, P> {
    let mut actors = BTreeMap::new();
    for (name, size) in &plan.world.segments {
        actors.insert(name.clone(), actor(plan, options, name, Some(*size)));
    }
    for name in &plan.world.clients {
        actors.insert(name.clone(), actor(plan, options, name, None));
    }
    Stage {
        plan,
        options,
        rules: client_rules(options),
        ports,
        log: Log::new(),
        now: Span::ZERO,
        start: start_clocks(),
        offsets: BTreeMap::new(),
        actors,
        places: Vec::new(),
        master_up: true,
        master_frozen: false,
        messages: BTreeMap::new(),
        transfers: Underway::default(),
        peers: BTreeMap::new(),
        met: BTreeSet::new(),
        past_transfers: BTreeMap::new(),
        running: BTreeMap::new(),
        repeaters: Vec::new(),
        comebacks: Vec::new(),
        buffers: Buffers::default(),
        bound: BTreeMap::new(),
        tasks: BTreeMap::new(),
        steps: vec![StepRecord::default(); plan.steps.len()],
        fault: FaultState::new(plan, options),
        patterns: plan.patterns(),
        numbers: 0,
        order: 0,
        rng: options.seed.map(ChaCha8Rng::seed_from_u64),
    }
}

/// Configuration and versions, before anything runs.
pub(crate) fn baseline<P: Ports>(stage: &Stage<'_, P>, engine: &str) -> Baseline {
    let (plan, options) = (stage.plan, stage.options);
    let mut baseline = Baseline {
        engine: engine.to_owned(),
        profile: options.profile.name().to_owned(),
        seed: options.seed,
        ..Baseline::default()
    };
    baseline
        .versions
        .insert("moonquake".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    baseline
        .versions
        .insert("scenario".to_owned(), plan.sha256.clone());
    for name in Timeouts::NAMES {
        if let Some(length) = plan.world.timeouts.get(name) {
            baseline
                .configuration
                .insert(format!("timeouts.{name}"), length.to_string());
        }
    }
    for (name, size) in &plan.world.segments {
        baseline
            .configuration
            .insert(format!("segments.{name}"), format!("{size} B"));
    }
    baseline
        .configuration
        .insert("clients".to_owned(), plan.world.clients.join(", "));
    baseline
        .configuration
        .insert("chunk".to_owned(), format!("{} B", plan.world.chunk_bytes));
    if plan.world.slice_bytes != World::SLICE_BYTES {
        baseline
            .configuration
            .insert("slice".to_owned(), format!("{} B", plan.world.slice_bytes));
    }
    if plan.world.local_buffer_bytes != World::LOCAL_BUFFER_BYTES {
        baseline.configuration.insert(
            "local_buffer".to_owned(),
            format!("{} B", plan.world.local_buffer_bytes),
        );
    }
    if plan.world.checksums {
        baseline
            .configuration
            .insert("checksums".to_owned(), "on".to_owned());
    }
    for (flag, value) in &plan.world.flags {
        baseline
            .configuration
            .insert(format!("flags.{flag}"), value.clone());
    }
    let ping = moonquake_client::Heartbeat::period();
    baseline
        .configuration
        .insert(DeadlineId::Ping.row().name.to_owned(), ping.to_string());
    stage.ports.baseline(&mut baseline);
    baseline
}

impl<P: Ports> Stage<'_, P> {
    /// Brings every actor to life and states what the witness sees.
    pub(crate) fn set_up(&mut self) -> Staged<()> {
        self.set_master_clocks()?;
        let plan = self.plan;
        let nodes = plan.world.segments.iter().map(|(node, _)| node);
        for (place, name) in nodes.chain(&plan.world.clients).enumerate() {
            self.start_actor(name, place)?;
        }
        for name in &plan.watch {
            let sight = match self.ports.watch(name)? {
                Some(sight) => sight,
                None => self.ports.sight(),
            };
            let kind = Kind::Sight {
                buffer: name.clone(),
                witness: sight.witness,
                sees: sight.sees,
                blind: sight.blind,
            };
            self.note("master", Observer::Witness, None, kind);
        }
        self.read_state()
    }
}
