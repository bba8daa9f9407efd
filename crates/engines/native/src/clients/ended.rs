//! A process that has ended without being told to: it crashed, or somebody else ended it. Nobody who waits for what it was to do next must
//! wait for that any longer, nor take it for a difference between a client and its model.

use super::{MasterSide, RealClient, RealClients};
use moonquake_stage::{PortError, PortResult};
use std::process::ExitStatus;

/// Who it is and how it ended, if one of these has.
pub(super) fn of_clients<'a>(clients: impl Iterator<Item = (&'a str, &'a RealClient)>) -> Option<String> {
    let mut ended = clients.filter_map(|(name, client)| {
        let status = client.agent.exit_status().ok().flatten()?;
        let ended = ended_by_itself(name, status);
        Some(if client.closing {
            format!(
                "{ended}, after the call of its close: the release does not survive that under other calls"
            )
        } else {
            ended
        })
    });
    ended.next()
}

/// The process of that name has ended so.
pub(crate) fn ended_by_itself(name: &str, status: ExitStatus) -> String {
    format!("the process of {name} has ended, and this run has not ended it ({status})")
}

impl<M: MasterSide> RealClients<M> {
    /// Who has ended, if anybody has, and what to do about it.
    pub(super) fn ended(&self) -> Option<String> {
        let clients = self.clients.iter().map(|(name, client)| (name.as_str(), client));
        let ended = of_clients(clients).or_else(|| self.master.ended())?;
        Some(format!(
            "{ended}: it crashed, or somebody else ended it. Run it again; if it ends again, look at its last words"
        ))
    }

    /// Looks whether all live that should.
    ///
    /// # Errors
    /// Who does not.
    pub(super) fn all_live(&self) -> PortResult<()> {
        self.ended().map_or(Ok(()), |ended| Err(PortError(ended)))
    }
}
