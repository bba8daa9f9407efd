//! The controller's side of the shared page: an anonymous file, mapped here and inherited by the process.
#![allow(
    unsafe_code,
    reason = "part of starting a process; each block says why it is sound"
)]

use super::error::ProcessError;
use super::layout::{self, Page, Slot};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs};
use std::fs::File;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A mapped page. The file has no name, so nothing is left behind however this process or the other one ends.
#[derive(Debug)]
pub(crate) struct SharedPage {
    mapped: NonNull<Page>,
    file: OwnedFd,
}

// SAFETY: the page holds atomics only and the mapping is not bound to a thread.
unsafe impl Send for SharedPage {}
// SAFETY: as above; all access is through atomics.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// A new page for a process that has not started.
    pub(crate) fn create(
        clocks: Clocks,
        seed: u64,
        serial_creator_sleep_ns: u64,
    ) -> Result<SharedPage, ProcessError> {
        // SAFETY: a valid C string; the result is checked before use.
        let raw = unsafe { libc::memfd_create(c"moonquake-clockpage".as_ptr(), libc::MFD_CLOEXEC) };
        if raw < 0 {
            return Err(ProcessError::io("create the clock page")(
                std::io::Error::last_os_error(),
            ));
        }
        // SAFETY: a fresh descriptor that nothing else owns.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
        file.set_len(size_of::<Page>() as u64)
            .map_err(ProcessError::io("size the clock page"))?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, of a file that is as long as the mapping.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Page>(),
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        let mapped = NonNull::new(mapped.cast::<Page>()).filter(|_| mapped != libc::MAP_FAILED);
        let Some(mapped) = mapped else {
            return Err(ProcessError::io("map the clock page")(
                std::io::Error::last_os_error(),
            ));
        };
        let shared = SharedPage {
            mapped,
            file: file.into(),
        };
        let page = shared.get();
        page.magic.store(layout::MAGIC, Ordering::Relaxed);
        page.version.store(layout::VERSION, Ordering::Relaxed);
        page.size_bytes.store(size_of::<Page>() as u32, Ordering::Relaxed);
        page.seed.store(seed, Ordering::Relaxed);
        page.serial_creator_sleep_ns
            .store(serial_creator_sleep_ns, Ordering::Relaxed);
        shared.set_clocks(clocks);
        Ok(shared)
    }

    /// The page.
    pub(crate) fn get(&self) -> &Page {
        // SAFETY: mapped until `drop`, zeroed by the kernel, and any bytes are valid atomics of integers.
        unsafe { self.mapped.as_ref() }
    }

    /// Descriptor to be inherited.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Sets both clocks. The two stores are not one step; nothing in the process runs by itself that could see the middle.
    pub(crate) fn set_clocks(&self, clocks: Clocks) {
        self.get().realtime_ns.store(clocks.realtime.0, Ordering::Release);
        self.get()
            .monotonic_ns
            .store(clocks.monotonic.0, Ordering::Release);
    }

    /// What both clocks show.
    pub(crate) fn clocks(&self) -> Clocks {
        Clocks {
            realtime: RealtimeNs(self.get().realtime_ns.load(Ordering::Acquire)),
            monotonic: MonotonicNs(self.get().monotonic_ns.load(Ordering::Acquire)),
        }
    }

    /// Lets everything through from now on, so that the process can end.
    pub(crate) fn open_gates(&self) {
        let page = self.get();
        page.gates_open.store(1, Ordering::SeqCst);
        for slot in &page.slots {
            wake_from(slot, layout::OPENED);
        }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: our own mapping; no reference into it outlives `self`.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), size_of::<Page>()) };
    }
}

/// Wakes the thread of a slot if it sleeps, for that reason. Says whether it did.
pub(crate) fn wake_from(slot: &Slot, reason: u32) -> bool {
    let word = slot.word.load(Ordering::SeqCst);
    if layout::state_of(word) != layout::ASLEEP {
        return false;
    }
    let woken = layout::with_state(word, reason);
    let changed = slot
        .word
        .compare_exchange(word, woken, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok();
    if changed {
        wake(&slot.word);
    }
    changed
}

/// Wakes everything that waits on `word`.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: waking reads no memory; the word is shared between processes, hence not the private form.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Waits while `word` is `expected`, at most `limit` of real time. May return early.
pub(crate) fn wait_while(word: &AtomicU32, expected: u32, limit: Duration) {
    let limit = libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(limit.subsec_nanos()),
    };
    // SAFETY: word and limit are borrowed for the call; a relative limit, counted by the kernel on the monotonic clock.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            expected,
            &raw const limit,
        )
    };
}
