//! Time that runs from timer to timer, and everything that can happen at one instant.

use crate::actors::Chore;
use crate::lanes::Pair;
use crate::ports::{Ending, Ports};
use crate::state::{Stage, Staged};
use moonquake_client::MoveFailure;
use moonquake_clock::{Clocks, DeadlineId, Span};
use moonquake_scenario::{EngineError, Trigger};
use rand_chacha::rand_core::Rng;

/// What falls due. The order is that in which things due at one instant happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// The boundary that is the fault.
    Boundary,
    /// A call tries to connect again. By then its client's own timer has fired: what comes back at this instant comes too late.
    Connect(u64),
    /// An actor that was restarted comes back.
    Comeback(usize),
    /// An answer did not come in time.
    Call(u64, u64),
    /// The transport closes a transfer without progress.
    Progress(u64),
    /// The client gives a transfer up.
    Limit(u64, u64),
    /// A connection can be made again.
    Lane(Pair),
    /// The wait of an operation is over.
    Wake(u64),
    /// A delayed message or the next part of a slow transfer can move. What arrives at the instant of a deadline is late.
    Movement,
    /// A client pings.
    Ping(String),
    /// The next repetition of a step beside the timeline.
    Repeat(usize),
}

/// Something that can make a step at this instant.
#[derive(Clone, Copy, Debug)]
enum Ready {
    Message(u64),
    Transfer(u64),
    Running(u64),
}

/// More steps than this at one instant mean that the harness runs in a circle.
const STEPS_AT_ONE_INSTANT: u32 = 50_000_000;

