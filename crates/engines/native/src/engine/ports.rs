//! The ports of the stage, filled with a real master and real sockets.

use super::links::Links;
use super::observe::observe;
use super::owners::Owners;
use crate::process::{MasterProcess, RealTime};
use moonquake_client::RpcFailure;
use moonquake_clock::{Clocks, Thread};
use moonquake_evidence::{Baseline, State};
use moonquake_net::Net;
use moonquake_protocol::{ErrorCode, Request, Response};
use moonquake_stage::{
    Clients, Delivery, Ending, OwnerSeen, PortError, PortResult, Ports, Seen, Sending, Sight, TransferSpec,
};
use std::collections::BTreeMap;

/// How often the master is made to look at its clocks before what it has read is taken as it is.
const CLOCK_QUERIES: u32 = 50;

pub(crate) struct RealPorts {
    process: MasterProcess,
    links: Links,
    owners: Owners,
    frozen: bool,
    /// The run has ended its process.
    killed: bool,
    /// What earlier processes did in real time.
    real_time: RealTime,
}

impl RealPorts {
    pub(crate) fn new(process: MasterProcess, net: Net) -> RealPorts {
        RealPorts {
            process,
            links: Links::new(net.clone()),
            owners: Owners::new(net),
            frozen: false,
            killed: false,
            real_time: RealTime::default(),
        }
    }

    /// That its process has ended and the run has not ended it, in words.
    pub(crate) fn process_ended(&self) -> Option<String> {
        let status = self.process.exit_status().filter(|_| !self.killed)?;
        Some(crate::clients::ended_by_itself("the master", status))
    }

    /// Answers a request that belongs to no actor's evidence.
    pub(crate) fn answer_aside(&mut self, request: &Request) -> PortResult<Result<Response, RpcFailure>> {
        self.links.aside(self.process.rpc_addr(), request)
    }

    /// The thread that ends a graceful unmount starts after the answer. Time must not move before it waits.
    fn await_graceful_unmounts(&self, seen: &[Seen]) -> PortResult<()> {
        let begun = |seen: &Seen| matches!(seen.answer, Some(Ok(Response::GracefulUnmountSegment(Ok(())))));
        if !seen.iter().any(begun) || self.frozen {
            return Ok(());
        }
        self.process.await_graceful_unmount().map_err(PortError::new)
    }
}

impl Clients for RealPorts {}

impl Ports for RealPorts {
    fn baseline(&self, baseline: &mut Baseline) {
        let hash = crate::process::release::MASTER_SHA256;
        let master = format!("mooncake_master {}", crate::process::release::VERSION);
        baseline.versions.insert("master".to_owned(), master);
        baseline
            .versions
            .insert("master sha256".to_owned(), hash.to_owned());
    }

    fn real_time(&self) -> BTreeMap<String, String> {
        let mut all = self.real_time;
        all += self.process.real_time();
        crate::process::in_words([("master", all)])
    }

    fn sight(&self) -> Sight {
        let all = ["client write", "client read", "transport write", "transport read"];
        Sight {
            witness: "owner log and client buffers".to_owned(),
            sees: all.map(str::to_owned).to_vec(),
            blind: Vec::new(),
        }
    }

    fn set_master_clocks(&mut self, now: Clocks) -> PortResult<()> {
        let moved = self.process.clocks() != now;
        self.process.set_clocks(now);
        if !moved || self.frozen || self.process.exit_status().is_some() {
            return Ok(());
        }
        self.process.run_due_timers().map_err(PortError::new)
    }

    /// What the process itself last read. It reads both clocks with every call, but not before it answers; so it is asked
    /// something idle until it has.
    fn read_master_clocks(&mut self) -> PortResult<Clocks> {
        let set = self.process.clocks();
        let read = || {
            let served = self.process.served();
            Clocks {
                realtime: served.realtime.last,
                monotonic: served.monotonic.last,
            }
        };
        for _ in 0..CLOCK_QUERIES {
            if read() == set {
                break;
            }
            self.links.ask(self.process.rpc_addr())?;
        }
        Ok(read())
    }

