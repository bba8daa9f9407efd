//! Why a command could not do what it was asked: what happened, where, and what to do next.

use crate::exit::Exit;
use crate::out;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use moonquake_scenario::ScenarioErrors;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// An error of a command.
#[derive(Debug, Error, Diagnostic)]
pub(crate) enum CliError {
    /// Files that are no scenarios. Shown one by one; nothing is run.
    #[error("{} of {} cannot be understood", .errors.len(), files(*.of))]
    #[diagnostic(
        code(moonquake::scenario),
        help("mend what is shown above: nothing is run while a file that was asked for is wrong")
    )]
    Scenarios {
        /// What is wrong with each.
        errors: Vec<ScenarioErrors>,
        /// How many files were read.
        of: usize,
    },
    /// The same where files are formatted: each file stands for itself.
    #[error("{} of {} cannot be understood", .errors.len(), files(*.of))]
    #[diagnostic(
        code(moonquake::scenario),
        help("mend what is shown above: a file that is no scenario is left as it is")
    )]
    Unformatted {
        /// What is wrong with each.
        errors: Vec<ScenarioErrors>,
        /// How many files were read.
        of: usize,
    },
    /// A name on the command line that selects nothing.
    #[error("no scenario is called {name:?}, and none has it in its id or path ({origin})")]
    #[diagnostic(code(moonquake::no_such_scenario))]
    NoSuchScenario {
        /// The name.
        name: String,
        /// Where scenarios were looked for.
        origin: String,
        /// The nearest ids.
        #[help]
        help: String,
    },
    /// Two files with one id.
    #[error("{first} and {second} have the same id, {id:?}")]
    #[diagnostic(
        code(moonquake::same_id),
        help("give one of them another id, or name only one of the two")
    )]
    SameId {
        /// The id.
        id: String,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// Histories of one master could not be compared with another.
    #[error("{what}")]
    #[diagnostic(
        code(moonquake::differ),
        help(
            "the same seed does it again, and so does the history, where one is named; what was found is in the folder of `--out`"
        )
    )]
    Differ {
        /// What went wrong.
        what: String,
    },
    /// A history that is known could not be run on both masters.
    #[error("{what}")]
    #[diagnostic(
        code(moonquake::replay),
        help("it was the history in {}, with the flags that its `setup.flags` names", path.display())
    )]
    Replay {
        /// What went wrong.
        what: String,
        /// The file of the history.
        path: PathBuf,
    },
    /// A history that cannot be read or written.
    #[error("{what}")]
    #[diagnostic(
        code(moonquake::history),
        help(
            "name a `*.history.json` file that `moonquake diff --random` has written, or a folder that can be written to"
        )
    )]
    DifferFile {
        /// What is wrong with it.
        what: String,
    },
    /// A folder without scenarios.
    #[error("there are no scenarios in {}", folder.display())]
    #[diagnostic(
        code(moonquake::no_scenarios),
        help("name a folder that holds `*.scenario.toml` files, at any depth")
    )]
    NoScenarios {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder that cannot be read.
    #[error("the folder {} cannot be read", folder.display())]
    #[diagnostic(
        code(moonquake::unreadable_folder),
        help("make it readable, or name another with `--scenarios DIR`")
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A folder for what comes out cannot be written to, which is known before anything is run.
    #[error("nothing can be written to {}, and nothing was run{why}", folder.display())]
    #[diagnostic(
        code(moonquake::unwritable_folder),
        help("name a folder that can be written to with `{flag} DIR`")
    )]
    Unwritable {
        /// The flag that names it.
        flag: &'static str,
        /// The folder.
        folder: PathBuf,
        /// What is in the way, if that is known, behind a colon.
        why: String,
        /// Why not.
        source: io::Error,
    },
    /// An engine has none of the profiles that were asked for.
    #[error(
        "the engine {engine} knows the profile upstream only: a real master cannot be told to behave otherwise"
    )]
    #[diagnostic(
        code(moonquake::no_such_profile),
        help("add upstream to `--profile`, or leave {engine} out of `--engine`")
    )]
    Profile {
        /// The engine.
        engine: &'static str,
    },
    /// An engine that was asked for is not there.
    #[error("the engine {engine} is not installed, and nothing was run: {what}")]
    #[diagnostic(code(moonquake::not_installed))]
    NotInstalled {
        /// The engine.
        engine: &'static str,
        /// What is missing.
        what: String,
        /// What to do about it.
        #[help]
        cure: String,
    },
    /// Standard output could not be written.
    #[error("standard output cannot be written")]
    #[diagnostic(
        code(moonquake::output),
        help("free space on the disk that the output is redirected to, or redirect it elsewhere")
    )]
    Output {
        /// Why not.
        source: io::Error,
    },
    /// The postmortems could not be written.
    #[error("the postmortem {} cannot be written", path.display())]
    #[diagnostic(
        code(moonquake::report),
        help("the verdicts above stand; {}, then run again", mend(.source, .path))
    )]
    Report {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Scenario files that could not be read or written in the course of formatting.
    #[error("{} cannot be rewritten, and is as it was: {why}", path.display())]
    #[diagnostic(
        code(moonquake::rewrite),
        help("make the file and its folder writable, and free space on their disk")
    )]
    Rewrite {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A name that must select one scenario selects several.
    #[error("{name:?} selects several scenarios: {ids}")]
    #[diagnostic(
        code(moonquake::many_scenarios),
        help("name one of them by its whole id, or its file")
    )]
    ManyScenarios {
        /// The name.
        name: String,
        /// Some of the ids.
        ids: String,
    },
    /// An engine has no words for a scenario.
    #[error("the engine {engine} cannot run this scenario: {why}")]
    #[diagnostic(
        code(moonquake::unsupported),
        help("compare engines that can; `moonquake doctor` lists them")
    )]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// Why not.
        why: String,
    },
    /// Scenarios that parse, and that nothing can run.
    #[error("{}", why.join("\n"))]
    #[diagnostic(
        code(moonquake::nowhere),
        help("change what the engines name; `moonquake catalog` lists phases with their actions, and verbs")
    )]
    Nowhere {
        /// Each with the reasons of the engines.
        why: Vec<String>,
    },
    /// A filter by dimension that leaves nothing.
    #[error("none of the scenarios that were named is of dimension {names}")]
    #[diagnostic(
        code(moonquake::none_of_dimension),
        help("`moonquake catalog` counts the scenarios of each dimension")
    )]
    NoneOfDimension {
        /// The dimensions.
        names: String,
    },
    /// An id that no scenario can have.
    #[error("{id:?} is no id{why}")]
    #[diagnostic(
        code(moonquake::bad_id),
        help("an id is words of small letters and digits with `-` and `/`, such as lease/late-reader")
    )]
    BadId {
        /// The id.
        id: String,
        /// What the parser says.
        why: String,
    },
    /// A new file is there already.
    #[error("{} is there already, and nothing was written", path.display())]
    #[diagnostic(
        code(moonquake::exists),
        help("choose another id, or another file with `--out FILE`")
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A new file cannot be written.
    #[error("{} cannot be written", path.display())]
    #[diagnostic(
        code(moonquake::new),
        help("name a file in a folder that can be written with `--out FILE`")
    )]
    New {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Flags that do not go together, or numbers that nothing can be made of.
    #[error("{what}")]
    #[diagnostic(code(moonquake::flags))]
    Flags {
        /// What is wrong, with the flag's name.
        what: String,
        /// What to do instead.
        #[help]
        help: String,
    },
    /// A file that a flag names cannot be read.
    #[error("{what}")]
    #[diagnostic(code(moonquake::input))]
    Input {
        /// What is wrong, and where.
        what: String,
        /// What to do about it.
        #[help]
        help: String,
    },
    /// A file that a flag names cannot be written.
    #[error("{} cannot be written", path.display())]
    #[diagnostic(
        code(moonquake::written),
        help("what was printed stands; name a file in a folder that can be written with `{flag} FILE`")
    )]
    Written {
        /// The flag.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no folder with scenario files.
    #[error("there are no files to format: no folder `scenarios` here or further up")]
    #[diagnostic(code(moonquake::nothing_to_format), help("name files or folders"))]
    NothingToFormat,
    /// The operating system refused the handlers of signals.
    #[error("Ctrl-C cannot be listened to")]
    #[diagnostic(code(moonquake::signals), help("run this in an ordinary shell"))]
    Signals {
        /// Why not.
        source: io::Error,
    },
    /// Failpoints that say nothing.
    #[error("the failpoints cannot be used: {what}")]
    #[diagnostic(
        code(moonquake::failpoints),
        help("`moonquake catalog` lists the phases, `moonquake serve --help` the actions")
    )]
    Failpoints {
        /// What is wrong.
        what: String,
    },
    /// The server could not begin or end.
    #[error("the master cannot be served at {address}: {why}")]
    #[diagnostic(
        code(moonquake::serve),
        help("choose another address with `--addr` or `--http-metadata-server`; port 0 takes a free one")
    )]
    Serve {
        /// Where.
        address: SocketAddr,
        /// Why not.
        why: String,
    },
    /// Flags or a config that no exact budget can be made of.
    #[error("{what}")]
    #[diagnostic(
        code(moonquake::budget),
        help("`moonquake budget --help` lists the flags, their limits and the models by name")
    )]
    Budget {
        /// What is wrong, and the mend.
        what: String,
    },
    /// A config that cannot be read.
    #[error("the config {} cannot be read", path.display())]
    #[diagnostic(
        code(moonquake::config),
        help(
            "name the config.json of a model with `--config FILE`, or a model of the table with `--model NAME`"
        )
    )]
    Config {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A tool of ours contradicts itself.
    #[error("{what}")]
    #[diagnostic(
        code(moonquake::harness),
        help("this is a fault of Moonquake: no verdict can rest on this run")
    )]
    Harness {
        /// What happened.
        what: String,
    },
}

