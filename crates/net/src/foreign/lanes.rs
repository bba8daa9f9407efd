//! The data connections of a foreign client, and the tasks that read the headers on them.

use super::probes::Probes;
use super::socket::{is_hung_up, unread_bytes};
use super::wait::{Changes, poll_until};
use crate::freeze::{CONNECTIONS_MAX, Life};
use crate::runtime::NetError;
use moonquake_protocol::datapath::{DATA_HEADER_BYTES, DataHeader};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How long the listener rests after the system refused to accept.
const REST: Duration = Duration::from_millis(10);

/// A header that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) lane: u64,
    pub(super) raw: [u8; DATA_HEADER_BYTES],
}

impl Arrived {
    pub(super) fn header(&self) -> DataHeader {
        DataHeader::from_bytes(&self.raw)
    }
}

/// A connection of the client that is open.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) client: Arc<TcpStream>,
    /// A header was read and its transfer is not over: the next header is not read.
    pub(super) busy: bool,
    /// Set when we close it.
    stop: watch::Sender<bool>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) lanes: BTreeMap<u64, Lane>,
    pub(super) arrived: BTreeMap<u64, Arrived>,
    pub(super) problems: Vec<String>,
    /// Where the owner's data listener is.
    pub(super) data: Option<SocketAddr>,
    /// Ends of the client's doing that nobody has asked for.
    pub(super) ends: usize,
    last_lane: u64,
    last_transfer: u64,
}

impl State {
    fn arrive(&mut self, lane: u64, raw: [u8; DATA_HEADER_BYTES]) {
        self.last_transfer += 1;
        self.arrived.insert(self.last_transfer, Arrived { lane, raw });
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.busy = true;
        }
    }
}

/// What the tasks of a relay share with its calls.
#[derive(Debug)]
pub(super) struct Lanes {
    data: SocketAddr,
    pub(super) changes: Changes,
    pub(super) life: Life,
    probes: Probes,
    state: Mutex<State>,
}

/// Why no header is read any more.
enum End {
    Closed(usize),
    Broken,
    /// We close it.
    Ours,
}

impl Lanes {
    pub(super) fn new(data: SocketAddr) -> Lanes {
        Lanes {
            data,
            changes: Changes::new(),
            life: Life::default(),
            probes: Probes::default(),
            state: Mutex::default(),
        }
    }

    /// The data listener of the relay.
    pub(super) fn data_address(&self) -> SocketAddr {
        self.data
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn problem(&self, problem: String) {
        tracing::warn!("{problem}");
        self.state().problems.push(problem);
        self.changes.note();
    }

    /// The owner has told where its data listener is.
    pub(super) fn learn(&self, data: SocketAddr) {
        self.state().data = Some(data);
    }

    /// Accepts until the relay ends.
    pub(super) async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.life.killed() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.seat(stream, peer),
                Err(error) => {
                    tracing::warn!("accepting failed: {error}");
                    // No event tells when the system has descriptors again.
                    tokio::time::sleep(REST).await;
                }
            }
            self.changes.note();
        }
    }

    fn seat(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        if self.probes.take(&peer) {
            return;
        }
        let mut state = self.state();
        if state.lanes.len() >= CONNECTIONS_MAX {
            let problem = format!("{peer} turned away: {CONNECTIONS_MAX} connections are open");
            return state.problems.push(problem);
        }
        // A socket that cannot do it still works.
        let _ = stream.set_nodelay(true);
        state.last_lane += 1;
        let id = state.last_lane;
        let client = Arc::new(stream);
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(self.clone().read(id, client.clone(), stopped));
        let busy = false;
        state.lanes.insert(id, Lane { client, busy, stop });
    }

    async fn read(self: Arc<Self>, id: u64, client: Arc<TcpStream>, mut stopped: watch::Receiver<bool>) {
        let end = tokio::select! {
            biased;
            () = self.life.killed() => End::Ours,
            // An error means that the connection was let go of.
            _ = stopped.wait_for(|stopped| *stopped) => End::Ours,
            end = self.read_headers(id, &client) => end,
        };
        drop(client);
        self.leave(id, &end);
        self.changes.note();
    }

    /// Whoever finds the connection missing finds it closed and its end noted.
    fn leave(&self, id: u64, end: &End) {
        let mut state = self.state();
        state.lanes.remove(&id);
        match end {
            End::Ours => {}
            End::Closed(0) | End::Broken => state.ends += 1,
            End::Closed(count) => {
                state.ends += 1;
                let problem = format!(
                    "data connection {id} closed after {count} of the {DATA_HEADER_BYTES} bytes of a header"
                );
                tracing::warn!("{problem}");
                state.problems.push(problem);
            }
        }
    }

    async fn read_headers(&self, id: u64, client: &TcpStream) -> End {
        let mut raw = [0; DATA_HEADER_BYTES];
        let mut filled = 0;
        loop {
            self.changes.until(|| self.is_idle(id).then_some(())).await;
            if client.readable().await.is_err() {
                return End::Broken;
            }
            // All under one lock: what is not in the kernel any more can be found in the state.
            let mut state = self.state();
            match client.try_read(&mut raw[filled..]) {
                Ok(0) => return End::Closed(filled),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return End::Broken,
            }
            if filled < raw.len() {
                continue;
            }
            filled = 0;
            state.arrive(id, raw);
            drop(state);
            self.changes.note();
        }
    }

    fn is_idle(&self, id: u64) -> bool {
        self.state().lanes.get(&id).is_some_and(|lane| !lane.busy)
    }

    /// The transfer of a connection is over: its next header may be read.
    pub(super) fn release(&self, id: u64) {
        if let Some(lane) = self.state().lanes.get_mut(&id) {
            lane.busy = false;
        }
        self.changes.note();
    }

    pub(super) fn client(&self, id: u64) -> Option<Arc<TcpStream>> {
        self.state().lanes.get(&id).map(|lane| lane.client.clone())
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> Vec<u64> {
        let state = self.state();
        let open = state.lanes.iter().filter(|(_, lane)| !is_hung_up(&lane.client));
        open.map(|(id, _)| *id).collect()
    }

    /// Returns when every connection that was made before this call was accepted, and each header that had been sent by
    /// then was read.
    pub(super) async fn settle(&self) -> Result<(), NetError> {
        self.probes.queue(self.data, &self.changes).await?;
        poll_until(|| {
            let state = self.state();
            let mut lanes = state.lanes.values();
            let rests = |lane: &Lane| lane.busy || unread_bytes(&lane.client) == 0;
            lanes.all(rests).then_some(())
        })
        .await;
        Ok(())
    }

    /// Ends connections and returns when they are closed.
    pub(super) async fn close(&self, ids: &[u64]) {
        for id in ids {
            if let Some(lane) = self.state().lanes.get(id) {
                lane.stop.send_replace(true);
            }
        }
        let is_closed = || {
            let state = self.state();
            ids.iter().all(|id| !state.lanes.contains_key(id))
        };
        self.changes.until(|| is_closed().then_some(())).await;
    }
}
