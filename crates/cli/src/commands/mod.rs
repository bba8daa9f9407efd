//! The commands, one file each.

mod budget;
mod catalog;
mod check;
mod diff;
mod doctor;
mod explain;
mod fmt;
mod new;
mod policy;
mod random;
mod run;
mod serve;

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::suggest::did_you_mean;
use clap::Subcommand;
use moonquake_faults::{DIMENSIONS, Dimension, Profile};
use moonquake_scenario::EngineKind;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Check(check::Args),
    Explain(explain::Args),
    Diff(diff::Args),
    Fmt(fmt::Args),
    New(new::Args),
    Catalog(catalog::Args),
    Policy(Box<policy::Args>),
    Doctor(doctor::Args),
    Serve(serve::Args),
    Budget(Box<budget::Args>),
}

impl Command {
    /// Does it.
    pub(crate) fn execute(self, out: &mut Out) -> Result<Exit, CliError> {
        match self {
            Command::Run(args) => run::execute(args, out),
            Command::Check(args) => check::execute(&args, out),
            Command::Explain(args) => explain::execute(&args, out),
            Command::Diff(args) => diff::execute(&args, out),
            Command::Fmt(args) => fmt::execute(&args, out),
            Command::New(args) => new::execute(&args, out),
            Command::Catalog(args) => catalog::execute(&args, out),
            Command::Policy(args) => policy::execute(&args, out),
            Command::Doctor(args) => doctor::execute(&args, out),
            Command::Serve(args) => serve::execute(&args, out),
            Command::Budget(args) => budget::execute(&args, out),
        }
    }
}

/// Reads a profile's name.
fn profile(name: &str) -> Result<Profile, String> {
    let names = ["upstream", "strict"];
    Profile::from_name(name)
        .ok_or_else(|| format!("there are upstream and strict{}", did_you_mean(name, names)))
}

/// Reads an engine's name.
fn engine(name: &str) -> Result<EngineKind, String> {
    EngineKind::from_name(name).ok_or_else(|| {
        let all = EngineKind::ALL.map(EngineKind::name);
        let near = did_you_mean(name, all);
        format!(
            "there are {}{near}; `moonquake doctor` shows which can be had here",
            all.join(", ")
        )
    })
}

/// Reads a dimension's name.
fn dimension(name: &str) -> Result<Dimension, String> {
    Dimension::from_name(name).ok_or_else(|| {
        let all = || DIMENSIONS.iter().map(|row| row.name);
        let names: Vec<&str> = all().collect();
        format!("there are {}{}", names.join(", "), did_you_mean(name, all()))
    })
}
