//! Condition variables without libc's own: waiting happens on the slot of the thread. In a client only long waits do that, see
//! `client_conditions`.
//!
//! Registering comes before the mutex is released, so no signal is lost; the signaller marks the sleeper as awake, so once it
//! returns, "the worker sleeps" can no longer be seen by mistake.
//! The symbols are exported without a version, which the linker takes for every version asked for (GLIBC_2.3.2 here). The memory
//! of the condition variable is never touched; initialising and destroying it stay libc's.

use crate::client;
use crate::client_conditions;
use crate::clocks;
use crate::layout::{KIND_TIMED_WAIT, KIND_WAIT, SERVED_REALTIME};
use crate::page::page;
use crate::slot::{self, Sleep, Woken};
use crate::system;
use libc::{c_int, clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

/// Waits on the slot of the calling thread.
///
/// # Safety
/// The mutex must be locked by the caller.
pub(crate) unsafe fn wait(mutex: *mut pthread_mutex_t, sleep: &Sleep) -> c_int {
    let registered = slot::register(sleep);
    // SAFETY: the caller's promise.
    let unlocked = unsafe { libc::pthread_mutex_unlock(mutex) };
    let woken = registered.wait();
    // SAFETY: as above; a waiting thread holds no lock on it.
    let locked = unsafe { libc::pthread_mutex_lock(mutex) };
    match (unlocked, locked, woken) {
        (0, 0, Woken::Signal) => 0,
        (0, 0, _) if sleep.kind == KIND_TIMED_WAIT => libc::ETIMEDOUT,
        // Not signalled and without a deadline: a spurious wake-up, which every caller must expect.
        (0, 0, _) => 0,
        (0, error, _) | (error, _, _) => error,
    }
}

/// # Safety
/// The mutex must be locked by the caller, the deadline readable.
unsafe fn wait_until(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    which: usize,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    let deadline = system::to_ns(unsafe { &*deadline });
    let requested_ns = deadline.saturating_sub(clocks::now_ns(page(), which));
    if requested_ns == 0 {
        // Past already. Others get the mutex in between, as they would with libc.
        // SAFETY: the caller's promise.
        unsafe {
            libc::pthread_mutex_unlock(mutex);
            libc::pthread_mutex_lock(mutex);
        }
        return libc::ETIMEDOUT;
    }
    let sleep = Sleep {
        kind: KIND_TIMED_WAIT,
        requested_ns,
        condition: condition as u64,
        until: None,
    };
    // SAFETY: the caller's promise.
    unsafe { wait(mutex, &sleep) }
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: the mutex must be locked by the caller.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    if client::part().is_some() {
        // SAFETY: the caller's promise.
        return unsafe { client_conditions::untimed_wait(condition, mutex) };
    }
    let sleep = Sleep {
        kind: KIND_WAIT,
        requested_ns: 0,
        condition: condition as u64,
        until: None,
    };
    // SAFETY: the caller's promise.
    unsafe { wait(mutex, &sleep) }
}

/// Interposes libc's function. Deadlines count on the wall clock: the C++ library never chooses another for a variable it waits on
/// this way.
///
/// # Safety
/// As libc's: the mutex must be locked by the caller, the deadline readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    deadline: *const timespec,
) -> c_int {
    if let Some(client) = client::part() {
        // SAFETY: the caller's promise.
        return unsafe { client_conditions::timed_wait(client, condition, mutex, deadline) };
    }
    // SAFETY: the caller's promise.
    unsafe { wait_until(condition, mutex, SERVED_REALTIME, deadline) }
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: the mutex must be locked by the caller, the deadline readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    deadline: *const timespec,
) -> c_int {
    let Some(which) = clocks::virtual_clock(clock) else {
        return libc::EINVAL;
    };
    if let Some(client) = client::part() {
        // SAFETY: the caller's promise.
        return unsafe { client_conditions::wait_until(client, condition, mutex, which, deadline) };
    }
    // SAFETY: the caller's promise.
    unsafe { wait_until(condition, mutex, which, deadline) }
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: an initialised condition variable.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    if let Some(client) = client::part() {
        // SAFETY: the caller's promise.
        return unsafe { client_conditions::signal(client, condition, false) };
    }
    slot::signal(condition as u64, false);
    0
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: an initialised condition variable.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    if let Some(client) = client::part() {
        // SAFETY: the caller's promise.
        return unsafe { client_conditions::signal(client, condition, true) };
    }
    slot::signal(condition as u64, true);
    0
}
