//! `moonquake serve`.

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::{self, Out};
use moonquake_clock::SystemClock;
use moonquake_faults::Profile;
use moonquake_faults::failpoint::Guard;
use moonquake_master::{Master, MasterConfig};
use moonquake_net::failpoints::{self, SetupError};
use moonquake_net::{MetadataServer, Rounds, serve};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::SocketAddr;
use std::sync::Arc;

/// Serve the Rust master over TCP, in the store's own protocol.
///
/// Clients of the pinned release can talk to it. Its clock is that of this machine and its background threads run by
/// themselves. Failpoints make messages at named phases late, lost, cut or refused.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "IP:PORT")]
    addr: SocketAddr,
    /// What happens at which phase, instead of what the variable FAILPOINTS says
    #[arg(long, value_name = "SPEC")]
    failpoints: Option<String>,
    /// The seed of failpoints with a probability
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Serve the metadata of the transfer engine over HTTP as well, as a master does with -enable_http_metadata_server
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:8080", value_name = "IP:PORT")]
    http_metadata_server: Option<SocketAddr>,
    /// How the master behaves: upstream as the pinned release does, strict as the contract says
    #[arg(long, default_value = "upstream", value_parser = super::profile, value_name = "P")]
    profile: Profile,
}

const EXAMPLES: &str = "\
Examples:
  moonquake serve --addr 127.0.0.1:50051
  moonquake serve --addr 127.0.0.1:50051 --http-metadata-server
  moonquake serve --failpoints 'client.put.end_sent=1*return(drop)'
  FAILPOINTS='client.get.query_response=10%delay(200)' moonquake serve --seed 7

A failpoint is phase=action, several are joined by `;`. `moonquake catalog` lists the phases. Actions are
[p%][n*]task[(argument)], joined by `->`; tasks are off, return(CODE|drop|cut), sleep(ms), delay(ms), pause(ms), panic,
print and yield.

The first line of the output is `listening on HOST:PORT`; with --http-metadata-server the second is `metadata at URL`, which a
client's setup takes as its metadata server. Without it clients find each other by P2PHANDSHAKE. Ctrl-C or SIGTERM ends the server, with exit code 0.

A thread for each connection answers. `cargo bench -p moonquake --bench served`, in the sources,
measures this server beside the real master and beside echoes that do no work, in one run: processor time of the server an
operation, operations a second, and with `-- --objects 1000000` memory an object.";

/// Serves until a signal ends it.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    // Before anybody can connect, so that no message passes a phase too early.
    let plan = failpoints(args).map_err(|error| CliError::Failpoints {
        what: error.to_string(),
    })?;
    // The handler is there before the address is printed: whoever reads it may end us at once.
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|source| CliError::Signals { source })?;
    let refused_at = |address, why: &dyn std::fmt::Display| CliError::Serve {
        address,
        why: why.to_string(),
    };
    let refused = |why: &dyn std::fmt::Display| refused_at(args.addr, why);
    let clock = Arc::new(SystemClock::new());
    let config = MasterConfig {
        quirks: args.profile.quirks(),
        ..MasterConfig::default()
    };
    let begin = moonquake_clock::ClockSource::now(&*clock);
    let master = Master::new(config, begin).map_err(|error| refused(&error))?;
    let serve_metadata =
        |address| MetadataServer::serve(address).map_err(|error| refused_at(address, &error));
    let metadata = args.http_metadata_server.map(serve_metadata).transpose()?;
    let mut server = serve(master, clock, args.addr, Rounds::ByTimer).map_err(|error| refused(&error))?;
    if let Some(plan) = &plan {
        plan.on_pause(|at| {
            let (phase, hit, bound) = (at.phase, at.hit, at.bound);
            out::complain(&format!("paused at {phase}, hit {hit}, for at most {bound:?}\n"));
        });
    }
    out.line(&format!("listening on {}", server.address()));
    if let Some(metadata) = &metadata {
        out.line(&format!("metadata at {}", metadata.url()));
    }
    let _which = signals.forever().next();
    // Whoever is paused goes on first, or stopping would wait for the end of the pause.
    drop(plan);
    server.stop().map_err(|error| refused(&error))?;
    Ok(Exit::Ok)
}

fn failpoints(args: &Args) -> Result<Option<Guard>, SetupError> {
    match &args.failpoints {
        Some(spec) => failpoints::setup(spec, args.seed).map(Some),
        None => failpoints::setup_from_environment(args.seed),
    }
}
