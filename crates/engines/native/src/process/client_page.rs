//! The controller's side of a client's page: its clocks, its sleeping threads and its timers.
//!
//! A client under this page does nothing in real time except computing, talking to its sockets and sleeping in its main thread. Every wait
//! here is for an event of the process, with a limit of real time that turns a hang into an error.
//!
//! **Stepping.** A step is for a client that stands: one that is about to set a relative timer when the clock is changed sets it by the new time. Know
//! by an event that it waits (its request was seen, its thread stands in a pause or has gone back to `epoll_wait`), and only then step.
//!
//! **Waiting for a transfer.** The release polls: the caller's thread reads the clock until its transfer is done or more than 60,000 ms have passed on
//! it, counted from when it began to poll. The library lets a thread that polls rest for 1 ms of real time after every 128 reads.
//!
//! **Closing the store.** `close()` joins the ping thread and the task poll thread, which are gated. Either call
//! [`ClientPage::open_gates`] (nothing is held any more, so more pings go out until the threads have noticed), or call `close()` and
//! [`ClientPage::grant`] every sleeper of [`SleepKind::Sleep`] until it returns. A transport thread that stands in a pause also blocks it.

use super::error::ProcessError;
use super::layout::client::{HELPER_ABSENT, MODE_CLIENT};
use super::layout::{self, KIND_SLEEP, Page, Slot};
use super::page::{self, SharedPage};
use super::spawn;
use super::threads::{self, RealTime, Served};
use moonquake_clock::{Clocks, MonotonicNs, Span};
use std::os::fd::RawFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Why a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepKind {
    /// `nanosleep` or a relative of it, 5 ms or longer, not in the main thread. Ends by [`ClientPage::grant`] only.
    Sleep,
    /// A timed condition wait of a second or more. Ends when its deadline is reached, or by a signal.
    TimedWait,
}

/// One thread that sleeps now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleeper {
    /// Its sleeping place, kept as long as the thread lives.
    pub slot: usize,
    /// Kernel id.
    pub tid: u32,
    /// Why it sleeps.
    pub kind: SleepKind,
    /// Length asked for.
    pub requested: Span,
    /// When it ends, on the monotonic clock as it stood when the thread fell asleep.
    pub deadline: MonotonicNs,
    /// Its sleeps so far, this one included.
    pub sleeps: u32,
}

/// The page of one client process.
#[derive(Debug)]
pub struct ClientPage {
    pub(super) shared: SharedPage,
}

impl ClientPage {
    /// A new page for a process that has not started, with these clocks.
    ///
    /// # Errors
    /// If the operating system refuses the memory.
    pub fn create(clocks: Clocks) -> Result<ClientPage, ProcessError> {
        // Neither seeded random devices nor threads one by one: those are the master's.
        let shared = SharedPage::create(clocks, 0, 0)?;
        shared.get().client.mode.store(MODE_CLIENT, Ordering::Relaxed);
        Ok(ClientPage { shared })
    }

    /// Descriptor that the process must inherit.
    pub fn descriptor(&self) -> RawFd {
        self.shared.descriptor()
    }

    /// Variables of its environment, with the preload library at that path. The library removes both at once, so that what the process
    /// starts itself runs on the real clock.
    pub fn environment(&self, library: &Path) -> [(&'static str, std::ffi::OsString); 2] {
        [
            ("LD_PRELOAD", library.as_os_str().to_owned()),
            (
                layout::PAGE_VARIABLE,
                format!("/proc/self/fd/{}", self.descriptor()).into(),
            ),
        ]
    }

    /// Starts `command` under this page with the preload library at that path; it dies with this process.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(&self, mut command: Command, library: &Path) -> Result<Child, ProcessError> {
        command.envs(self.environment(library));
        spawn::spawn(command, &[self.descriptor()])
    }

    fn page(&self) -> &Page {
        self.shared.get()
    }

    /// What both clocks show.
    pub fn clocks(&self) -> Clocks {
        self.shared.clocks()
    }

    /// Sets both clocks. Timers and condition waits that are due by then end soon; [`ClientPage::await_timers`] waits for that.
    pub fn set_clocks(&self, clocks: Clocks) {
        self.shared.set_clocks(clocks);
        self.note_generation();
    }

    /// Waits until every timer and condition wait that was due at the last [`ClientPage::set_clocks`] has been fired or woken. What the
    /// process does about it comes after.
    ///
    /// # Errors
    /// [`ProcessError::ClientTimedOut`].
    pub fn await_timers(&self, limit: Duration) -> Result<(), ProcessError> {
        let client = &self.page().client;
        let wanted = client.clock_generation.load(Ordering::SeqCst);
        until(limit, &client.generation_seen, "the timers to fire", |seen| {
            let done = seen == wanted || client.helper.load(Ordering::SeqCst) == HELPER_ABSENT;
            done.then_some(())
        })
    }

    /// What the process itself saw of its clocks.
    pub fn clocks_served(&self) -> Served {
        threads::served(self.page())
    }

