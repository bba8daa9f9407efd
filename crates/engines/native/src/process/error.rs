//! What can go wrong with a real process, each with its cure.

use super::admin::AdminError;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// Why a real master could not be had, or did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// Real processes are steered on Linux x86-64 only.
    #[error("a real master runs under control on Linux x86-64 only")]
    Platform,

    /// The unpacked release was not found.
    #[error(
        "the Mooncake release {version} is not unpacked: looked in {}.{} Cure: run `{cure}` in the workspace, or name its folder in {variable}",
        list(looked_in),
        problem.as_ref().map(|problem| format!(" Fetching it failed: {problem}.")).unwrap_or_default()
    )]
    ReleaseMissing {
        /// The pinned version.
        version: &'static str,
        /// Folders looked into, in order.
        looked_in: Vec<PathBuf>,
        /// Why the setup script could not fetch it, if it was run for this test and has failed.
        problem: Option<String>,
        /// Command that unpacks it.
        cure: &'static str,
        /// Variable that names the folder.
        variable: &'static str,
    },

    /// A folder was named or found, but a file in it is not there.
    #[error("{} is missing from the unpacked release. Cure: remove {} and run `{cure}`", missing.display(), root.display())]
    ReleaseIncomplete {
        /// Folder of the release.
        root: PathBuf,
        /// The file that should be there.
        missing: PathBuf,
        /// Command that unpacks it.
        cure: &'static str,
    },

    /// The binary is not the pinned one.
    #[error(
        "{} is not the master of release {version}: its sha256 is {found}, not {expected}. Every release has other types; only this one is supported. Cure: remove the folder of the release and run `{cure}`",
        path.display()
    )]
    WrongBinary {
        /// The file.
        path: PathBuf,
        /// The pinned version.
        version: &'static str,
        /// Its hash.
        found: String,
        /// The hash of the pinned binary.
        expected: &'static str,
        /// Command that unpacks the right one.
        cure: &'static str,
    },

    /// The release is there, its client is not.
    #[error(
        "the Mooncake client is not installed in {}: {why}. Cure: run `{cure}` with a CPython 3.10, 3.11, 3.12 or 3.13, or name one in {variable}",
        root.display()
    )]
    ClientMissing {
        /// Folder of the release.
        root: PathBuf,
        /// Why it is not there, as far as it is known.
        why: String,
        /// Variable that names the interpreter.
        variable: &'static str,
        /// Command that unpacks it.
        cure: &'static str,
    },

    /// The client is not the pinned one.
    #[error(
        "{} is not the client of release {version} for Python {python}: its sha256 is {found}, not {expected}. Cure: remove the folder of the release and run `{cure}`",
        path.display()
    )]
    WrongClient {
        /// The file.
        path: PathBuf,
        /// The pinned version.
        version: &'static str,
        /// Version of the interpreter that it should be for.
        python: String,
        /// Its hash.
        found: String,
        /// The hash of the pinned file.
        expected: &'static str,
        /// Command that unpacks the right one.
        cure: &'static str,
    },

    /// The process of a client did not come up.
    #[error("the client's process did not start: {why}. Its last words:\n{stderr_tail}")]
    Agent {
        /// What happened.
        why: String,
        /// The end of what it wrote.
        stderr_tail: String,
    },

    /// The preload library was not found.
    #[error(
        "the preload library {name} is not built: looked at {}. Cure: run `cargo build -p moonquake-clockpage` with the profile of this program (add `--release` if it was built so), or name the file in {variable}",
        list(looked_at)
    )]
    LibraryMissing {
        /// File name of the library.
        name: &'static str,
        /// Paths looked at, in order.
        looked_at: Vec<PathBuf>,
        /// Variable that names the file.
        variable: &'static str,
    },

    /// The operating system refused something.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried, as an infinitive.
        doing: String,
        /// The refusal.
        source: std::io::Error,
    },

    /// No free port was found, or each was taken by somebody else before the master got to it.
    #[error(
        "no free loopback port for the master after {tries} tries; last: {last}. Cure: end other servers on 127.0.0.1, or run fewer tests at once"
    )]
    Ports {
        /// How many pairs of ports were tried.
        tries: u32,
        /// What happened to the last pair.
        last: String,
    },

    /// A flag that the process control sets itself was given.
    #[error("the flag -{flag} belongs to the process control and cannot be set")]
    ReservedFlag {
        /// The flag.
        flag: String,
    },

    /// The process ended although nobody asked it to.
    #[error("the master ended by itself ({status}) while {doing}. Its last words:\n{log_tail}")]
    Ended {
        /// What was waited for.
        doing: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// End of its log.
        log_tail: String,
    },

    /// Something did not happen in time.
    #[error("the master did not get there within {} ms of real time: {waiting_for}. Its last words:\n{log_tail}", limit.as_millis())]
    TimedOut {
        /// What was waited for, with what was seen instead.
        waiting_for: String,
        /// The limit.
        limit: Duration,
        /// End of its log.
        log_tail: String,
    },

    /// A client under the page did not do something in time.
    #[error("the client did not get there within {} ms of real time: waited for {waiting_for}", limit.as_millis())]
    ClientTimedOut {
        /// What was waited for, with what was seen instead.
        waiting_for: String,
        /// The limit.
        limit: Duration,
    },

    /// A client has as many rules about metered connections as its page can hold.
    #[error(
        "no more connections of the client can be metered: its page has {} rules",
        super::layout::client::METERS
    )]
    TooManyMeters,

    /// The observer did not get its answer.
    #[error(transparent)]
    Admin(#[from] AdminError),
}

impl ProcessError {
    /// Wraps an error of the operating system.
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> ProcessError {
        let doing = doing.into();
        move |source| ProcessError::Io { doing, source }
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if shown.is_empty() {
        "nowhere".to_owned()
    } else {
        shown.join(", ")
    }
}
