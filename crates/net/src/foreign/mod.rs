//! The fault proxy of a foreign client: another process, which we did not write and which moves by itself.
//!
//! A [`ForeignLink`] is what such a client takes for its master; each of its requests waits until it is taken and
//! answered. A [`Relay`] stands between one such client and one owner of memory; payload moves only when told, byte by
//! byte. Both need a [`crate::Net`] that moves by itself, as [`crate::Net::background`] does.
//!
//! A [`Proxy`] is both, by itself: everything passes but what its rules strike, at an exact frame or byte. It needs
//! nothing inside the client.
//!
//! No call blocks longer than the limit of the net. A wait for something that the client is to do can end early: the
//! caller says when the client is gone.

mod inbox;
mod introduction;
mod kernel;
mod lanes;
mod link;
mod passage;
mod probes;
mod proxy;
mod relay;
mod relay_log;
mod rules;
mod socket;
mod substitution;
mod wait;

pub use link::{ForeignLink, ForeignMessage, Taken};
pub use proxy::{Proxy, Release};
pub use relay::{Relay, RelayTransfer, Side};
pub use relay_log::RelayEvent;
pub use rules::{Act, At, Rule, RuleError, Struck};
pub use substitution::{Substitution, SubstitutionError};

/// Tells that the foreign process is gone, and how; `None` while it lives. A wait asks it at each event and at least
/// every 50 ms, so that the death of a process is told at once and not at the limit.
pub type Gone<'a> = &'a mut dyn FnMut() -> Option<String>;
