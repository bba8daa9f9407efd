//! Everything that is on the stage.

use crate::actors::{Actor, Placed};
use crate::inject::FaultState;
use crate::lanes::{Pair, Peer};
use crate::memory::Buffers;
use crate::messages::Message;
use crate::operations::Running;
use crate::ports::{PortError, Ports};
use crate::runner::Repeater;
use crate::underway::{Transfer, Underway};
use moonquake_clock::{Clocks, Domain, MonotonicNs, RealtimeNs, Rules, Span};
use moonquake_evidence::{Kind, Log, Observer, Op, Range};
use moonquake_protocol::Uuid;
use moonquake_scenario::{EngineError, Moment, Plan, RunOptions};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};

impl From<PortError> for EngineError {
    fn from(error: PortError) -> EngineError {
        EngineError::Harness(error.0)
    }
}

/// A result on the stage.
pub(crate) type Staged<T> = Result<T, EngineError>;

/// By how much one actor's clocks are off the timeline.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offset {
    pub(crate) realtime_ns: i128,
    pub(crate) monotonic_ns: i128,
}

/// What is known of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepRecord {
    pub(crate) ran_at: Option<Span>,
    pub(crate) sent_at: Option<Span>,
    pub(crate) handled_at: Option<Span>,
    pub(crate) done_at: Option<Span>,
    /// Repetitions that have begun and not ended.
    pub(crate) open: u32,
    /// Whether all repetitions have begun.
    pub(crate) all_begun: bool,
}

/// The stage of one run.
pub(crate) struct Stage<'a, P: Ports> {
    pub(crate) plan: &'a Plan,
    pub(crate) options: &'a RunOptions,
    /// How deadlines of clients are compared in this run.
    pub(crate) rules: Rules,
    pub(crate) ports: P,
    pub(crate) log: Log,
    pub(crate) now: Span,
    pub(crate) start: Clocks,
    pub(crate) offsets: BTreeMap<String, Offset>,
    pub(crate) actors: BTreeMap<String, Actor>,
    /// Every segment there ever was.
    pub(crate) places: Vec<Placed>,
    pub(crate) master_up: bool,
    pub(crate) master_frozen: bool,
    pub(crate) messages: BTreeMap<u64, Message>,
    pub(crate) transfers: Underway,
    /// The connections of each client to each owner.
    pub(crate) peers: BTreeMap<Pair, Peer>,
    /// The owners that each client has met.
    pub(crate) met: BTreeSet<Pair>,
    /// Transfers that are over for their client; an owner may still have a line about them.
    pub(crate) past_transfers: BTreeMap<u64, Transfer>,
    pub(crate) running: BTreeMap<u64, Running>,
    pub(crate) repeaters: Vec<Repeater>,
    pub(crate) comebacks: Vec<(Span, String)>,
    pub(crate) buffers: Buffers,
    pub(crate) bound: BTreeMap<String, Range>,
    /// The tasks that steps have created.
    pub(crate) tasks: BTreeMap<usize, Uuid>,
    pub(crate) steps: Vec<StepRecord>,
    pub(crate) fault: FaultState,
    pub(crate) patterns: Vec<String>,
    pub(crate) numbers: u64,
    pub(crate) order: u64,
    pub(crate) rng: Option<ChaCha8Rng>,
}

impl<P: Ports> Stage<'_, P> {
    /// A fresh number for a message, transfer or operation.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// A fresh place at the end of the queue.
    pub(crate) fn enqueue(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// The clocks of one actor, as it would read them now.
    pub(crate) fn clocks(&self, actor: &str) -> Clocks {
        let offset = self.offsets.get(actor).copied().unwrap_or_default();
        // A claimed boundary: the clock of the target stands still. That of the master stands in its process.
        let still = self.fault.claims_time() && actor == self.plan.fault.target && actor != "master";
        let now = if still { 0 } else { self.now.ns };
        let moved = |start: u64, by: i128| {
            let value = i128::from(start) + i128::from(now) + by;
            u64::try_from(value.max(0)).unwrap_or(u64::MAX)
        };
        Clocks {
            realtime: RealtimeNs(moved(self.start.realtime.0, offset.realtime_ns)),
            monotonic: MonotonicNs(moved(self.start.monotonic.0, offset.monotonic_ns)),
        }
    }

    /// Steps one clock of one actor alone.
    pub(crate) fn step_clock(&mut self, actor: &str, clock: Domain, by_ns: i64) {
        let offset = self.offsets.entry(actor.to_owned()).or_default();
        match clock {
            Domain::Realtime => offset.realtime_ns += i128::from(by_ns),
            Domain::Monotonic => offset.monotonic_ns += i128::from(by_ns),
        }
    }

    /// Moves the timeline, and the clocks of every actor with it.
    pub(crate) fn move_time(&mut self, to: Span) -> Staged<()> {
        if to <= self.now {
            return Ok(());
        }
        self.now = to;
        self.close_idle_connections();
        self.set_master_clocks()?;
        self.set_all_client_clocks()
    }

    /// Tells the clients that are processes of their own their clocks.
    pub(crate) fn set_all_client_clocks(&mut self) -> Staged<()> {
        if !self.ports.has_clients() {
            return Ok(());
        }
        let names: Vec<String> = self.actors.keys().cloned().collect();
        names.iter().try_for_each(|name| self.set_client_clocks(name))
    }

    /// Tells one client its clocks. One that stands still hears of them when it goes on.
    pub(crate) fn set_client_clocks(&mut self, name: &str) -> Staged<()> {
        if self.ports.has_clients() && self.acts(name) {
            let now = self.clocks(name);
            self.ports.set_client_clocks(name, now)?;
        }
        Ok(())
    }

    /// Tells the master its clocks.
    pub(crate) fn set_master_clocks(&mut self) -> Staged<()> {
        // A claimed boundary is one that the timeline says it visits while the clock of the master stands still.
        if self.master_up && !self.fault.claims_time() {
            let now = self.clocks("master");
            self.ports.set_master_clocks(now)?;
        }
        Ok(())
    }

    /// Writes an event.
    pub(crate) fn note(&mut self, actor: &str, observer: Observer, op: Option<Op>, kind: Kind) {
        let clocks = self.clocks(actor);
        self.log.push(self.now, clocks, actor, observer, op, kind);
    }

    /// The instant of a step's moment, if it came to be.
    pub(crate) fn moment(&self, step: usize, moment: Moment) -> Option<Span> {
        let record = self.steps.get(step)?;
        match moment {
            Moment::Handled if record.sent_at.is_none() => record.ran_at,
            Moment::Handled => record.handled_at,
            Moment::Sent => record.sent_at.or(record.ran_at),
            Moment::Done => record.done_at,
        }
    }
}
