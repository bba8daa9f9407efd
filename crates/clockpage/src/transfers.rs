//! Calls that move bytes through sockets. They are the kernel's own; in a client those on TCP sockets can be logged by address, one
//! thread can be made to stand still at an exact byte, and a metered connection sends no more than it is told ([`credit`]).

use crate::client::{self, lock};
use crate::clocks;
use crate::credit;
use crate::layout::client::{ClientPart, PAUSE_ARMED, PAUSE_HIT, PAUSE_NONE, RECEIVED, SENT, SOCKET_LOG};
use crate::layout::{SERVED_MONOTONIC, SERVED_REALTIME};
use crate::page::page;
use crate::sockets;
use crate::system;
use libc::{c_int, iovec};
use std::sync::atomic::Ordering;

/// One call: which way, on what, and how the kernel does it with these buffers or with some of their bytes.
#[derive(Clone, Copy)]
pub(crate) struct Transfer<'a> {
    pub(crate) direction: u32,
    pub(crate) descriptor: c_int,
    /// False if the bytes stay in the socket as well (`MSG_PEEK`), so that they are moved again later.
    pub(crate) takes: bool,
    pub(crate) parts: &'a [iovec],
    pub(crate) perform: &'a dyn Fn(&[iovec]) -> isize,
}

impl Transfer<'_> {
    /// Does it. Returns the kernel's answer.
    pub(crate) fn run(&self) -> isize {
        let Some(client) = client::part() else {
            return (self.perform)(self.parts);
        };
        let logged = client.log_sockets.load(Ordering::Relaxed) != 0;
        let paused = client.pause.state.load(Ordering::SeqCst) != PAUSE_NONE;
        let metered = self.direction == SENT && credit::is_on(client);
        if !logged && !paused && !metered {
            return (self.perform)(self.parts);
        }
        let Some(ports) = sockets::tcp_ports(self.descriptor) else {
            return (self.perform)(self.parts);
        };
        let credit = metered.then(|| credit::of(client, self.descriptor, ports));
        let Some(credit) = credit.flatten() else {
            return self.move_bytes(client, ports);
        };
        credit::spend(client, credit, total(self.parts), |from, most| {
            let parts = &cut(self.parts, from, most)[..];
            Transfer { parts, ..*self }.move_bytes(client, ports)
        })
    }

    /// Does it, logged and stopped as it was asked for.
    fn move_bytes(&self, client: &'static ClientPart, ports: (u16, u16)) -> isize {
        let paused = client.pause.state.load(Ordering::SeqCst) != PAUSE_NONE;
        if paused && self.takes && self.matches(client, ports) {
            return self.run_to_the_byte(client, ports);
        }
        let moved = (self.perform)(self.parts);
        if client.log_sockets.load(Ordering::Relaxed) != 0 {
            self.log(client, ports, self.parts, moved);
        }
        moved
    }

    fn matches(&self, client: &ClientPart, (local, peer): (u16, u16)) -> bool {
        let pause = &client.pause;
        let port_is = |wanted: u32, port: u16| wanted == 0 || wanted == u32::from(port);
        pause.direction.load(Ordering::Relaxed) == self.direction
            && port_is(pause.local_port.load(Ordering::Relaxed), local)
            && port_is(pause.peer_port.load(Ordering::Relaxed), peer)
    }

    /// Does it in two halves if the limit lies between. The second half is this thread's own work, since an event loop that was told of fewer
    /// bytes than the kernel would take waits for an event that never comes.
    fn run_to_the_byte(&self, client: &'static ClientPart, ports: (u16, u16)) -> isize {
        let pause = &client.pause;
        // Held while standing still too: bytes that other threads moved meanwhile would be beyond the limit.
        let _held = lock(&pause.lock);
        let mut done = 0;
        loop {
            let rest = cut(self.parts, done, u64::MAX);
            let counted = pause.state.load(Ordering::SeqCst) == PAUSE_ARMED && self.matches(client, ports);
            let limit = pause.at_bytes.load(Ordering::Relaxed);
            let left = limit.saturating_sub(pause.moved_bytes.load(Ordering::SeqCst));
            if !counted || left >= total(&rest) {
                let moved = if done > 0 && !self.would_move(self.descriptor) {
                    -libc::EAGAIN as isize
                } else {
                    (self.perform)(&rest)
                };
                self.count(client, ports, &rest, moved, counted);
                return together(done, moved);
            }
            if left > 0 {
                let first = cut(&rest, 0, left);
                let moved = (self.perform)(&first);
                self.count(client, ports, &first, moved, true);
                if moved < left as isize {
                    // The kernel itself stopped before the limit.
                    return together(done, moved);
                }
                done += left;
            }
            stand_still(client);
        }
    }

    fn count(
        &self,
        client: &'static ClientPart,
        ports: (u16, u16),
        parts: &[iovec],
        moved: isize,
        counted: bool,
    ) {
        if counted && moved > 0 {
            client.pause.moved_bytes.fetch_add(moved as u64, Ordering::SeqCst);
        }
        if client.log_sockets.load(Ordering::Relaxed) != 0 {
            self.log(client, ports, parts, moved);
        }
    }

    /// Whether a second half would not block where the whole call would not have.
    fn would_move(&self, descriptor: c_int) -> bool {
        let mut poll = libc::pollfd {
            fd: descriptor,
            events: if self.direction == SENT {
                libc::POLLOUT
            } else {
                libc::POLLIN
            },
            revents: 0,
        };
        let args = [std::ptr::from_mut(&mut poll) as usize, 1, 0, 0, 0, 0];
        // SAFETY: one writable entry; no waiting.
        unsafe { system::raw(libc::SYS_poll, args) == 1 }
    }

    fn log(&self, client: &'static ClientPart, (local, peer): (u16, u16), parts: &[iovec], moved: isize) {
        if moved <= 0 {
            return;
        }
        let mut left = moved as u64;
        let _held = lock(&client.log_lock);
        for part in parts {
            let length = left.min(part.iov_len as u64);
            left -= length;
            if length == 0 {
                continue;
            }
            let Some(written) = await_place(client) else {
                client.log_lost.fetch_add(1, Ordering::SeqCst);
                continue;
            };
            let page = page();
            let entry = &client.socket_log[written as usize % SOCKET_LOG];
            entry.direction.store(self.direction, Ordering::Relaxed);
            entry.tid.store(system::thread_id(), Ordering::Relaxed);
            entry
                .descriptor
                .store(self.descriptor.cast_unsigned(), Ordering::Relaxed);
            entry
                .ports
                .store(u32::from(local) << 16 | u32::from(peer), Ordering::Relaxed);
            entry.address.store(part.iov_base as u64, Ordering::Relaxed);
            entry.length_bytes.store(length, Ordering::Relaxed);
            entry
                .realtime_ns
                .store(clocks::now_ns(page, SERVED_REALTIME), Ordering::Relaxed);
            entry
                .monotonic_ns
                .store(clocks::now_ns(page, SERVED_MONOTONIC), Ordering::Relaxed);
            client
                .log_written
                .store(written.wrapping_add(1), Ordering::SeqCst);
            system::futex_wake(&client.log_written);
        }
    }
}