fn files(number: usize) -> String {
    match number {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}

/// What to do about a file that cannot be written.
fn mend(error: &io::Error, path: &std::path::Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("free space for {folder}, or name a folder on another disk with `--report DIR`")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("make {folder} writable, or name another folder with `--report DIR`")
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            format!(
                "{folder} must be a folder: move away the file in its place, or name another with `--report DIR`"
            )
        }
        _ => "name a folder that can be written with `--report DIR`".to_owned(),
    }
}

impl CliError {
    /// How the program ends after this error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            CliError::Scenarios { .. }
            | CliError::Unformatted { .. }
            | CliError::NoSuchScenario { .. }
            | CliError::SameId { .. }
            | CliError::NoScenarios { .. }
            | CliError::Folder { .. }
            | CliError::Unwritable { .. }
            | CliError::Profile { .. }
            | CliError::NothingToFormat
            | CliError::NoneOfDimension { .. }
            | CliError::ManyScenarios { .. }
            | CliError::Unsupported { .. }
            | CliError::Nowhere { .. }
            | CliError::BadId { .. }
            | CliError::Exists { .. }
            | CliError::Budget { .. }
            | CliError::Config { .. }
            | CliError::Flags { .. }
            | CliError::Input { .. }
            | CliError::DifferFile { .. }
            | CliError::Failpoints { .. } => Exit::Usage,
            CliError::NotInstalled { .. } => Exit::NotInstalled,
            CliError::Output { .. }
            | CliError::Report { .. }
            | CliError::Rewrite { .. }
            | CliError::New { .. }
            | CliError::Written { .. }
            | CliError::Signals { .. }
            | CliError::Serve { .. }
            | CliError::Differ { .. }
            | CliError::Replay { .. }
            | CliError::Harness { .. } => Exit::Harness,
        }
    }

    /// Shows the error on standard error.
    pub(crate) fn show(&self) {
        if let CliError::Scenarios { errors, .. } | CliError::Unformatted { errors, .. } = self {
            for error in errors {
                out::complain(&render(error));
            }
        }
        out::complain(&render(self));
    }
}

/// The error as people read it.
fn render(error: &dyn Diagnostic) -> String {
    let is_colourful = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let theme = if is_colourful {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let mut text = String::new();
    let drawn = GraphicalReportHandler::new_themed(theme)
        // Paths and commands stay in one piece, to be copied.
        .with_wrap_lines(false)
        .with_links(false)
        .render_report(&mut text, error);
    match drawn {
        Ok(()) => text,
        // Better a plain sentence than none.
        Err(_) => format!("error: {error}\n"),
    }
}
