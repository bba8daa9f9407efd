//! `moonquake fmt`.

use crate::error::CliError;
use crate::exit::Exit;
use crate::library::{Library, Source};
use crate::out::Out;
use crate::replace::rewrite;
use crate::select::choose;
use moonquake_scenario::{FormatError, ScenarioErrors, format};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Bring scenario files into the house form.
///
/// Keys, comments and steps stand in columns, one step a line. Every word and every comment is kept: the result is read
/// back, and a file is replaced only if it still means the same. A file that is no scenario is left alone, and what is
/// wrong with it is shown. Without a name, every file of the folder `scenarios` here or further up is formatted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scenario files, folders, ids, patterns, or parts of ids
    #[arg(value_name = "FILE|FOLDER")]
    names: Vec<OsString>,
    /// Change nothing, list what would be changed, and exit 1 if there is anything
    #[arg(long)]
    check: bool,
    /// The folder with the scenarios, instead of `scenarios` here or further up
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  moonquake fmt mine.scenario.toml    one file
  moonquake fmt --check               for continuous integration

Exit codes: 0 all files are in the house form now, 1 with `--check`: at least one is not, 64 a file is no scenario (the
others are formatted), 70 a file cannot be written.";

/// What became of one file.
enum Done {
    AsItWas,
    Changed,
    Wrong(Box<ScenarioErrors>),
}

/// Formats what was asked for.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    let library = Library::find(args.scenarios.as_deref())?;
    let mut sources: Vec<Source> = choose(&library, &args.names)?
        .into_iter()
        .map(|(source, _)| source)
        .collect();
    sources.retain(Source::is_on_disk);
    if sources.is_empty() {
        return Err(CliError::NothingToFormat);
    }
    let (mut changed, mut errors) = (0, Vec::new());
    for source in &sources {
        match one(Path::new(&source.path), args.check)? {
            Done::AsItWas => {}
            Done::Changed => {
                changed += 1;
                let word = if args.check { "would change" } else { "formatted" };
                out.line(&format!("{word}  {}", source.path));
            }
            Done::Wrong(wrong) => errors.push(*wrong),
        }
    }
    out.line(&summary(sources.len(), changed, args.check));
    if !errors.is_empty() {
        let of = sources.len();
        return Err(CliError::Unformatted { errors, of });
    }
    Ok(if args.check && changed > 0 {
        Exit::Violated
    } else {
        Exit::Ok
    })
}

fn one(path: &Path, is_check: bool) -> Result<Done, CliError> {
    let failed = |why: String| CliError::Rewrite {
        path: path.to_owned(),
        why,
    };
    // The parser knows how to refuse what nobody should read: devices, folders, files without end.
    if let Err(wrong) = moonquake_scenario::parse::from_path(path) {
        return Ok(Done::Wrong(Box::new(wrong)));
    }
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let formatted = match format(&path.display().to_string(), &text) {
        Ok(formatted) => formatted,
        Err(FormatError::Scenario(wrong)) => return Ok(Done::Wrong(wrong)),
        Err(error @ FormatError::Unsafe { .. }) => return Err(failed(error.to_string())),
    };
    if formatted.as_bytes() == text {
        return Ok(Done::AsItWas);
    }
    if !is_check {
        rewrite(path, &formatted).map_err(|error| failed(error.to_string()))?;
    }
    Ok(Done::Changed)
}

fn summary(files: usize, changed: usize, is_check: bool) -> String {
    let of = match files {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    };
    match (changed, is_check) {
        (0, _) => format!("{of}: nothing to change"),
        (some, true) => format!("{of}: {some} would change"),
        (some, false) => format!("{of}: {some} changed"),
    }
}
