//! What event loops have asked the kernel to tell them, so that it can be asked again in their place.
//!
//! A loop that polls for edges hears of a socket that can be written when it becomes so, and never again by itself. Asking once more for
//! the same makes the kernel tell anew what is the case.

use crate::client::{self, lock};
use crate::system;
use libc::{c_int, epoll_event};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What was asked for one descriptor.
struct Asked {
    /// The `epoll` descriptor plus one, 0 for none.
    epoll_plus_one: AtomicU32,
    events: AtomicU32,
    data: AtomicU64,
}

/// By descriptor. Those beyond are not remembered.
static ASKED: [Asked; 1_024] = [const {
    Asked {
        epoll_plus_one: AtomicU32::new(0),
        events: AtomicU32::new(0),
        data: AtomicU64::new(0),
    }
}; 1_024];

/// Held over the kernel's call as well: what is remembered is what the kernel knows.
static LOCK: AtomicU32 = AtomicU32::new(0);

fn asked(descriptor: c_int) -> Option<&'static Asked> {
    ASKED.get(usize::try_from(descriptor).ok()?)
}

fn ask(epoll: c_int, operation: c_int, descriptor: c_int, event: *mut epoll_event) -> isize {
    let args = [
        epoll as usize,
        operation as usize,
        descriptor as usize,
        event as usize,
        0,
        0,
    ];
    // SAFETY: the caller's arguments, or an event that is borrowed for the call.
    unsafe { system::raw(libc::SYS_epoll_ctl, args) }
}

/// Has the kernel tell once more what is the case with a descriptor.
pub(crate) fn ask_again(descriptor: c_int) {
    let Some(asked) = asked(descriptor) else { return };
    let _held = lock(&LOCK);
    let epoll = asked.epoll_plus_one.load(Ordering::Relaxed);
    if epoll == 0 {
        return;
    }
    let mut event = epoll_event {
        events: asked.events.load(Ordering::Relaxed),
        u64: asked.data.load(Ordering::Relaxed),
    };
    let epoll = epoll.wrapping_sub(1).cast_signed();
    // One that was closed meanwhile has nobody who waits.
    let _ = ask(epoll, libc::EPOLL_CTL_MOD, descriptor, &raw mut event);
}

/// Forgets a descriptor that is about to be closed.
pub(crate) fn forget(descriptor: c_int) {
    let Some(asked) = asked(descriptor) else { return };
    if asked.epoll_plus_one.load(Ordering::Relaxed) == 0 || !client::is_owner() {
        return;
    }
    let _held = lock(&LOCK);
    asked.epoll_plus_one.store(0, Ordering::Relaxed);
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `event` must be readable, or null where it is not used.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    descriptor: c_int,
    event: *mut epoll_event,
) -> c_int {
    let remembered = client::part().and_then(|_| asked(descriptor));
    let Some(asked) = remembered.filter(|_| client::is_owner()) else {
        return system::c_result(ask(epoll, operation, descriptor, event)) as c_int;
    };
    let _held = lock(&LOCK);
    let result = ask(epoll, operation, descriptor, event);
    match operation {
        _ if result != 0 => {}
        libc::EPOLL_CTL_DEL => asked.epoll_plus_one.store(0, Ordering::Relaxed),
        _ => {
            // SAFETY: the caller's promise, and the kernel has read it.
            let event = unsafe { event.read_unaligned() };
            asked.events.store(event.events, Ordering::Relaxed);
            asked.data.store(event.u64, Ordering::Relaxed);
            let key = epoll.cast_unsigned().wrapping_add(1);
            asked.epoll_plus_one.store(key, Ordering::Relaxed);
        }
    }
    system::c_result(result) as c_int
}
