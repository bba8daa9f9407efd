//! The one fault: where it strikes and what it does. What this file says of itself is a claim; observers prove it.

use crate::messages::Place;
use crate::ports::{Ending, Ports};
use crate::state::{Stage, Staged};
use crate::transfers::duration;
use moonquake_client::{MoveFailure, RpcFailure};
use moonquake_clock::Span;
use moonquake_evidence::{Change, Kind, Observer, Op};
use moonquake_faults::PhaseId;
use moonquake_protocol::ErrorCode;
use moonquake_scenario::{Action, Plan, RunOptions, Trigger};

/// What is known of the fault.
#[derive(Debug, Default)]
pub(crate) struct FaultState {
    /// When it struck.
    pub(crate) at: Option<Span>,
    /// How often its phase was passed.
    hits: u32,
    /// What it holds until `resume`.
    held_message: Option<u64>,
    held_transfer: Option<u64>,
    frozen: Option<String>,
    claim_only: bool,
    claims_time: bool,
}

impl FaultState {
    pub(crate) fn new(plan: &Plan, options: &RunOptions) -> FaultState {
        let deadline = matches!(plan.fault.trigger, Trigger::Deadline(_));
        FaultState {
            claim_only: options.claim_only,
            claims_time: options.claim_only && deadline,
            ..FaultState::default()
        }
    }

    /// Whether this run only says that it visits the boundary (a test of the judge).
    pub(crate) fn claims_time(&self) -> bool {
        self.claims_time
    }

    /// Whether the stimulus of this run is claimed and left out (a test of the judge).
    pub(crate) fn claims_only(&self) -> bool {
        self.claim_only
    }
}

fn is_network(action: &Action) -> bool {
    matches!(
        action,
        Action::Hold | Action::Drop | Action::Duplicate | Action::Delay(_) | Action::Cut | Action::Error(_)
    )
}

