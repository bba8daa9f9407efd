//! How many bytes a connection may send. A transport reads its memory as soon as the kernel takes bytes, long before they move on; one whose
//! connection is metered reads exactly the bytes that the controller has let it send, at that moment.
//!
//! Nobody stands still for it: one thread serves many connections. A call beyond the limit moves what is within, or answers that the
//! socket is full, as the kernel does. The event that its event loop then waits for has no reason in the kernel, so it is asked for once
//! there is more to send ([`crate::polling`]).

use crate::client::{self, lock};
use crate::layout::client::{CREDITS, ClientPart, Credit, METER_OWN, METER_SET};
use crate::polling;
use crate::system;
use crate::transfers::together;
use libc::c_int;
use std::sync::atomic::Ordering;

/// Whether any connection is metered.
pub(crate) fn is_on(client: &ClientPart) -> bool {
    client.meters[0].which.load(Ordering::Acquire) != 0
}

fn key(descriptor: c_int) -> u32 {
    descriptor.cast_unsigned().wrapping_add(1)
}

fn find(client: &'static ClientPart, key: u32) -> Option<&'static Credit> {
    let mut credits = client.credits.iter();
    credits.find(|credit| credit.descriptor_plus_one.load(Ordering::SeqCst) == key)
}

/// How many bytes the rule for such a connection gives it to begin with; none if it is not metered.
fn free_bytes(client: &ClientPart, (local, peer): (u16, u16)) -> Option<u64> {
    let rules = client.meters.iter().map_while(|meter| {
        let which = meter.which.load(Ordering::Acquire);
        (which & METER_SET != 0).then_some((which, &meter.free_bytes))
    });
    let mut meant = rules.filter(|(which, _)| {
        let end = if which & METER_OWN != 0 { local } else { peer };
        *which as u16 == end
    });
    meant
        .next()
        .map(|(_, free)| u64::from(free.load(Ordering::Relaxed)))
}

/// The credit of a connection, if it is metered. Its bytes count from the first call.
pub(crate) fn of(
    client: &'static ClientPart,
    descriptor: c_int,
    (local, peer): (u16, u16),
) -> Option<&'static Credit> {
    if let Some(known) = find(client, key(descriptor)) {
        return Some(known);
    }
    let free = free_bytes(client, (local, peer))?;
    if !client::is_owner() {
        return None;
    }
    let _held = lock(&client.credit_lock);
    const _: () = assert!(CREDITS == 256, "the message below names the number");
    let Some(credit) = find(client, 0) else {
        system::refuse("more than 256 metered connections are open at once");
    };
    credit
        .ports
        .store(u32::from(local) << 16 | u32::from(peer), Ordering::SeqCst);
    credit.limit_bytes.store(free, Ordering::SeqCst);
    credit.sent_bytes.store(0, Ordering::SeqCst);
    credit.waits.store(0, Ordering::SeqCst);
    credit
        .descriptor_plus_one
        .store(key(descriptor), Ordering::SeqCst);
    Some(credit)
}

/// What a connection may send now.
fn left(client: &ClientPart, credit: &Credit) -> u64 {
    if client.meters_open.load(Ordering::SeqCst) != 0 {
        return u64::MAX;
    }
    let limit = credit.limit_bytes.load(Ordering::SeqCst);
    limit.saturating_sub(credit.sent_bytes.load(Ordering::SeqCst))
}

/// A call that wants to send so many bytes; `send` sends so many of them from that one on. Returns the answer to the caller, who must
/// not block: transports do not.
pub(crate) fn spend(
    client: &'static ClientPart,
    credit: &'static Credit,
    wanted: u64,
    send: impl Fn(u64, u64) -> isize,
) -> isize {
    let mut done = 0;
    let some = |done: u64, most: u64| {
        let moved = send(done, most);
        credit
            .sent_bytes
            .fetch_add(u64::try_from(moved).unwrap_or(0), Ordering::SeqCst);
        moved
    };
    loop {
        let (rest, now) = (wanted - done, left(client, credit));
        if now >= rest || is_broken(credit) {
            return together(done, some(done, rest));
        }
        if now > 0 {
            let moved = some(done, now);
            if moved < now as isize {
                // The kernel itself stopped before the limit, and tells when it takes more.
                return together(done, moved);
            }
            done += now;
            continue;
        }
        client::ensure_helper(client);
        credit.waits.store(1, Ordering::SeqCst);
        // Either the limit is seen here that was raised meanwhile, or whoever raised it sees that somebody waits.
        if left(client, credit) > 0 {
            credit.waits.store(0, Ordering::SeqCst);
            continue;
        }
        return together(done, -libc::EAGAIN as isize);
    }
}

/// Whether the kernel has an error for the sender, who must hear of it: no byte is read for that.
fn is_broken(credit: &Credit) -> bool {
    let mut poll = libc::pollfd {
        fd: descriptor(credit),
        events: 0,
        revents: 0,
    };
    let args = [std::ptr::from_mut(&mut poll) as usize, 1, 0, 0, 0, 0];
    // SAFETY: one writable entry; no waiting.
    let _ = unsafe { system::raw(libc::SYS_poll, args) };
    poll.revents & (libc::POLLERR | libc::POLLHUP) != 0
}

fn descriptor(credit: &Credit) -> c_int {
    let key = credit.descriptor_plus_one.load(Ordering::SeqCst);
    key.wrapping_sub(1).cast_signed()
}

/// Tells every event loop that has more to send of it.
pub(crate) fn tell_senders(client: &'static ClientPart) {
    for credit in &client.credits {
        let waits = credit.waits.load(Ordering::SeqCst) != 0;
        if waits && left(client, credit) > 0 {
            credit.waits.store(0, Ordering::SeqCst);
            polling::ask_again(descriptor(credit));
        }
    }
}

/// Forgets the credit of a connection that is about to be closed.
pub(crate) fn forget(client: &'static ClientPart, descriptor: c_int) {
    // Looked at without the lock first: almost every descriptor that is closed is none of these.
    if find(client, key(descriptor)).is_none() || !client::is_owner() {
        return;
    }
    let _held = lock(&client.credit_lock);
    if let Some(credit) = find(client, key(descriptor)) {
        credit.waits.store(0, Ordering::SeqCst);
        credit.descriptor_plus_one.store(0, Ordering::SeqCst);
    }
}
