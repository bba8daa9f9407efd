//! Sleeping: `nanosleep` and its relatives, and the timed futex that C++ futures reach through `syscall`.

use crate::client;
use crate::clocks;
use crate::layout::{GATED_SLEEP_NS, KIND_SLEEP, SERVED_MONOTONIC, SERVED_REALTIME};
use crate::page::page;
use crate::real_time;
use crate::slot::{self, Sleep};
use crate::system;
use libc::{c_int, c_long, c_uint, clockid_t, timespec, useconds_t};

/// Sleeps for `ns`: until a tick if that is long enough to matter, else really.
///
/// # Safety
/// `remaining` must be null or writable.
unsafe fn sleep_ns(ns: u64, remaining: *mut timespec) -> isize {
    if slot::is_main() && client::part().is_some() {
        // Python sleeps as long as it was told to, and a signal ends that with a rest.
        // SAFETY: the caller's promise.
        let result = unsafe { system::real_sleep(&system::to_timespec(ns), remaining) };
        real_time::took(result == 0);
        return result;
    }
    if slot::is_main() {
        // The main thread only looks whether it shall stop. A signal ends its pause and counts as the whole of it, or the
        // C++ library would go on sleeping for the rest.
        // SAFETY: no remainder asked for.
        unsafe { system::real_sleep(&system::to_timespec(ns), std::ptr::null_mut()) };
        return 0;
    }
    if ns < GATED_SLEEP_NS {
        // SAFETY: the caller's promise.
        let result = unsafe { system::real_sleep(&system::to_timespec(ns), remaining) };
        real_time::took(result == 0);
        return result;
    }
    slot::register(&Sleep {
        kind: KIND_SLEEP,
        requested_ns: ns,
        condition: 0,
        until: None,
    })
    .wait();
    0
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `request` must be readable, `remaining` null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(request: *const timespec, remaining: *mut timespec) -> c_int {
    // SAFETY: the caller's promise, on both arguments.
    let result = unsafe { sleep_ns(system::to_ns(&*request), remaining) };
    system::c_result(result) as c_int
}

/// Interposes libc's function. Returns the error number instead of setting it.
///
/// # Safety
/// As libc's: `request` must be readable, `remaining` null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    request: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    let asked = system::to_ns(unsafe { &*request });
    let ns = match clocks::virtual_clock(clock) {
        Some(which) if flags & libc::TIMER_ABSTIME != 0 => {
            asked.saturating_sub(clocks::now_ns(page(), which))
        }
        _ => asked,
    };
    // SAFETY: the caller's promise.
    let result = unsafe { sleep_ns(ns, remaining) };
    -result as c_int
}

/// Interposes libc's function.
#[unsafe(no_mangle)]
extern "C" fn usleep(microseconds: useconds_t) -> c_int {
    // SAFETY: no remainder asked for.
    let result = unsafe { sleep_ns(u64::from(microseconds) * 1_000, std::ptr::null_mut()) };
    system::c_result(result) as c_int
}

/// Interposes libc's function.
#[unsafe(no_mangle)]
extern "C" fn sleep(seconds: c_uint) -> c_uint {
    // SAFETY: no remainder asked for.
    unsafe { sleep_ns(u64::from(seconds) * 1_000_000_000, std::ptr::null_mut()) };
    0
}

/// Interposes libc's variadic function; on x86-64 its arguments arrive like those of a function with seven.
///
/// A futex wait of a master loses its time-out. The deadline was reckoned on the virtual clock, the kernel would compare it with the
/// real one, find it past and let the thread spin. In a client the wait takes as long in real time as was left in virtual time.
///
/// # Safety
/// As libc's: the arguments must be what the call expects.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let mut args = [first, second, third, fourth, fifth, sixth];
    let mut translated = system::to_timespec(0);
    let mut is_timed = false;
    if number == libc::SYS_futex && fourth != 0 {
        let flags = second as c_int;
        let operation = flags & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
        let is_client = client::part().is_some();
        if is_client && operation == libc::FUTEX_WAIT_BITSET {
            let which = if flags & libc::FUTEX_CLOCK_REALTIME != 0 {
                SERVED_REALTIME
            } else {
                SERVED_MONOTONIC
            };
            // SAFETY: the caller's promise: the fourth argument of such a wait is a readable deadline.
            let deadline = system::to_ns(unsafe { &*(fourth as *const timespec) });
            translated = clocks::to_real_deadline(page(), deadline, which);
            args[3] = std::ptr::from_ref(&translated) as usize;
            is_timed = true;
        } else if !is_client && (operation == libc::FUTEX_WAIT || operation == libc::FUTEX_WAIT_BITSET) {
            args[3] = 0;
        }
    }
    // SAFETY: the caller's promise; a null time-out is valid for both operations.
    let result = unsafe { system::raw(number, args) };
    if is_timed {
        real_time::took(result == -libc::ETIMEDOUT as isize);
    }
    // The deadline lives until here.
    let _ = &translated;
    system::c_result(result)
}
