//! Page faults in the processes of real clients: whoever touches a watched buffer, and be it by an instruction, is seen.
//!
//! The agent makes the descriptor (`userfaultfd`), this process takes it and serves it on a thread of its own, so that nobody waits for
//! longer than a note takes, whatever stands still. An access tells of itself once for each page and epoch; an epoch begins when the
//! buffer is first known, and again whenever an operation of its client has failed. What the log of socket calls has of the same
//! thread, and copies within one process that the stage knows of, are no news; all the rest is an access of somebody.

use super::streams::Place;
use super::{LIMIT, MasterSide, RealClients};
use crate::agent::{Agent, Command, Range};
use crate::process::{Direction, SocketAccess};
use moonquake_scenario::{Do, Plan, Step};
use moonquake_stage::{Accessed, PortError, PortResult, Sight};
use moonquake_witness::{FaultMode, FaultWitness, How, Witness, WitnessError, faults};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

const PAGE: u64 = 4096;
/// The largest buffer that is watched: each of its pages is made present, since one that is not tells nothing.
const WATCHED_BYTES: u64 = 256 << 20;
/// Socket calls, by the numbers that the kernel tells: a thread that stands in one may not have logged it yet.
const SOCKET_CALLS: [&str; 8] = ["0 ", "1 ", "19 ", "20 ", "44 ", "45 ", "46 ", "47 "];

/// A buffer under watch.
#[derive(Debug)]
struct Watched {
    actor: String,
    /// The process whose memory it is.
    pid: u32,
    range: Range,
    witness: FaultWitness,
    /// Pages that a thread has touched by socket calls, in that direction.
    logged: BTreeSet<(u32, bool, u64)>,
    /// Pages that were copied within the process.
    copied: BTreeSet<u64>,
    /// Accesses that nobody has explained yet: thread, direction, bytes of the buffer.
    open: Vec<(u32, bool, u64, u64)>,
}

/// All buffers under watch.
#[derive(Debug, Default)]
pub(super) struct Faults {
    of: BTreeMap<String, Watched>,
}

/// Who uses a buffer, and how large it may become: the largest object of the plan, for each key of a step that names it.
fn user_of<'a>(plan: &'a Plan, name: &str) -> Option<(&'a str, u64)> {
    let actions = || plan.steps.iter().filter_map(Step::operation);
    let largest = actions().filter_map(|action| action.size_bytes).max()?;
    let names = |own: &Option<String>, action: &Do| {
        own.as_deref().is_some_and(|own| own == name) && action.who.is_some()
    };
    let mut user = None;
    let mut bytes = 0;
    for action in actions().filter(|action| names(&action.into, action) || names(&action.from, action)) {
        user = user.or(action.who.as_deref());
        let ranges: u64 = action.ranges.iter().map(|range| range.size_bytes).sum();
        let each = largest.max(ranges);
        bytes = bytes.max(each.saturating_mul(action.keys.len().max(1) as u64));
    }
    Some((user?, bytes.next_multiple_of(PAGE)))
}

impl<M: MasterSide> RealClients<M> {
    /// What is seen of a name that is watched. The faults of a buffer are told from now on.
    pub(super) fn watch_real(&mut self, name: &str) -> PortResult<Sight> {
        let sockets = "socket logs of both processes";
        // The memory of a segment is private to its process: its faults tell no reads.
        let Some((actor, bytes)) = user_of(&self.plan, name).map(|(actor, bytes)| (actor.to_owned(), bytes))
        else {
            return Ok(seen_by(sockets.to_owned(), false));
        };
        if bytes > WATCHED_BYTES {
            return Ok(seen_by(
                format!("{sockets}; {name} is too large for page faults"),
                false,
            ));
        }
        Ok(match self.arm(name, &actor, bytes)? {
            None => seen_by(format!("{sockets}, page faults of {actor}"), true),
            Some(why) => seen_by(format!("{sockets}; no page faults: {why}"), false),
        })
    }

    /// The process of a buffer may be another than when its watch began.
    pub(super) fn watch_again(&mut self, actor: &str, name: &str) -> PortResult<()> {
        let pid = self.client(actor)?.agent.pid();
        let Some(watched) = self.faults.of.get(name).filter(|watched| watched.pid != pid) else {
            return Ok(());
        };
        let bytes = watched.range.size;
        match self.arm(name, actor, bytes)? {
            None => Ok(()),
            Some(why) => Err(PortError(format!(
                "{name} of {actor} cannot be watched any more: {why}"
            ))),
        }
    }

