//! The TCP data path of the transfer engine: owners of memory and transfers from and to them, byte by byte under
//! control.

mod data;
pub(crate) mod gate;
mod handshake;
mod log;
mod memory;
mod owner;
mod server;
pub(crate) mod transfer;

pub(crate) use handshake::look_up;
pub use log::{ClosedHow, OwnerEvent};
pub use memory::{PlainMemory, SegmentMemory};
pub use server::SegmentServer;
pub use transfer::{Transfer, TransferError, TransferRequest};
