//! One piece of memory of a client's process whose page faults are told: who has touched what, and what of that is no news.

use crate::agent::{Agent, Command};
use crate::process::{Direction, SocketAccess};
use moonquake_stage::{PortError, PortResult};
use moonquake_witness::{FaultMode, FaultWitness, How, Witness, WitnessError, faults};
use std::collections::BTreeSet;

pub(super) const PAGE: u64 = 4096;

/// An access: thread, whether it writes, first byte of the memory and one past the last.
pub(super) type Noted = (u32, bool, u64, u64);

/// Memory under watch. Each of its pages tells of one access, and one write behind reads, until it is asked again.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) actor: String,
    /// The process whose memory it is.
    pub(super) pid: u32,
    /// Its first address there.
    pub(super) begin: u64,
    pub(super) size: u64,
    witness: FaultWitness,
    /// Pages that a thread has touched by socket calls, in that direction.
    logged: BTreeSet<(u32, bool, u64)>,
    /// Pages that were copied within the process.
    copied: BTreeSet<u64>,
    /// Accesses that nobody has explained yet.
    open: Vec<Noted>,
    /// Bytes whose pages are to be asked again as soon as the process can be told.
    due: Vec<(u64, u64)>,
    /// Its process is gone. Another may bear the same name.
    is_gone: bool,
}

impl Watched {
    /// Begins to watch whole pages that are there, in memory that a file lies under. Says why not if that cannot be had here.
    pub(super) fn adopt(
        actor: &str,
        agent: &Agent,
        (begin, size): (u64, u64),
    ) -> PortResult<Result<Watched, String>> {
        let descriptor = number(agent, &Command::OpenFaults {})?;
        let Some(descriptor) = i32::try_from(descriptor).ok().filter(|number| *number >= 0) else {
            let why = std::io::Error::from_raw_os_error(i32::try_from(-descriptor).unwrap_or(0));
            return Ok(Err(format!("userfaultfd: {why}")));
        };
        let taken = faults::take(agent.pid(), descriptor);
        number(agent, &Command::CloseDescriptor { descriptor })?;
        let witness = taken.and_then(|fd| {
            let mut witness = FaultWitness::adopt(fd, begin..begin + size, FaultMode::Minor)?;
            witness.arm(0..size)?;
            Ok(witness)
        });
        let witness = match witness {
            Ok(witness) => witness,
            Err(WitnessError::Unavailable { what, .. }) => return Ok(Err(what)),
            Err(other) => return Ok(Err(other.to_string())),
        };
        let mut watched = Watched {
            actor: actor.to_owned(),
            pid: agent.pid(),
            begin,
            size,
            witness,
            logged: BTreeSet::new(),
            copied: BTreeSet::new(),
            open: Vec::new(),
            due: Vec::new(),
            is_gone: false,
        };
        watched.ask_again(Some(agent), 0, size)?;
        Ok(Ok(watched))
    }

    /// Takes what the witness has noted.
    pub(super) fn take(&mut self) -> PortResult<()> {
        let seen = self.witness.accesses().map_err(PortError::new)?;
        let noted = seen.into_iter().filter_map(|access| match access.how {
            How::Fault { thread } => Some((thread, access.write, access.from, access.to)),
            _ => None,
        });
        self.open.extend(noted);
        Ok(())
    }

    /// What neither a socket call nor a copy explains.
    pub(super) fn unexplained(&self) -> impl Iterator<Item = &Noted> {
        let explained = |thread: u32, write: bool, page: u64| {
            self.logged.contains(&(thread, write, page)) || self.copied.contains(&page)
        };
        let is_open = move |open: &&Noted| {
            let (thread, write, from, to) = **open;
            pages(from, to).any(|page| !explained(thread, write, page))
        };
        self.open.iter().filter(is_open)
    }

    /// What is left unexplained, once; nothing of it is looked at again.
    pub(super) fn strays(&mut self) -> Vec<Noted> {
        let strays = self.unexplained().copied().collect();
        self.open.clear();
        strays
    }

    /// A socket call of the process explains the faults of its thread.
    pub(super) fn explain(&mut self, access: &SocketAccess) {
        if let Some((from, to)) = self.within(access.address, access.length_bytes) {
            let write = access.direction == Direction::Received;
            let touched = pages(from, to).map(|page| (access.tid, write, page));
            self.logged.extend(touched);
        }
    }

    /// A copy within the process explains them, too.
    pub(super) fn explain_copy(&mut self, address: u64, size: u64) {
        if let Some((from, to)) = self.within(address, size) {
            self.copied.extend(pages(from, to));
        }
    }

    /// The bytes that lie here of those at an address.
    pub(super) fn within(&self, address: u64, size: u64) -> Option<(u64, u64)> {
        let from = address.max(self.begin);
        let to = address.saturating_add(size).min(self.begin + self.size);
        (from < to && !self.is_gone).then(|| (from - self.begin, to - self.begin))
    }

    /// The pages of these bytes tell of the next access to them, whoever makes it. Without an agent that can be told now it is done later.
    pub(super) fn ask_again(&mut self, agent: Option<&Agent>, from: u64, to: u64) -> PortResult<()> {
        self.owe(from, to);
        self.catch_up(agent)
    }

    /// The pages of these bytes are to tell of the next access.
    pub(super) fn owe(&mut self, from: u64, to: u64) {
        self.due
            .push((from - from % PAGE, to.next_multiple_of(PAGE).min(self.size)));
    }

    /// Asks the pages that are to be asked again.
    pub(super) fn catch_up(&mut self, agent: Option<&Agent>) -> PortResult<()> {
        let Some(agent) = agent.filter(|_| !self.is_gone) else {
            return Ok(());
        };
        for (from, to) in std::mem::take(&mut self.due) {
            // What was told by now is judged by what explains it now.
            self.take()?;
            self.open = self.unexplained().copied().collect();
            let command = Command::ForgetPages {
                address: self.begin + from,
                size: to - from,
            };
            if number(agent, &command)? != 0 {
                return Err(PortError("pages cannot be forgotten".to_owned()));
            }
            let touched = |page: u64| (from / PAGE..to / PAGE).contains(&page);
            self.logged.retain(|(_, _, page)| !touched(*page));
            self.copied.retain(|page| !touched(*page));
        }
        Ok(())
    }

    /// Copies within the process are over: their pages are asked again.
    pub(super) fn copies_over(&mut self, agent: Option<&Agent>) -> PortResult<()> {
        let copied: Vec<u64> = self.copied.iter().map(|page| page * PAGE).collect();
        match (copied.first(), copied.last()) {
            (Some(first), Some(last)) => self.ask_again(agent, *first, last + PAGE),
            _ => Ok(()),
        }
    }

    /// Whether its process is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// The process ends; nothing of it can be touched any more.
    pub(super) fn ends(&mut self) {
        self.open.clear();
        self.is_gone = true;
        let _gone = self.witness.disarm();
    }
}

fn pages(from: u64, to: u64) -> impl Iterator<Item = u64> {
    from / PAGE..to.div_ceil(PAGE)
}

/// The number that a command comes to.
pub(super) fn number(agent: &Agent, command: &Command) -> PortResult<i64> {
    let outcome = agent.call(command).map_err(PortError::new)?.outcome;
    outcome
        .number()
        .ok_or_else(|| PortError(format!("{command:?} came to {outcome:?}")))
}
