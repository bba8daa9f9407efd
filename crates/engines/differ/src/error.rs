//! What can keep two masters from being compared.

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

impl DifferError {
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
