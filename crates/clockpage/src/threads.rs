//! Creating threads.
//!
//! An eviction round scans its shards in sixteen threads that append to one list, and the order of that list decides later
//! addresses. Let such a round's threads run one after the other and the order is that of their creation.

use crate::layout::KIND_SLEEP;
use crate::page::page;
use crate::slot;
use crate::system;
use libc::{c_int, c_void, pthread_attr_t, pthread_t};
use std::mem::size_of;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;

/// What a new thread is to do, and where it reports its end.
struct Errand {
    start: Start,
    argument: *mut c_void,
    /// Null, or the word of a creator that waits for the end.
    ended: *const AtomicU32,
}

static REAL_CREATE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

fn real_create() -> Create {
    let mut found = REAL_CREATE.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: a valid C string; the lookup goes through the libraries loaded after this one.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
        if found.is_null() {
            system::refuse("libc has no pthread_create");
        }
        REAL_CREATE.store(found, Ordering::Relaxed);
    }
    // SAFETY: libc's function of that name has this type.
    unsafe { std::mem::transmute::<*mut c_void, Create>(found) }
}

/// Creates a thread that the program does not know: detached, with every signal blocked so that none is delivered to it.
/// Says whether that worked.
pub(crate) fn create_hidden(start: Start) -> bool {
    let all = u64::MAX;
    let mut before = 0_u64;
    let mask = |how: c_int, new: *const u64, old: *mut u64| {
        let args = [how as usize, new as usize, old as usize, size_of::<u64>(), 0, 0];
        // SAFETY: both masks are as long as the kernel's signal sets, or null.
        unsafe { system::raw(libc::SYS_rt_sigprocmask, args) };
    };
    mask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    let mut thread: pthread_t = 0;
    // SAFETY: default attributes, and an argument that the routine ignores.
    let result = unsafe { real_create()(&raw mut thread, std::ptr::null(), start, std::ptr::null_mut()) };
    mask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    if result == 0 {
        // SAFETY: a thread that was just created and never ends.
        unsafe { libc::pthread_detach(thread) };
    }
    result == 0
}

extern "C" fn run(errand: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer that `pthread_create` below made of a box, handed to exactly this thread.
    let errand = unsafe { Box::from_raw(errand.cast::<Errand>()) };
    let Errand {
        start,
        argument,
        ended,
    } = *errand;
    let result = start(argument);
    slot::release();
    if !ended.is_null() {
        // SAFETY: the creator keeps the word on its stack until it has seen the 1, and it is not touched after the wake-up of
        // an address that may by then belong to something else, which a futex wake allows.
        unsafe {
            (*ended).store(1, Ordering::SeqCst);
            let args = [
                ended as usize,
                libc::FUTEX_WAKE as usize,
                i32::MAX as usize,
                0,
                0,
                0,
            ];
            system::raw(libc::SYS_futex, args);
        }
    }
    result
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let page = page();
    let serial = page.serial_creator_sleep_ns.load(Ordering::Relaxed);
    let one_by_one = serial != 0
        && page.gates_open.load(Ordering::Relaxed) == 0
        && slot::last_sleep() == Some((KIND_SLEEP, serial));
    let ended = AtomicU32::new(0);
    let errand = Box::into_raw(Box::new(Errand {
        start,
        argument,
        ended: if one_by_one {
            std::ptr::from_ref(&ended)
        } else {
            std::ptr::null()
        },
    }));
    // SAFETY: the caller's arguments but for the routine and its argument, which belong together.
    let result = unsafe { real_create()(thread, attributes, run, errand.cast()) };
    if result != 0 {
        // SAFETY: no thread came into being, so the box is still ours.
        drop(unsafe { Box::from_raw(errand) });
        return result;
    }
    if one_by_one {
        while ended.load(Ordering::SeqCst) == 0 {
            system::futex_wait(&ended, 0, None);
        }
    }
    result
}
