//! Reading the clocks.

use crate::client;
use crate::layout::{Page, SERVED_MONOTONIC, SERVED_REALTIME};
use crate::page::page;
use crate::system;
use libc::{c_int, c_void, clockid_t, time_t, timespec, timeval};
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// Which of the two clocks of the page stands for a clock of the kernel; none for those that count processor time.
pub(crate) fn virtual_clock(clock: clockid_t) -> Option<usize> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => Some(SERVED_REALTIME),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => Some(SERVED_MONOTONIC),
        _ => None,
    }
}

/// What a clock shows, without leaving a trace.
pub(crate) fn now_ns(page: &Page, which: usize) -> u64 {
    let clock = if which == SERVED_REALTIME {
        &page.realtime_ns
    } else {
        &page.monotonic_ns
    };
    clock.load(Ordering::Acquire)
}

/// The instant of the kernel's clock that is as far away as `deadline` is on the virtual one.
pub(crate) fn to_real_deadline(page: &Page, deadline: u64, which: usize) -> timespec {
    real_deadline_in(deadline.saturating_sub(now_ns(page, which)), which)
}

/// The instant of the kernel's clock that is so many nanoseconds away.
pub(crate) fn real_deadline_in(left: u64, which: usize) -> timespec {
    let clock = if which == SERVED_REALTIME {
        libc::CLOCK_REALTIME
    } else {
        libc::CLOCK_MONOTONIC
    };
    let mut now = system::to_timespec(0);
    // SAFETY: the time is writable.
    unsafe {
        system::raw(
            libc::SYS_clock_gettime,
            [clock as usize, std::ptr::from_mut(&mut now) as usize, 0, 0, 0, 0],
        )
    };
    system::to_timespec(system::to_ns(&now).saturating_add(left))
}

/// After so many reads a thread is looked at.
const LOOK_READS: u32 = 128;
/// So many reads in less than this is polling.
const POLLING_NS: u64 = 2_000_000;
/// How long a thread that polls rests, in real time.
const REST_NS: u64 = 1_000_000;

thread_local! {
    /// Reads since the last look, and when that was.
    static READS: (Cell<u32>, Cell<u64>) = const { (Cell::new(0), Cell::new(0)) };
}

/// Whoever waits for a transfer in the release does so by asking for the time again and again. That costs a whole processor as long as the
/// clock stands, and the processes that are to make it go on need one. A short rest changes nothing the thread could notice.
fn rest_if_polling() {
    READS.with(|(reads, last)| {
        reads.set(reads.get().wrapping_add(1));
        if reads.get() % LOOK_READS != 0 {
            return;
        }
        let now = system::to_ns(&real_deadline_in(0, SERVED_MONOTONIC));
        let polls = now.saturating_sub(last.get()) < POLLING_NS;
        if polls {
            // SAFETY: no remainder asked for.
            unsafe { system::real_sleep(&system::to_timespec(REST_NS), std::ptr::null_mut()) };
        }
        last.set(now + if polls { REST_NS } else { 0 });
    });
}

/// What a clock shows to the program: the value and the read are kept as evidence.
fn serve_ns(which: usize) -> u64 {
    let page = page();
    let now = now_ns(page, which);
    page.served[which].last_ns.store(now, Ordering::Relaxed);
    page.served[which].reads.fetch_add(1, Ordering::Relaxed);
    if client::part().is_some() {
        rest_if_polling();
    }
    now
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `time` must be writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let Some(which) = virtual_clock(clock) else {
        // SAFETY: the caller's arguments, passed on.
        let result = unsafe {
            system::raw(
                libc::SYS_clock_gettime,
                [clock as usize, time as usize, 0, 0, 0, 0],
            )
        };
        return system::c_result(result) as c_int;
    };
    let now = serve_ns(which);
    if !time.is_null() {
        // SAFETY: the caller's promise.
        unsafe { time.write(system::to_timespec(now)) };
    }
    0
}

/// Interposes libc's function. The obsolete time zone is left alone, as the kernel's idea of it is always zero.
///
/// # Safety
/// As libc's: `time` must be null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, _zone: *mut c_void) -> c_int {
    let now = serve_ns(SERVED_REALTIME);
    if !time.is_null() {
        let value = timeval {
            tv_sec: (now / 1_000_000_000) as time_t,
            tv_usec: (now % 1_000_000_000 / 1_000) as libc::suseconds_t,
        };
        // SAFETY: the caller's promise.
        unsafe { time.write(value) };
    }
    0
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `out` must be null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn time(out: *mut time_t) -> time_t {
    let seconds = (serve_ns(SERVED_REALTIME) / 1_000_000_000) as time_t;
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { out.write(seconds) };
    }
    seconds
}
