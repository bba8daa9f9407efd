//! A process that has ended without being told to: it crashed, or somebody else ended it. Nobody who waits for what it was to do next must
//! wait for that any longer, nor take it for a difference between a client and its model.

use super::{MasterSide, RealClient, RealClients};
use moonquake_stage::{PortError, PortResult};
use std::process::ExitStatus;

/// Who it is and how it ended, if one of these has.
pub(super) fn of_clients<'a>(clients: impl Iterator<Item = (&'a str, &'a RealClient)>) -> Option<String> {
    let mut ended = clients.filter_map(|(name, client)| {
        let status = client.agent.exit_status().ok().flatten()?;
        Some(ended_by_itself(name, status))
    });
    ended.next()
}

/// The process of that name has ended so.
pub(crate) fn ended_by_itself(name: &str, status: ExitStatus) -> String {
    format!("the process of {name} has ended, and this run has not ended it ({status})")
}

impl<M: MasterSide> RealClients<M> {
    /// Who has ended, if anybody has.
    pub(super) fn ended(&self) -> Option<String> {
        let clients = self.clients.iter();
        of_clients(clients.map(|(name, client)| (name.as_str(), client))).or_else(|| self.master.ended())
    }

    /// Looks whether all live that should.
    ///
    /// # Errors
    /// Who does not.
    pub(super) fn all_live(&self) -> PortResult<()> {
        self.ended().map_or(Ok(()), |ended| Err(cannot_go_on(&ended)))
    }

    /// The error, unless a process has ended: then that is the error.
    pub(super) fn unless_ended<T>(&self, done: PortResult<T>) -> PortResult<T> {
        done.map_err(|error| self.ended().map_or(error, |ended| cannot_go_on(&ended)))
    }
}

fn cannot_go_on(ended: &str) -> PortError {
    PortError(format!(
        "{ended}: it crashed, or somebody else ended it. Run it again; if it ends again, look at its last words"
    ))
}
