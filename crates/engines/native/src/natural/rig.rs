//! The actors of a natural form: a master, an owner of memory, and clients with or without a proxy.

use super::error::NaturalError;
use super::look::{Census, Whose};
use super::wire::Wire;
use crate::agent::{Agent, AgentOptions, Command, Outcome, Range, Replication, Setup, Ticket};
use crate::process::{Client, PlainProcess, Release};
use moonquake_clock::{ClockSource, SystemClock};
use moonquake_master::{Master, MasterConfig};
use moonquake_net::foreign::Rule;
use moonquake_net::{Net, Rounds, ServerHandle, serve};
use moonquake_scenario::{EngineKind, Interrupt, Seen, SeenId};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) const MIB: u64 = 1 << 20;
/// The object of the findings.
pub(super) const OBJECT: Range = Range {
    offset: 0,
    size: 64 * MIB,
};
/// The only buffer of every caller lies here.
const ARENA_BYTES: u64 = 64 * MIB;
/// How often it is looked whether the end was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Real time that a step of a socket may take.
const STEP_LIMIT: Duration = Duration::from_secs(20);

/// A master on the clock of this machine.
enum Host {
    Real(PlainProcess),
    Ours(ServerHandle),
}

/// Everything of one run.
pub(super) struct Rig {
    began: Instant,
    seen: Vec<Seen>,
    interrupt: Interrupt,
    client: Client,
    net: Net,
    environment: Vec<(String, String)>,
    host: Option<Host>,
    master: SocketAddr,
    pub(super) engine: EngineKind,
}

/// One client.
pub(super) struct Actor {
    pub(super) name: &'static str,
    pub(super) agent: Agent,
    pub(super) wire: Option<Wire>,
}

impl Rig {
    /// A master, and nobody else.
    pub(super) fn start(
        engine: EngineKind,
        interrupt: &Interrupt,
        with_checksums: bool,
    ) -> Result<Rig, NaturalError> {
        let host = if engine == EngineKind::Native {
            Host::Real(PlainProcess::master(&[])?)
        } else {
            let clock = Arc::new(SystemClock::new());
            let master = Master::new(MasterConfig::default(), clock.now());
            let master = master.map_err(|why| setup("a master", &why.to_string()))?;
            let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            Host::Ours(serve(master, clock, anywhere, Rounds::ByTimer)?)
        };
        let master = match &host {
            Host::Real(process) => process.address(),
            Host::Ours(server) => server.address(),
        };
        let checksums = ("MOONCAKE_STORE_CHECKSUM".to_owned(), "1".to_owned());
        Ok(Rig {
            began: Instant::now(),
            seen: Vec::new(),
            interrupt: interrupt.clone(),
            client: Release::locate()?.client()?,
            net: Net::background(STEP_LIMIT)?,
            environment: with_checksums.then_some(checksums).into_iter().collect(),
            host: Some(host),
            master,
            engine,
        })
    }

    /// What was seen, at the end.
    pub(super) fn into_seen(self) -> Vec<Seen> {
        self.seen
    }

    /// Time since the run began.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Notes something, seen at a time.
    pub(super) fn note_at(&mut self, at: Duration, observer: &str, what: impl Into<String>) -> SeenId {
        self.seen.push(Seen {
            at,
            observer: observer.to_owned(),
            what: what.into(),
        });
        SeenId(self.seen.len())
    }

    /// Notes something, seen now.
    pub(super) fn note(&mut self, observer: &str, what: impl Into<String>) -> SeenId {
        self.note_at(self.now(), observer, what)
    }

    /// A client with a segment of that many bytes (0: none), behind a proxy if there is a rule for its traffic with `owner`.
    pub(super) fn actor(
        &mut self,
        name: &'static str,
        segment: u64,
        rule: Option<(Rule, SocketAddr)>,
    ) -> Result<Actor, NaturalError> {
        self.go_on()?;
        let wire = match rule {
            None => None,
            Some((rule, owner)) => {
                let ends = (self.master, owner);
                Some(Wire::start(&self.net, (name, rule), ends, self.began)?)
            }
        };
        let master = wire.as_ref().map_or(self.master, Wire::address);
        let options = AgentOptions {
            arena_size: ARENA_BYTES,
            environment: self.environment.clone(),
            ..AgentOptions::default()
        };
        let agent = Agent::start(&self.client, &options)?;
        let actor = Actor { name, agent, wire };
        actor.must(&Command::Setup(Setup::tcp(master.to_string(), segment)))?;
        Ok(actor)
    }

    /// A client that owns a segment, and where its handshakes are taken.
    pub(super) fn owner(&mut self, segment: u64) -> Result<(Actor, SocketAddr), NaturalError> {
        let owner = self.actor("n1", segment, None)?;
        // Its name is not where its handshakes are taken; what the master tells of an object of its own is.
        let probe = "where".to_owned();
        owner.must(&Command::Put {
            key: probe.clone(),
            value: Range {
                offset: 0,
                size: 1_024,
            },
            config: Replication::default(),
        })?;
        let told = owner
            .agent
            .call(&Command::GetReplicaDesc { key: probe.clone() })?;
        let place = match &told.outcome {
            Outcome::Replicas(replicas) => replicas.first().map(|replica| replica.place.clone()),
            _ => None,
        };
        let place = place.ok_or_else(|| setup("the place of n1", &format!("{:?}", told.outcome)))?;
        let address = place.parse().map_err(|_| setup("the place of n1", &place))?;
        owner.must(&Command::Remove {
            key: probe,
            force: true,
        })?;
        Ok((owner, address))
    }

