//! The life of a real client: start, readiness, heartbeat, freeze, end.

use super::names::Mounted;
use super::{LIMIT, MasterSide, RealClient, RealClients, buffers, support};
use crate::agent::{Agent, AgentOptions, Command, Setup};
use crate::process::{ClientPage, SleepKind, Sleeper};
use moonquake_client::Heartbeat;
use moonquake_clock::Clocks;
use moonquake_net::foreign::ForeignLink;
use moonquake_protocol::{Request, Uuid};
use moonquake_stage::{ClientStart, Identity, PortError, PortResult};
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// What the client's log says before its id. Mirrors `client_service.cpp:Client`.
const ID_MARK: &str = "client_id=";

/// How long nobody looks whether a process lives that should answer.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl<M: MasterSide> RealClients<M> {
    /// Starts a client, up to its MountSegment if it is a node, else until it is set up.
    pub(super) fn start(&mut self, start: &ClientStart) -> PortResult<Identity> {
        let actor = start.actor.as_str();
        self.master.open_link(actor)?;
        let client = self.spawn(start)?;
        self.clients.insert(actor.to_owned(), client);
        self.take(actor, "GetStorageConfig", None, |request| {
            matches!(request, Request::GetStorageConfig { .. })
        })
        .and_then(|taken| self.pass(actor, &taken))?;
        if start.memory.is_none() {
            self.end_setup(actor)?;
            let client_id = self.logged_id(actor)?;
            return Ok(Identity {
                client_id,
                segment: None,
            });
        }
        let taken = self.take(actor, "MountSegment", None, |request| {
            matches!(request, Request::MountSegment { .. })
        })?;
        let Request::MountSegment {
            segment, client_id, ..
        } = taken.request.clone()
        else {
            return Err(PortError(format!("{actor} mounts nothing")));
        };
        self.client(actor)?.early.push_back(taken);
        self.names.add(Mounted {
            actor: actor.to_owned(),
            home: start.home.clone(),
            segment: segment.clone(),
        });
        Ok(Identity {
            client_id,
            segment: Some(segment),
        })
    }

    fn spawn(&self, start: &ClientStart) -> PortResult<RealClient> {
        let page = ClientPage::create(start.clocks).map_err(PortError::new)?;
        let link = ForeignLink::listen(&self.net, &start.actor).map_err(PortError::new)?;
        let variables = page.environment(&self.library);
        let memory = self.memory_of(start.memory)?;
        let settings = support::settings(&self.plan.world.timeouts).map_err(PortError)?;
        let options = AgentOptions {
            arena_size: buffers::ARENA_BYTES,
            environment: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_string_lossy().into_owned()))
                .chain(settings.map(|(name, value)| (name.to_owned(), value)))
                .chain(support::checksums(&self.plan.world))
                // The waits between attempts to connect are drawn by each such thread for itself.
                .chain([("MC_RPC_CLIENT_IO_THREADS".to_owned(), "1".to_owned())])
                // Its id stands in a line of that level.
                .chain([("GLOG_minloglevel".to_owned(), "0".to_owned())])
                .collect(),
            inherit: std::iter::once(page.descriptor())
                .chain(memory.as_ref().map(AsRawFd::as_raw_fd))
                .collect(),
            ..AgentOptions::default()
        };
        let agent = Agent::start(&self.client, &options).map_err(PortError::new)?;
        let setup = Setup {
            local_buffer_size: start.staging_bytes,
            ..Setup::tcp(link.addr().to_string(), start.memory.unwrap_or(0))
        };
        page.log_sockets(true);
        let setup = agent.submit(&Command::Setup(setup)).map_err(PortError::new)?;
        Ok(RealClient {
            agent,
            page,
            memory,
            link,
            early: VecDeque::new(),
            setup: Some(setup),
            poll_slot: None,
            pinged: false,
            round: None,
            closing: false,
            frozen: false,
        })
    }

    /// The client says that it is set up.
    fn end_setup(&mut self, actor: &str) -> PortResult<()> {
        let client = self.client(actor)?;
        let Some(ticket) = client.setup.take() else {
            return Ok(());
        };
        let reply = client.agent.wait(&ticket, LIMIT).map_err(PortError::new)?;
        match reply.outcome.number() {
            Some(0) => Ok(()),
            _ => Err(PortError(format!(
                "{actor} could not be set up: {:?}. Its last words:\n{}",
                reply.outcome,
                client.agent.stderr_tail()
            ))),
        }
    }

    /// The id of a client that has told the master nothing yet stands in its log.
    fn logged_id(&mut self, actor: &str) -> PortResult<Uuid> {
        let agent = &self.client(actor)?.agent;
        let id = |log: &str| {
            let mut ids = log.lines().filter_map(|line| line.split_once(ID_MARK));
            ids.next().and_then(|(_, id)| id.trim().parse().ok())
        };
        agent.await_words(LIMIT, id).ok_or_else(|| {
            let log = agent.stderr_tail();
            PortError(format!("{actor} does not say its id in its log:\n{log}"))
        })
    }

    /// A node has mounted its segment: its `setup` ends, its two threads have begun, and the one that asks for tasks sleeps. The
    /// other waits for the answer to its first ping, so there is no doubt which is which, and each has made its call over a
    /// connection of its own.
    pub(super) fn ready(&mut self, actor: &str) -> PortResult<()> {
        if self.client(actor)?.setup.is_none() {
            return Ok(());
        }
        self.end_setup(actor)?;
        self.take(actor, "FetchTasks", None, |request| {
            matches!(request, Request::FetchTasks { .. })
        })
        .and_then(|taken| {
            self.await_ping(actor)?;
            self.pass(actor, &taken)
        })?;
        let client = self.client(actor)?;
        let sleepers = client
            .page
            .await_sleepers(|all| all.iter().any(is_periodic), LIMIT)
            .map_err(PortError::new)?;
        client.poll_slot = sleepers.iter().find(|one| is_periodic(one)).map(|one| one.slot);
        self.watch_segment(actor)
    }

    /// Lets the heartbeat thread go on, once for each round.
    pub(super) fn let_ping(&mut self, actor: &str, round: u64) -> PortResult<()> {
        self.all_live()?;
        let client = self.client(actor)?;
        if client.round.replace(round) == Some(round) {
            return Ok(());
        }
        let Some(poll_slot) = client.poll_slot else {
            return Err(PortError(format!("{actor} has no heartbeat yet")));
        };
        // The first ping comes by itself.
        if !std::mem::replace(&mut client.pinged, true) {
            return Ok(());
        }
        let pings = |one: &&Sleeper| is_periodic(one) && one.slot != poll_slot;
        let sleepers = client
            .page
            .await_sleepers(|all| all.iter().any(|one| pings(&one)), LIMIT)
            .map_err(PortError::new)?;
        if let Some(sleeper) = sleepers.iter().find(pings) {
            client.page.grant(sleeper.slot);
        }
        Ok(())
    }

    /// Sets its clocks, and lets its timers fire that are due.
    pub(super) fn set_clocks(&mut self, actor: &str, now: Clocks) -> PortResult<()> {
        self.all_live()?;
        self.await_standing(actor)?;
        let Some(client) = self.clients.get(actor) else {
            return Ok(());
        };
        client.page.set_clocks(now);
        let end = Instant::now() + LIMIT;
        // Of a process that ends meanwhile no word comes.
        while let Err(problem) = client.page.await_timers(LOOK_EVERY) {
            self.all_live()?;
            if Instant::now() >= end {
                return Err(PortError::new(problem));
            }
        }
        Ok(())
    }

    /// Stops or continues its process.
    pub(super) fn stop(&mut self, actor: &str, frozen: bool) -> PortResult<()> {
        let Some(client) = self.clients.get_mut(actor) else {
            return Ok(());
        };
        client.frozen = frozen;
        let done = if frozen {
            client.agent.freeze()
        } else {
            client.agent.resume()
        };
        done.map_err(PortError::new)
    }

    /// Waits until its process has ended by itself.
    pub(super) fn await_end(&mut self, actor: &str) -> PortResult<()> {
        let client = self.client(actor)?;
        let status = client.agent.wait_for_end(LIMIT).map_err(PortError::new)?;
        match status {
            Some(_) => Ok(()),
            None => Err(PortError(format!(
                "the unmodified client {actor} parts from its model, for which its process has ended: it lives"
            ))),
        }
    }

    /// Ends its process at once. Says how many of its connections to the master were seen closing.
    pub(super) fn kill(&mut self, actor: &str) -> PortResult<usize> {
        self.master.close_link(actor)?;
        let Some(mut client) = self.clients.remove(actor) else {
            return Ok(0);
        };
        client.agent.kill().map_err(PortError::new)?;
        *self.real_time.entry(actor.to_owned()).or_default() += client.page.real_time();
        self.faults.ends(actor);
        self.transfers.client_gone(actor)?;
        self.operations.retain(|_, operation| operation.actor != actor);
        self.messages.retain(|_, (other, _)| other != actor);
        self.buffers.forget(actor);
        self.sessions.forget(actor);
        self.streams.forget(actor);
        client.link.await_closed().map_err(PortError::new)
    }
}

/// Whether it is one of the two threads that sleep for a second.
pub(super) fn is_periodic(sleeper: &Sleeper) -> bool {
    sleeper.kind == SleepKind::Sleep && sleeper.requested == Heartbeat::period()
}

impl<M: MasterSide> RealClients<M> {
    /// What the process itself last read.
    pub(super) fn read_clocks(&mut self, actor: &str) -> PortResult<Option<Clocks>> {
        let Some(client) = self.clients.get(actor) else {
            return Ok(None);
        };
        client.agent.call(&Command::Clocks).map_err(PortError::new)?;
        let served = client.page.clocks_served();
        Ok(Some(Clocks {
            realtime: served.realtime.last,
            monotonic: served.monotonic.last,
        }))
    }

    /// Which client it is.
    pub(super) fn versions(&self, baseline: &mut moonquake_evidence::Baseline) {
        let client = format!(
            "mooncake store.so {}, CPython {}",
            crate::process::release::VERSION,
            self.client.python()
        );
        baseline.versions.insert("client".to_owned(), client);
        if let Some(hash) = self.client.store_sha256() {
            baseline
                .versions
                .insert("client sha256".to_owned(), hash.to_owned());
        }
    }
}
