//! What is read after each step and for each check. Facts only; the judge decides.

use crate::ports::Ports;
use crate::state::{Stage, Staged};
use moonquake_evidence::{Kind, Observer, Op};
use moonquake_scenario::{Check, CheckKind, Trigger};

impl<P: Ports> Stage<'_, P> {
    /// Reads the master's state and its clocks back. One that stands still answers nobody.
    pub(crate) fn read_state(&mut self) -> Staged<()> {
        if !self.master_up || self.master_frozen {
            return Ok(());
        }
        let state = self.ports.observe()?;
        self.note("master", Observer::Master, None, Kind::State(state));
        let read = self.ports.read_master_clocks()?;
        let kind = Kind::ClockRead {
            realtime: read.realtime,
            monotonic: read.monotonic,
        };
        self.note("master", Observer::Clock, None, kind);
        Ok(())
    }

    /// Reads the clocks of every actor back.
    pub(crate) fn read_all_clocks(&mut self) -> Staged<()> {
        let names: Vec<String> = self.actors.keys().cloned().collect();
        for name in names {
            self.read_clock(&name)?;
        }
        Ok(())
    }

    /// Reads the clocks of the target back where a boundary by them is the fault. Those of the master are in its state.
    pub(crate) fn read_target_clock(&mut self) -> Staged<()> {
        let target = &self.plan.fault.target;
        if matches!(self.plan.fault.trigger, Trigger::Deadline(_)) && target != "master" {
            self.read_clock(target)?;
        }
        Ok(())
    }

    pub(crate) fn read_clock(&mut self, actor: &str) -> Staged<()> {
        let read = if self.acts(actor) {
            self.ports.read_client_clocks(actor)?
        } else {
            None
        };
        let read = read.unwrap_or_else(|| self.clocks(actor));
        let kind = Kind::ClockRead {
            realtime: read.realtime,
            monotonic: read.monotonic,
        };
        self.note(actor, Observer::Clock, None, kind);
        Ok(())
    }

    /// The facts of a check.
    pub(crate) fn look(&mut self, check: &Check, op: Op) -> Staged<()> {
        if check.kind != CheckKind::Bytes {
            return Ok(());
        }
        for name in &check.of {
            let content = self.content_of_name(name)?;
            let kind = Kind::Bytes {
                name: name.clone(),
                content,
            };
            self.note("master", Observer::Witness, Some(op), kind);
        }
        Ok(())
    }

    /// Whether the segment of a node is mounted, as the master says.
    pub(crate) fn mounted(&mut self, node: &str) -> Staged<bool> {
        if !self.master_up || self.master_frozen {
            return Ok(false);
        }
        // Of one that is down the master may still list the segment.
        let Some(actor) = self.actors.get(node).filter(|actor| actor.alive) else {
            return Ok(false);
        };
        let home = actor.home.clone();
        Ok(self.ports.observe()?.segments.contains_key(&home))
    }
}
