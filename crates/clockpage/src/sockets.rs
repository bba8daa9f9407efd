//! Sockets are real. A client that would listen on every interface listens on loopback only. Otherwise the outcome of `bind` and `listen`
//! is noted, so that a controller learns at once that the process is reachable, or that it never will be because its port is taken.

use crate::client;
use crate::layout::{Page, SOCKET_BIND_FAILED, SOCKET_EVENTS, SOCKET_LISTEN};
use crate::page::page;
use crate::slot;
use crate::system;
use libc::{c_int, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// The loopback address in place of one that means every interface.
///
/// # Safety
/// `address` must be readable for `length` bytes.
unsafe fn loopback_for(
    socket: c_int,
    address: *const sockaddr,
    length: usize,
    storage: &mut [u64; size_of::<sockaddr_in6>().div_ceil(8)],
) -> Option<*const sockaddr> {
    if address.is_null() || length < size_of::<sockaddr_in>() {
        return None;
    }
    // SAFETY: the length was checked; every address begins with its family.
    let family = c_int::from(unsafe { address.cast::<sockaddr_in>().read_unaligned() }.sin_family);
    if family == libc::AF_INET {
        // SAFETY: as above.
        let mut inet = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
        if inet.sin_addr.s_addr != libc::INADDR_ANY {
            return None;
        }
        inet.sin_addr.s_addr = libc::INADDR_LOOPBACK.to_be();
        // SAFETY: the storage is larger and aligned.
        unsafe { storage.as_mut_ptr().cast::<sockaddr_in>().write(inet) };
    } else if family == libc::AF_INET6 && length >= size_of::<sockaddr_in6>() {
        // SAFETY: the length was checked.
        let mut inet = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
        if inet.sin6_addr.s6_addr != [0; 16] {
            return None;
        }
        // A socket for both families is reached by its IPv4 address, so that is the one to keep.
        inet.sin6_addr.s6_addr = if option(socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) == Some(0) {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1]
        } else {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        };
        // SAFETY: the storage is as large and aligned.
        unsafe { storage.as_mut_ptr().cast::<sockaddr_in6>().write(inet) };
    } else {
        return None;
    }
    Some(storage.as_ptr().cast())
}

/// An option of a socket that is a number; none if the descriptor has no such option.
fn option(socket: c_int, level: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as socklen_t;
    let args = [
        socket as usize,
        level as usize,
        name as usize,
        std::ptr::from_mut(&mut value) as usize,
        std::ptr::from_mut(&mut length) as usize,
        0,
    ];
    // SAFETY: the value and its length are writable.
    let result = unsafe { system::raw(libc::SYS_getsockopt, args) };
    (result == 0).then_some(value)
}

/// The port at one end of a socket, by `getsockname` or `getpeername`.
fn port_at(socket: c_int, number: libc::c_long) -> Option<u16> {
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
    let named = unsafe { system::raw(number, args) };
    if named != 0 {
        return None;
    }
    // SAFETY: the kernel filled that many bytes, or as many as fit.
    unsafe { port_of(address, length as usize) }
}

/// Last known ports of sockets, by descriptor: a connection that was reset has no peer any more but may still hold bytes to read.
static PORTS: [AtomicU32; 1_024] = [const { AtomicU32::new(0) }; 1_024];

/// Local and peer's port of a TCP socket; none for everything else. A peer that is gone and was never seen has port 0.
pub(crate) fn tcp_ports(descriptor: c_int) -> Option<(u16, u16)> {
    if option(descriptor, libc::SOL_SOCKET, libc::SO_PROTOCOL) != Some(libc::IPPROTO_TCP) {
        return None;
    }
    let last = usize::try_from(descriptor)
        .ok()
        .and_then(|index| PORTS.get(index));
    let local = port_at(descriptor, libc::SYS_getsockname)?;
    let Some(peer) = port_at(descriptor, libc::SYS_getpeername) else {
        let known = last.map_or(0, |last| last.load(Ordering::Relaxed));
        // Of another connection if the descriptor was used again.
        let same = known >> 16 == u32::from(local);
        return Some((local, if same { known as u16 } else { 0 }));
    };
    if let Some(last) = last {
        last.store(u32::from(local) << 16 | u32::from(peer), Ordering::Relaxed);
    }
    Some((local, peer))
}

/// Bytes of a segment, as on Ethernet. Those of loopback are as large as the room at the other end, and a sender that waits for a whole one
/// is let go on by timers of the kernel.
const SEGMENT_BYTES: c_int = 1_448;

/// Gives a TCP socket of a client small segments. What a listener accepts has those of the listener.
fn limit_segments(socket: c_int) {
    if client::part().is_none()
        || option(socket, libc::SOL_SOCKET, libc::SO_PROTOCOL) != Some(libc::IPPROTO_TCP)
    {
        return;
    }
    let args = [
        socket as usize,
        libc::IPPROTO_TCP as usize,
        libc::TCP_MAXSEG as usize,
        std::ptr::from_ref(&SEGMENT_BYTES) as usize,
        size_of::<c_int>(),
        0,
    ];
    // SAFETY: the value is readable. A socket that cannot do it still works.
    let _ = unsafe { system::raw(libc::SYS_setsockopt, args) };
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `address` must be readable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn connect(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    limit_segments(socket);
    let args = [socket as usize, address as usize, length as usize, 0, 0, 0];
    // SAFETY: the caller's arguments.
    system::c_result(unsafe { system::raw(libc::SYS_connect, args) }) as c_int
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's: `address` must be readable for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn bind(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let mut storage = [0_u64; size_of::<sockaddr_in6>().div_ceil(8)];
    // SAFETY: the caller's promise.
    let loopback =
        client::part().and_then(|_| unsafe { loopback_for(socket, address, length as usize, &mut storage) });
    limit_segments(socket);
    let passed_on = loopback.unwrap_or(address);
    let args = [socket as usize, passed_on as usize, length as usize, 0, 0, 0];
    // SAFETY: the caller's arguments, or an address of the same length in `storage`.
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
    if let Some(port) = port_at(socket, libc::SYS_getsockname) {
        note(page(), SOCKET_LISTEN, port, result.min(0).unsigned_abs() as u32);
    }
    system::c_result(result) as c_int
}
