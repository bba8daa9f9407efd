//! Page faults in the processes of real clients: whoever touches a watched buffer, and be it by an instruction, is seen.
//!
//! The agent makes the descriptor (`userfaultfd`), this process takes it and serves it on a thread of its own, so that nobody waits for
//! longer than a note takes, whatever stands still. An access tells of itself once for each page and epoch; that of a buffer begins when
//! it is first known, and again whenever an operation of its client has failed, that of a page of a segment ([`super::segments`]) whenever
//! something that touched it is over. What the log of socket calls has of the same
//! thread, and copies within one process that the stage knows of, are no news; all the rest is an access of somebody.

use super::watched::{PAGE, Watched};
use super::{LIMIT, MasterSide, RealClient, RealClients};
use crate::agent::Agent;
use crate::process::SocketAccess;
use moonquake_scenario::{Do, Plan, Step};
use moonquake_stage::{Accessed, PortError, PortResult, Sight};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The largest buffer or segment that is watched: each of its pages is made present, since one that is not tells nothing.
pub(super) const WATCHED_BYTES: u64 = 256 << 20;
/// Socket calls, by the numbers that the kernel tells: a thread that stands in one may not have logged it yet.
const SOCKET_CALLS: [&str; 8] = ["0 ", "1 ", "19 ", "20 ", "44 ", "45 ", "46 ", "47 "];

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Memory {
    /// The caller's buffer of that name.
    Buffer(String),
    /// The segment of that name in evidence.
    Segment(String),
}

/// All memory under watch.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) of: BTreeMap<Memory, Watched>,
    /// Why the segment of some process is not among it.
    pub(super) blind: Option<String>,
    /// The answer about a range counts on all segments.
    pub(super) relied_on: bool,
}

