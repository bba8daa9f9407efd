//! Sockets: the way of a client to its master with a tap in between, the data path of the transfer engine, the Rust
//! master as a server, and a plain client. Real TCP, on this host alone.
//!
//! Two kinds of use. A run under control makes every step itself ([`Link`], [`datapath::Transfer`]): each call blocks
//! until its step is complete and is bounded in real time. Servers of ours move by themselves. [`foreign`] is for
//! clients that are other processes.

pub mod datapath;
pub mod driver;
pub mod failpoints;
mod failure;
pub mod fingerprint;
pub mod foreign;
mod freeze;
pub mod link;
mod metadata;
mod runtime;
mod server;
mod stream;

pub use failure::{Answer, RpcFailure};
pub use link::{Delivery, Link, MessageId};
pub use metadata::MetadataServer;
pub use runtime::{Net, NetError};
pub use server::{Rounds, ServerHandle, serve};
