//! Knowing the master's threads by what they sleep for, and letting one through at a time.

use super::layout::{self, KIND_SLEEP, KIND_TIMED_WAIT, KIND_WAIT, Page, Slot};
use super::page;
use moonquake_clock::{MonotonicNs, RealtimeNs, Span, Thread};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Length of the eviction thread's sleep, by which the preloaded library knows it too.
pub(crate) const EVICTION_SLEEP_NS: u64 = 10_000_000;
/// Wait of the dynamic-replication thread, which runs (and does nothing) also when the feature is off.
const REPLICATION_WAIT_NS: u64 = 100_000_000;
/// The condition variables of one C++ object lie within so many bytes.
const ONE_OBJECT_BYTES: u64 = 1 << 16;

/// One read clock, as the process itself saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRead<T> {
    /// The value it was given last.
    pub last: T,
    /// How often it has read the clock.
    pub reads: u64,
}

/// What the process saw of its clocks: evidence from its side, not from the side that sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The wall clock.
    pub realtime: ClockRead<RealtimeNs>,
    /// The monotonic clock.
    pub monotonic: ClockRead<MonotonicNs>,
}

/// Waits and sleeps with a limit of time that a process did in real time: those of a client that are shorter than a second or its main
/// thread's, and those of a master that are shorter than 5 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RealTime {
    /// How many.
    pub waits: u64,
    /// How many of them ended because their time was over.
    pub timed_out: u64,
}

/// The same in words, of those who did anything.
pub(crate) fn in_words<'a>(all: impl IntoIterator<Item = (&'a str, RealTime)>) -> BTreeMap<String, String> {
    let did = all.into_iter().filter(|(_, one)| one.waits > 0);
    did.map(|(actor, RealTime { waits, timed_out })| {
        let words = format!("waits too short to be steered: {waits}, of which ran out: {timed_out}");
        (actor.to_owned(), words)
    })
    .collect()
}

impl std::ops::AddAssign for RealTime {
    fn add_assign(&mut self, other: RealTime) {
        self.waits += other.waits;
        self.timed_out += other.timed_out;
    }
}

/// Outcome of one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The thread that was let through.
    pub thread: Thread,
    /// Its sleeps so far, the one it is in now included.
    pub sleeps: u32,
    /// False if the thread woke, saw that its deadline on the monotonic clock had not come, and slept on without doing its work.
    /// Only threads that wait on a condition variable look.
    pub did_round: bool,
}

/// One sleeping place, for diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadView {
    /// Kernel id.
    pub tid: u32,
    /// What it waits by.
    pub waits_by: &'static str,
    /// Length asked for; none for a wait without a deadline.
    pub requested: Option<Span>,
    /// Whether it sleeps now.
    pub asleep: bool,
    /// Its sleeps so far.
    pub sleeps: u32,
    /// Random values it has drawn.
    pub draws: u32,
    /// Address of its condition variable, 0 for a plain sleep.
    pub condition: u64,
}

/// The slots of the threads that matter, fixed once they all sleep.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    eviction: usize,
    client_monitor: usize,
    task_cleanup: usize,
    job_dispatch: usize,
    replication: usize,
    /// Workers of the master service that waited without a deadline at the start; the replica clean-up worker is one.
    first_workers: Vec<usize>,
}

impl Threads {
    /// Finds them, each by its kind of sleep and the length asked for. Otherwise says who is missing or not alone.
    pub(crate) fn identify(page: &Page) -> Result<Threads, String> {
        let task_cleanup = only(
            page,
            KIND_TIMED_WAIT,
            Thread::TaskCleanup.period().ns,
            "task clean-up thread",
        )?;
        let replication = only(
            page,
            KIND_TIMED_WAIT,
            REPLICATION_WAIT_NS,
            "dynamic-replication thread",
        )?;
        let beside = |index: &usize| in_one_object(&page.slots[*index], &page.slots[task_cleanup]);
        let first_workers: Vec<usize> = sleepers(page, KIND_WAIT, 0).filter(beside).collect();
        if first_workers.is_empty() {
            return Err("the replica clean-up worker does not sleep yet".to_owned());
        }
        Ok(Threads {
            eviction: only(page, KIND_SLEEP, EVICTION_SLEEP_NS, "eviction thread")?,
            client_monitor: only(
                page,
                KIND_SLEEP,
                Thread::ClientMonitor.period().ns,
                "client monitor",
            )?,
            job_dispatch: only(
                page,
                KIND_SLEEP,
                Thread::JobDispatch.period().ns,
                "job dispatch thread",
            )?,
            task_cleanup,
            replication,
            first_workers,
        })
    }

