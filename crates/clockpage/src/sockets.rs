//! Sockets are real. Only the outcome of `bind` and `listen` is noted, so that a controller learns at once that the process is
//! reachable, or that it never will be because its port is taken.

use crate::layout::{Page, SOCKET_BIND_FAILED, SOCKET_EVENTS, SOCKET_LISTEN};
use crate::page::page;
use crate::slot;
use crate::system;
use libc::{c_int, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use std::mem::size_of;
use std::sync::atomic::Ordering;

fn note(page: &Page, what: u32, port: u16, errno: u32) {
    let index = page.socket_event_count.fetch_add(1, Ordering::Relaxed) as usize;
    if index < SOCKET_EVENTS {
        let event = &page.socket_events[index];
        event.port.store(u32::from(port), Ordering::Relaxed);
        event.errno.store(errno, Ordering::Relaxed);
        event.what.store(what, Ordering::Release);
        slot::announce(page);
    }
}

/// The port of an internet address.
///
/// # Safety
/// `address` must be readable for `length` bytes.
unsafe fn port_of(address: *const sockaddr, length: usize) -> Option<u16> {
    if address.is_null() || length < size_of::<sockaddr_in>() {
        return None;
    }
    // SAFETY: the length was checked; both internet addresses have their family and their port at the same place.
    let inet = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    let known = inet.sin_family == libc::AF_INET as libc::sa_family_t
        || inet.sin_family == libc::AF_INET6 as libc::sa_family_t;
    known.then(|| u16::from_be(inet.sin_port))
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `address` must be readable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn bind(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let args = [socket as usize, address as usize, length as usize, 0, 0, 0];
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { system::raw(libc::SYS_bind, args) };
    if result < 0 {
        // SAFETY: the caller's promise.
        if let Some(port) = unsafe { port_of(address, length as usize) } {
            note(page(), SOCKET_BIND_FAILED, port, -result as u32);
        }
    }
    system::c_result(result) as c_int
}

/// Interposes libc's function.
#[unsafe(no_mangle)]
extern "C" fn listen(socket: c_int, backlog: c_int) -> c_int {
    // SAFETY: no memory involved.
    let result = unsafe { system::raw(libc::SYS_listen, [socket as usize, backlog as usize, 0, 0, 0, 0]) };
    let mut storage = [0_u64; size_of::<sockaddr_in6>().div_ceil(8)];
    let mut length = size_of::<sockaddr_in6>() as socklen_t;
    let address = storage.as_mut_ptr().cast::<sockaddr>();
    let args = [
        socket as usize,
        address as usize,
        std::ptr::from_mut(&mut length) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes at most `length` bytes, which `storage` holds, and the length itself.
    let named = unsafe { system::raw(libc::SYS_getsockname, args) };
    if named == 0 {
        // SAFETY: the kernel filled that many bytes, or as many as fit.
        if let Some(port) = unsafe { port_of(address, length as usize) } {
            note(page(), SOCKET_LISTEN, port, result.min(0).unsigned_abs() as u32);
        }
    }
    system::c_result(result) as c_int
}