    /// Begins to watch; says why not if it cannot be had here.
    fn arm(&mut self, name: &str, actor: &str, bytes: u64) -> PortResult<Option<String>> {
        let arena = self.client(actor)?.agent.arena().clone();
        let offset = self.buffers.named(actor, &arena, name)?.offset;
        let range = Range { offset, size: bytes };
        // Pages that are not there yet tell nothing.
        let zeros = vec![0; usize::try_from(bytes.min(1 << 20)).map_err(PortError::new)?];
        let mut at = 0;
        while at < bytes {
            let count = (bytes - at).min(zeros.len() as u64);
            let part = &zeros[..usize::try_from(count).map_err(PortError::new)?];
            arena.write(offset + at, part).map_err(PortError::new)?;
            at += count;
        }
        let agent = &self.client(actor)?.agent;
        let witness = match adopt(agent, range)? {
            Ok(witness) => witness,
            Err(why) => return Ok(Some(why)),
        };
        let watched = Watched {
            actor: actor.to_owned(),
            pid: agent.pid(),
            range,
            witness,
            logged: BTreeSet::new(),
            copied: BTreeSet::new(),
            open: Vec::new(),
        };
        self.faults.of.insert(name.to_owned(), watched);
        Ok(None)
    }

    /// An operation of a client has failed: each page of its buffers tells of the next access again.
    pub(super) fn new_epoch(&mut self, actor: &str) -> PortResult<()> {
        self.judge_faults()?;
        for watched in self
            .faults
            .of
            .values_mut()
            .filter(|watched| watched.actor == actor)
        {
            let Some(client) = self.clients.get(actor) else {
                continue;
            };
            forget_pages(&client.agent, watched.range)?;
            watched.logged.clear();
            watched.copied.clear();
        }
        Ok(())
    }

    /// Tells of faults that neither a socket call nor a copy of the stage explains. Those of a buffer that an operation has now wait
    /// for its end: what it does by itself is known then.
    pub(super) fn judge_faults(&mut self) -> PortResult<()> {
        let lent: BTreeSet<String> = {
            let running = self.operations.values().filter(|operation| !operation.over);
            running.filter_map(|operation| operation.buffer.clone()).collect()
        };
        for watched in self.faults.of.values_mut() {
            watched.take()?;
        }
        let names: Vec<String> = self.faults.of.keys().cloned().collect();
        for name in names.into_iter().filter(|name| !lent.contains(name)) {
            self.judge_buffer(&name)?;
        }
        Ok(())
    }

    fn judge_buffer(&mut self, name: &str) -> PortResult<()> {
        let threads: BTreeSet<u32> = match self.faults.of.get_mut(name) {
            Some(watched) => watched.unexplained().map(|open| open.0).collect(),
            None => return Ok(()),
        };
        for thread in threads {
            self.await_log_of(name, thread)?;
        }
        self.look()?;
        let Some(watched) = self.faults.of.get_mut(name) else {
            return Ok(());
        };
        let strays: Vec<_> = watched.unexplained().copied().collect();
        watched.open.clear();
        for (_, write, from, to) in strays {
            self.streams.stray(Accessed::Buffer {
                actor: watched.actor.clone(),
                name: name.to_owned(),
                write,
                from,
                to,
            });
        }
        Ok(())
    }

