//! Connections of ours to a listener of ours: when one has had its turn, so has every connection that was made before it.

use super::wait::Changes;
use crate::runtime::NetError;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::net::TcpSocket;

/// Own ends of those that wait for their turn to be accepted.
#[derive(Debug, Default)]
pub(super) struct Probes(Mutex<BTreeSet<SocketAddr>>);

impl Probes {
    /// Whether a connection that was accepted is one of them; it has had its turn then.
    pub(super) fn take(&self, peer: &SocketAddr) -> bool {
        self.waiting().remove(peer)
    }

    /// Returns when every connection to `listener` that was made before this call was accepted.
    pub(super) async fn queue(&self, listener: SocketAddr, changes: &Changes) -> Result<(), NetError> {
        let failed = |error| NetError::io("connecting to a listener of our own", error);
        let probe = TcpSocket::new_v4().map_err(failed)?;
        probe.bind(SocketAddr::new(listener.ip(), 0)).map_err(failed)?;
        let own = probe.local_addr().map_err(failed)?;
        self.waiting().insert(own);
        // Connections are accepted in the order in which they were made.
        let probe = probe.connect(listener).await.map_err(failed)?;
        changes
            .until(|| (!self.waiting().contains(&own)).then_some(()))
            .await;
        drop(probe);
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeSet<SocketAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
