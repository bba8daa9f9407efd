//! The ports of the stage, filled with the Rust master and plain memory.

use crate::link::Link;
use crate::owner::Owners;
use moonquake_clock::{Clocks, Thread};
use moonquake_evidence::{Baseline, Range, State, key_of_tenant};
use moonquake_master::{Held, Master, MasterConfig};
use moonquake_protocol::{ErrorCode, Request, Response};
use moonquake_scenario::EngineError;
use moonquake_stage::{
    Clients, Delivery, Ending, OwnerSeen, PortError, PortResult, Ports, Seen, Sending, Sight, TransferSpec,
};

/// The Rust master, its wire and plain memory.
pub struct ModelPorts {
    config: MasterConfig,
    master: Option<Master>,
    clocks: Clocks,
    /// What the master's clock showed when it last looked.
    read: Clocks,
    link: Link,
    owners: Owners,
    instance: u32,
    /// The descriptors that are good, if somebody has asked since the master last did something.
    held: Option<Held>,
}

impl ModelPorts {
    /// A master with that configuration, and nobody else.
    ///
    /// # Errors
    /// When the master refuses the configuration.
    pub fn new(config: MasterConfig) -> Result<ModelPorts, EngineError> {
        let clocks = moonquake_stage::start_clocks();
        let master = new_master(&config, clocks, 0)?;
        Ok(ModelPorts {
            config,
            master: Some(master),
            clocks,
            read: clocks,
            link: Link::default(),
            owners: Owners::default(),
            instance: 1,
            held: None,
        })
    }

    /// Answers a request that comes over no link.
    ///
    /// # Errors
    /// When the master is down.
    pub fn answer_aside(&mut self, request: &Request) -> PortResult<Response> {
        let now = self.clocks;
        Ok(self.master()?.handle(now, request, &[]))
    }

    /// Whether the owner lets a descriptor reach its range. While the master is down nothing is handed out either.
    fn may_reach(&mut self, replica_id: u64, address: u64) -> bool {
        let Some(master) = &self.master else { return true };
        let held = self.held.get_or_insert_with(|| master.held());
        master.may_reach(self.clocks, held, replica_id, address)
    }

    /// The master, to which something is done.
    fn master(&mut self) -> PortResult<&mut Master> {
        self.held = None;
        self.master
            .as_mut()
            .ok_or_else(|| PortError::new("the master is down"))
    }
}

fn new_master(config: &MasterConfig, now: Clocks, instance: u32) -> PortResult<Master> {
    let mut master = Master::new(config.clone(), now).map_err(PortError::new)?;
    master.hear_owners(instance);
    Ok(master)
}

impl Clients for ModelPorts {}

impl Ports for ModelPorts {
    fn baseline(&self, baseline: &mut Baseline) {
        baseline.versions.insert(
            "master".to_owned(),
            format!("moonquake-master {}", env!("CARGO_PKG_VERSION")),
        );
    }

    fn sight(&self) -> Sight {
        let all = ["client write", "client read", "transport write", "transport read"];
        Sight {
            witness: "model regions".to_owned(),
            sees: all.map(str::to_owned).to_vec(),
            blind: Vec::new(),
        }
    }

    fn set_master_clocks(&mut self, now: Clocks) -> PortResult<()> {
        self.clocks = now;
        Ok(())
    }

    fn read_master_clocks(&mut self) -> PortResult<Clocks> {
        Ok(self.read)
    }

    fn tick(&mut self, thread: Thread) -> PortResult<()> {
        let now = self.clocks;
        self.read = now;
        // A round that is not due yet is none, as in the real process.
        self.master()?.tick_if_due(now, thread);
        Ok(())
    }

    fn observe(&mut self) -> PortResult<State> {
        // An observer's request makes the master look at its clock, as the admin endpoint of the real one does.
        let now = self.clocks;
        self.read = now;
        let master = self.master()?;
        master.run_graceful_timer(now);
        master.settle_cleanup();
        let view = master.view();
        let range = |place: moonquake_master::Place| Range {
            segment: place.segment,
            offset: place.offset,
            size: place.size,
        };
        Ok(State {
            allocated_bytes: view.allocated_bytes,
            capacity_bytes: view.capacity_bytes,
            keys: view
                .keys
                .into_iter()
                .map(|((tenant, key), at)| {
                    (
                        key_of_tenant(tenant.as_deref(), &key),
                        at.into_iter().map(range).collect(),
                    )
                })
                .collect(),
            segments: view.segments,
        })
    }

