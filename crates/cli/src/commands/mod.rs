//! The commands, one file each.

mod catalog;
mod check;
mod doctor;
mod explain;
mod run;
mod serve;

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use clap::Subcommand;
use moonquake_faults::Profile;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Check(check::Args),
    Explain(explain::Args),
    Catalog(catalog::Args),
    Doctor(doctor::Args),
    Serve(serve::Args),
}

impl Command {
    /// Does it.
    pub(crate) fn execute(self, out: &mut Out) -> Result<Exit, CliError> {
        match self {
            Command::Run(args) => run::execute(args, out),
            Command::Check(args) => check::execute(&args, out),
            Command::Explain(args) => explain::execute(&args, out),
            Command::Catalog(args) => catalog::execute(&args, out),
            Command::Doctor(args) => doctor::execute(&args, out),
            Command::Serve(args) => serve::execute(&args, out),
        }
    }
}

/// Reads a profile's name.
fn profile(name: &str) -> Result<Profile, String> {
    Profile::from_name(name).ok_or_else(|| "there are upstream and strict".to_owned())
}
