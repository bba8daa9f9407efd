//! What can go wrong with a natural form itself.

use crate::agent::AgentError;
use crate::process::ProcessError;
use moonquake_net::NetError;
use std::time::Duration;
use thiserror::Error;

/// Why there is no result. No statement about the store can rest on it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NaturalError {
    /// A process did not start or is gone.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A client gave no answer.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A socket of ours could not be made or used.
    #[error(transparent)]
    Net(#[from] NetError),
    /// What must succeed before anything is injected did not.
    #[error("{what} gave {got} before anything was injected")]
    Setup {
        /// What.
        what: String,
        /// What it gave.
        got: String,
    },
    /// Something did not come in real time.
    #[error("{what} did not come within {} s", limit.as_secs())]
    Limit {
        /// What.
        what: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The proxy ended with an error.
    #[error("the proxy of {actor} failed: {why}")]
    Proxy {
        /// Whose proxy.
        actor: String,
        /// Why.
        why: String,
    },
    /// The end was asked for.
    #[error("the run was interrupted")]
    Interrupted,
    /// The shared memory could not be read or written.
    #[error("cannot look at the buffers of a client: {0}")]
    Memory(#[from] std::io::Error),
}