    /// The workers of the master service: those of the start, and what it has started since, as the scheduler of graceful
    /// unmounts with the first of them.
    fn workers<'a>(&'a self, page: &'a Page) -> impl Iterator<Item = (usize, &'a Slot)> {
        let slots = page.slots.iter().enumerate();
        slots.filter(|(index, slot)| {
            let used = layout::state_of(slot.word.load(Ordering::SeqCst)) != layout::FREE;
            let waits = matches!(slot.kind.load(Ordering::Relaxed), KIND_WAIT | KIND_TIMED_WAIT);
            let ticked = [self.task_cleanup, self.replication].contains(index);
            used && waits && !ticked && in_one_object(slot, &page.slots[self.task_cleanup])
        })
    }

    fn index(&self, thread: Thread) -> usize {
        match thread {
            Thread::Eviction => self.eviction,
            Thread::ClientMonitor => self.client_monitor,
            Thread::TaskCleanup => self.task_cleanup,
            Thread::JobDispatch => self.job_dispatch,
        }
    }

    /// Lets `thread` through once and waits until it sleeps again. None if patience ends first.
    pub(crate) fn tick(&self, page: &Page, thread: Thread, patience: &Patience<'_>) -> Option<Tick> {
        let slot = &page.slots[self.index(thread)];
        let mut deadline_before;
        loop {
            wait_asleep(slot, patience)?;
            deadline_before = slot.deadline_monotonic_ns.load(Ordering::Relaxed);
            // Only this controller wakes plain sleepers; a waiter on a condition variable may be signalled in between.
            if page::wake_from(slot, layout::TICKED) {
                break;
            }
        }
        wait_asleep(slot, patience)?;
        // A thread that woke before its deadline waits for the same one again; after a round it waits for a new one.
        let did_round = slot.kind.load(Ordering::Relaxed) != KIND_TIMED_WAIT
            || slot.deadline_monotonic_ns.load(Ordering::Relaxed) != deadline_before;
        Some(Tick {
            thread,
            sleeps: sleeps_of(slot),
            did_round,
        })
    }

    /// Lets through every worker that waits for a deadline on the monotonic clock which has come: a graceful unmount is such
    /// a one. Each does one round at a time, until none is due. None if patience ends first.
    pub(crate) fn run_due(&self, page: &Page, now: MonotonicNs, patience: &Patience<'_>) -> Option<()> {
        for (_, slot) in self.workers(page) {
            loop {
                wait_asleep(slot, patience)?;
                let waits = slot.kind.load(Ordering::Relaxed) == KIND_TIMED_WAIT;
                let due = waits && slot.deadline_monotonic_ns.load(Ordering::Relaxed) <= now.0;
                if !due {
                    break;
                }
                page::wake_from(slot, layout::TICKED);
            }
        }
        Some(())
    }

    /// Waits until every worker sleeps. None if patience ends first.
    pub(crate) fn await_workers(&self, page: &Page, patience: &Patience<'_>) -> Option<()> {
        self.workers(page)
            .try_for_each(|(_, slot)| wait_asleep(slot, patience))
    }

    /// Waits until the scheduler of graceful unmounts, which starts with the first of them, is there and sleeps. None if
    /// patience ends first.
    pub(crate) fn await_scheduler(&self, page: &Page, patience: &Patience<'_>) -> Option<()> {
        let is_new = |(index, _): &(usize, &Slot)| !self.first_workers.contains(index);
        let ticked = &page.slots[self.task_cleanup].word;
        loop {
            if let Some((_, slot)) = self.workers(page).find(is_new) {
                return wait_asleep(slot, patience);
            }
            // Nothing tells of a thread that is about to start; this looks again after a slice.
            patience.wait(ticked, ticked.load(Ordering::SeqCst))?;
        }
    }
}

/// How long to wait for the process: until an instant of real time, and only while it runs.
pub(crate) struct Patience<'a> {
    /// The limit.
    pub(crate) until: Instant,
    /// Looked at whenever [`SLICE`] has passed without a change, so that a dead process is noticed soon.
    pub(crate) runs: &'a dyn Fn() -> bool,
}

