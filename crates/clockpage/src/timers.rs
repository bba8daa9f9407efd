//! `timerfd` on the virtual monotonic clock. The kernel's timer stays disarmed until the virtual deadline has come, and is then armed with
//! the shortest time there is, so that whoever polls the descriptor sees it fire.
//!
//! All deadlines count on the monotonic clock, as those of the release's event loops do.

use crate::client::{self, Locked, lock};
use crate::clocks;
use crate::credit;
use crate::layout::client::{ClientPart, TIMERS, Timer};
use crate::layout::{Page, SERVED_MONOTONIC};
use crate::page::page;
use crate::polling;
use crate::slot;
use crate::system;
use libc::{c_int, itimerspec};
use std::sync::atomic::Ordering;

/// As good as at once.
const SOON_NS: u64 = 1;

fn key(descriptor: c_int) -> u32 {
    descriptor.cast_unsigned().wrapping_add(1)
}

fn find(client: &'static ClientPart, key: u32) -> Option<&'static Timer> {
    let mut timers = client.timers.iter();
    timers.find(|timer| timer.descriptor_plus_one.load(Ordering::SeqCst) == key)
}

/// Arms the kernel's timer of a descriptor; 0 disarms it, which also makes the descriptor unreadable.
fn arm_really(descriptor: c_int, after_ns: u64) -> isize {
    let value = itimerspec {
        it_interval: system::to_timespec(0),
        it_value: system::to_timespec(after_ns),
    };
    let args = [
        descriptor as usize,
        0,
        std::ptr::from_ref(&value) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the value is borrowed for the call, no old value is asked for.
    unsafe { system::raw(libc::SYS_timerfd_settime, args) }
}

/// What is left of a timer, in the form the caller knows.
fn remaining(timer: Option<&Timer>, now: u64) -> itimerspec {
    let left = timer.map_or(0, |timer| {
        timer.deadline_ns.load(Ordering::SeqCst).saturating_sub(now)
    });
    let interval = timer.map_or(0, |timer| timer.interval_ns.load(Ordering::SeqCst));
    itimerspec {
        it_interval: system::to_timespec(interval),
        it_value: system::to_timespec(left),
    }
}

/// When a timer that is due fires after this time, if it does.
fn next_firing(deadline: u64, interval: u64, now: u64) -> Option<u64> {
    let passed = now.saturating_sub(deadline).checked_div(interval)?;
    Some(deadline.saturating_add((passed + 1).saturating_mul(interval)))
}

/// Fires every timer whose deadline has come.
pub(crate) fn fire_due(page: &'static Page) {
    let _held: Locked = lock(&page.client.timer_lock);
    let now = clocks::now_ns(page, SERVED_MONOTONIC);
    for timer in &page.client.timers {
        let key = timer.descriptor_plus_one.load(Ordering::SeqCst);
        let deadline = timer.deadline_ns.load(Ordering::SeqCst);
        if key == 0 || deadline > now {
            continue;
        }
        arm_really(key.wrapping_sub(1).cast_signed(), SOON_NS);
        match next_firing(deadline, timer.interval_ns.load(Ordering::SeqCst), now) {
            None => timer.descriptor_plus_one.store(0, Ordering::SeqCst),
            Some(next) => timer.deadline_ns.store(next, Ordering::SeqCst),
        }
    }
}

/// Forgets the timer of a descriptor that is about to be closed, or whose number is about to be given to something else.
pub(crate) fn forget(client: &'static ClientPart, descriptor: c_int) {
    // Looked at without the lock first: almost every descriptor that is closed is none of these.
    if find(client, key(descriptor)).is_none() || !client::is_owner() {
        return;
    }
    let _held = lock(&client.timer_lock);
    if let Some(timer) = find(client, key(descriptor)) {
        timer.descriptor_plus_one.store(0, Ordering::SeqCst);
    }
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `new` must be readable, `old` null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_settime(
    descriptor: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    let Some(client) = client::part() else {
        let args = [
            descriptor as usize,
            flags as usize,
            new as usize,
            old as usize,
            0,
            0,
        ];
        // SAFETY: the caller's arguments, passed on.
        return system::c_result(unsafe { system::raw(libc::SYS_timerfd_settime, args) }) as c_int;
    };
    // SAFETY: the caller's promise.
    let new = unsafe { &*new };
    let (value, interval) = (system::to_ns(&new.it_value), system::to_ns(&new.it_interval));
    client::ensure_helper(client);
    let held = lock(&client.timer_lock);
    // Read under the lock: either the helper comes after us and sees the entry, or we see the clock that it has seen.
    let now = clocks::now_ns(page(), SERVED_MONOTONIC);
    let deadline = if flags & libc::TFD_TIMER_ABSTIME != 0 {
        value
    } else {
        now.saturating_add(value)
    };
    let due = value != 0 && deadline <= now.max(SOON_NS);
    let kept = find(client, key(descriptor));
    let before = remaining(kept, now);
    let disarmed = arm_really(descriptor, if due { SOON_NS } else { 0 });
    if disarmed == 0 {
        let next = if due {
            next_firing(deadline, interval, now)
        } else {
            Some(deadline)
        };
        keep(
            client,
            kept,
            descriptor,
            next.filter(|_| value != 0).map(|next| (next, interval)),
        );
    }
    drop(held);
    slot::announce(page());
    if disarmed == 0 && !old.is_null() {
        // SAFETY: the caller's promise.
        unsafe { old.write(before) };
    }
    system::c_result(disarmed) as c_int
}

/// Writes or removes an entry; the lock is held.
fn keep(
    client: &'static ClientPart,
    kept: Option<&'static Timer>,
    descriptor: c_int,
    running: Option<(u64, u64)>,
) {
    let Some((deadline, interval)) = running else {
        if let Some(timer) = kept {
            timer.descriptor_plus_one.store(0, Ordering::SeqCst);
        }
        return;
    };
    const _: () = assert!(TIMERS == 128, "the message below names the number");
    let Some(timer) = kept.or_else(|| find(client, 0)) else {
        system::refuse("more than 128 timers run at once");
    };
    timer.deadline_ns.store(deadline, Ordering::SeqCst);
    timer.interval_ns.store(interval, Ordering::SeqCst);
    timer.descriptor_plus_one.store(key(descriptor), Ordering::SeqCst);
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `current` must be writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_gettime(descriptor: c_int, current: *mut itimerspec) -> c_int {
    let args = [descriptor as usize, current as usize, 0, 0, 0, 0];
    // SAFETY: the caller's arguments, passed on; this also finds out whether the descriptor is a timer.
    let result = unsafe { system::raw(libc::SYS_timerfd_gettime, args) };
    if let Some(client) = client::part()
        && result == 0
    {
        let _held = lock(&client.timer_lock);
        let now = clocks::now_ns(page(), SERVED_MONOTONIC);
        // SAFETY: the caller's promise.
        unsafe { current.write(remaining(find(client, key(descriptor)), now)) };
    }
    system::c_result(result) as c_int
}

/// Interposes libc's function.
#[unsafe(no_mangle)]
extern "C" fn close(descriptor: c_int) -> c_int {
    if let Some(client) = client::part() {
        forget(client, descriptor);
        credit::forget(client, descriptor);
        polling::forget(descriptor);
    }
    // SAFETY: no memory involved.
    let result = unsafe { system::raw(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
    system::c_result(result) as c_int
}
