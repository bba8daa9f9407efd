//! The ports of the stage: what concerns clients goes to them, what concerns the master to the master.

use super::{MasterSide, RealClients, buffers};
use moonquake_client::Outcome;
use moonquake_clock::{Clocks, Thread};
use moonquake_evidence::{Baseline, State};
use moonquake_protocol::ErrorCode;
use moonquake_stage::{
    Accessed, Begun, ClientStart, Clients, Delivery, Ending, Identity, LostCall, OwnerSeen, PortError,
    PortResult, Ports, Seen, Sending, Sight, Told, TransferSpec,
};
use std::collections::BTreeMap;

impl<M: MasterSide> Clients for RealClients<M> {
    fn has_clients(&self) -> bool {
        true
    }

    fn start_client(&mut self, start: &ClientStart) -> PortResult<Option<Identity>> {
        self.start(start).map(Some)
    }

    fn client_ready(&mut self, actor: &str) -> PortResult<()> {
        self.ready(actor)
    }

    fn freeze_client(&mut self, actor: &str, frozen: bool) -> PortResult<()> {
        self.stop(actor, frozen)
    }

    fn set_client_clocks(&mut self, actor: &str, now: Clocks) -> PortResult<()> {
        self.set_clocks(actor, now)
    }

    fn read_client_clocks(&mut self, actor: &str) -> PortResult<Option<Clocks>> {
        self.read_clocks(actor)
    }

    fn begin_operation(&mut self, begun: &Begun<'_>) -> PortResult<()> {
        self.begin(begun)
    }

    fn ended(&mut self) -> Option<String> {
        RealClients::ended(self)
    }

    fn await_exit(&mut self, actor: &str) -> PortResult<()> {
        self.await_end(actor)
    }

    fn end_operation(&mut self, id: u64, predicted: &Outcome) -> PortResult<Option<Told>> {
        let told = self.end(id, predicted)?;
        let actor = self.operations.get(&id).map(|operation| operation.actor.clone());
        if let (Some(told), Some(actor)) = (&told, actor) {
            self.copies_over(&actor)?;
            if told.outcome.is_failure() {
                self.failed(&actor)?;
            }
        }
        Ok(told)
    }

    fn lose_call(&mut self, lost: &LostCall<'_>) -> PortResult<()> {
        self.lose_real_call(lost)
    }

    fn wait_over(&mut self, operation: u64) -> PortResult<()> {
        self.let_worker(operation)
    }

    fn ping_failed(&mut self, actor: &str) -> PortResult<()> {
        self.await_heartbeat(actor)
    }

    fn connections(&mut self, actor: &str) -> PortResult<Option<usize>> {
        self.count_connections(actor)
    }

    fn begin_early(&mut self, spec: &TransferSpec, frozen: bool) -> PortResult<()> {
        self.begin_transfer(spec, frozen)
    }

    fn accesses(&mut self) -> PortResult<Option<Vec<Accessed>>> {
        self.plant_now()?;
        self.look()?;
        self.judge_faults()?;
        Ok(Some(self.streams.drain()))
    }

    fn watch(&mut self, name: &str) -> PortResult<Option<Sight>> {
        self.watch_real(name).map(Some)
    }

    fn fill_buffer(&mut self, actor: &str, name: &str, at: u64, bytes: &[u8]) -> PortResult<()> {
        let Some(client) = self.clients.get(actor) else {
            return Ok(());
        };
        let arena = client.agent.arena().clone();
        let range = self.buffers.named(actor, &arena, name)?;
        arena.write(range.offset + at, bytes).map_err(PortError::new)
    }

    fn read_buffer(&mut self, name: &str, from: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        self.buffers.read(name, from, len)
    }

    fn read_value(&mut self, id: u64, from: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        let Some(operation) = self.operations.get(&id) else {
            return Ok(None);
        };
        let (Some(range), Some(client)) = (operation.values.first(), self.clients.get(&operation.actor))
        else {
            return Ok(None);
        };
        buffers::read(client.agent.arena(), range.offset + from, len).map(Some)
    }
}

impl<M: MasterSide> Ports for RealClients<M> {
    fn baseline(&self, baseline: &mut Baseline) {
        self.master.baseline(baseline);
        self.versions(baseline);
    }