/// How long a wait goes on before it looks whether the process still runs.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

impl Patience<'_> {
    /// Waits until `word` differs from `seen`, at most for a slice. None if patience has ended.
    fn wait(&self, word: &AtomicU32, seen: u32) -> Option<()> {
        page::wait_while(word, seen, SLICE);
        let changed = word.load(Ordering::SeqCst) != seen;
        (changed || (Instant::now() < self.until && (self.runs)())).then_some(())
    }
}

/// Waits until the thread of a slot sleeps. None if patience ends first.
fn wait_asleep(slot: &Slot, patience: &Patience<'_>) -> Option<()> {
    loop {
        let word = slot.word.load(Ordering::SeqCst);
        if layout::state_of(word) == layout::ASLEEP {
            return Some(());
        }
        patience.wait(&slot.word, word)?;
    }
}

/// Whether two threads wait on condition variables of one object.
fn in_one_object(slot: &Slot, other: &Slot) -> bool {
    let condition = |slot: &Slot| slot.condition.load(Ordering::Relaxed);
    condition(slot).abs_diff(condition(other)) < ONE_OBJECT_BYTES
}

fn sleepers(page: &Page, kind: u32, requested_ns: u64) -> impl Iterator<Item = usize> {
    page.slots.iter().enumerate().filter_map(move |(index, slot)| {
        let asleep = layout::state_of(slot.word.load(Ordering::SeqCst)) == layout::ASLEEP;
        let same = slot.kind.load(Ordering::Relaxed) == kind
            && slot.requested_ns.load(Ordering::Relaxed) == requested_ns;
        (asleep && same).then_some(index)
    })
}

fn only(page: &Page, kind: u32, requested_ns: u64, name: &str) -> Result<usize, String> {
    let mut found = sleepers(page, kind, requested_ns);
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (None, _) => Err(format!("the {name} does not sleep yet")),
        (Some(_), Some(_)) => Err(format!(
            "two threads sleep like the {name}, so they cannot be told apart"
        )),
    }
}

fn sleeps_of(slot: &Slot) -> u32 {
    slot.word.load(Ordering::SeqCst) >> layout::STATE_BITS
}

/// How many ids the process has made.
pub(crate) fn ids_made(page: &Page) -> u64 {
    page.ids_made.load(Ordering::Acquire)
}

/// What the process did in real time.
pub(crate) fn real_time(page: &Page) -> RealTime {
    RealTime {
        waits: page.real_time.waits.load(Ordering::Relaxed),
        timed_out: page.real_time.timed_out.load(Ordering::Relaxed),
    }
}

/// What the process saw of its clocks.
pub(crate) fn served(page: &Page) -> Served {
    let read = |which: usize| {
        let served = &page.served[which];
        (
            served.last_ns.load(Ordering::Acquire),
            served.reads.load(Ordering::Acquire),
        )
    };
    let (realtime, realtime_reads) = read(layout::SERVED_REALTIME);
    let (monotonic, monotonic_reads) = read(layout::SERVED_MONOTONIC);
    Served {
        realtime: ClockRead {
            last: RealtimeNs(realtime),
            reads: realtime_reads,
        },
        monotonic: ClockRead {
            last: MonotonicNs(monotonic),
            reads: monotonic_reads,
        },
    }
}

/// Every sleeping place in use.
pub(crate) fn view(page: &Page) -> Vec<ThreadView> {
    let used = page
        .slots
        .iter()
        .filter(|slot| layout::state_of(slot.word.load(Ordering::SeqCst)) != layout::FREE);
    used.map(|slot| {
        let kind = slot.kind.load(Ordering::Relaxed);
        let requested_ns = slot.requested_ns.load(Ordering::Relaxed);
        ThreadView {
            tid: slot.tid.load(Ordering::Relaxed),
            waits_by: match kind {
                KIND_SLEEP => "sleep",
                KIND_TIMED_WAIT => "timed condition wait",
                _ => "condition wait",
            },
            requested: (kind != KIND_WAIT).then_some(Span::from_ns(requested_ns)),
            asleep: layout::state_of(slot.word.load(Ordering::SeqCst)) == layout::ASLEEP,
            sleeps: sleeps_of(slot),
            draws: slot.draws.load(Ordering::Relaxed),
            condition: slot.condition.load(Ordering::Relaxed),
        }
    })
    .collect()
}
