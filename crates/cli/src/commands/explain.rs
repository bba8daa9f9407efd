//! `moonquake explain`.

use crate::error::CliError;
use crate::exit::Exit;
use crate::library::Library;
use crate::out::Out;
use crate::select::select;
use moonquake_scenario::explain;
use std::ffi::OsString;
use std::path::PathBuf;

/// Tell a scenario as a story, with every instant resolved.
///
/// Nothing is run. For each step it is said when it happens, in time since the world was mounted, and which deadlines of
/// the store it stands before, at or behind.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scenario files, ids, patterns, or parts of ids
    #[arg(value_name = "FILTER|FILE", required = true)]
    names: Vec<OsString>,
    /// The folder with the scenarios, instead of `scenarios` here or further up, or else those built in
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  moonquake explain mine.scenario.toml
  moonquake explain lease";

/// Explains what was asked for.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    let library = Library::find(args.scenarios.as_deref())?;
    for (index, one) in select(&library, &args.names)?.iter().enumerate() {
        if index > 0 {
            out.line("");
        }
        for line in explain(&one.plan).lines() {
            out.line(line);
        }
    }
    Ok(Exit::Ok)
}
