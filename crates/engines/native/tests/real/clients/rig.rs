//! A master to talk to, and the real client with its buffers.

use moonquake_clock::{ClockSource, SystemClock};
use moonquake_master::{Master, MasterConfig};
use moonquake_native::agent::{Agent, AgentOptions, Command, Outcome, Range, Replication, Setup};
use moonquake_native::process::{Client, PlainProcess, Release};
use moonquake_net::{Rounds, ServerHandle, serve};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;

/// A master on the clock of this machine.
pub(crate) enum Host {
    /// The unmodified one.
    Real(PlainProcess),
    /// The Rust one, as `moonquake serve` serves it.
    Rust(ServerHandle),
}

/// Which master a [`Host`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Real,
    Rust,
}

impl Host {
    pub(crate) fn start(kind: Kind) -> Host {
        match kind {
            Kind::Real => Host::Real(PlainProcess::master(&[]).expect("the real master")),
            Kind::Rust => {
                let clock = Arc::new(SystemClock::new());
                let master = Master::new(MasterConfig::default(), clock.now()).expect("a master");
                let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                Host::Rust(serve(master, clock, anywhere, Rounds::ByTimer).expect("a free port"))
            }
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Host::Real(process) => process.address(),
            Host::Rust(server) => server.address(),
        }
    }
}

/// The client of the release.
pub(crate) fn client() -> Client {
    let release = Release::locate().unwrap_or_else(|problem| panic!("{problem}"));
    release.client().unwrap_or_else(|problem| panic!("{problem}"))
}

/// A process for a client that is not set up yet.
pub(crate) fn agent() -> Agent {
    Agent::start(&client(), &AgentOptions::default()).unwrap_or_else(|problem| panic!("{problem}"))
}

/// A client that is set up, with short words for what tests do with it.
pub(crate) struct Store {
    pub(crate) agent: Agent,
}

pub(crate) fn plain() -> Replication {
    Replication::default()
}

pub(crate) fn range(offset: u64, size: u64) -> Range {
    Range { offset, size }
}

pub(crate) fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Bytes that nobody else writes: they differ by seed and place.
pub(crate) fn pattern(seed: u64, length: u64) -> Vec<u8> {
    (0..length)
        .map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ seed.wrapping_mul(97)).to_le_bytes()[0])
        .collect()
}

impl Store {
    /// A client with a segment of that many bytes.
    pub(crate) fn with_segment(master: SocketAddr, segment: u64) -> Store {
        Store::set_up(Setup::tcp(master.to_string(), segment))
    }

    pub(crate) fn set_up(setup: Setup) -> Store {
        let store = Store { agent: agent() };
        assert_eq!(
            store.number(Command::Setup(setup)),
            0,
            "{}",
            store.agent.stderr_tail()
        );
        store
    }

    pub(crate) fn ask(&self, command: Command) -> Outcome {
        let reply = self.agent.call(&command);
        let reply = reply.unwrap_or_else(|problem| panic!("{command:?}: {problem}"));
        reply.outcome
    }

    /// What the client is called, `HOST:PORT`.
    pub(crate) fn name(&self) -> String {
        let outcome = self.ask(Command::GetHostname);
        let Outcome::Text(name) = outcome else {
            panic!("{outcome:?} is no name")
        };
        name
    }

    pub(crate) fn number(&self, command: Command) -> i64 {
        let outcome = self.ask(command);
        outcome
            .number()
            .unwrap_or_else(|| panic!("{outcome:?} is no number"))
    }

    pub(crate) fn numbers(&self, command: Command) -> Vec<i64> {
        let outcome = self.ask(command);
        let numbers = outcome.numbers();
        numbers
            .unwrap_or_else(|| panic!("{outcome:?} are no numbers"))
            .to_vec()
    }

    pub(crate) fn fill(&self, range: Range, seed: u64) {
        let bytes = pattern(seed, range.size);
        self.agent
            .arena()
            .write(range.offset, &bytes)
            .expect("room in the arena");
    }

    pub(crate) fn bytes(&self, range: Range) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(range.size).expect("a size")];
        self.agent
            .arena()
            .read(range.offset, &mut bytes)
            .expect("in the arena");
        bytes
    }

    /// Whether the range has the pattern, told shortly.
    pub(crate) fn has(&self, range: Range, seed: u64) -> bool {
        self.bytes(range) == pattern(seed, range.size)
    }

    pub(crate) fn register(&self, buffer: Range) {
        assert_eq!(self.number(Command::RegisterBuffer { buffer }), 0);
    }

    pub(crate) fn put(&self, key: &str, value: Range) -> i64 {
        self.number(Command::Put {
            key: key.to_owned(),
            value,
            config: plain(),
        })
    }

    /// Staged get; the length that came.
    pub(crate) fn get(&self, key: &str, into: Range) -> u64 {
        let outcome = self.ask(Command::Get {
            key: key.to_owned(),
            into,
        });
        outcome
            .length()
            .unwrap_or_else(|| panic!("{outcome:?} is no length"))
    }

    pub(crate) fn put_from(&self, key: &str, buffer: Range) -> i64 {
        self.number(Command::PutFrom {
            key: key.to_owned(),
            buffer,
            config: plain(),
        })
    }

    pub(crate) fn get_into(&self, key: &str, buffer: Range) -> i64 {
        self.number(Command::GetInto {
            key: key.to_owned(),
            buffer,
        })
    }

    pub(crate) fn is_exist(&self, key: &str) -> i64 {
        self.number(Command::IsExist { key: key.to_owned() })
    }

    pub(crate) fn remove(&self, key: &str, force: bool) -> i64 {
        self.number(Command::Remove {
            key: key.to_owned(),
            force,
        })
    }

    pub(crate) fn close(&self) {
        assert_eq!(self.number(Command::Close), 0);
    }
}
