//! `moonquake check`.

use crate::engines::engine;
use crate::error::CliError;
use crate::exit::Exit;
use crate::library::Library;
use crate::out::Out;
use crate::select::select;
use moonquake_scenario::{EngineKind, Plan, schema};
use std::ffi::OsString;
use std::path::PathBuf;

/// Check scenario files without running them.
///
/// Without a name, every scenario is checked. What is wrong is shown with its place and a mend, for all files at once.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scenario files, folders, ids, patterns, or parts of ids
    #[arg(value_name = "FILTER|FILE")]
    names: Vec<OsString>,
    /// The folder with the scenarios, instead of `scenarios` here or further up, or else those built in
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
    /// Print the JSON Schema of scenario files, for editors, and check nothing
    #[arg(long, conflicts_with_all = ["names", "scenarios"])]
    schema: bool,
}

const EXAMPLES: &str = "\
Examples:
  moonquake check                       every scenario
  moonquake check mine.scenario.toml    one file
  moonquake check --schema > scenario.schema.json

Exit codes: 0 all files are in order, 64 at least one is not.";

/// Checks what was asked for.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    if args.schema {
        out.text(&schema::json());
        return Ok(Exit::Ok);
    }
    let library = Library::find(args.scenarios.as_deref())?;
    let selected = select(&library, &args.names)?;
    let stuck: Vec<String> = selected.iter().filter_map(|one| nowhere(&one.plan)).collect();
    let width = selected.iter().map(|one| one.plan.id.len()).max().unwrap_or(0);
    for one in &selected {
        out.line(&format!("ok  {:<width$}  {}", one.plan.id, one.plan.path));
        for remark in moonquake_scenario::remarks(&one.plan) {
            out.line(&format!("    note: {remark}"));
        }
    }
    if !stuck.is_empty() {
        return Err(CliError::Nowhere { why: stuck });
    }
    let ending = if selected.len() == 1 { " is" } else { "s are" };
    out.line(&format!("{} scenario{ending} in order", selected.len()));
    Ok(Exit::Ok)
}

/// Why no engine of this version has words for a plan, if none has.
fn nowhere(plan: &Plan) -> Option<String> {
    let engines: Vec<_> = EngineKind::ALL.into_iter().filter_map(engine).collect();
    let mut reasons = Vec::new();
    for engine in &engines {
        let why = engine.unsupported(plan)?;
        reasons.push(format!("{}: {why}", engine.kind()));
    }
    Some(format!(
        "{} runs on no engine ({})",
        plan.path,
        reasons.join("; ")
    ))
}
