//! The sleeping place of a thread: how it goes to sleep, and what wakes it.

use crate::client;
use crate::clocks;
use crate::layout::{self, Page, SLOTS, Slot};
use crate::page::page;
use crate::system;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// What this library remembers of the calling thread. Plain cells without destructors, so that they work in threads at any
/// stage of their life.
pub(crate) struct Local {
    slot: Cell<Option<&'static Slot>>,
    main: Cell<Option<bool>>,
    random_key: Cell<Option<u64>>,
    draws: Cell<u32>,
}

thread_local! {
    static LOCAL: Local = const {
        Local { slot: Cell::new(None), main: Cell::new(None), random_key: Cell::new(None), draws: Cell::new(0) }
    };
}

/// What a thread sleeps for.
pub(crate) struct Sleep {
    /// `KIND_*`.
    pub(crate) kind: u32,
    /// Length asked for.
    pub(crate) requested_ns: u64,
    /// Address of the condition variable, 0 for a plain sleep.
    pub(crate) condition: u64,
    /// When it ends by itself and by which clock, `SERVED_*`; none if somebody has to wake it.
    pub(crate) until: Option<(u64, usize)>,
}

/// Why a thread woke.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The controller let it through.
    Tick,
    /// Its condition variable was signalled.
    Signal,
    /// The gates are open.
    Open,
}

/// A thread that has said it sleeps and does not wait yet.
#[must_use]
pub(crate) struct Registered {
    slot: &'static Slot,
    asleep: u32,
    timed: bool,
    until: Option<(u64, usize)>,
}

/// True in the thread that runs `main`.
pub(crate) fn is_main() -> bool {
    LOCAL.with(|local| {
        local.main.get().unwrap_or_else(|| {
            let main = system::thread_id() == system::process_id();
            local.main.set(Some(main));
            main
        })
    })
}

/// The last sleep of the calling thread, as kind and length; none if it never slept.
pub(crate) fn last_sleep() -> Option<(u32, u64)> {
    let slot = LOCAL.with(|local| local.slot.get())?;
    Some((
        slot.kind.load(Ordering::Relaxed),
        slot.requested_ns.load(Ordering::Relaxed),
    ))
}

/// Key and index of the calling thread's next random value.
pub(crate) fn next_draw() -> (u64, u32) {
    LOCAL.with(|local| {
        let index = local.draws.get();
        local.draws.set(index.wrapping_add(1));
        if let Some(slot) = local.slot.get() {
            slot.draws.store(index.wrapping_add(1), Ordering::Relaxed);
        }
        let unslept = if is_main() {
            layout::RANDOM_KEY_MAIN
        } else {
            layout::RANDOM_KEY_NEVER_SLEPT
        };
        (local.random_key.get().unwrap_or(unslept), index)
    })
}

/// Gives the calling thread's slot back; called when the thread ends.
pub(crate) fn release() {
    if let Some(slot) = LOCAL.with(|local| local.slot.take()) {
        let word = slot.word.load(Ordering::Relaxed);
        slot.condition.store(0, Ordering::Relaxed);
        slot.word
            .store(layout::with_state(word, layout::FREE), Ordering::Release);
    }
}

