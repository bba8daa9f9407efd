//! Whether this process is a client, and the thread that makes the passing of virtual time felt in one.
//!
//! A master needs no such thread: its controller ticks every sleeper. In a client, timers and long waits end by themselves when the
//! clock has reached them, and the kernel, which knows nothing of that clock, has to be told.

use crate::credit;
use crate::layout::client::{ClientPart, HELPER_ABSENT, HELPER_PRESENT, MODE_CLIENT};
use crate::page::page;
use crate::slot;
use crate::system;
use crate::threads;
use crate::timers;
use libc::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// The client's part of the page, if this process is a client.
#[inline]
pub(crate) fn part() -> Option<&'static ClientPart> {
    let client = &page().client;
    (client.mode.load(Ordering::Relaxed) == MODE_CLIENT).then_some(client)
}

/// True in the process that the page belongs to; false in a child it has forked, which shares the page until it executes
/// something else.
pub(crate) fn is_owner() -> bool {
    page().attached_pid.load(Ordering::Relaxed) == system::process_id()
}

/// What a program that this process starts must not inherit: it would find the page taken and refuse to run.
pub(crate) fn forget_environment() {
    for name in [c"LD_PRELOAD", c"MOONQUAKE_CLOCKPAGE_FILE"] {
        // SAFETY: valid C strings; called by the dynamic loader before `main`, while there is one thread.
        unsafe { libc::unsetenv(name.as_ptr()) };
    }
}

/// Makes sure that the thread exists before the calling one sets a timer, waits long or is told to send later.
pub(crate) fn ensure_helper(client: &'static ClientPart) {
    let absent = client.helper.load(Ordering::SeqCst) == HELPER_ABSENT;
    if !absent || !is_owner() {
        return;
    }
    let mine = client
        .helper
        .compare_exchange(HELPER_ABSENT, HELPER_PRESENT, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok();
    if mine && !threads::create_hidden(helper) {
        system::refuse("cannot create the thread that fires virtual timers");
    }
}

extern "C" fn helper(_: *mut c_void) -> *mut c_void {
    let page = page();
    let client = &page.client;
    loop {
        // Read before the clocks: what is seen is then at least as new as the generation says.
        let generation = client.clock_generation.load(Ordering::SeqCst);
        timers::fire_due(page);
        slot::wake_due(page);
        credit::tell_senders(client);
        client.generation_seen.store(generation, Ordering::SeqCst);
        system::futex_wake(&client.generation_seen);
        system::futex_wait(&client.clock_generation, generation, None);
    }
}

/// A lock of the page, held until it is dropped. It is not libc's, because it is taken inside functions that stand in for libc's.
#[must_use]
pub(crate) struct Locked(&'static AtomicU32);

const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;

/// Takes a lock. Whoever holds it may wait for the controller but not for another thread that may want it.
pub(crate) fn lock(word: &'static AtomicU32) -> Locked {
    if word
        .compare_exchange(UNLOCKED, LOCKED, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        while word.swap(CONTENDED, Ordering::Acquire) != UNLOCKED {
            system::futex_wait(word, CONTENDED, None);
        }
    }
    Locked(word)
}

impl Drop for Locked {
    fn drop(&mut self) {
        if self.0.swap(UNLOCKED, Ordering::Release) == CONTENDED {
            system::futex_wake(self.0);
        }
    }
}
