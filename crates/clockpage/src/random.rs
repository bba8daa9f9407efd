//! Randomness. For `std::random_device` every thread has its own stream, fixed by the seed and by what the thread first slept for, so
//! that the order in which threads start does not matter. `getrandom`, from which ids are made, has one stream for the process.

use crate::layout;
use crate::page::page;
use crate::slot;
use libc::{c_uint, c_void, size_t, ssize_t};
use std::sync::atomic::Ordering;

fn draw() -> u32 {
    let (key, index) = slot::next_draw();
    layout::random_value(page().seed.load(Ordering::Relaxed), key, index)
}

/// Interposes `std::random_device::_M_getval()`. Below it the C++ library asks the processor directly, which nothing can interpose.
#[unsafe(no_mangle)]
extern "C" fn _ZNSt13random_device9_M_getvalEv(_device: *mut c_void) -> c_uint {
    draw()
}

fn draw_for_id() -> u32 {
    let page = page();
    let index = page.id_draws.fetch_add(1, Ordering::Relaxed);
    layout::random_value(
        page.seed.load(Ordering::Relaxed),
        layout::RANDOM_KEY_IDS,
        index as u32,
    )
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `buffer` must be writable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, _flags: c_uint) -> ssize_t {
    // Never more than one call of the kernel gives at once.
    let length = length.min(256);
    let bytes = (0..length.div_ceil(4))
        .flat_map(|_| draw_for_id().to_le_bytes())
        .take(length);
    for (offset, byte) in bytes.enumerate() {
        // SAFETY: the caller's promise; `offset` is below `length`.
        unsafe { buffer.cast::<u8>().add(offset).write(byte) };
    }
    length as ssize_t
}
