//! Condition variables and semaphores of a client. They stay libc's own, so that the interpreter lock costs what it costs; only a timed wait
//! of a second or more of virtual time ([`LONG_WAIT_NS`]) is taken to the slot of its thread, where it ends when the virtual clock has come.
//!
//! Signals go both ways, to a long waiter and to libc's: waking one too many is allowed, waking none is not.

use crate::client;
use crate::clocks;
use crate::conditions;
use crate::layout::client::{ClientPart, LONG_WAIT_NS};
use crate::layout::{KIND_TIMED_WAIT, SERVED_MONOTONIC, SERVED_REALTIME};
use crate::page::page;
use crate::real_time;
use crate::slot::{self, Sleep};
use crate::system;
use libc::{c_int, c_void, clockid_t, pthread_cond_t, pthread_mutex_t, sem_t, timespec};
use std::ffi::CStr;
use std::mem::size_of;
use std::sync::atomic::{AtomicPtr, Ordering};

type Wait = unsafe extern "C" fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int;
type TimedWait = unsafe extern "C" fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int;
type Signal = unsafe extern "C" fn(*mut pthread_cond_t) -> c_int;
type SemaphoreWait = unsafe extern "C" fn(*mut sem_t, clockid_t, *const timespec) -> c_int;

/// Where glibc keeps, in a condition variable, whether its deadlines count on the monotonic clock. [`check`] makes sure of it.
const CLOCK_WORD: usize = 36;
const CLOCK_BIT: u32 = 2;

/// A function of libc that this library hides. There are two of each, and a lookup without the version finds the one of 1997.
struct Hidden {
    name: &'static CStr,
    version: &'static CStr,
    found: AtomicPtr<c_void>,
}

static WAIT: Hidden = Hidden::new(c"pthread_cond_wait", c"GLIBC_2.3.2");
static TIMED_WAIT: Hidden = Hidden::new(c"pthread_cond_timedwait", c"GLIBC_2.3.2");
static SIGNAL: Hidden = Hidden::new(c"pthread_cond_signal", c"GLIBC_2.3.2");
static BROADCAST: Hidden = Hidden::new(c"pthread_cond_broadcast", c"GLIBC_2.3.2");
static SEMAPHORE_WAIT: Hidden = Hidden::new(c"sem_clockwait", c"GLIBC_2.34");

impl Hidden {
    const fn new(name: &'static CStr, version: &'static CStr) -> Hidden {
        Hidden {
            name,
            version,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    fn get(&self) -> *mut c_void {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: valid C strings; the lookup goes through the libraries loaded after this one.
            found = unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), self.version.as_ptr()) };
            if found.is_null() {
                system::refuse("libc lacks a function that this library stands in for");
            }
            self.found.store(found, Ordering::Relaxed);
        }
        found
    }
}

/// Waits as libc does.
///
/// # Safety
/// As libc's: the mutex must be locked by the caller.
pub(crate) unsafe fn untimed_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: libc's function of that name and version has this type; the rest is the caller's promise.
    unsafe { std::mem::transmute::<*mut c_void, Wait>(WAIT.get())(condition, mutex) }
}

/// Wakes waiters of both kinds.
///
/// # Safety
/// As libc's: an initialised condition variable.
pub(crate) unsafe fn signal(client: &ClientPart, condition: *mut pthread_cond_t, all: bool) -> c_int {
    // A waiter counts itself before it lets go of the mutex, so whoever changes what it waits for afterwards sees it.
    if client.long_waiters.load(Ordering::SeqCst) != 0 {
        slot::signal(condition as u64, all);
    }
    let real = if all { BROADCAST.get() } else { SIGNAL.get() };
    // SAFETY: libc's functions of those names and that version have this type; the rest is the caller's promise.
    unsafe { std::mem::transmute::<*mut c_void, Signal>(real)(condition) }
}

/// `pthread_cond_timedwait`: the condition variable knows its clock.
///
/// # Safety
/// As libc's: the mutex must be locked by the caller, the deadline readable.
pub(crate) unsafe fn timed_wait(
    client: &'static ClientPart,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { wait_until(client, condition, mutex, clock_of(condition), deadline) }
}

