//! The libc functions that move bytes through sockets, each as a [`Transfer`].

use crate::layout::client::{RECEIVED, SENT};
use crate::system;
use crate::transfers::{Transfer, one_buffer};
use libc::{c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn send(socket: c_int, buffer: *const c_void, length: size_t, flags: c_int) -> ssize_t {
    let tail = [flags as usize, 0, 0];
    let result = one_buffer(SENT, libc::SYS_sendto, socket, (buffer as usize, length), tail);
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    socket: c_int,
    buffer: *const c_void,
    length: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_length: socklen_t,
) -> ssize_t {
    let tail = [flags as usize, address as usize, address_length as usize];
    let result = one_buffer(SENT, libc::SYS_sendto, socket, (buffer as usize, length), tail);
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, buffer: *const c_void, length: size_t) -> ssize_t {
    let result = one_buffer(
        SENT,
        libc::SYS_write,
        descriptor,
        (buffer as usize, length),
        [0; 3],
    );
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn recv(socket: c_int, buffer: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    let tail = [flags as usize, 0, 0];
    let result = one_buffer(
        RECEIVED,
        libc::SYS_recvfrom,
        socket,
        (buffer as usize, length),
        tail,
    );
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    socket: c_int,
    buffer: *mut c_void,
    length: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
) -> ssize_t {
    let tail = [flags as usize, address as usize, address_length as usize];
    let result = one_buffer(
        RECEIVED,
        libc::SYS_recvfrom,
        socket,
        (buffer as usize, length),
        tail,
    );
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn read(descriptor: c_int, buffer: *mut c_void, length: size_t) -> ssize_t {
    let result = one_buffer(
        RECEIVED,
        libc::SYS_read,
        descriptor,
        (buffer as usize, length),
        [0; 3],
    );
    system::c_result(result) as ssize_t
}

/// # Safety
/// `parts` must point to `count` readable entries, or be null.
unsafe fn listed<'a>(parts: *const iovec, count: usize) -> &'a [iovec] {
    // The kernel refuses longer lists, and the slice could not be made.
    if parts.is_null() || count > libc::UIO_MAXIOV as usize {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(parts, count) }
}

/// # Safety
/// As `readv`'s and `writev`'s.
unsafe fn vector(
    direction: u32,
    number: libc::c_long,
    descriptor: c_int,
    parts: *const iovec,
    count: c_int,
) -> isize {
    // SAFETY: the caller's promise.
    let known = unsafe { listed(parts, usize::try_from(count).unwrap_or(0)) };
    let whole = (parts as usize, count as usize);
    Transfer {
        direction,
        descriptor,
        takes: true,
        parts: known,
        perform: &|parts| {
            let (base, count) = if known.is_empty() {
                whole
            } else {
                (parts.as_ptr() as usize, parts.len())
            };
            // SAFETY: the caller's buffers, or parts of them.
            unsafe { system::raw(number, [descriptor as usize, base, count, 0, 0, 0]) }
        },
    }
    .run()
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let result = unsafe { vector(SENT, libc::SYS_writev, descriptor, parts, count) };
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn readv(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let result = unsafe { vector(RECEIVED, libc::SYS_readv, descriptor, parts, count) };
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let given = unsafe { &*message };
    // SAFETY: as above.
    let parts = unsafe { listed(given.msg_iov, given.msg_iovlen) };
    let result = Transfer {
        direction: SENT,
        descriptor: socket,
        takes: true,
        parts,
        perform: &|now| {
            let mut sent = *given;
            if !parts.is_empty() {
                sent.msg_iov = now.as_ptr().cast_mut();
                sent.msg_iovlen = now.len();
            }
            let args = [
                socket as usize,
                std::ptr::from_ref(&sent) as usize,
                flags as usize,
                0,
                0,
                0,
            ];
            // SAFETY: the caller's message with the caller's buffers, or parts of them; the kernel does not write to the list.
            unsafe { system::raw(libc::SYS_sendmsg, args) }
        },
    }
    .run();
    system::c_result(result) as ssize_t
}

/// Interposes libc's function.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    let given = unsafe { *message };
    // SAFETY: as above.
    let parts = unsafe { listed(given.msg_iov, given.msg_iovlen) };
    let result = Transfer {
        direction: RECEIVED,
        descriptor: socket,
        takes: flags & libc::MSG_PEEK == 0,
        parts,
        perform: &|now| {
            let mut received = given;
            if !parts.is_empty() {
                received.msg_iov = now.as_ptr().cast_mut();
                received.msg_iovlen = now.len();
            }
            let args = [
                socket as usize,
                std::ptr::from_mut(&mut received) as usize,
                flags as usize,
                0,
                0,
                0,
            ];
            // SAFETY: as for `sendmsg`.
            let result = unsafe { system::raw(libc::SYS_recvmsg, args) };
            if result >= 0 {
                received.msg_iov = given.msg_iov;
                received.msg_iovlen = given.msg_iovlen;
                // SAFETY: the caller's promise: the message is writable.
                unsafe { message.write(received) };
            }
            result
        },
    }
    .run();
    system::c_result(result) as ssize_t
}