    fn tick(&mut self, thread: Thread) -> PortResult<()> {
        self.process.tick(thread).map(|_| ()).map_err(PortError::new)
    }

    fn observe(&mut self) -> PortResult<State> {
        observe(&self.process, &self.owners)
    }

    fn kill_master(&mut self) -> PortResult<String> {
        self.killed = true;
        self.process
            .kill()
            .map(|status| format!("its process ended: {status}"))
            .map_err(PortError::new)
    }

    fn freeze_master(&mut self, frozen: bool) -> PortResult<String> {
        self.frozen = frozen;
        if frozen {
            self.process.freeze().map_err(PortError::new)?;
            return Ok("the kernel says that its process is stopped".to_owned());
        }
        self.process.resume().map_err(PortError::new)?;
        self.process.run_due_timers().map_err(PortError::new)?;
        Ok("its process was continued".to_owned())
    }

    fn start_master(&mut self) -> PortResult<String> {
        self.real_time += self.process.real_time();
        self.process.restart().map_err(PortError::new)?;
        (self.frozen, self.killed) = (false, false);
        self.links.reconnect(self.process.rpc_addr())?;
        Ok("a new process answers".to_owned())
    }

    fn send(&mut self, sending: &Sending<'_>) -> PortResult<Vec<Seen>> {
        // The wire has no room for a fence; the real master has the quirk.
        self.links.send(sending.actor, sending.message, sending.request)
    }

    fn handle(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        let seen = self.links.handle(message)?;
        self.await_graceful_unmounts(&seen)?;
        Ok(seen)
    }

    fn repeat(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        let seen = self.links.repeat(message)?;
        self.await_graceful_unmounts(&seen)?;
        Ok(seen)
    }

    fn deliver(&mut self, message: u64) -> PortResult<Delivery> {
        self.links.deliver(message)
    }

    fn answer_with(&mut self, message: u64, code: ErrorCode) -> PortResult<Vec<Seen>> {
        self.links.answer_with(message, code).map(|()| Vec::new())
    }

    fn lose(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        self.links.lose(message)
    }

    fn cut(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        self.links.cut(message)
    }

    fn abandon(&mut self, message: u64) -> PortResult<()> {
        self.links.abandon(message)
    }

    fn open_link(&mut self, actor: &str) -> PortResult<()> {
        self.links.open(self.process.rpc_addr(), actor)
    }

    fn close_link(&mut self, actor: &str) -> PortResult<usize> {
        self.links.close(actor)
    }

    fn start_owner(&mut self, node: &str, base: u64, size: u64) -> PortResult<String> {
        self.owners.start(node, base, size)
    }

    fn kill_owner(&mut self, node: &str) -> PortResult<()> {
        self.owners.kill(node)
    }

    fn freeze_owner(&mut self, node: &str, frozen: bool) -> PortResult<()> {
        self.owners.freeze(node, frozen)
    }

    fn open_transfer(&mut self, spec: &TransferSpec) -> PortResult<bool> {
        self.owners.open(spec)
    }

    fn write_part(&mut self, transfer: u64, bytes: &[u8]) -> PortResult<bool> {
        self.owners.write(transfer, bytes)
    }

    fn read_part(&mut self, transfer: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        self.owners.read(transfer, len)
    }

    fn close_transfer(&mut self, transfer: u64, ending: Ending) -> PortResult<bool> {
        self.owners.close(transfer, ending)
    }

    fn owner_log(&mut self) -> PortResult<Vec<OwnerSeen>> {
        Ok(self.owners.log())
    }

    fn peek(&mut self, node: &str, offset: u64, len: u64) -> PortResult<Vec<u8>> {
        self.owners.peek(node, offset, len)
    }
}