/// The number of the next entry, once there is room for it. None if nobody will make room.
fn await_place(client: &ClientPart) -> Option<u32> {
    let written = client.log_written.load(Ordering::SeqCst);
    loop {
        let taken = client.log_taken.load(Ordering::SeqCst);
        if (written.wrapping_sub(taken) as usize) < SOCKET_LOG {
            return Some(written);
        }
        if page().gates_open.load(Ordering::SeqCst) != 0 {
            return None;
        }
        system::futex_wait(&client.log_taken, taken, None);
    }
}

/// Waits at the byte until the controller releases the pause.
fn stand_still(client: &ClientPart) {
    let pause = &client.pause;
    pause.tid.store(system::thread_id(), Ordering::SeqCst);
    let hit = pause
        .state
        .compare_exchange(PAUSE_ARMED, PAUSE_HIT, Ordering::SeqCst, Ordering::SeqCst);
    if hit.is_err() {
        return;
    }
    system::futex_wake(&pause.state);
    while pause.state.load(Ordering::SeqCst) == PAUSE_HIT {
        system::futex_wait(&pause.state, PAUSE_HIT, None);
    }
}

/// The answer for both halves. A second half that moved nothing does not matter, unless the connection broke: then the bytes of the
/// first do not matter either.
pub(crate) fn together(done: u64, moved: isize) -> isize {
    let nothing = [-libc::EAGAIN as isize, -libc::EINTR as isize];
    match moved {
        _ if done == 0 => moved,
        0.. => done as isize + moved,
        _ if nothing.contains(&moved) => done as isize,
        _ => moved,
    }
}

fn total(parts: &[iovec]) -> u64 {
    parts.iter().map(|part| part.iov_len as u64).sum()
}

/// The buffers without their first `skip` bytes, at most `limit` bytes of them.
fn cut(parts: &[iovec], mut skip: u64, mut limit: u64) -> Vec<iovec> {
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        let skipped = skip.min(part.iov_len as u64);
        let length = limit.min(part.iov_len as u64 - skipped);
        skip -= skipped;
        limit -= length;
        if length > 0 {
            kept.push(iovec {
                iov_base: part.iov_base.wrapping_byte_add(skipped as usize),
                iov_len: length as usize,
            });
        }
    }
    if kept.is_empty() {
        // Some calls expect a buffer, be it empty.
        kept.extend(parts.first().map(|part| iovec {
            iov_base: part.iov_base,
            iov_len: 0,
        }));
    }
    kept
}

/// A call with one buffer; `tail` holds the arguments after it.
pub(crate) fn one_buffer(
    direction: u32,
    number: libc::c_long,
    descriptor: c_int,
    buffer: (usize, usize),
    tail: [usize; 3],
) -> isize {
    let parts = [iovec {
        iov_base: buffer.0 as *mut libc::c_void,
        iov_len: buffer.1,
    }];
    let peeks = direction == RECEIVED && tail[0] as c_int & libc::MSG_PEEK != 0;
    Transfer {
        direction,
        descriptor,
        takes: !peeks,
        parts: &parts,
        perform: &|parts| {
            let (base, length) = parts
                .first()
                .map_or(buffer, |part| (part.iov_base as usize, part.iov_len));
            let args = [descriptor as usize, base, length, tail[0], tail[1], tail[2]];
            // SAFETY: the caller's arguments, or a part of the caller's buffer.
            unsafe { system::raw(number, args) }
        },
    }
    .run()
}