    /// A thread that has touched a page in a socket call logs that behind it.
    fn await_log_of(&mut self, name: &str, thread: u32) -> PortResult<()> {
        let end = Instant::now() + LIMIT;
        loop {
            let Some(watched) = self.faults.of.get(name) else {
                return Ok(());
            };
            let call = format!("/proc/{}/task/{thread}/syscall", watched.pid);
            let call = std::fs::read_to_string(call).unwrap_or_default();
            let busy = call.starts_with("running") || SOCKET_CALLS.iter().any(|one| call.starts_with(one));
            self.look()?;
            let Some(watched) = self.faults.of.get_mut(name) else {
                return Ok(());
            };
            let explained = !watched.unexplained().any(|open| open.0 == thread);
            if explained || !busy || Instant::now() > end {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }
}

fn adopt(agent: &Agent, range: Range) -> PortResult<Result<FaultWitness, String>> {
    let number = |command: &Command| {
        let outcome = agent.call(command).map_err(PortError::new)?.outcome;
        outcome
            .number()
            .ok_or_else(|| PortError(format!("{command:?} came to {outcome:?}")))
    };
    let descriptor = number(&Command::OpenFaults {})?;
    let Some(descriptor) = i32::try_from(descriptor).ok().filter(|number| *number >= 0) else {
        let why = std::io::Error::from_raw_os_error(i32::try_from(-descriptor).unwrap_or(0));
        return Ok(Err(format!("userfaultfd: {why}")));
    };
    let taken = faults::take(agent.pid(), descriptor);
    number(&Command::CloseDescriptor { descriptor })?;
    let begin = agent.hello().arena_base + range.offset;
    let witness = taken.and_then(|fd| {
        let mut witness = FaultWitness::adopt(fd, begin..begin + range.size, FaultMode::Minor)?;
        witness.arm(0..range.size)?;
        Ok(witness)
    });
    match witness {
        Ok(witness) => {
            forget_pages(agent, range)?;
            Ok(Ok(witness))
        }
        Err(WitnessError::Unavailable { what, .. }) => Ok(Err(what)),
        Err(other) => Ok(Err(other.to_string())),
    }
}

fn forget_pages(agent: &Agent, range: Range) -> PortResult<()> {
    let outcome = agent
        .call(&Command::ForgetPages { range })
        .map_err(PortError::new)?
        .outcome;
    match outcome.number() {
        Some(0) => Ok(()),
        _ => Err(PortError(format!("pages cannot be forgotten: {outcome:?}"))),
    }
}

fn seen_by(witness: String, all: bool) -> Sight {
    let transport = ["transport write", "transport read"];
    let client = ["client write", "client read"];
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    Sight {
        witness,
        sees: if all {
            words(&[client, transport].concat())
        } else {
            words(&transport)
        },
        blind: if all { Vec::new() } else { words(&client) },
    }
}

impl Watched {
    /// Takes what the witness has noted.
    fn take(&mut self) -> PortResult<()> {
        let seen = self.witness.accesses().map_err(PortError::new)?;
        let noted = seen.into_iter().filter_map(|access| match access.how {
            How::Fault { thread } => Some((thread, access.write, access.from, access.to)),
            _ => None,
        });
        self.open.extend(noted);
        Ok(())
    }

    fn unexplained(&self) -> impl Iterator<Item = &(u32, bool, u64, u64)> {
        let explained = |thread: u32, write: bool, page: u64| {
            self.logged.contains(&(thread, write, page)) || self.copied.contains(&page)
        };
        let is_open = move |open: &&(u32, bool, u64, u64)| {
            let (thread, write, from, to) = **open;
            pages(from, to).any(|page| !explained(thread, write, page))
        };
        self.open.iter().filter(is_open)
    }
}

fn pages(from: u64, to: u64) -> impl Iterator<Item = u64> {
    from / PAGE..to.div_ceil(PAGE)
}

impl Faults {
    /// A socket call of a client explains the faults of its thread.
    pub(super) fn explain(&mut self, actor: &str, base: u64, access: &SocketAccess) {
        for watched in self.of.values_mut().filter(|watched| watched.actor == actor) {
            let begin = base + watched.range.offset;
            let from = access.address.max(begin);
            let to = access.address.saturating_add(access.length_bytes);
            let to = to.min(begin + watched.range.size);
            if from < to {
                let write = access.direction == Direction::Received;
                let touched = pages(from - begin, to - begin).map(|page| (access.tid, write, page));
                watched.logged.extend(touched);
            }
        }
    }

    /// A copy within a process explains them, too.
    pub(super) fn explain_copy(&mut self, actor: &str, base: u64, place: Place, size: u64) {
        let Place::Address(address) = place else { return };
        for watched in self.of.values_mut().filter(|watched| watched.actor == actor) {
            let begin = base + watched.range.offset;
            if (begin..begin + watched.range.size).contains(&address) {
                watched
                    .copied
                    .extend(pages(address - begin, address - begin + size));
            }
        }
    }

    /// The process of a client ends; nothing of it can be touched any more.
    pub(super) fn ends(&mut self, actor: &str) {
        for watched in self.of.values_mut().filter(|watched| watched.actor == actor) {
            watched.open.clear();
            let _gone = watched.witness.disarm();
        }
    }
}
