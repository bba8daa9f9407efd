//! The servers, each a process of its own.

use crate::Failure;
use crate::connection::Connection;
use crate::echo;
use crate::frames;
use crate::load::prove;
use crate::work::{BATCH_KEYS, Work};
use moonquake_native::process::PlainProcess;
use moonquake_protocol::Rpc;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Kind {
    /// `moonquake serve`.
    Ours,
    /// The unmodified `mooncake_master`.
    Real,
    /// An echo on tokio.
    EchoTokio,
    /// An echo on one thread that waits for all its connections at once.
    EchoPoll,
    /// An echo with a thread for each connection.
    EchoThreads,
}

impl Kind {
    /// In the order of a table.
    pub(crate) const ALL: [Kind; 5] = [
        Kind::Ours,
        Kind::Real,
        Kind::EchoTokio,
        Kind::EchoPoll,
        Kind::EchoThreads,
    ];

    /// For people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::Ours => "moonquake",
            Kind::Real => "real",
            Kind::EchoTokio => "echo, tokio",
            Kind::EchoPoll => "echo, poll",
            Kind::EchoThreads => "echo, threads",
        }
    }

    /// In JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Ours => "moonquake",
            Kind::Real => "real",
            Kind::EchoTokio => "echo_tokio",
            Kind::EchoPoll => "echo_poll",
            Kind::EchoThreads => "echo_threads",
        }
    }

    /// Whether it has objects.
    pub(crate) fn is_master(self) -> bool {
        matches!(self, Kind::Ours | Kind::Real)
    }
}

/// A running server with the segment mounted, and somebody who pings for it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) kind: Kind,
    process: PlainProcess,
    answer_bytes: BTreeMap<Rpc, usize>,
    // Ends when this is dropped, before the process does.
    keeper: Option<Keeper>,
}

impl Server {
    pub(crate) fn start(kind: Kind) -> Result<Server, Failure> {
        let process = match kind {
            Kind::Real => PlainProcess::master(&[])?,
            Kind::Ours => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_moonquake"));
                command.args(["serve", "--addr", "127.0.0.1:0"]);
                PlainProcess::announced(command)?
            }
            Kind::EchoTokio | Kind::EchoPoll | Kind::EchoThreads => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args([echo::ROLE, kind.name()]);
                PlainProcess::announced(command)?
            }
        };
        let mut connection = Connection::open(process.address())?;
        connection.call(&frames::mount())?;
        let keeper = kind.is_master().then(|| Keeper::start(connection));
        Ok(Server {
            kind,
            process,
            answer_bytes: BTreeMap::new(),
            keeper,
        })
    }

    /// Stores what reads will find, and makes each call once to see that it succeeds and how long its answer is.
    pub(crate) fn prove(&mut self, stored: usize) -> Result<(), Failure> {
        let mut connection = Connection::open(self.address())?;
        self.store(&mut connection, stored, || Ok(()))?;
        let calls = Work::ALL.iter().flat_map(|work| work.calls());
        for &rpc in calls.chain(&[Rpc::BatchRemove]) {
            let family = match rpc {
                Rpc::ExistKey | Rpc::GetReplicaList | Rpc::BatchExistKey | Rpc::BatchGetReplicaList => {
                    "kept-"
                }
                _ => "new-",
            };
            let keys: Vec<String> = (0..BATCH_KEYS)
                .map(|number| frames::key(family, number))
                .collect();
            let bytes = prove(&mut connection, rpc, &keys)?;
            self.answer_bytes.insert(rpc, bytes);
        }
        Ok(())
    }

    /// Stores objects in batches, as many as are asked for or a few more, and returns how many.
    pub(crate) fn store(
        &self,
        connection: &mut Connection,
        objects: usize,
        check: impl Fn() -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let batches = objects.div_ceil(BATCH_KEYS);
        for batch in 0..batches {
            check()?;
            let numbers = batch * BATCH_KEYS..(batch + 1) * BATCH_KEYS;
            let keys: Vec<String> = numbers.map(|number| frames::key("kept-", number)).collect();
            prove(connection, Rpc::BatchPutStart, &keys)?;
            prove(connection, Rpc::BatchPutEnd, &keys)?;
        }
        Ok(batches * BATCH_KEYS)
    }

    /// The length of the body of a good answer, once it is proven.
    pub(crate) fn answer_bytes(&self, rpc: Rpc) -> Option<usize> {
        self.answer_bytes.get(&rpc).copied()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// Processor time that it has used so far.
    pub(crate) fn cpu_time(&self) -> Result<Duration, Failure> {
        Ok(self.process.cpu_time()?)
    }

    /// Memory that it holds, in bytes.
    pub(crate) fn resident_bytes(&self) -> Result<u64, Failure> {
        Ok(self.process.resident_bytes()?)
    }

    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        self.keeper = None;
        Ok(self.process.stop()?)
    }
}

/// Pings each second: a client that falls silent loses its segment, and the objects with it.
#[derive(Debug)]
struct Keeper {
    quit: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    fn start(mut connection: Connection) -> Keeper {
        let (quit, quits) = channel::<()>();
        let thread = std::thread::spawn(move || {
            while quits.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                // A server that is gone fails the calls that are measured; they are what is told.
                let _ = connection.call(&frames::ping());
            }
        });
        Keeper {
            quit: Some(quit),
            thread: Some(thread),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.quit = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
