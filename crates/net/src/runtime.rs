//! The runtime under every socket of this crate, and the limit that turns a hang into an error.

use crate::datapath::gate::OwnConnections;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tracing::Instrument;

/// What went wrong in the harness itself: no statement about the store can rest on it. A peer that misbehaves is not
/// such an error; the calls of this crate have types of their own for that.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// A socket of ours could not be made or used.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody is there.
    #[error("{what}: {why}; see that it runs and listens there")]
    Unreachable {
        /// What was tried.
        what: String,
        /// What the system said.
        why: String,
    },
    /// A step did not complete in real time. Virtual time has no part in it.
    #[error(
        "{what} did not complete within {limit:?} of real time: the other side is stopped, dead or does not read; \
         see that it runs, and that nothing holds it while this step needs it"
    )]
    Limit {
        /// The step.
        what: String,
        /// The limit.
        limit: Duration,
    },
    /// A step was asked for that this message or connection is not ready for.
    #[error("{what} is out of order: {why}")]
    Order {
        /// The step.
        what: String,
        /// Why it cannot be done now.
        why: String,
    },
    /// A peer did not do in real time what it should; other things it did.
    #[error("{what} did not come within {limit:?} of real time; {instead}")]
    Missing {
        /// What was waited for.
        what: String,
        /// The limit.
        limit: Duration,
        /// What came instead.
        instead: String,
    },
    /// The peer whose step was waited for is gone.
    #[error("{what} cannot come any more: {why}; {instead}")]
    Gone {
        /// What was waited for.
        what: String,
        /// How the peer ended.
        why: String,
        /// What came instead.
        instead: String,
    },
    /// Our own side sent something that its second observer could not read.
    #[error("the observer could not read what {actor} sent: {why}")]
    Observer {
        /// The actor on whose link it happened.
        actor: String,
        /// What is wrong.
        why: String,
    },
}

impl NetError {
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> NetError {
        NetError::Io {
            what: what.into(),
            source,
        }
    }

    pub(crate) fn order(what: impl Into<String>, why: impl Into<String>) -> NetError {
        NetError::Order {
            what: what.into(),
            why: why.into(),
        }
    }
}

/// Owns the tokio runtime; every socket of a run lives on it. Cheap to clone.
#[derive(Clone)]
pub struct Net {
    inner: Arc<Inner>,
}

struct Inner {
    runtime: Runtime,
    limit: Duration,
    own: Arc<OwnConnections>,
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net")
            .field("limit", &self.inner.limit)
            .finish_non_exhaustive()
    }
}

impl Net {
    /// How long a step may take in real time unless the caller says otherwise.
    pub const LIMIT: Duration = Duration::from_secs(10);

    /// A runtime that moves only while a step is being made: what a run under control needs.
    ///
    /// # Errors
    /// When the system refuses a runtime.
    pub fn stepped(limit: Duration) -> Result<Net, NetError> {
        Self::over(Builder::new_current_thread().enable_all().build(), limit)
    }

    /// A runtime with a thread of its own, which serves while the caller does something else: for peers that are
    /// other processes.
    ///
    /// # Errors
    /// When the system refuses a runtime or its thread.
    pub fn background(limit: Duration) -> Result<Net, NetError> {
        let mut builder = Builder::new_multi_thread();
        Self::over(
            builder
                .worker_threads(1)
                .thread_name("moonquake-net")
                .enable_all()
                .build(),
            limit,
        )
    }

    fn over(runtime: io::Result<Runtime>, limit: Duration) -> Result<Net, NetError> {
        let runtime =
            runtime.map_err(|source| NetError::io("starting the runtime of the sockets", source))?;
        Ok(Net {
            inner: Arc::new(Inner {
                runtime,
                limit,
                own: Arc::default(),
            }),
        })
    }

    /// The limit of one step.
    pub fn limit(&self) -> Duration {
        self.inner.limit
    }

    /// Runs one step to its end.
    ///
    /// # Errors
    /// [`NetError::Limit`] when it does not end in time.
    pub fn step<T>(&self, what: &str, step: impl Future<Output = T>) -> Result<T, NetError> {
        let limit = self.inner.limit;
        let bounded = async { tokio::time::timeout(limit, step).await };
        self.inner.runtime.block_on(bounded).map_err(|_| NetError::Limit {
            what: what.to_owned(),
            limit,
        })
    }

    /// Runs a future without a limit: for a server's main loop.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.inner.runtime.block_on(future)
    }

    pub(crate) fn spawn<F>(&self, task: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // What a task says in the log belongs to whoever started it.
        self.inner.runtime.spawn(task.in_current_span())
    }

    pub(crate) fn own(&self) -> &Arc<OwnConnections> {
        &self.inner.own
    }
}
