//! Clients and nodes: alive, frozen or gone, with what they keep between operations.

use crate::clients::{ClientStart, Identity};
use crate::operations::Running;
use crate::ports::Ports;
use crate::sessions::GetSessions;
use crate::setup::{FIRST_BASE, INSTANCE_STRIDE, SEGMENT_STRIDE};
use crate::state::{Stage, Staged};
use moonquake_client::{
    ClientConfig, Heartbeat, MasterPool, Mount, Outcome, PutSession, QueuedTask, Remount,
};
use moonquake_evidence::{Change, Kind, Observer};
use moonquake_protocol::{Segment, Uuid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A client or node.
pub(crate) struct Actor {
    pub(crate) config: ClientConfig,
    pub(crate) alive: bool,
    pub(crate) frozen: bool,
    /// Its caller has closed it: the process lives, and no client is in it.
    pub(crate) closed: bool,
    /// How many instances there were; a restart makes a new one under a new id.
    pub(crate) instance: u64,
    /// The capacity in bytes of its segment, if it is a node.
    pub(crate) memory: Option<u64>,
    /// The name of its segment: its own, with the number of the instance from the second on.
    pub(crate) home: String,
    /// Its own segments, mounted or not.
    pub(crate) segments: Vec<Segment>,
    /// Those of them that a remount brings back: what it unmounted, at once or with grace, is not among them. Mirrors
    /// `client_service.cpp:mounted_segments_`.
    pub(crate) mounted: BTreeSet<Uuid>,
    pub(crate) heartbeat: Option<Heartbeat>,
    /// Its idle connections to the master.
    pub(crate) pool: MasterPool,
    pub(crate) put_sessions: BTreeMap<usize, PutSession>,
    pub(crate) get_sessions: GetSessions,
    /// What it has fetched and not begun, or not got done.
    pub(crate) tasks: VecDeque<QueuedTask>,
    /// The latest attempt of each key: the step and the first replica id.
    pub(crate) attempts: BTreeMap<String, (usize, u64)>,
}

impl Actor {
    pub(crate) fn mounted_segments(&self) -> Vec<Segment> {
        let mounted = |segment: &&Segment| self.mounted.contains(&segment.id);
        self.segments.iter().filter(mounted).cloned().collect()
    }
}

/// What a client does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    /// It mounts its segment when it starts.
    Mount,
    /// A round of its heartbeat.
    Ping,
    /// It mounts its segments again because a ping said so.
    Remount,
}

/// Where the segment of one instance of a node lies.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) segment: String,
    pub(crate) node: String,
    /// What descriptors call it.
    pub(crate) endpoint: String,
    pub(crate) base: u64,
    pub(crate) size: u64,
}