impl<P: Ports> Stage<'_, P> {
    /// The messages and operations that can make a step, each with its place.
    fn ready_others(&self) -> impl Iterator<Item = (u64, Ready)> + '_ {
        let messages = self
            .messages
            .iter()
            .filter(|(_, message)| self.message_ready(message));
        let running = self
            .running
            .iter()
            .filter(|(_, running)| self.running_ready(running));
        messages
            .map(|(id, message)| (message.order, Ready::Message(*id)))
            .chain(running.map(|(id, running)| (running.order, Ready::Running(*id))))
    }

    /// The transfers that can make a step, in the order of their places.
    fn ready_transfers(&self) -> impl Iterator<Item = (u64, Ready)> + '_ {
        let queued = self.transfers.queued();
        let ready = queued.filter(|transfer| self.transfer_ready(transfer));
        ready.map(|transfer| (transfer.order(), Ready::Transfer(transfer.id)))
    }

    /// What makes the next step: what came first, or what the seed draws. None if nothing can.
    fn draw(&mut self) -> Option<Ready> {
        let Some(mut rng) = self.rng.take() else {
            let first = self.ready_others().chain(self.ready_transfers().next());
            return first.min_by_key(|(order, _)| *order).map(|(_, ready)| ready);
        };
        let mut all: Vec<(u64, Ready)> = self.ready_others().chain(self.ready_transfers()).collect();
        all.sort_unstable_by_key(|(order, _)| *order);
        let drawn = (!all.is_empty()).then(|| all[rng.next_u64() as usize % all.len()].1);
        self.rng = Some(rng);
        drawn
    }

    /// Lets everything happen that can happen at this instant: first in, first out, or in an order drawn by the seed.
    pub(crate) fn settle(&mut self) -> Staged<()> {
        for _ in 0..STEPS_AT_ONE_INSTANT {
            let Some(drawn) = self.draw() else {
                return Ok(());
            };
            // A large batch has very many steps at one instant.
            self.go_on()?;
            match drawn {
                Ready::Message(id) => self.move_message(id)?,
                Ready::Transfer(id) => self.move_transfer(id)?,
                Ready::Running(id) => self.move_running(id)?,
            }
        }
        Err(EngineError::Harness(format!(
            "time stands still at {}: the stage runs in a circle",
            self.now
        )))
    }

    pub(crate) fn until(&self, id: DeadlineId, actor: &str, base: Clocks, length: Span) -> Span {
        self.now + self.rules.until(id, base, length, self.clocks(actor))
    }

    fn boundary_due(&self) -> Option<(Span, Due)> {
        let Trigger::Deadline(instant) = &self.plan.fault.trigger else {
            return None;
        };
        if self.fault.at.is_some() {
            return None;
        }
        self.resolve(instant).map(|at| (at.max(self.now), Due::Boundary))
    }

    fn call_due(&self) -> impl Iterator<Item = (Span, Due)> + '_ {
        let rpc = self.plan.world.timeouts.rpc;
        self.running
            .iter()
            .filter(|(_, running)| self.acts(&running.actor))
            .filter_map(move |(id, running)| {
                let (message, sent_at) = running.call?;
                Some((
                    self.until(DeadlineId::Rpc, &running.actor, sent_at, rpc),
                    Due::Call(*id, message),
                ))
            })
    }

    fn transfer_due(&self) -> impl Iterator<Item = (Span, Due)> + '_ {
        let timeouts = self.plan.world.timeouts;
        self.transfers.due_first().flat_map(move |transfer| {
            // A copy within a process keeps no limit.
            let acts = self.acts(&transfer.actor) && !transfer.local;
            let moving = self.transfer_is_free(transfer) && transfer.next_at > self.now;
            let (submitted, moved) = (transfer.submitted_at, transfer.progress_at);
            let rules = &self.options.rules;
            let progress = rules.base(DeadlineId::Progress, moved, submitted);
            let limit = rules.base(DeadlineId::Transfer, submitted, moved);
            let actor = &transfer.actor;
            let progress = self.until(DeadlineId::Progress, actor, progress, timeouts.progress);
            let limit = self.until(DeadlineId::Transfer, actor, limit, timeouts.transfer);
            let part = moving.then_some((transfer.next_at, Due::Movement));
            let progress =
                (acts && transfer.lane().is_ready()).then_some((progress, Due::Progress(transfer.id)));
            let limit = transfer
                .waiter
                .filter(|_| acts && transfer.limited)
                .map(|running| (limit, Due::Limit(running, transfer.id)));
            part.into_iter().chain(progress).chain(limit)
        })
    }

    fn ping_due(&self) -> impl Iterator<Item = (Span, Due)> + '_ {
        self.actors
            .iter()
            .filter(|(_, actor)| actor.alive && !actor.frozen)
            .filter_map(|(name, actor)| {
                let heartbeat = actor.heartbeat.as_ref()?;
                // The heartbeat thread waits for its answer before it sleeps again; a remount has a thread of its own.
                let busy = self.running.values().any(|running| {
                    running.actor == *name && matches!(running.chore, Some(Chore::Mount | Chore::Ping))
                });
                let wait = heartbeat.until(&self.rules, self.clocks(name));
                (!busy).then(|| (self.now + wait, Due::Ping(name.clone())))
            })
    }

    /// The next thing that falls due.
    pub(crate) fn next_due(&self) -> Option<(Span, Due)> {
        let delayed = self
            .messages
            .values()
            .filter(|message| !message.held && message.not_before > self.now);
        let delayed = delayed.map(|message| (message.not_before, Due::Movement));
        let comebacks = self
            .comebacks
            .iter()
            .enumerate()
            .map(|(index, (at, _))| (*at, Due::Comeback(index)));
        let repeats = self
            .repeaters
            .iter()
            .enumerate()
            .map(|(index, repeater)| (repeater.next_at, Due::Repeat(index)));
        // A sleep is as long as it was asked for, whatever is done to a clock meanwhile.
        let wakes = self
            .running
            .iter()
            .filter_map(|(id, running)| Some((running.wakes_at?, Due::Wake(*id))));
        self.boundary_due()
            .into_iter()
            .chain(wakes)
            .chain(self.connect_due())
            .chain(comebacks)
            .chain(delayed)
            .chain(repeats)
            .chain(self.ping_due())
            .chain(self.call_due())
            .chain(self.transfer_due())
            .chain(self.lanes_due())
            .min()
    }

    fn fire(&mut self, due: &Due) -> Staged<()> {
        match due {
            Due::Boundary => self.reach_boundary(),
            Due::Connect(running) => self.connect_again(*running),
            Due::Comeback(index) => {
                let (_, name) = self.comebacks.remove(*index);
                self.come_back(&name)
            }
            Due::Movement => Ok(()),
            Due::Ping(name) => self.ping(name),
            Due::Repeat(index) => self.repeat(*index),
            Due::Call(running, message) => self.time_out_call(*running, *message),
            Due::Progress(transfer) => {
                self.end_transfer(*transfer, Ending::NoProgress, Err(MoveFailure::Closed))
            }
            Due::Limit(running, transfer) => self.give_up_transfer(*running, *transfer),
            Due::Lane(pair) => {
                self.admit(pair, None);
                Ok(())
            }
            Due::Wake(running) => self.wake(*running),
        }
    }

    /// One clock was stepped: deadlines that lie in the past of their actor now are reached at once.
    pub(crate) fn reach_deadlines(&mut self) -> Staged<()> {
        loop {
            self.go_on()?;
            let dues = self.call_due().chain(self.transfer_due());
            let late = dues
                .filter(|(at, due)| *at <= self.now && *due != Due::Movement)
                .min();
            match late {
                Some((_, due)) => self.fire(&due)?,
                None => return Ok(()),
            }
        }
    }

    /// Moves to the next thing due at `limit` at the latest, and lets it happen. False if there is none.
    pub(crate) fn next_timer(&mut self, limit: Span) -> Staged<bool> {
        let Some((at, due)) = self.next_due().filter(|(at, _)| *at <= limit) else {
            return Ok(false);
        };
        self.go_on()?;
        self.move_time(at)?;
        self.fire(&due)?;
        self.settle()?;
        Ok(true)
    }

    /// Moves both clocks of every actor to an instant; what falls due on the way happens.
    pub(crate) fn advance(&mut self, to: Span) -> Staged<()> {
        self.settle()?;
        while self.next_timer(to)? {}
        self.move_time(to)?;
        self.settle()
    }

    /// Whether nothing moves and nothing will by itself.
    pub(crate) fn quiet(&self) -> bool {
        let message = |message: &crate::messages::Message| !message.held && message.not_before > self.now;
        !self.messages.values().any(message)
            && !self
                .transfers
                .queued()
                .any(|transfer| self.transfer_is_free(transfer))
            && !self
                .running
                .values()
                .any(|running| running.wakes_at.is_some() || running.connecting.is_some())
            && self.lanes_due().next().is_none()
            && self.ready_others().next().is_none()
    }
}
