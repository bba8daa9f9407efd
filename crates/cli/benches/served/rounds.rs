//! Rounds in which every server has its turn with every kind of work.

use crate::Failure;
use crate::args::{Args, Stop};
use crate::connection::Connection;
use crate::load::{Keys, Load};
use crate::servers::{Kind, Server};
use crate::work::{BATCH_KEYS, Work};
use moonquake_protocol::Rpc;

/// What a turn of one server came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) kind: Kind,
    pub(crate) work: Work,
    pub(crate) connections: usize,
    /// Of the servers' turns in one round, which stand beside each other.
    pub(crate) round: usize,
    /// Processor time of the server for a key, in microseconds.
    pub(crate) cpu_us: f64,
    /// Keys a second.
    pub(crate) rate: f64,
}

/// Starts the servers, measures and stops them.
pub(crate) fn measure(args: &Args, stop: &Stop) -> Result<Vec<Sample>, Failure> {
    let mut servers = Vec::new();
    for &kind in &args.servers {
        let mut server = Server::start(kind)?;
        server.prove(args.stored)?;
        servers.push(server);
    }
    let mut samples = Vec::new();
    for &connections in &args.connections {
        measure_at(args, connections, &servers, stop, &mut samples)?;
    }
    for server in servers {
        server.stop()?;
    }
    Ok(samples)
}

/// All rounds with one number of connections.
fn measure_at(
    args: &Args,
    connections: usize,
    servers: &[Server],
    stop: &Stop,
    samples: &mut Vec<Sample>,
) -> Result<(), Failure> {
    let connections = connections.max(1);
    let mut open: Vec<Vec<Connection>> = servers
        .iter()
        .map(|server| {
            (0..connections)
                .map(|_| Connection::open(server.address()))
                .collect()
        })
        .collect::<Result<_, _>>()?;
    let plans: Vec<Plan> = args
        .work
        .iter()
        .map(|&work| Plan::new(args, work, connections))
        .collect();
    // The first round warms up.
    for round in 0..=args.rounds {
        for plan in &plans {
            for turn in 0..servers.len() {
                stop.check()?;
                // Nobody is always the first after another kind of work, or always behind the same neighbour.
                let at = (turn + round) % servers.len();
                let sample = plan.turn(&servers[at], &mut open[at], round)?;
                if round > 0 {
                    samples.push(sample);
                }
            }
        }
        eprintln!("{connections} connections: round {round} of {}", args.rounds);
    }
    Ok(())
}

/// A kind of work with what has to come before and after it, which is not measured.
struct Plan {
    work: Work,
    connections: usize,
    before: Option<Load>,
    measured: Load,
    after: Option<Load>,
}

impl Plan {
    fn new(args: &Args, work: Work, connections: usize) -> Plan {
        let operations = match work.keys() {
            1 => args.singles,
            _ => args.batches,
        };
        let load = |work| Load::of(work, connections, operations, args.stored);
        let clear = || {
            Load::new(
                &[Rpc::BatchRemove],
                BATCH_KEYS,
                connections,
                operations,
                Keys::Own,
            )
        };
        Plan {
            work,
            connections,
            before: (work == Work::Remove).then(|| load(Work::Put)),
            measured: load(work),
            after: match work {
                Work::Put => Some(load(Work::Remove)),
                Work::BatchPut => Some(clear()),
                _ => None,
            },
        }
    }

    fn turn(&self, server: &Server, open: &mut [Connection], round: usize) -> Result<Sample, Failure> {
        if let Some(before) = &self.before {
            before.turn(server, open)?;
        }
        let turn = self.measured.turn(server, open)?;
        if let Some(after) = &self.after {
            after.turn(server, open)?;
        }
        let keys = turn.keys as f64;
        Ok(Sample {
            kind: server.kind,
            work: self.work,
            connections: self.connections,
            round,
            cpu_us: turn.cpu.as_secs_f64() * 1e6 / keys,
            rate: keys / turn.wall.as_secs_f64(),
        })
    }
}
