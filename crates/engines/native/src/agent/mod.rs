//! The unmodified C++ client of the pinned release, in a process of its own that obeys line by line.
//!
//! [`Agent::start`] starts a Python interpreter with the release's `mooncake.store` in it. A [`Command`] is one call of that
//! client; each runs on a thread of its own there, so that several can be under way, and answers come in any order. Buffers
//! lie in one shared [`Arena`], which this process reads and writes without asking the agent. Nothing is left behind when the
//! agent ends, however it ends: neither arena nor program has a name in any folder, and the kernel kills it with this process.

mod arena;
mod command;
mod error;
mod inbox;
mod launch;
mod process;
mod protocol;
mod reply;
#[cfg(test)]
mod tests;

pub use arena::{Arena, Range};
pub use command::{Command, RangedRead, Replication, Setup, SoftPin};
pub use error::AgentError;
pub use launch::AgentOptions;
pub use process::{Agent, Ticket};
pub use protocol::{Hello, PROTOCOL_VERSION};
pub use reply::{Outcome, Replica, Reply, code_of};