impl<P: Ports> Stage<'_, P> {
    /// Whether the fault strikes here and now.
    fn strikes(&mut self, phase: PhaseId, actor: &str, op: Option<Op>) -> bool {
        let (Some(op), None) = (op, self.fault.at) else {
            return false;
        };
        let Trigger::At {
            phase: wanted,
            of,
            hit,
        } = &self.plan.fault.trigger
        else {
            return false;
        };
        let meant = match of {
            Some(step) => *step == op.step as usize,
            None => self.plan.fault.target == actor,
        };
        if *wanted != phase || !meant {
            return false;
        }
        self.fault.hits += 1;
        self.fault.hits == *hit
    }

    /// Says that the fault strikes, and notes the instant.
    fn claim(&mut self, op: Option<Op>, message: Option<u64>, transfer: Option<u64>) -> Staged<()> {
        self.tell_before_fault();
        if matches!(self.plan.fault.action, Some(Action::ClockStep { .. }))
            && self.plan.fault.target != "master"
        {
            // A client that has not spoken yet shows its clock nowhere else.
            self.read_clock(&self.plan.fault.target)?;
        }
        self.fault.at = Some(self.now);
        let fault = &self.plan.fault;
        let phase = match &fault.trigger {
            Trigger::At { phase, .. } => Some(phase.name().to_owned()),
            _ => None,
        };
        let kind = Kind::Injected {
            dimension: fault.dimension.row().name.to_owned(),
            phase,
            action: fault.action.as_ref().map(Action::words),
            message,
            transfer,
        };
        let target = fault.target.clone();
        self.note(&target, Observer::Injector, op, kind);
        Ok(())
    }

    /// A phase, as the network sees it. Says whether the message goes no further now.
    pub(crate) fn network_phase(
        &mut self,
        phase: PhaseId,
        actor: &str,
        op: Option<Op>,
        message: Option<u64>,
        transfer: Option<u64>,
    ) -> Staged<bool> {
        let Some(action) = self.plan.fault.action.clone().filter(is_network) else {
            return Ok(false);
        };
        if !self.strikes(phase, actor, op) {
            return Ok(false);
        }
        self.claim(op, message, transfer)?;
        if self.fault.claim_only {
            return Ok(false);
        }
        match (message, transfer) {
            (Some(id), _) => self.strike_message(id, &action),
            (None, Some(id)) => self.strike_transfer(id, &action),
            (None, None) => Ok(false),
        }
    }

    fn strike_message(&mut self, id: u64, action: &Action) -> Staged<bool> {
        let now = self.now;
        let Some(message) = self.messages.get_mut(&id) else {
            return Ok(true);
        };
        match action {
            Action::Hold => {
                message.held = true;
                self.fault.held_message = Some(id);
            }
            Action::Delay(by) => message.not_before = now + *by,
            Action::Duplicate => {
                message.duplicate = true;
                return Ok(false);
            }
            Action::Drop => {
                let seen = self.ports.lose(id)?;
                self.log_frames(seen)?;
                self.messages.remove(&id);
            }
            Action::Cut | Action::Error(ErrorCode::RpcFail) => {
                let seen = self.ports.cut(id)?;
                self.log_frames(seen)?;
                self.fail_message(id, RpcFailure::Failed)?;
            }
            Action::Error(ErrorCode::RpcTimeout) => {
                let seen = self.ports.lose(id)?;
                self.log_frames(seen)?;
                self.fail_message(id, RpcFailure::Timeout)?;
            }
            Action::Error(code) => {
                let handled = message.place == Place::Handled;
                message.place = Place::Handled;
                let seen = self.ports.answer_with(id, *code)?;
                self.log_frames(seen)?;
                return Ok(!handled);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn strike_transfer(&mut self, id: u64, action: &Action) -> Staged<bool> {
        let now = self.now;
        let Some(transfer) = self.transfers.get_mut(id) else {
            return Ok(false);
        };
        match action {
            Action::Hold | Action::Drop => {
                transfer.held = true;
                self.fault.held_transfer = Some(id);
            }
            Action::Delay(by) => transfer.next_at = now + *by,
            Action::Cut => self.end_transfer(id, Ending::Cut, Err(MoveFailure::Closed))?,
            Action::Error(_) => self.end_transfer(id, Ending::Error, Err(MoveFailure::Closed))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A phase, as actors see it.
    pub(crate) fn actor_phase(
        &mut self,
        phase: PhaseId,
        actor: &str,
        op: Option<Op>,
        message: Option<u64>,
        transfer: Option<u64>,
    ) -> Staged<()> {
        let Some(action) = self
            .plan
            .fault
            .action
            .clone()
            .filter(|action| !is_network(action))
        else {
            return Ok(());
        };
        if !self.strikes(phase, actor, op) {
            return Ok(());
        }
        self.claim(op, message, transfer)?;
        self.strike_actor(&action, op, transfer)
    }

    /// The result of a step is reported.
    pub(crate) fn after_phase(&mut self, op: Op) -> Staged<()> {
        let Trigger::After(step) = self.plan.fault.trigger else {
            return Ok(());
        };
        let Some(record) = self.steps.get(step) else {
            return Ok(());
        };
        let over = record.all_begun && record.open == 0;
        if step != op.step as usize || !over || self.fault.at.is_some() {
            return Ok(());
        }
        // What stands before the fault has the effect of the step that it comes after.
        self.read_state()?;
        self.claim(Some(op), None, None)?;
        let Some(action) = self.plan.fault.action.clone() else {
            return Ok(());
        };
        self.strike_actor(&action, Some(op), None)
    }

    fn strike_actor(&mut self, action: &Action, op: Option<Op>, transfer: Option<u64>) -> Staged<()> {
        if self.fault.claim_only {
            return Ok(());
        }
        let target = self.plan.fault.target.clone();
        match action {
            Action::Kill if target == "master" => self.kill_master(),
            Action::Kill => self.kill_actor(&target),
            Action::Freeze => {
                self.fault.frozen = Some(target.clone());
                self.freeze(&target, true)
            }
            Action::Rate(rate) => {
                self.limit_rate(op, transfer, *rate);
                Ok(())
            }
            Action::ClockStep { by_ns, clock } => {
                self.step_clock(&target, *clock, *by_ns);
                self.set_master_clocks()?;
                self.set_all_client_clocks()?;
                self.read_all_clocks()?;
                self.reach_deadlines()
            }
            Action::Restart(down) => self.restart(&target, *down),
            _ => Ok(()),
        }
    }

    fn limit_rate(&mut self, op: Option<Op>, transfer: Option<u64>, rate: u64) {
        for running in self.running.values_mut().filter(|running| running.op == op) {
            running.rate = Some(rate);
        }
        let (now, chunk) = (self.now, self.plan.world.chunk_bytes);
        let struck = transfer.and_then(|id| self.transfers.get_mut(id));
        if let Some(transfer) = struck.filter(|transfer| !transfer.local) {
            transfer.rate = Some(rate);
            transfer.next_at = now + duration(chunk.min(transfer.size - transfer.moved), rate);
        }
    }

    /// The master is gone at once, with everything it knew.
    pub(crate) fn kill_master(&mut self) -> Staged<()> {
        self.check_connections()?;
        self.master_up = false;
        let detail = self.ports.kill_master()?;
        self.break_connections();
        self.note(
            "master",
            Observer::Master,
            None,
            Kind::Actor {
                change: Change::Killed,
                detail,
            },
        );
        self.fail_all_messages()
    }

    fn restart(&mut self, target: &str, down: Span) -> Staged<()> {
        if target == "master" {
            self.kill_master()?
        } else {
            self.kill_actor(target)?
        }
        if down == Span::ZERO {
            return self.come_back(target);
        }
        self.comebacks.push((self.now + down, target.to_owned()));
        Ok(())
    }

    /// An actor comes back without its state.
    pub(crate) fn come_back(&mut self, name: &str) -> Staged<()> {
        if name != "master" {
            let place = self.place_of(name);
            return self.start_actor(name, place);
        }
        self.master_up = true;
        self.master_frozen = false;
        self.set_master_clocks()?;
        let detail = self.ports.start_master()?;
        self.set_master_clocks()?;
        self.note(
            "master",
            Observer::Master,
            None,
            Kind::Actor {
                change: Change::Started,
                detail,
            },
        );
        Ok(())
    }

    /// The boundary that is the fault has come.
    pub(crate) fn reach_boundary(&mut self) -> Staged<()> {
        self.claim(None, None, None)
    }

    /// The stimulus that is the fault begins with this step.
    pub(crate) fn stimulus(&mut self, op: Op) -> Staged<()> {
        if self.is_stimulus(op.step as usize) && self.fault.at.is_none() {
            self.claim(Some(op), None, None)?;
        }
        Ok(())
    }

    /// Whether a step is (part of) the stimulus.
    pub(crate) fn is_stimulus(&self, step: usize) -> bool {
        matches!(&self.plan.fault.trigger, Trigger::Steps(steps) if steps.contains(&step))
    }

    /// Ends a freeze or hold.
    pub(crate) fn resume(&mut self) -> Staged<()> {
        let target = self.plan.fault.target.clone();
        self.note(&target, Observer::Injector, None, Kind::Released);
        let order = self.enqueue();
        if let Some(message) = self
            .fault
            .held_message
            .take()
            .and_then(|id| self.messages.get_mut(&id))
        {
            message.held = false;
            message.order = order;
        }
        if let Some(id) = self.fault.held_transfer.take() {
            self.transfers.set_order(id, order);
            if let Some(transfer) = self.transfers.get_mut(id) {
                transfer.held = false;
            }
        }
        match self.fault.frozen.take() {
            Some(frozen) => self.freeze(&frozen, false),
            None => Ok(()),
        }
    }
}
