//! The kernel without libc in between: the libc names are interposed by this very library, so going through them would recurse.

use libc::{c_int, c_long, timespec};
use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// A system call. Returns what the kernel returns: a result, or the negated error number.
///
/// # Safety
/// The arguments must be what the call `number` expects.
pub(crate) unsafe fn raw(number: c_long, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the x86-64 Linux calling convention of system calls; the kernel clobbers rcx and r11 only. What the call does to
    // memory is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Turns the kernel's answer into that of a C function: -1 and `errno`, or the value.
pub(crate) fn c_result(kernel: isize) -> c_long {
    if (-4095..0).contains(&kernel) {
        // SAFETY: libc returns a valid pointer to the calling thread's `errno`.
        unsafe { *libc::__errno_location() = -kernel as c_int };
        return -1;
    }
    kernel as c_long
}

/// Waits while `word` is `expected`, at most `limit` if given. Spurious returns happen.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, limit: Option<&timespec>) {
    let limit = limit.map_or(0, |limit| std::ptr::from_ref(limit) as usize);
    let args = [
        word.as_ptr() as usize,
        libc::FUTEX_WAIT as usize,
        expected as usize,
        limit,
        0,
        0,
    ];
    // SAFETY: the word lives as long as the borrow, the limit is null or a borrowed timespec. Not the private form of the
    // operation, because the page is shared with another process.
    unsafe { raw(libc::SYS_futex, args) };
}

/// Wakes everything that waits on `word`.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let args = [
        word.as_ptr() as usize,
        libc::FUTEX_WAKE as usize,
        i32::MAX as usize,
        0,
        0,
        0,
    ];
    // SAFETY: waking reads no memory of ours.
    unsafe { raw(libc::SYS_futex, args) };
}

/// Kernel id of the calling thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { raw(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Id of this process.
pub(crate) fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { raw(libc::SYS_getpid, [0; 6]) as u32 }
}

/// A real sleep. Returns the kernel's answer.
///
/// # Safety
/// `remaining` must be null or point to a writable `timespec`.
pub(crate) unsafe fn real_sleep(request: &timespec, remaining: *mut timespec) -> isize {
    let args = [
        std::ptr::from_ref(request) as usize,
        remaining as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the request is borrowed, `remaining` is the caller's promise.
    unsafe { raw(libc::SYS_nanosleep, args) }
}

/// Says one line on standard error and ends the process at once: running on the real clock would be a lie.
pub(crate) fn refuse(reason: &str) -> ! {
    for part in ["moonquake-clockpage: ", reason, "\n"] {
        // SAFETY: pointer and length are those of a string.
        unsafe { raw(libc::SYS_write, [2, part.as_ptr() as usize, part.len(), 0, 0, 0]) };
    }
    loop {
        // SAFETY: ends the process; `exit_group` runs no destructors, which is the point this early.
        unsafe {
            raw(
                libc::SYS_exit_group,
                [crate::layout::EXIT_NO_PAGE as usize, 0, 0, 0, 0, 0],
            )
        };
    }
}

/// Nanoseconds in a `timespec`, 0 if it lies before zero.
pub(crate) fn to_ns(time: &timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// A `timespec` of so many nanoseconds.
pub(crate) fn to_timespec(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as c_long,
    }
}
