//! The stage: actors, links, transfers, timers and the one fault, on stepped time.
//!
//! Every engine whose client is the Rust machine plays on this stage. What differs between them is behind [`Ports`]: the
//! master, the wire to it and the memory of the segments. The model fills the ports with the Rust master and plain
//! memory, the engine `master` with an unmodified process and sockets. So phases, deliveries and time are one piece of
//! code for all of them, and two engines can differ only where the store differs.

mod actors;
mod checks;
mod clients;
mod closing;
mod connections;
mod inject;
mod lanes;
mod memory;
mod messages;
mod milestones;
mod operations;
mod ports;
mod registration;
mod requests;
mod rpcs;
mod runner;
mod seen;
mod sessions;
mod setup;
mod staging;
mod state;
mod support;
mod timers;
mod transfers;
mod underway;
mod waves;

pub use clients::{Accessed, Begun, ClientStart, Clients, End, Identity, Lost, LostCall, SessionMeant, Told};
pub use ports::{
    Delivery, Ending, Near, OwnerEvent, OwnerSeen, PortError, PortResult, Ports, Seen, Sending, Sight,
    TransferSpec,
};
pub use runner::run;
pub use seen::key_of;
pub use setup::{MONOTONIC_START, REALTIME_START, SEGMENT_STRIDE, start_clocks};
pub use support::unsupported;