    /// The master ends at once.
    pub(super) fn kill_master(&mut self) -> Result<SeenId, NaturalError> {
        match self.host.take() {
            Some(Host::Real(process)) => {
                let status = process.kill()?;
                Ok(self.note("master", format!("it is gone: {status}")))
            }
            Some(Host::Ours(mut server)) => {
                server.stop()?;
                Ok(self.note("master", "its listener and all its connections are closed"))
            }
            None => Err(setup("a master", "none")),
        }
    }

    /// Waits for the answer of a call, as long as nobody asks for the end, and says when it came.
    pub(super) fn answer(
        &self,
        actor: &Actor,
        ticket: &Ticket,
        limit: Duration,
    ) -> Result<(i64, Duration), NaturalError> {
        let until = Instant::now() + limit;
        loop {
            match actor.agent.wait(ticket, LOOK_EVERY) {
                Ok(reply) => {
                    let at = self.now();
                    let number = reply.outcome.number();
                    let number = number.ok_or_else(|| setup("a call", &format!("{:?}", reply.outcome)));
                    return Ok((number?, at));
                }
                Err(crate::agent::AgentError::Limit { .. }) if Instant::now() < until => {}
                Err(error) => return Err(error.into()),
            }
            self.go_on()?;
            actor.check()?;
        }
    }

    /// Waits until something holds.
    pub(super) fn until(
        &self,
        what: &str,
        limit: Duration,
        holds: impl Fn() -> bool,
    ) -> Result<(), NaturalError> {
        let until = Instant::now() + limit;
        while !holds() {
            self.go_on()?;
            if Instant::now() >= until {
                return Err(NaturalError::Limit {
                    what: what.to_owned(),
                    limit,
                });
            }
            self.rest();
        }
        Ok(())
    }

    /// Nothing tells of a change in another process's memory, so it is looked at again.
    fn rest(&self) {
        std::thread::sleep(LOOK_EVERY);
    }

    fn go_on(&self) -> Result<(), NaturalError> {
        if self.interrupt.is_asked() {
            return Err(NaturalError::Interrupted);
        }
        Ok(())
    }

    /// What lies in a buffer that should be of `owner`, once two looks a tenth of a second apart agree.
    pub(super) fn census(&self, actor: &Actor, range: Range, owner: Whose) -> Result<Census, NaturalError> {
        let mut last = actor.census(range, owner)?;
        loop {
            self.go_on()?;
            self.rest();
            self.rest();
            let next = actor.census(range, owner)?;
            if next == last {
                return Ok(next);
            }
            last = next;
        }
    }
}

impl Actor {
    /// The proxy, which this client has.
    pub(super) fn wire(&self) -> Result<&Wire, NaturalError> {
        self.wire.as_ref().ok_or_else(|| setup("a proxy", "none"))
    }

    fn check(&self) -> Result<(), NaturalError> {
        self.wire.as_ref().map_or(Ok(()), Wire::check)
    }

    /// The number that a call gives.
    pub(super) fn number(&self, command: &Command) -> Result<i64, NaturalError> {
        let outcome = self.agent.call(command)?.outcome;
        outcome
            .number()
            .ok_or_else(|| setup(&format!("{command:?}"), &format!("{outcome:?}")))
    }

    /// A call that must give 0.
    pub(super) fn must(&self, command: &Command) -> Result<(), NaturalError> {
        match self.number(command)? {
            0 => Ok(()),
            other => Err(setup(
                &format!("{} of {command:?}", self.name),
                &other.to_string(),
            )),
        }
    }

    /// The caller writes its buffer.
    pub(super) fn fill(&self, range: Range, whose: Whose) -> Result<(), NaturalError> {
        Ok(self.agent.arena().write(range.offset, &whose.bytes(range.size))?)
    }

    /// Registers the buffer.
    pub(super) fn register(&self, buffer: Range) -> Result<(), NaturalError> {
        self.must(&Command::RegisterBuffer { buffer })
    }

    /// Registers, fills and writes the buffer, zero-copy; it must go well.
    pub(super) fn put_all(&self, key: &str, buffer: Range, whose: Whose) -> Result<(), NaturalError> {
        self.fill(buffer, whose)?;
        self.register(buffer)?;
        self.must(&put_from(key, buffer))
    }

    fn census(&self, range: Range, owner: Whose) -> Result<Census, NaturalError> {
        let mut bytes = vec![0; usize::try_from(range.size).unwrap_or(usize::MAX)];
        self.agent.arena().read(range.offset, &mut bytes)?;
        Ok(Census::of(&bytes, owner))
    }
}

/// A zero-copy write.
pub(super) fn put_from(key: &str, buffer: Range) -> Command {
    Command::PutFrom {
        key: key.to_owned(),
        buffer,
        config: Replication::default(),
    }
}

/// A zero-copy read.
pub(super) fn get_into(key: &str, buffer: Range) -> Command {
    Command::GetInto {
        key: key.to_owned(),
        buffer,
    }
}

/// What must be there before anything is injected is not.
pub(super) fn setup(what: &str, got: &str) -> NaturalError {
    NaturalError::Setup {
        what: what.to_owned(),
        got: got.to_owned(),
    }
}
