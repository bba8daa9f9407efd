//! The stand-alone proxy of one client, on a thread of its own, and its log with the times at which things passed.

use super::error::NaturalError;
use moonquake_net::Net;
use moonquake_net::foreign::{Proxy, RelayEvent, Release, Rule};
use moonquake_net::link::Leg;
use moonquake_protocol::Rpc;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How exact the times are. Payload that is limited moves twenty times a second.
const SLICE: Duration = Duration::from_millis(10);

/// Something that the proxy saw or did.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A message between client and master.
    Frame(Rpc, Leg),
    /// Something of a transfer.
    Transfer(RelayEvent),
    /// The rule has struck.
    Struck,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    log: Mutex<Vec<(Duration, Event)>>,
    failed: Mutex<Option<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A proxy at work. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Wire {
    actor: String,
    address: SocketAddr,
    release: Release,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What of the payload has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) bytes: u64,
    pub(super) last: Duration,
}

impl Wire {
    /// Puts a proxy with one rule between `actor` on one side and its master and an owner of memory on the other.
    pub(super) fn start(
        net: &Net,
        (actor, rule): (&str, Rule),
        (master, owner): (SocketAddr, SocketAddr),
        began: Instant,
    ) -> Result<Wire, NaturalError> {
        // No rule here kills.
        let mut proxy = Proxy::listen(net, actor, master, &[rule], || {})?;
        proxy.stand_in_for(owner)?;
        let shared = Arc::new(Shared::default());
        let (address, release, theirs) = (proxy.addr(), proxy.release(), shared.clone());
        let thread = std::thread::Builder::new()
            .name("moonquake-wire".to_owned())
            .spawn(move || pump(&mut proxy, &theirs, began))?;
        Ok(Wire {
            actor: actor.to_owned(),
            address,
            release,
            shared,
            thread: Some(thread),
        })
    }

    /// Where the client must look for its master.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets go of what the rule holds.
    pub(super) fn release(&self) {
        self.release.release();
    }

    /// Everything so far.
    pub(super) fn log(&self) -> Vec<(Duration, Event)> {
        lock(&self.shared.log).clone()
    }

    /// An error if the proxy has failed.
    pub(super) fn check(&self) -> Result<(), NaturalError> {
        match &*lock(&self.shared.failed) {
            None => Ok(()),
            Some(why) => Err(NaturalError::Proxy {
                actor: self.actor.clone(),
                why: why.clone(),
            }),
        }
    }

    /// When the rule struck.
    pub(super) fn struck_at(&self) -> Option<Duration> {
        self.log()
            .iter()
            .find_map(|(at, event)| matches!(event, Event::Struck).then_some(*at))
    }

    /// When a message of that method passed so far the first time.
    pub(super) fn frame_at(&self, rpc: Rpc, leg: Leg) -> Option<Duration> {
        self.log().into_iter().find_map(|(at, event)| match event {
            Event::Frame(its, so_far) if (its, so_far) == (rpc, leg) => Some(at),
            _ => None,
        })
    }

    /// What of the payload passed after `from`.
    pub(super) fn passed_after(&self, from: Option<Duration>) -> Passed {
        let mut passed = Passed::default();
        for (at, event) in self.log() {
            if let Event::Transfer(RelayEvent::Moved { from: first, to, .. }) = event
                && from.is_none_or(|from| at > from)
            {
                passed.bytes += to - first;
                passed.last = at;
            }
        }
        passed
    }

    /// Places in memory of the transfers, each with its length, in the order in which they came.
    pub(super) fn places(&self) -> Vec<(u64, u64)> {
        let place = |(_, event): (Duration, Event)| match event {
            Event::Transfer(RelayEvent::Arrived { header, .. }) => Some((header.address, header.size_bytes)),
            _ => None,
        };
        self.log().into_iter().filter_map(place).collect()
    }

    /// Transfers of which bytes are left and whose connection is open.
    pub(super) fn open_transfers(&self) -> usize {
        let mut open = BTreeMap::new();
        for (_, event) in self.log() {
            match event {
                Event::Transfer(RelayEvent::Arrived {
                    transfer,
                    connection,
                    header,
                }) => {
                    open.insert(transfer, (connection, header.size_bytes));
                }
                Event::Transfer(RelayEvent::Moved { transfer, to, .. })
                    if open.get(&transfer).is_some_and(|(_, size)| *size == to) =>
                {
                    open.remove(&transfer);
                }
                Event::Transfer(RelayEvent::Closed { connection, .. }) => {
                    open.retain(|_, (its, _)| *its != connection);
                }
                _ => {}
            }
        }
        open.len()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            *lock(&self.shared.failed) = Some("its thread has panicked".to_owned());
        }
    }
}

/// Lets everything pass as the rule says, and notes when.
fn pump(proxy: &mut Proxy, shared: &Shared, began: Instant) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let until = Instant::now() + SLICE;
        let done = proxy.run(|| Instant::now() >= until);
        let at = began.elapsed();
        let struck = proxy.struck().into_iter().map(|_| Event::Struck);
        let frames = proxy.frames().into_iter();
        let frames = frames.filter_map(|frame| Some(Event::Frame(frame.rpc?, frame.leg)));
        let events: Vec<Event> = frames.chain(struck).collect();
        let moved = proxy.transfers().into_iter().map(Event::Transfer);
        let all = events.into_iter().chain(moved).map(|event| (at, event));
        lock(&shared.log).extend(all);
        if let Err(error) = done {
            *lock(&shared.failed) = Some(error.to_string());
            return;
        }
    }
}
