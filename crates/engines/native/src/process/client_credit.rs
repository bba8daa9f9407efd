//! How many bytes a client's connections may send: what its transport reads of its memory, it reads when it is told to.

use super::client_page::ClientPage;
use super::error::ProcessError;
use super::layout::client::{Credit, METER_OWN, METER_SET};
use super::page;
use std::sync::atomic::Ordering;

/// The connections with this port are metered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeteredBy {
    /// It is their own: those that a listener has accepted.
    Own(u16),
    /// It is that of the other end: those to a listener.
    Peer(u16),
}

impl ClientPage {
    /// Meters connections from their next byte on: `free_bytes` they send by themselves, all the rest when [`ClientPage::let_send`] lets them.
    /// Nobody stands still for it; a call beyond the limit finds the socket full. A second rule of the same port changes nothing.
    ///
    /// # Errors
    /// [`ProcessError::TooManyMeters`].
    pub fn meter(&self, by: MeteredBy, free_bytes: u32) -> Result<(), ProcessError> {
        let which = METER_SET
            | match by {
                MeteredBy::Own(port) => METER_OWN | u32::from(port),
                MeteredBy::Peer(port) => u32::from(port),
            };
        for meter in &self.shared.get().client.meters {
            match meter.which.load(Ordering::SeqCst) {
                0 => {
                    meter.free_bytes.store(free_bytes, Ordering::SeqCst);
                    meter.which.store(which, Ordering::SeqCst);
                    return Ok(());
                }
                known if known == which => return Ok(()),
                _ => {}
            }
        }
        Err(ProcessError::TooManyMeters)
    }

    fn credit(&self, (local, peer): (u16, u16)) -> Option<&Credit> {
        let ports = u32::from(local) << 16 | u32::from(peer);
        let mut credits = self.shared.get().client.credits.iter();
        credits.find(|credit| {
            credit.descriptor_plus_one.load(Ordering::SeqCst) != 0
                && credit.ports.load(Ordering::SeqCst) == ports
        })
    }

    fn raise(&self, credit: &Credit, bytes: u64) {
        let limit = credit.limit_bytes.load(Ordering::SeqCst);
        credit
            .limit_bytes
            .store(limit.saturating_add(bytes), Ordering::SeqCst);
        self.note_generation();
    }

    /// Lets the connection with these ports, its own and the other one, send so many bytes more. False if there is none that is metered
    /// and has sent something.
    pub fn let_send(&self, ports: (u16, u16), bytes: u64) -> bool {
        let credit = self.credit(ports);
        credit.inspect(|credit| self.raise(credit, bytes)).is_some()
    }

    /// Lets a connection send whatever it has. False as with [`ClientPage::let_send`].
    pub fn lift(&self, ports: (u16, u16)) -> bool {
        self.let_send(ports, u64::MAX)
    }

    /// Bytes that a connection may send now and has not; none as with [`ClientPage::let_send`].
    pub fn unspent(&self, ports: (u16, u16)) -> Option<u64> {
        let credit = self.credit(ports)?;
        let limit = credit.limit_bytes.load(Ordering::SeqCst);
        Some(limit.saturating_sub(credit.sent_bytes.load(Ordering::SeqCst)))
    }

    /// The thread that makes the passing of time felt looks again.
    pub(super) fn note_generation(&self) {
        let generation = &self.shared.get().client.clock_generation;
        generation.fetch_add(1, Ordering::SeqCst);
        page::wake(generation);
    }
}
