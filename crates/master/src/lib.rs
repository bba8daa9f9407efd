//! The master of the store as a deterministic state machine: no I/O, no threads, no clock of its own.
//!
//! [`Master::handle`] answers one request at an instant that the caller names; [`Master::tick`] does exactly one round
//! of one background thread. Mirrors upstream `mooncake-store/src/master_service.cpp` in base mode (no HA, no
//! snapshots, one tenant, memory only, offset allocator, `random` placement).

mod config;
mod dispatch;
mod view;

pub use config::{ConfigError, MasterConfig};
pub use dispatch::{UNSUPPORTED, refuse};
pub use view::{Place, View};

use moonquake_clock::{Clocks, Thread};
use moonquake_protocol::{Request, Response};

/// The master.
#[derive(Clone, Debug)]
pub struct Master {
    config: MasterConfig,
}

impl Master {
    /// A master that starts at `now` with nothing mounted.
    ///
    /// # Errors
    /// When the configuration is one that upstream's constructor refuses.
    pub fn new(config: MasterConfig, now: Clocks) -> Result<Master, ConfigError> {
        config.validate()?;
        let _ = now;
        Ok(Master { config })
    }

    /// Answers one request that is handled at `now`.
    ///
    /// `fence` is the id of the first replica that the writer of this PutEnd or PutRevoke was given. The wire does not
    /// carry it; only a master without the quirk `stale-put-end` looks at it.
    pub fn handle(&mut self, now: Clocks, request: &Request, fence: Option<u64>) -> Response {
        let _ = (now, fence, &self.config);
        dispatch::refuse(request, moonquake_protocol::ErrorCode::InternalError)
    }

    /// Exactly one round of a background thread.
    pub fn tick(&mut self, now: Clocks, thread: Thread) {
        let _ = (now, thread);
    }

    /// The round of the replica clean-up worker that follows an UnmountSegment in the background.
    pub fn settle_cleanup(&mut self) {}

    /// What the admin endpoint shows. Grants nothing and changes nothing.
    pub fn view(&self) -> View {
        View::default()
    }
}
