//! The ports of the stage, filled with unmodified C++ clients: each a process of its own, under a page of its own.
//!
//! The Rust machine of the client predicts; here the real client must do the same: send that request next ([`calls`]), move
//! those bytes ([`transfers`]), report a result ([`verbs`]). What goes on is what it really sent and moved. If it does something
//! else, the run ends and says what was expected and what came instead: that is a difference between the client and its model.
//!
//! Behind it stands any master ([`MasterSide`]): the unmodified one (engine `native`) or the Rust one (engine `hosted`). A step that is
//! one RPC under its own name is spoken by the harness under the client's id, as no call of the client's API is that RPC; those of a
//! put session that the client itself writes are calls of its session API ([`sessions`]). What the start of a copy or move hands out no
//! call of the API writes: the harness does ([`spoken`]).

mod accesses;
mod buffers;
mod calls;
mod connections;
mod credit;
mod ended;
mod faults;
mod life;
mod master;
mod names;
pub(crate) mod plant;
mod ports;
mod segments;
mod sessions;
mod spoken;
mod standing;
mod streams;
mod support;
mod taking;
mod tasks;
mod transfers;
mod verbs;
mod watched;

pub(crate) use ended::ended_by_itself;
pub(crate) use master::MasterSide;
pub(crate) use support::unsupported;

use crate::agent::{Agent, Reply, Ticket};
use crate::process::{Client, ClientPage, RealTime};
use buffers::Buffers;
use faults::Faults;
use moonquake_net::Net;
use moonquake_net::foreign::{ForeignLink, ForeignMessage, Taken};
use moonquake_scenario::{Plan, Verb};
use moonquake_stage::{PortError, PortResult};
use names::Names;
use sessions::Sessions;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;
use streams::Streams;
use transfers::Transfers;

/// How long a real client may take in real time for what is expected of it next. Virtual time has no part in it.
const LIMIT: Duration = Duration::from_secs(10);

/// One real client.
struct RealClient {
    agent: Agent,
    page: ClientPage,
    /// What lies under its segment, if that is watched.
    memory: Option<File>,
    link: ForeignLink,
    /// Requests that were looked at before the stage asked for them.
    early: VecDeque<Taken>,
    /// Its `setup`, while that is under way.
    setup: Option<Ticket>,
    /// The sleeping place of the thread that asks for tasks; it is let through when a step says so.
    poll_slot: Option<usize>,
    /// Whether its heartbeat has begun.
    pinged: bool,
    /// The round of its heartbeat that was let through last: what that sends after its first ping it sends by itself.
    round: Option<u64>,
    /// It closes: whatever it still sends by itself is answered.
    closing: bool,
    /// Its process is stopped.
    frozen: bool,
}

/// An operation of a step.
struct Operation {
    actor: String,
    verb: Verb,
    key: String,
    /// Its call; none if it is spoken by the harness, or if it is none.
    ticket: Option<Ticket>,
    /// The client does it by itself, in threads of its own.
    by_itself: bool,
    /// What that has returned, if it was looked at before the stage asked for it.
    reply: Option<Reply>,
    /// What its client did before the call, until it is seen to have begun.
    before: Option<taking::Signs>,
    /// Whether a transfer of it was opened, and whether it was seen to wait for that.
    moves: bool,
    pace: standing::Pace,
    /// The caller's buffer that it uses, if it has a name.
    buffer: Option<String>,
    /// Where a staged value lies, and those of a batch.
    values: Vec<crate::agent::Range>,
    /// Its result is told; its values are looked at until the client begins something else.
    over: bool,
}

impl Operation {
    /// Whether the harness speaks it under the client's name.
    fn is_spoken(&self) -> bool {
        self.ticket.is_none() && !self.by_itself
    }
}

/// All real clients of a run, and the master that they speak to.
pub(crate) struct RealClients<M> {
    master: M,
    net: Net,
    client: Client,
    library: PathBuf,
    plan: Plan,
    clients: BTreeMap<String, RealClient>,
    names: Names,
    operations: BTreeMap<u64, Operation>,
    /// Where the request of a message came from; none for one that is spoken by the harness.
    messages: BTreeMap<u64, (String, ForeignMessage)>,
    transfers: Transfers,
    streams: Streams,
    faults: Faults,
    plant: Option<plant::Planting>,
    buffers: Buffers,
    sessions: Sessions,
    /// What clients that are gone did in real time.
    real_time: BTreeMap<String, RealTime>,
}

impl<M: MasterSide> RealClients<M> {
    /// No client yet; each is started by the stage.
    pub(crate) fn new(master: M, net: Net, client: Client, library: PathBuf, plan: &Plan) -> RealClients<M> {
        RealClients {
            master,
            client,
            library,
            plan: plan.clone(),
            clients: BTreeMap::new(),
            sessions: Sessions::of(plan),
            names: Names::default(),
            operations: BTreeMap::new(),
            messages: BTreeMap::new(),
            transfers: Transfers::new(net.clone()),
            streams: Streams::default(),
            faults: Faults::default(),
            plant: None,
            buffers: Buffers::default(),
            real_time: BTreeMap::new(),
            net,
        }
    }

    fn client(&mut self, actor: &str) -> PortResult<&mut RealClient> {
        self.clients
            .get_mut(actor)
            .ok_or_else(|| PortError(format!("{actor} has no process")))
    }
}
