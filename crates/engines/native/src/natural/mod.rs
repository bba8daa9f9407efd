//! The natural forms: findings about buffers that are touched after a failure, on the clock of this machine.
//!
//! Nothing is preloaded and nothing is steered here. The unmodified client runs as anybody would start it, with its default flags;
//! between it and its peers stands the stand-alone proxy ([`moonquake_net::foreign::Proxy`]), which limits the rate or holds
//! payload at a byte, and whose log is the evidence. So each takes as long as it takes: up to two minutes.

mod clean;
mod error;
mod late_read;
mod late_write;
mod look;
mod rig;
mod told;
mod wire;

pub use error::NaturalError;

use moonquake_scenario::{EngineKind, Interrupt, MeasuredRun};

/// A natural form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Natural {
    /// A slow read fails after 60 s and is written on into the caller's buffer.
    ReadAfterFailure,
    /// A slow write fails after 60 s and is written on into bytes that belong to another object by then.
    WriteAfterRevoke,
    /// The same with checksums: found, and not prevented.
    WriteAfterRevokeChecksum,
    /// A slow read fails, and its client is closed.
    ClosedReader,
    /// A read whose payload stands still.
    FullStall,
    /// A read whose owner is killed.
    OwnerKilled,
    /// A read that outlives its lease.
    LeaseEnds,
    /// A write whose master is killed.
    MasterKilled,
}

impl Natural {
    /// All of them, the findings first.
    pub const ALL: [Natural; 8] = [
        Natural::ReadAfterFailure,
        Natural::WriteAfterRevoke,
        Natural::WriteAfterRevokeChecksum,
        Natural::ClosedReader,
        Natural::FullStall,
        Natural::OwnerKilled,
        Natural::LeaseEnds,
        Natural::MasterKilled,
    ];

    /// Its name, as that of a scenario.
    pub fn id(self) -> &'static str {
        match self {
            Natural::ReadAfterFailure => "natural/read-after-failure",
            Natural::WriteAfterRevoke => "natural/write-after-revoke",
            Natural::WriteAfterRevokeChecksum => "natural/write-after-revoke-checksum",
            Natural::ClosedReader => "natural/closed-reader",
            Natural::FullStall => "natural/full-stall",
            Natural::OwnerKilled => "natural/owner-killed",
            Natural::LeaseEnds => "natural/lease-ends-in-transfer",
            Natural::MasterKilled => "natural/master-killed-in-put",
        }
    }

    /// Runs it once: with the unmodified master for [`EngineKind::Native`], with ours for [`EngineKind::Hosted`].
    ///
    /// # Errors
    /// When something fails that is no matter of the store, and when the end is asked for. Every process has ended then.
    pub fn run(self, engine: EngineKind, interrupt: &Interrupt) -> Result<MeasuredRun, NaturalError> {
        match self {
            Natural::ReadAfterFailure => late_read::run(engine, interrupt),
            Natural::WriteAfterRevoke => late_write::run(engine, interrupt, false),
            Natural::WriteAfterRevokeChecksum => late_write::run(engine, interrupt, true),
            clean => clean::run(clean, engine, interrupt),
        }
    }
}
