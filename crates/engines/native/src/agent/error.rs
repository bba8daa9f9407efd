//! What can go wrong with an agent.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// Why there is no answer.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The process has ended before it answered.
    #[error("the client's process has ended ({}). Its last words:\n{stderr_tail}", shown(*status))]
    Gone {
        /// How it ended; none if that is not known.
        status: Option<ExitStatus>,
        /// The end of what it wrote.
        stderr_tail: String,
    },

    /// No answer within the limit. The call goes on; its ticket can be waited for again.
    #[error("no answer from the client to {what} within {} ms of real time. Its last words:\n{stderr_tail}", limit.as_millis())]
    Limit {
        /// The call.
        what: String,
        /// The limit.
        limit: Duration,
        /// The end of what it wrote.
        stderr_tail: String,
    },

    /// What it said is not of the protocol. Nothing more is heard from it.
    #[error("the client's process broke the protocol: {what}. Its last words:\n{stderr_tail}")]
    Protocol {
        /// What was wrong.
        what: String,
        /// The end of what it wrote.
        stderr_tail: String,
    },

    /// The operating system refused something.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried, as an infinitive.
        doing: String,
        /// The refusal.
        #[source]
        source: std::sync::Arc<io::Error>,
    },
}

impl AgentError {
    /// Wraps an error of the operating system.
    pub(crate) fn io(doing: &str, source: io::Error) -> AgentError {
        AgentError::Io {
            doing: doing.to_owned(),
            source: std::sync::Arc::new(source),
        }
    }
}

fn shown(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "how is not known".to_owned(), |status| status.to_string())
}