impl<P: Ports> Stage<'_, P> {
    /// Whether the actor can act now.
    pub(crate) fn acts(&self, name: &str) -> bool {
        self.actors
            .get(name)
            .is_some_and(|actor| actor.alive && !actor.frozen)
    }

    /// Brings a client or node to life: a new id, and for a node fresh memory, mounted.
    pub(crate) fn start_actor(&mut self, name: &str, index: usize) -> Staged<()> {
        let Some(actor) = self.actors.get_mut(name) else {
            return Ok(());
        };
        actor.instance += 1;
        actor.alive = true;
        actor.frozen = false;
        actor.closed = false;
        let place = index as u64 + 1;
        actor.config.client_id = Uuid {
            first: place,
            second: actor.instance,
        };
        if actor.instance > 1 {
            actor.home = format!("{name}.{}", actor.instance);
        }
        let (instance, memory, staging_bytes) = (actor.instance, actor.memory, actor.config.staging_bytes);
        let home = actor.home.clone();
        self.note(name, Observer::Timeline, None, started(instance));
        self.greet(name);
        let start = ClientStart {
            actor: name.to_owned(),
            home: home.clone(),
            memory,
            staging_bytes,
            clocks: self.clocks(name),
        };
        if let Some(identity) = self.ports.start_client(&start)? {
            return self.start_real(name, &home, identity);
        }
        self.ports.open_link(name)?;
        let Some(size) = memory else { return Ok(()) };
        let base = FIRST_BASE + index as u64 * SEGMENT_STRIDE + (instance - 1) * INSTANCE_STRIDE;
        let te_endpoint = self.ports.start_owner(&home, base, size)?;
        let segment = Segment {
            id: Uuid {
                first: 0x5e67_0000 + place,
                second: instance,
            },
            name: home.clone(),
            base,
            size,
            te_endpoint,
            protocol: "tcp".to_owned(),
            host_id: String::new(),
        };
        self.mount_first(name, home, segment)
    }

    /// A client that is a process of its own has said who it is.
    fn start_real(&mut self, name: &str, home: &str, identity: Identity) -> Staged<()> {
        if let Some(actor) = self.actors.get_mut(name) {
            actor.config.client_id = identity.client_id;
        }
        match identity.segment {
            Some(segment) => self.mount_first(name, home.to_owned(), segment),
            None => Ok(self.ports.client_ready(name)?),
        }
    }

    /// A node mounts its segment when it starts.
    fn mount_first(&mut self, name: &str, home: String, segment: Segment) -> Staged<()> {
        self.places.push(Placed {
            segment: home,
            node: name.to_owned(),
            endpoint: segment.te_endpoint.clone(),
            base: segment.base,
            size: segment.size,
        });
        let mut client_id = Uuid::default();
        if let Some(actor) = self.actors.get_mut(name) {
            client_id = actor.config.client_id;
            actor.config.local_endpoints = vec![segment.te_endpoint.clone()];
            actor.segments = vec![segment.clone()];
            actor.mounted = BTreeSet::from([segment.id]);
        }
        let mount = Mount::new(client_id, vec![segment]);
        self.begin_background(name, Chore::Mount, Box::new(mount))?;
        self.settle()
    }

    /// The first mount of a client is over: if it was answered well, the heartbeat begins, with a ping at once. Mirrors
    /// `client_service.cpp:MountSegment`, which starts its thread then.
    pub(crate) fn mount_over(&mut self, name: &str, outcome: &Outcome) -> Staged<()> {
        self.ports.client_ready(name)?;
        let now = self.clocks(name);
        self.connect_poll(name);
        let Some(actor) = self.actors.get_mut(name).filter(|_| *outcome == Outcome::Ok) else {
            return Ok(());
        };
        let heartbeat = actor.heartbeat.insert(Heartbeat::new(now));
        let round = heartbeat.round(actor.config.client_id);
        self.begin_background(name, Chore::Ping, Box::new(round))
    }

    /// Begins a round of the heartbeat.
    pub(crate) fn ping(&mut self, name: &str) -> Staged<()> {
        let Some(actor) = self.actors.get(name) else {
            return Ok(());
        };
        let Some(heartbeat) = &actor.heartbeat else {
            return Ok(());
        };
        let round = heartbeat.round(actor.config.client_id);
        self.begin_background(name, Chore::Ping, Box::new(round))?;
        self.settle()
    }

    /// A round of the heartbeat is over. The remount that it asks for runs beside the next pings.
    pub(crate) fn ping_over(&mut self, id: u64, ping: &Running, outcome: &Outcome) -> Staged<()> {
        let (name, now) = (ping.actor.as_str(), self.clocks(&ping.actor));
        let Some(actor) = self.actors.get_mut(name) else {
            return Ok(());
        };
        if let Some(heartbeat) = &mut actor.heartbeat {
            heartbeat.rest(now, ping.machine.failed_pings());
        }
        if outcome.is_failure() {
            self.ports.ping_failed(name)?;
        }
        let Some(actor) = self.actors.get(name) else {
            return Ok(());
        };
        let is_remount = |running: &Running| running.actor == name && running.chore == Some(Chore::Remount);
        if *outcome != Outcome::NeedRemount || self.running.values().any(is_remount) {
            return Ok(());
        }
        let remount = Remount::new(actor.config.client_id, actor.mounted_segments());
        self.go_on_in_background(id, name, Chore::Remount, Box::new(remount))
    }

    /// The actor is gone at once; nothing is cleaned up.
    pub(crate) fn kill_actor(&mut self, name: &str) -> Staged<()> {
        let Some(actor) = self.actors.get_mut(name) else {
            return Ok(());
        };
        actor.alive = false;
        actor.heartbeat = None;
        actor.put_sessions.clear();
        actor.get_sessions.forget();
        actor.tasks.clear();
        actor.attempts.clear();
        let home = actor.memory.map(|_| actor.home.clone());
        let closed = self.ports.close_link(name)?;
        let detail = format!("{closed} connections to the master closed");
        // Of a client that never spoke nobody but the injector knows that it is gone.
        let observer = if closed > 0 {
            Observer::Link
        } else {
            Observer::Injector
        };
        self.note(
            name,
            observer,
            None,
            Kind::Actor {
                change: Change::Killed,
                detail,
            },
        );
        self.close_transfers_of(name)?;
        self.forget_lanes(name);
        self.buffers.staging.forget(name);
        self.buffers.registered.retain(|(client, _)| client != name);
        if let Some(home) = home {
            self.ports.kill_owner(&home)?;
        }
        self.end_operations_of(name)
    }

    /// The actor stands still, or goes on.
    pub(crate) fn freeze(&mut self, name: &str, frozen: bool) -> Staged<()> {
        if name == "master" {
            return self.freeze_master(frozen);
        }
        let Some(actor) = self.actors.get_mut(name) else {
            return Ok(());
        };
        actor.frozen = frozen;
        self.ports.freeze_client(name, frozen)?;
        if !frozen {
            self.set_client_clocks(name)?;
        }
        let Some(actor) = self.actors.get(name) else {
            return Ok(());
        };
        if actor.memory.is_some() {
            let home = actor.home.clone();
            self.ports.freeze_owner(&home, frozen)?;
            self.log_owners()?;
        }
        Ok(())
    }

    fn freeze_master(&mut self, frozen: bool) -> Staged<()> {
        if !self.master_up || self.master_frozen == frozen {
            return Ok(());
        }
        let detail = self.ports.freeze_master(frozen)?;
        self.master_frozen = frozen;
        let change = if frozen { Change::Frozen } else { Change::Resumed };
        self.note("master", Observer::Master, None, Kind::Actor { change, detail });
        Ok(())
    }

    /// The place of an actor in the file: nodes first, then clients.
    pub(crate) fn place_of(&self, name: &str) -> usize {
        let world = &self.plan.world;
        let nodes = world.segments.iter().map(|(node, _)| node);
        nodes
            .chain(&world.clients)
            .position(|actor| actor == name)
            .unwrap_or(0)
    }
}

fn started(instance: u64) -> Kind {
    Kind::Actor {
        change: Change::Started,
        detail: format!("instance {instance}"),
    }
}
