//! Randomness. For `std::random_device` every thread has its own stream, fixed by the seed and by what the thread first slept for, so
//! that the order in which threads start does not matter. Ids have one stream for the process: they are what `getrandom` is asked for 16
//! bytes at a time.

use crate::client;
use crate::layout;
use crate::page::page;
use crate::slot;
use crate::system;
use libc::{c_uint, c_void, size_t, ssize_t};
use std::mem::size_of;
use std::sync::atomic::Ordering;

/// The kernel's own random bytes: a client is not seeded, as nothing of it that is compared depends on them.
///
/// # Safety
/// `buffer` must be writable for `length` bytes.
unsafe fn real_random(buffer: *mut c_void, length: size_t, flags: c_uint) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        system::raw(
            libc::SYS_getrandom,
            [buffer as usize, length, flags as usize, 0, 0, 0],
        )
    }
}

fn draw() -> u32 {
    let (key, index) = slot::next_draw();
    layout::random_value(page().seed.load(Ordering::Relaxed), key, index)
}

/// Interposes `std::random_device::_M_getval()`. Below it the C++ library asks the processor directly, which nothing can interpose.
#[unsafe(no_mangle)]
extern "C" fn _ZNSt13random_device9_M_getvalEv(_device: *mut c_void) -> c_uint {
    if client::part().is_some() {
        let mut value: c_uint = 0;
        // SAFETY: four writable bytes; the kernel gives so few at once.
        unsafe { real_random(std::ptr::from_mut(&mut value).cast(), size_of::<c_uint>(), 0) };
        return value;
    }
    draw()
}

/// The next id of the process, as the bytes that `getrandom` is to give for it.
fn draw_id() -> impl Iterator<Item = u32> {
    let page = page();
    let seed = page.seed.load(Ordering::Relaxed);
    let first = page.ids_made.fetch_add(1, Ordering::Relaxed) as u32 * layout::ID_WORDS;
    (first..first + layout::ID_WORDS)
        .map(move |index| layout::random_value(seed, layout::RANDOM_KEY_IDS, index))
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `buffer` must be writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if client::part().is_some() {
        // SAFETY: the caller's promise.
        return system::c_result(unsafe { real_random(buffer, length, flags) }) as ssize_t;
    }
    // Never more than one call of the kernel gives at once.
    let length = length.min(256);
    let words = length.div_ceil(4);
    let mut id = (words == layout::ID_WORDS as usize).then(draw_id);
    let mut word = || id.as_mut().and_then(Iterator::next).unwrap_or_else(draw);
    let bytes = (0..words).flat_map(|_| word().to_le_bytes()).take(length);
    for (offset, byte) in bytes.enumerate() {
        // SAFETY: the caller's promise; `offset` is below `length`.
        unsafe { buffer.cast::<u8>().add(offset).write(byte) };
    }
    length as ssize_t
}
