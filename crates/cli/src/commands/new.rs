//! `moonquake new`.

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::templates;
use moonquake_faults::Dimension;
use moonquake_scenario::{ScenarioErrors, parse};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a scenario file to start from.
///
/// It is commented, parses, runs and holds as it is: change it step by step, and look after each with `moonquake run`.
/// Nothing that exists is overwritten.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The id of the scenario: words of small letters and digits with `-` and `/`
    id: String,
    /// What the fault is about; `moonquake catalog` describes the ten dimensions
    #[arg(long, default_value = "crash", value_parser = super::dimension, value_name = "D")]
    dimension: Dimension,
    /// The file to write, or `-` for standard output; made from the id if it is not given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  moonquake new mine/writer-dies                         mine-writer-dies.scenario.toml, a crash
  moonquake new lease/late-reader --dimension lease --out scenarios/lease/late-reader.scenario.toml

Dimensions: crash, lease, clock, liveness, pressure, network, restart, buffer, race, misuse.
Exit codes: 0 written, 64 a wrong id, or the file is there already, 70 it cannot be written.";

/// Writes the file.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    let text = templates::filled(args.dimension, &args.id);
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c);
    let parsed = parse::from_str("the new file", text.as_bytes());
    if !args.id.chars().all(is_plain) || parsed.is_err() {
        return Err(CliError::BadId {
            id: args.id.clone(),
            why: parsed.err().map(|wrong| first(&wrong)).unwrap_or_default(),
        });
    }
    let default = PathBuf::from(format!("{}.scenario.toml", args.id.replace('/', "-")));
    let path = args.out.clone().unwrap_or(default);
    if path == Path::new("-") {
        out.text(&text);
        return Ok(Exit::Ok);
    }
    write(&path, &text)?;
    let dimension = args.dimension.row().name;
    out.line(&format!("wrote {}, of dimension {dimension}", path.display()));
    out.line(&format!(
        "next: moonquake run {} --profile upstream,strict",
        path.display()
    ));
    Ok(Exit::Ok)
}

fn first(wrong: &ScenarioErrors) -> String {
    wrong
        .problems
        .first()
        .map(|problem| format!(": {}", problem.message))
        .unwrap_or_default()
}

/// Writes a file that does not exist yet.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::Exists {
            path: path.to_owned(),
        },
        _ => CliError::New {
            path: path.to_owned(),
            source,
        },
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|source| CliError::New {
            path: path.to_owned(),
            source,
        })?;
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed).inspect_err(|_| {
        // Half a file would stand in the way of the next attempt.
        let _ = std::fs::remove_file(path);
    })
}
