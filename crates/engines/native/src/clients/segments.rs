//! The memory of segments, so that it is seen what the processors of their owners do to it.
//!
//! The release allocates a segment as private memory, of which page faults tell no reads. Where a range of a segment is watched, a file
//! without a name is put under the segment when it is mounted, before anybody can have written there: nothing else about it changes, and
//! the client frees it as before. Then each page tells of the next access. What a transport does in a socket call is no news, as with
//! buffers; each part of a transfer that has moved has its pages ask again, so an access in between is never behind one that was told.

use super::faults::{Memory, WATCHED_BYTES, told, user_of};
use super::names::Mounted;
use super::watched::{Watched, number};
use super::{MasterSide, RealClients};
use crate::agent::Command;
use moonquake_stage::{PortError, PortResult};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

impl<M: MasterSide> RealClients<M> {
    /// A file to lie under the segment of a node, if a range of some segment is watched.
    pub(super) fn memory_of(&self, bytes: Option<u64>) -> PortResult<Option<File>> {
        let mut names = self.plan.watch.iter();
        let watches = names.any(|name| user_of(&self.plan, name).is_none());
        if bytes.is_none_or(|bytes| bytes > WATCHED_BYTES) || !watches {
            return Ok(None);
        }
        let file = rustix::fs::memfd_create("moonquake-segment", rustix::fs::MemfdFlags::CLOEXEC);
        let file = file.map_err(|errno| PortError::new(io::Error::from(errno)))?;
        Ok(Some(File::from(file)))
    }

    /// A node is ready: its segment is watched from now on, if it has such a file.
    pub(super) fn watch_segment(&mut self, actor: &str) -> PortResult<()> {
        let latest = self
            .names
            .all()
            .iter()
            .rev()
            .find(|mounted| mounted.actor == actor);
        let (Some(Mounted { home, segment, .. }), Some(client)) = (latest, self.clients.get(actor)) else {
            return Ok(());
        };
        let Some(file) = &client.memory else {
            return Ok(());
        };
        file.set_len(segment.size).map_err(PortError::new)?;
        let (home, bytes) = (home.clone(), (segment.base, segment.size));
        let share = Command::SharePages {
            descriptor: file.as_raw_fd(),
            address: bytes.0,
            size: bytes.1,
        };
        let why = match number(&client.agent, &share)? {
            0 => match Watched::adopt(actor, &client.agent, bytes)? {
                Ok(watched) => {
                    self.faults.of.insert(Memory::Segment(home), watched);
                    return Ok(());
                }
                Err(why) => why,
            },
            error => {
                let error = io::Error::from_raw_os_error(i32::try_from(-error).unwrap_or(0));
                format!("the memory of {home} cannot be shared: {error}")
            }
        };
        if self.faults.relied_on {
            return Err(PortError(format!("{home} cannot be watched any more: {why}")));
        }
        self.faults.blind = Some(why);
        Ok(())
    }

    /// Whose segments are watched, if all are.
    pub(super) fn segments_seen(&mut self) -> Result<String, String> {
        if let Some(why) = &self.faults.blind {
            return Err(why.clone());
        }
        let mut whose = Vec::new();
        for Mounted { actor, home, .. } in self.names.all() {
            if !self.faults.of.contains_key(&Memory::Segment(home.clone())) {
                return Err(format!("the segment of {actor} is too large for them"));
            }
            whose.push(actor.as_str());
        }
        self.faults.relied_on = true;
        Ok(whose.join(" and "))
    }

    /// Bytes of a segment that moved: what touches their pages next is told.
    pub(super) fn ask_segment_again(&mut self, home: &str, address: u64, size: u64) -> PortResult<()> {
        let segment = Memory::Segment(home.to_owned());
        let Some(watched) = self.faults.of.get_mut(&segment) else {
            return Ok(());
        };
        let Some((from, to)) = watched.within(address, size) else {
            return Ok(());
        };
        let actor = watched.actor.clone();
        watched.ask_again(told(&self.clients, &actor), from, to)
    }

    /// An operation of a client is over, and with it what it has copied within its process.
    pub(super) fn copies_over(&mut self, actor: &str) -> PortResult<()> {
        for (memory, watched) in &mut self.faults.of {
            if watched.actor == actor && matches!(memory, Memory::Segment(_)) {
                watched.copies_over(told(&self.clients, actor))?;
            }
        }
        Ok(())
    }

    /// Bytes of a segment out of the file under it: that is no access of anybody. None if there is no such file.
    pub(super) fn peek_shared(&self, home: &str, offset: u64, bytes: &mut [u8]) -> PortResult<Option<()>> {
        let watched = self.faults.of.get(&Memory::Segment(home.to_owned()));
        let client = watched
            .filter(|watched| !watched.is_gone())
            .and_then(|watched| self.clients.get(&watched.actor));
        let Some(file) = client.and_then(|client| client.memory.as_ref()) else {
            return Ok(None);
        };
        file.read_exact_at(bytes, offset)
            .map(Some)
            .map_err(PortError::new)
    }
}