    fn kill_master(&mut self) -> PortResult<String> {
        (self.master, self.held) = (None, None);
        Ok(format!("instance {} is gone", self.instance))
    }

    fn freeze_master(&mut self, frozen: bool) -> PortResult<String> {
        let how = if frozen { "stands still" } else { "goes on" };
        Ok(format!("instance {} {how}", self.instance))
    }

    fn start_master(&mut self) -> PortResult<String> {
        self.master = Some(new_master(&self.config, self.clocks, self.instance)?);
        self.instance += 1;
        self.held = None;
        Ok(format!("instance {}", self.instance))
    }

    fn send(&mut self, sending: &Sending<'_>) -> PortResult<Vec<Seen>> {
        Ok(self
            .link
            .send(sending.actor, sending.message, sending.request, sending.fences))
    }

    fn handle(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        let (now, link) = (self.clocks, &self.link);
        let Some(carried) = link.get(message).cloned() else {
            return Ok(Vec::new());
        };
        self.read = now;
        let answer = self.master()?.handle(now, &carried.request, &carried.fences);
        Ok(self.link.handled(message, answer))
    }

    fn repeat(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        let Some(carried) = self.link.get(message).cloned() else {
            return Ok(Vec::new());
        };
        let now = self.clocks;
        let answer = self.master()?.handle(now, &carried.request, &carried.fences);
        Ok(self.link.handled_again(message, answer))
    }

    fn deliver(&mut self, message: u64) -> PortResult<Delivery> {
        let (answer, seen) = self.link.deliver(message);
        Ok(Delivery { answer, seen })
    }

    fn answer_with(&mut self, message: u64, code: ErrorCode) -> PortResult<Vec<Seen>> {
        let Some(carried) = self.link.get(message) else {
            return Ok(Vec::new());
        };
        let answer = moonquake_master::refuse(&carried.request, code);
        self.link.replace_answer(message, answer);
        Ok(Vec::new())
    }

    fn lose(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        Ok(self.link.lose(message))
    }

    fn cut(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        Ok(self.link.cut(message))
    }

    fn abandon(&mut self, message: u64) -> PortResult<()> {
        self.link.abandon(message);
        Ok(())
    }

    fn open_link(&mut self, actor: &str) -> PortResult<()> {
        self.link.open(actor);
        Ok(())
    }

    fn close_link(&mut self, actor: &str) -> PortResult<usize> {
        Ok(self.link.close(actor))
    }

    fn start_owner(&mut self, node: &str, base: u64, size: u64) -> PortResult<String> {
        self.owners.start(node, base, size);
        Ok(format!("{node}.model"))
    }

    fn kill_owner(&mut self, node: &str) -> PortResult<()> {
        self.owners.kill(node);
        Ok(())
    }

    fn freeze_owner(&mut self, node: &str, frozen: bool) -> PortResult<()> {
        self.owners.freeze(node, frozen);
        Ok(())
    }

    fn open_transfer(&mut self, spec: &TransferSpec) -> PortResult<bool> {
        if !self.may_reach(spec.replica_id, spec.address) {
            self.owners.refuse(spec);
            return Ok(false);
        }
        Ok(self.owners.open(spec))
    }

    fn write_part(&mut self, transfer: u64, bytes: &[u8]) -> PortResult<bool> {
        // A write is watched to its last byte, since each may land in somebody else's range. A read is not: what it brings
        // is covered by the lease check at its end.
        if let Some((id, address)) = self.owners.descriptor(transfer)
            && !self.may_reach(id, address)
        {
            return Ok(false);
        }
        Ok(self.owners.write(transfer, bytes))
    }

    fn read_part(&mut self, transfer: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        Ok(self.owners.read(transfer, len))
    }

    fn close_transfer(&mut self, transfer: u64, ending: Ending) -> PortResult<bool> {
        let written = ending
            .is_complete()
            .then(|| self.owners.written(transfer))
            .flatten();
        let acknowledged = self.owners.close(transfer, ending);
        if let (true, Some(replica_id), Some(master)) = (acknowledged, written, &mut self.master) {
            master.write_landed(replica_id);
        }
        Ok(acknowledged)
    }

    fn owner_log(&mut self) -> PortResult<Vec<OwnerSeen>> {
        Ok(self.owners.drain())
    }

    fn peek(&mut self, node: &str, offset: u64, len: u64) -> PortResult<Vec<u8>> {
        self.owners
            .peek(node, offset, len)
            .ok_or_else(|| PortError::new(format!("{node} has no such bytes")))
    }
}
