//! The command line, and Ctrl-C.

use crate::Failure;
use crate::servers::Kind;
use crate::work::Work;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Measures the served master beside the real one and beside echoes, in one run.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "served")]
pub(crate) struct Args {
    /// Rounds of each cell; each has a turn of every server
    #[arg(long, default_value_t = 15, value_name = "N")]
    pub(crate) rounds: usize,
    /// Operations of one turn with single keys, over all connections
    #[arg(long, default_value_t = 6_000, value_name = "N")]
    pub(crate) singles: usize,
    /// Batches of one turn, over all connections
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub(crate) batches: usize,
    /// Objects that reads find, drawn at random
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    pub(crate) stored: usize,
    /// Numbers of connections
    #[arg(long, default_value = "1,4,16", value_delimiter = ',', value_name = "N,...")]
    pub(crate) connections: Vec<usize>,
    /// Servers
    #[arg(long, value_enum, default_values_t = Kind::ALL, value_delimiter = ',', value_name = "S,...")]
    pub(crate) servers: Vec<Kind>,
    /// Kinds of operations
    #[arg(long, value_enum, default_values_t = Work::ALL, value_delimiter = ',', value_name = "W,...")]
    pub(crate) work: Vec<Work>,
    /// Measure memory instead: with that many objects with keys of 32 bytes, such as 1000000
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) objects: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whether somebody asked the measurement to end. Looked at between turns, so that every server is stopped in order; a
/// second signal ends the program at once, and the kernel the servers with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Stop, Failure> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 128 + signal, stop.0.clone())?;
            flag::register(signal, stop.0.clone())?;
        }
        Ok(stop)
    }

    /// An error if somebody asked.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.0.load(Ordering::Relaxed) {
            true => Err("stopped by a signal".into()),
            false => Ok(()),
        }
    }
}