    /// What the process has done in real time so far.
    pub fn real_time(&self) -> RealTime {
        threads::real_time(self.page())
    }

    /// Process that runs under the page, 0 before it has started.
    pub fn attached_pid(&self) -> u32 {
        self.page().attached_pid.load(Ordering::Acquire)
    }

    /// Every thread that sleeps now, by slot.
    pub fn sleepers(&self) -> Vec<Sleeper> {
        let slots = self.page().slots.iter().enumerate();
        slots.filter_map(|(index, slot)| sleeper(index, slot)).collect()
    }

    /// Waits until `wanted` is true of the sleepers, and gives them.
    ///
    /// # Errors
    /// [`ProcessError::ClientTimedOut`], with the sleepers there were.
    pub fn await_sleepers(
        &self,
        wanted: impl Fn(&[Sleeper]) -> bool,
        limit: Duration,
    ) -> Result<Vec<Sleeper>, ProcessError> {
        let found = until(limit, &self.page().activity, "sleepers", |_| {
            Some(self.sleepers()).filter(|sleepers| wanted(sleepers))
        });
        found.map_err(|error| match error {
            ProcessError::ClientTimedOut { limit, .. } => ProcessError::ClientTimedOut {
                waiting_for: format!("certain sleepers; there were {:?}", self.sleepers()),
                limit,
            },
            other => other,
        })
    }

    /// Ends the sleep of that slot, once. False if nothing sleeps there.
    pub fn grant(&self, slot: usize) -> bool {
        let slot = self.page().slots.get(slot);
        slot.is_some_and(|slot| page::wake_from(slot, layout::TICKED))
    }

    /// When the running timers fire, on the monotonic clock, earliest first.
    pub fn timers(&self) -> Vec<MonotonicNs> {
        let timers = self.page().client.timers.iter();
        let mut deadlines: Vec<MonotonicNs> = timers
            .filter(|timer| timer.descriptor_plus_one.load(Ordering::SeqCst) != 0)
            .map(|timer| MonotonicNs(timer.deadline_ns.load(Ordering::SeqCst)))
            .collect();
        deadlines.sort_unstable();
        deadlines
    }

    /// Waits until `wanted` is true of the running timers, as [`ClientPage::timers`] gives them.
    ///
    /// An event loop that sets a timer later than one it has already tells the kernel nothing, so that one is not seen here.
    ///
    /// # Errors
    /// [`ProcessError::ClientTimedOut`].
    pub fn await_timer_set(
        &self,
        wanted: impl Fn(&[MonotonicNs]) -> bool,
        limit: Duration,
    ) -> Result<Vec<MonotonicNs>, ProcessError> {
        until(limit, &self.page().activity, "certain timers", |_| {
            Some(self.timers()).filter(|timers| wanted(timers))
        })
    }

    /// Lets everything through from now on, so that the process can end: what [`ClientPage::open_sleeps`] does, and metered connections.
    pub fn open_gates(&self) {
        self.open_sleeps();
        self.page().client.meters_open.store(1, Ordering::SeqCst);
        self.note_generation();
    }

    /// Lets every thread through from now on, so that the store can be closed: sleeps, condition waits, the pause, and the socket log,
    /// whose entries are dropped when it is full. Connections send what they are told still.
    pub fn open_sleeps(&self) {
        self.shared.open_gates();
        self.release_pause();
        page::wake(&self.page().client.log_taken);
    }
}

fn sleeper(index: usize, slot: &Slot) -> Option<Sleeper> {
    let word = slot.word.load(Ordering::SeqCst);
    if layout::state_of(word) != layout::ASLEEP {
        return None;
    }
    let kind = match slot.kind.load(Ordering::Relaxed) {
        KIND_SLEEP => SleepKind::Sleep,
        _ => SleepKind::TimedWait,
    };
    let found = Sleeper {
        slot: index,
        tid: slot.tid.load(Ordering::Relaxed),
        kind,
        requested: Span::from_ns(slot.requested_ns.load(Ordering::Relaxed)),
        deadline: MonotonicNs(slot.deadline_monotonic_ns.load(Ordering::Relaxed)),
        sleeps: word >> layout::STATE_BITS,
    };
    // The fields belong to that sleep only if it is still the same one.
    (slot.word.load(Ordering::SeqCst) == word).then_some(found)
}

/// Waits until `look` finds something, asking again whenever `word` changes.
pub(super) fn until<T>(
    limit: Duration,
    word: &AtomicU32,
    waiting_for: &str,
    mut look: impl FnMut(u32) -> Option<T>,
) -> Result<T, ProcessError> {
    let end = Instant::now() + limit;
    loop {
        let seen = word.load(Ordering::SeqCst);
        if let Some(found) = look(seen) {
            return Ok(found);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ProcessError::ClientTimedOut {
                waiting_for: waiting_for.to_owned(),
                limit,
            });
        }
        page::wait_while(word, seen, left);
    }
}