/// A timed wait by a given clock, `SERVED_*`.
///
/// # Safety
/// As libc's: the mutex must be locked by the caller, the deadline readable.
pub(crate) unsafe fn wait_until(
    client: &'static ClientPart,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    which: usize,
    deadline: *const timespec,
) -> c_int {
    let page = page();
    // SAFETY: the caller's promise.
    let deadline = system::to_ns(unsafe { &*deadline });
    let requested_ns = deadline.saturating_sub(clocks::now_ns(page, which));
    if requested_ns < LONG_WAIT_NS || !client::is_owner() {
        // SAFETY: the caller's promise.
        let its_clock = unsafe { clock_of(condition) };
        // The wait is handed to the variable's own clock, whichever the caller has named: only its length matters.
        let real = clocks::real_deadline_in(requested_ns, its_clock);
        // SAFETY: libc's function of that name and version has this type; the rest is the caller's promise.
        let result = unsafe {
            std::mem::transmute::<*mut c_void, TimedWait>(TIMED_WAIT.get())(condition, mutex, &raw const real)
        };
        real_time::took(result == libc::ETIMEDOUT);
        return result;
    }
    client::ensure_helper(client);
    client.long_waiters.fetch_add(1, Ordering::SeqCst);
    let sleep = Sleep {
        kind: KIND_TIMED_WAIT,
        requested_ns,
        condition: condition as u64,
        until: Some((deadline, which)),
    };
    // SAFETY: the caller's promise.
    let result = unsafe { conditions::wait(mutex, &sleep) };
    client.long_waiters.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Which clock a condition variable was made for, `SERVED_*`.
///
/// # Safety
/// An initialised condition variable.
unsafe fn clock_of(condition: *const pthread_cond_t) -> usize {
    // SAFETY: the caller's promise; the word lies within the variable and is aligned. Volatile, as other threads count waiters in its upper
    // bits.
    let word = unsafe {
        condition
            .cast::<u8>()
            .add(CLOCK_WORD)
            .cast::<u32>()
            .read_volatile()
    };
    if word & CLOCK_BIT != 0 {
        SERVED_MONOTONIC
    } else {
        SERVED_REALTIME
    }
}

const _: () = assert!(CLOCK_WORD + size_of::<u32>() <= size_of::<pthread_cond_t>());

/// Refuses to run on a libc that keeps the clock of a condition variable elsewhere.
pub(crate) fn check() {
    for (clock, expected) in [
        (libc::CLOCK_REALTIME, SERVED_REALTIME),
        (libc::CLOCK_MONOTONIC, SERVED_MONOTONIC),
    ] {
        // SAFETY: both structures are initialised by libc before anything reads them, and destroyed after.
        let found = unsafe {
            let mut attributes: libc::pthread_condattr_t = std::mem::zeroed();
            let mut condition: pthread_cond_t = std::mem::zeroed();
            libc::pthread_condattr_init(&raw mut attributes);
            libc::pthread_condattr_setclock(&raw mut attributes, clock);
            libc::pthread_cond_init(&raw mut condition, &raw const attributes);
            let found = clock_of(&raw const condition);
            libc::pthread_cond_destroy(&raw mut condition);
            libc::pthread_condattr_destroy(&raw mut attributes);
            found
        };
        if found != expected {
            system::refuse("this libc keeps the clock of a condition variable in an unknown place");
        }
    }
}

/// A wait for a semaphore, of the same length in real time.
///
/// # Safety
/// As libc's: an initialised semaphore and a readable deadline.
unsafe fn semaphore_wait(semaphore: *mut sem_t, clock: clockid_t, deadline: *const timespec) -> c_int {
    let mut real = system::to_timespec(0);
    let mut passed_on = deadline;
    if let Some(which) = clocks::virtual_clock(clock)
        && client::part().is_some()
    {
        // SAFETY: the caller's promise.
        real = clocks::to_real_deadline(page(), system::to_ns(unsafe { &*deadline }), which);
        passed_on = &raw const real;
    }
    // SAFETY: libc's function of that name and version has this type; the rest is the caller's promise.
    let result = unsafe {
        std::mem::transmute::<*mut c_void, SemaphoreWait>(SEMAPHORE_WAIT.get())(semaphore, clock, passed_on)
    };
    // The deadline lives until here.
    let _ = &real;
    if client::part().is_some() {
        // SAFETY: the place of this thread's error number.
        real_time::took(result != 0 && unsafe { *libc::__errno_location() } == libc::ETIMEDOUT);
    }
    result
}

/// Interposes libc's function; this is how Python waits for a lock with a time-out.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { semaphore_wait(semaphore, clock, deadline) }
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sem_timedwait(semaphore: *mut sem_t, deadline: *const timespec) -> c_int {
    // SAFETY: the caller's promise. libc's own is the same with this clock.
    unsafe { semaphore_wait(semaphore, libc::CLOCK_REALTIME, deadline) }
}