/// Who uses a buffer, and how large it may become: the largest object of the plan, for each key of a step that names it.
pub(super) fn user_of<'a>(plan: &'a Plan, name: &str) -> Option<(&'a str, u64)> {
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
        let Some((actor, bytes)) = user_of(&self.plan, name).map(|(actor, bytes)| (actor.to_owned(), bytes))
        else {
            return Ok(match self.segments_seen() {
                Ok(whose) => seen_by(format!("{sockets}, page faults of {whose}"), true),
                Err(why) => seen_by(format!("{sockets}; no page faults: {why}"), false),
            });
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
        let buffer = Memory::Buffer(name.to_owned());
        let Some(watched) = self.faults.of.get(&buffer).filter(|watched| watched.pid != pid) else {
            return Ok(());
        };
        let bytes = watched.size;
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
        let begin = agent.hello().arena_base + offset;
        let watched = match Watched::adopt(actor, agent, (begin, bytes))? {
            Ok(watched) => watched,
            Err(why) => return Ok(Some(why)),
        };
        self.faults.of.insert(Memory::Buffer(name.to_owned()), watched);
        Ok(None)
    }

    /// An operation of a client has failed: each page of its buffers tells of the next access again.
    pub(super) fn new_epoch(&mut self, actor: &str) -> PortResult<()> {
        self.judge_faults()?;
        let agent = self.clients.get(actor).map(|client| &client.agent);
        for (memory, watched) in &mut self.faults.of {
            if watched.actor == actor && matches!(memory, Memory::Buffer(_)) {
                watched.ask_again(agent, 0, watched.size)?;
            }
        }
        Ok(())
    }

    /// Tells of faults that neither a socket call nor a copy of the stage explains. Those of a buffer that an operation has now wait
    /// for its end, and those of a segment for the end of its own client's operations: what they do by themselves is known then.
    pub(super) fn judge_faults(&mut self) -> PortResult<()> {
        for watched in self.faults.of.values_mut() {
            watched.take()?;
        }
        let running = || self.operations.values().filter(|operation| !operation.over);
        let waits = |memory: &Memory, watched: &Watched| match memory {
            Memory::Buffer(name) => running().any(|operation| operation.buffer.as_ref() == Some(name)),
            Memory::Segment(_) => running().any(|operation| operation.actor == watched.actor),
        };
        let all = self.faults.of.iter();
        let now: Vec<Memory> = all
            .filter(|(memory, watched)| !waits(memory, watched))
            .map(|(memory, _)| memory.clone())
            .collect();
        for memory in now {
            self.judge(&memory)?;
        }
        Ok(())
    }

    fn judge(&mut self, memory: &Memory) -> PortResult<()> {
        let threads: BTreeSet<u32> = match self.faults.of.get_mut(memory) {
            Some(watched) => watched.unexplained().map(|open| open.0).collect(),
            None => return Ok(()),
        };
        for thread in threads {
            self.await_log_of(memory, thread)?;
        }
        self.look()?;
        let Some(watched) = self.faults.of.get_mut(memory) else {
            return Ok(());
        };
        let actor = watched.actor.clone();
        let strays = watched.strays();
        if matches!(memory, Memory::Segment(_)) {
            for (_, _, from, to) in &strays {
                watched.owe(*from, *to);
            }
            watched.catch_up(told(&self.clients, &actor))?;
        }
        for (_, write, from, to) in strays {
            let actor = actor.clone();
            self.streams.stray(match memory {
                Memory::Buffer(name) => Accessed::Buffer {
                    actor,
                    name: name.clone(),
                    write,
                    from,
                    to,
                },
                Memory::Segment(home) => Accessed::Segment {
                    actor,
                    home: home.clone(),
                    write,
                    from,
                    to,
                },
            });
        }
        Ok(())
    }

    /// A thread that has touched a page in a socket call logs that behind it.
    fn await_log_of(&mut self, memory: &Memory, thread: u32) -> PortResult<()> {
        let end = Instant::now() + LIMIT;
        loop {
            let Some(watched) = self.faults.of.get(memory) else {
                return Ok(());
            };
            let call = format!("/proc/{}/task/{thread}/syscall", watched.pid);
            let call = std::fs::read_to_string(call).unwrap_or_default();
            let busy = call.starts_with("running") || SOCKET_CALLS.iter().any(|one| call.starts_with(one));
            self.look()?;
            let Some(watched) = self.faults.of.get_mut(memory) else {
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

/// The agent of a client, if it can be told something now: one that is stopped cannot, nor one whose client holds the interpreter.
pub(super) fn told<'a>(clients: &'a BTreeMap<String, RealClient>, actor: &str) -> Option<&'a Agent> {
    let client = clients.get(actor)?;
    let listens = !client.frozen && !client.closing && client.setup.is_none();
    listens.then_some(&client.agent)
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

impl Faults {
    /// A socket call of a client explains the faults of its thread.
    pub(super) fn explain(&mut self, actor: &str, access: &SocketAccess) {
        for watched in self.of.values_mut().filter(|watched| watched.actor == actor) {
            watched.explain(access);
        }
    }

    /// Which bytes of which segments a socket call of a client has touched that no transfer knows of.
    pub(super) fn segments_at(&mut self, actor: &str, access: &SocketAccess) -> Vec<(String, u64, u64)> {
        let mine = self.of.iter_mut().filter(|(_, watched)| watched.actor == actor);
        let touched = mine.filter_map(|(memory, watched)| match memory {
            Memory::Segment(home) => {
                let (from, to) = watched.within(access.address, access.length_bytes)?;
                watched.owe(from, to);
                Some((home.clone(), from, to))
            }
            Memory::Buffer(_) => None,
        });
        touched.collect()
    }

    /// A copy within a process explains them, too.
    pub(super) fn explain_copy(&mut self, actor: &str, address: u64, size: u64) {
        for watched in self.of.values_mut().filter(|watched| watched.actor == actor) {
            watched.explain_copy(address, size);
        }
    }

    /// The process of a client ends; nothing of it can be touched any more.
    pub(super) fn ends(&mut self, actor: &str) {
        for watched in self.of.values_mut().filter(|watched| watched.actor == actor) {
            watched.ends();
        }
    }
}
