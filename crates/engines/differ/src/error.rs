//! What can keep two masters from being compared.

use crate::operation::History;
use moonquake_master::ConfigError;
use moonquake_native::process::{AdminError, ProcessError};
use moonquake_protocol::Rpc;
use thiserror::Error;

/// Why a comparison could not be made. A difference is no error.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DifferError {
    /// The Rust master refuses the configuration.
    #[error("the Rust master refuses the flags of `{setup}`: {source}")]
    Config {
        /// Name of the configuration.
        setup: String,
        /// Why.
        source: ConfigError,
    },
    /// The real master could not be started or steered.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Its admin server did not answer.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// The connection to it failed.
    #[error("the connection to the real master failed while {doing}: {source}")]
    Wire {
        /// What was being done.
        doing: &'static str,
        /// The failure.
        source: std::io::Error,
    },
    /// It answered something that is no answer.
    #[error("the real master's answer to {} cannot be read: {what}", rpc.name())]
    Answer {
        /// What was asked.
        rpc: Rpc,
        /// What is wrong.
        what: String,
    },
    /// It ended or fell silent within a history.
    #[error(transparent)]
    Lost(Box<Lost>),
    /// Its memory could not be read or written, so that its random engines cannot be rewound.
    #[error("the real master's random engines cannot be rewound: {what}")]
    Engines {
        /// Why.
        what: String,
    },
    /// A reset left something behind.
    #[error("after a reset the real master still shows {what}")]
    Unclean {
        /// What.
        what: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {path}: {source}")]
    File {
        /// Read or write.
        doing: &'static str,
        /// The file.
        path: String,
        /// The failure.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path} is no history: {source}")]
    History {
        /// The file.
        path: String,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// A real master that ended or fell silent, and the history in which it did.
#[derive(Debug, Error)]
#[error(
    "the real master was lost in a history of `{}`: {}. {became}. The first of {unanswered} operations without an answer, number {}: {operation}\nIts last words:\n{}",
    history.setup.name, source.in_short(), index + 1, last_lines(log_tail)
)]
pub struct Lost {
    /// What was done up to there, the operations sent along with the lost one included.
    pub history: History,
    /// Place of the first operation that was not answered.
    pub index: usize,
    /// How many operations after the last answer had been made, that one included.
    pub unanswered: usize,
    /// The operation, as JSON.
    pub operation: String,
    /// Exit status or signal, or that it ran on.
    pub became: String,
    /// The end of its output.
    pub log_tail: String,
    /// How it was noticed.
    pub source: Box<DifferError>,
}

/// The last few lines of an output.
fn last_lines(text: &str) -> String {
    const LINES: usize = 6;
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

impl DifferError {
    /// What happened, without the output of the process.
    fn in_short(&self) -> String {
        match self {
            DifferError::Process(ProcessError::Ended { doing, .. }) => {
                format!("it ended by itself while {doing}")
            }
            DifferError::Process(ProcessError::TimedOut {
                waiting_for, limit, ..
            }) => format!("within {} ms this did not come: {waiting_for}", limit.as_millis()),
            other => other.to_string(),
        }
    }

    /// Whether nothing came in time, so that the process may still run.
    pub(crate) fn is_silence(&self) -> bool {
        use std::io::ErrorKind::{TimedOut, WouldBlock};
        match self {
            DifferError::Process(ProcessError::TimedOut { .. }) => true,
            DifferError::Wire { source, .. } => matches!(source.kind(), TimedOut | WouldBlock),
            _ => false,
        }
    }

    /// Whether the release, the preload library or the platform is missing, and the process has never run.
    pub fn is_not_installed(&self) -> bool {
        use ProcessError::{LibraryMissing, Platform, ReleaseIncomplete, ReleaseMissing, WrongBinary};
        matches!(
            self,
            DifferError::Process(
                Platform
                    | ReleaseMissing { .. }
                    | ReleaseIncomplete { .. }
                    | WrongBinary { .. }
                    | LibraryMissing { .. }
            )
        )
    }
}