    fn real_time(&self) -> BTreeMap<String, String> {
        let mut all = self.real_time.clone();
        for (actor, client) in &self.clients {
            *all.entry(actor.clone()).or_default() += client.page.real_time();
        }
        let mut words = crate::process::in_words(all.iter().map(|(actor, one)| (actor.as_str(), *one)));
        words.extend(self.master.real_time());
        words
    }

    fn sight(&self) -> Sight {
        Sight {
            witness: "socket logs of both processes".to_owned(),
            sees: ["transport write", "transport read"].map(str::to_owned).to_vec(),
            blind: ["client write", "client read"].map(str::to_owned).to_vec(),
        }
    }

    fn set_master_clocks(&mut self, now: Clocks) -> PortResult<()> {
        self.master.set_master_clocks(now)
    }

    fn read_master_clocks(&mut self) -> PortResult<Clocks> {
        self.master.read_master_clocks()
    }

    fn tick(&mut self, thread: Thread) -> PortResult<()> {
        self.master.tick(thread)
    }

    fn observe(&mut self) -> PortResult<State> {
        let state = self.master.observe()?;
        Ok(self.names.told(state))
    }

    fn kill_master(&mut self) -> PortResult<String> {
        let seen = self.master.kill_master()?;
        self.master_gone()?;
        Ok(seen)
    }

    fn freeze_master(&mut self, frozen: bool) -> PortResult<String> {
        self.master.freeze_master(frozen)
    }

    fn start_master(&mut self) -> PortResult<String> {
        let seen = self.master.start_master()?;
        let links = self.clients.values_mut().map(|client| &mut client.link);
        for link in links {
            link.set_reachable(true).map_err(PortError::new)?;
        }
        Ok(seen)
    }

    fn send(&mut self, sending: &Sending<'_>) -> PortResult<Vec<Seen>> {
        self.send_real(sending)
    }

    fn handle(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        self.master.handle(message)
    }

    fn repeat(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        self.master.repeat(message)
    }

    fn deliver(&mut self, message: u64) -> PortResult<Delivery> {
        self.deliver_real(message)
    }

    fn answer_with(&mut self, message: u64, code: ErrorCode) -> PortResult<Vec<Seen>> {
        self.master.answer_with(message, code)
    }

    fn lose(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        self.lose_real(message)
    }

    fn cut(&mut self, message: u64) -> PortResult<Vec<Seen>> {
        self.cut_real(message)
    }

    fn abandon(&mut self, message: u64) -> PortResult<()> {
        // The client closes that connection by itself, or forgets the call.
        self.master.abandon(message)
    }

    fn open_link(&mut self, actor: &str) -> PortResult<()> {
        self.master.open_link(actor)
    }

    fn close_link(&mut self, actor: &str) -> PortResult<usize> {
        self.kill(actor)
    }

    fn start_owner(&mut self, node: &str, _base: u64, _size: u64) -> PortResult<String> {
        Err(PortError(format!("{node} has memory of its own")))
    }

    fn kill_owner(&mut self, node: &str) -> PortResult<()> {
        self.transfers.owner_gone(node)
    }

    fn freeze_owner(&mut self, _node: &str, _frozen: bool) -> PortResult<()> {
        // It is one process with its client, which was stopped.
        Ok(())
    }

    fn open_transfer(&mut self, spec: &TransferSpec) -> PortResult<bool> {
        self.open_real(spec)
    }

    fn write_part(&mut self, transfer: u64, bytes: &[u8]) -> PortResult<bool> {
        if let Some(there) = self.speak_part(transfer, bytes)? {
            return Ok(there);
        }
        // What moves are the bytes of the real client, not those that were predicted.
        Ok(self.part(transfer, bytes.len() as u64)?.is_some())
    }

    fn read_part(&mut self, transfer: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        self.part(transfer, len)
    }

    fn close_transfer(&mut self, transfer: u64, ending: Ending) -> PortResult<bool> {
        let operation = self.transfers.operation_of(transfer);
        self.turns(operation);
        self.close_real(transfer, ending)
    }

    fn owner_log(&mut self) -> PortResult<Vec<OwnerSeen>> {
        Ok(self.transfers.drain())
    }

    fn peek(&mut self, node: &str, offset: u64, len: u64) -> PortResult<Vec<u8>> {
        self.peek_real(node, offset, len)
    }
}