fn claim(page: &'static Page) -> &'static Slot {
    if let Some(slot) = LOCAL.with(|local| local.slot.get()) {
        return slot;
    }
    for slot in &page.slots {
        let word = slot.word.load(Ordering::Relaxed);
        let running = layout::with_state(word, layout::RUNNING);
        if layout::state_of(word) == layout::FREE
            && slot
                .word
                .compare_exchange(word, running, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            slot.tid.store(system::thread_id(), Ordering::Relaxed);
            slot.draws
                .store(LOCAL.with(|local| local.draws.get()), Ordering::Relaxed);
            LOCAL.with(|local| local.slot.set(Some(slot)));
            return slot;
        }
    }
    const _: () = assert!(SLOTS == 256, "the message below names the number");
    system::refuse("more than 256 threads sleep at once");
}

/// Registers the calling thread as asleep. From here on it can be woken, also before it waits.
pub(crate) fn register(sleep: &Sleep) -> Registered {
    let page = page();
    let first = LOCAL.with(|local| local.slot.get()).is_none();
    let slot = claim(page);
    let timed = sleep.kind != layout::KIND_WAIT;
    let now = page.monotonic_ns.load(Ordering::Acquire);
    let deadline = if timed {
        now.saturating_add(sleep.requested_ns)
    } else {
        u64::MAX
    };
    slot.kind.store(sleep.kind, Ordering::Relaxed);
    slot.requested_ns.store(sleep.requested_ns, Ordering::Relaxed);
    slot.deadline_monotonic_ns.store(deadline, Ordering::Relaxed);
    slot.condition.store(sleep.condition, Ordering::Relaxed);
    slot.ticket.store(
        page.next_ticket.fetch_add(1, Ordering::Relaxed),
        Ordering::Relaxed,
    );
    let (deadline, clock) = sleep.until.unwrap_or((u64::MAX, layout::SERVED_MONOTONIC));
    slot.deadline_ns.store(deadline, Ordering::Relaxed);
    slot.deadline_clock.store(clock as u64, Ordering::Relaxed);
    // Published by the one store of the word: whoever sees ASLEEP with this count sees the fields above.
    let asleep = layout::next_sleep(slot.word.load(Ordering::Relaxed));
    slot.word.store(asleep, Ordering::SeqCst);
    system::futex_wake(&slot.word);
    if first {
        LOCAL.with(|local| {
            if local.random_key.get().is_none() && !is_main() {
                local.random_key.set(Some(layout::random_key_of_sleeper(
                    sleep.kind,
                    sleep.requested_ns,
                )));
            }
        });
    }
    if first || client::part().is_some() {
        announce(page);
    }
    Registered {
        slot,
        asleep,
        timed,
        until: sleep.until,
    }
}

/// Tells a controller that waits for the process to settle that something changed.
pub(crate) fn announce(page: &Page) {
    page.activity.fetch_add(1, Ordering::SeqCst);
    system::futex_wake(&page.activity);
}

impl Registered {
    /// Waits until something wakes the thread.
    pub(crate) fn wait(self) -> Woken {
        let page = page();
        loop {
            let word = self.slot.word.load(Ordering::SeqCst);
            if word != self.asleep {
                self.slot
                    .word
                    .store(layout::with_state(word, layout::RUNNING), Ordering::SeqCst);
                return match layout::state_of(word) {
                    layout::TICKED => Woken::Tick,
                    layout::SIGNALLED => Woken::Signal,
                    _ => Woken::Open,
                };
            }
            // Read after the word was published: the clock either is seen here or the one who sets it sees the sleeper.
            if self.until.is_some_and(|until| has_come(page, until)) {
                let due = layout::with_state(self.asleep, layout::TICKED);
                let _ = self
                    .slot
                    .word
                    .compare_exchange(self.asleep, due, Ordering::SeqCst, Ordering::SeqCst);
                continue;
            }
            if page.gates_open.load(Ordering::SeqCst) != 0 && self.timed {
                // Ending needs no clock: a short real pause instead of the virtual one, and then whatever the thread looks at.
                let pause = system::to_timespec(layout::GATED_SLEEP_NS);
                system::futex_wait(&self.slot.word, self.asleep, Some(&pause));
                let opened = layout::with_state(self.asleep, layout::OPENED);
                let _ =
                    self.slot
                        .word
                        .compare_exchange(self.asleep, opened, Ordering::SeqCst, Ordering::SeqCst);
            } else {
                system::futex_wait(&self.slot.word, self.asleep, None);
            }
        }
    }
}

fn has_come(page: &Page, (deadline, clock): (u64, usize)) -> bool {
    clocks::now_ns(page, clock) >= deadline
}

/// Wakes every sleeper that ends by itself and whose time has come.
pub(crate) fn wake_due(page: &Page) {
    for slot in &page.slots {
        let word = slot.word.load(Ordering::SeqCst);
        let clock = slot.deadline_clock.load(Ordering::Relaxed) as usize;
        let until = (
            slot.deadline_ns.load(Ordering::Relaxed),
            clock.min(layout::SERVED_MONOTONIC),
        );
        if layout::state_of(word) == layout::ASLEEP && until.0 != u64::MAX && has_come(page, until) {
            let due = layout::with_state(word, layout::TICKED);
            let changed = slot
                .word
                .compare_exchange(word, due, Ordering::SeqCst, Ordering::SeqCst);
            if changed.is_ok() {
                system::futex_wake(&slot.word);
            }
        }
    }
}

/// Wakes sleepers of a condition variable, the longest-waiting first; at most one unless `all`.
pub(crate) fn signal(condition: u64, all: bool) {
    let page = page();
    loop {
        let mut oldest: Option<(&Slot, u32, u64)> = None;
        for slot in &page.slots {
            let word = slot.word.load(Ordering::SeqCst);
            if layout::state_of(word) != layout::ASLEEP || slot.condition.load(Ordering::Relaxed) != condition
            {
                continue;
            }
            let ticket = slot.ticket.load(Ordering::Relaxed);
            if oldest.is_none_or(|(_, _, other)| ticket < other) {
                oldest = Some((slot, word, ticket));
            }
        }
        let Some((slot, word, _)) = oldest else {
            return;
        };
        // The count in the word makes this exact: it fails if the slot has slept anew since it was looked at.
        let signalled = layout::with_state(word, layout::SIGNALLED);
        if slot
            .word
            .compare_exchange(word, signalled, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
        {
            system::futex_wake(&slot.word);
            if !all {
                return;
            }
        }
    }
}
