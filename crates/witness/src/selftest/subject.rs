//! The witnesses, each tried on memory made for the purpose.

use super::{Cell, Claimed, Measured, Unavailable};
use crate::{AccessKind, Guarded, Sight, Way, Witness, WitnessError, socket};

/// A witness under test, on a kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Regions of the model.
    ModelRegions,
    /// The socket log of the real client.
    SocketLog,
    /// Page faults by write protection, on memory of one process.
    ProtectAnonymous,
    /// The same on shared memory.
    ProtectShared,
    /// Minor page faults, on shared memory.
    MinorShared,
    /// A canary.
    Canary,
}

/// Where in a page an access is planted, and of how many bytes: neither begins nor ends with a page or a word.
const PLANTED: (u64, usize) = (1001, 99);

impl Subject {
    /// All of them.
    pub const ALL: [Subject; 6] = [
        Subject::ModelRegions,
        Subject::SocketLog,
        Subject::ProtectAnonymous,
        Subject::ProtectShared,
        Subject::MinorShared,
        Subject::Canary,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Subject::ModelRegions => "model regions",
            Subject::SocketLog => "socket log",
            Subject::ProtectAnonymous => "userfaultfd write-protect, private",
            Subject::ProtectShared => "userfaultfd write-protect, shared",
            Subject::MinorShared => "userfaultfd minor, shared",
            Subject::Canary => "epoch canary",
        }
    }

    /// Tries one kind of access.
    pub fn cell(self, kind: AccessKind) -> Cell {
        let claimed = Claimed::by(&self.sight(), kind);
        let measured = self.try_kind(kind).unwrap_or_else(|error| Measured::Mistaken {
            told: format!("an error: {error}"),
        });
        Cell {
            kind,
            claimed,
            measured,
        }
    }

    fn try_kind(self, kind: AccessKind) -> Result<Measured, WitnessError> {
        match self {
            Subject::ModelRegions => try_guarded(kind),
            Subject::SocketLog => Ok(Measured::NotPlanted {
                why: "the log is written inside the real client: engine native plants and measures there"
                    .to_owned(),
            }),
            other => other.try_mapped(kind),
        }
    }
}

fn try_guarded(kind: AccessKind) -> Result<Measured, WitnessError> {
    let outside = |error: crate::RegionError| WitnessError::Nonsense(error.to_string());
    let (at, len) = (PLANTED.0, PLANTED.1 as u64);
    let mut region = Guarded::new(8192);
    region.arm(0..4096)?;
    region.write(5000, &[1]).map_err(outside)?;
    let quiet = region.accesses()?;
    match (kind.way, kind.write) {
        // Transport of the model hands bytes to the guard, as its clients do.
        (Way::Cpu | Way::Socket, true) => region.write(at, &[7; PLANTED.1]).map_err(outside)?,
        (Way::Cpu | Way::Socket, false) => drop(region.read(at, len).map_err(outside)?),
        (Way::File | Way::Peer | Way::Nic, _) => {
            let why = "memory of the model has no address that others know".to_owned();
            return Ok(Measured::NotPlanted { why });
        }
    }
    Ok(judged(&quiet, &region.accesses()?, kind, 0))
}

/// What a witness told, before anything was planted and of what was planted behind `base`.
fn judged(quiet: &[crate::Access], told: &[crate::Access], kind: AccessKind, base: u64) -> Measured {
    let (from, to) = (base + PLANTED.0, base + PLANTED.0 + PLANTED.1 as u64);
    let fits = |access: &crate::Access| access.write == kind.write && access.from <= from && to <= access.to;
    let words = |told: &[crate::Access]| Measured::Mistaken {
        told: format!("{told:?}"),
    };
    match (quiet, told) {
        ([], []) => Measured::NotSeen,
        ([], [one]) if fits(one) => Measured::Seen,
        ([], told) => words(told),
        (quiet, _) => words(quiet),
    }
}

#[cfg(target_os = "linux")]
mod mapped {
    use super::super::plant::plant;
    use super::{AccessKind, Guarded, Measured, PLANTED, Sight, Subject, Unavailable, Witness, WitnessError};
    use super::{judged, socket};
    use crate::{Canary, FaultMode, FaultWitness, Mapping, faults, page_size};
    use std::sync::Arc;

    impl Subject {
        /// What it says it sees.
        pub fn sight(self) -> Sight {
            match self {
                Subject::ModelRegions => Guarded::default().sight(),
                Subject::SocketLog => socket::sight(),
                Subject::ProtectAnonymous | Subject::ProtectShared => faults::sight(FaultMode::WriteProtect),
                Subject::MinorShared => faults::sight(FaultMode::Minor),
                Subject::Canary => crate::canary::sight(),
            }
        }

        /// Whether it can be had here.
        ///
        /// # Errors
        /// Why not, and the cure.
        pub fn ready(self) -> Result<(), Unavailable> {
            match self {
                Subject::ModelRegions | Subject::SocketLog => Ok(()),
                other => other.make().map(drop).map_err(|error| match error {
                    WitnessError::Unavailable { what, cure } => Unavailable { what, cure },
                    other => Unavailable {
                        what: other.to_string(),
                        cure: String::new(),
                    },
                }),
            }
        }

        fn make(self) -> Result<(Box<dyn Witness>, Arc<Mapping>), WitnessError> {
            let shared = matches!(self, Subject::ProtectShared | Subject::MinorShared);
            let make = if shared {
                Mapping::shared
            } else {
                Mapping::anonymous
            };
            let memory = Arc::new(make(3 * page_size())?);
            let faults = |mode| FaultWitness::new(memory.clone(), mode);
            let witness: Box<dyn Witness> = match self {
                Subject::MinorShared => Box::new(faults(FaultMode::Minor)?),
                Subject::ProtectAnonymous | Subject::ProtectShared => {
                    Box::new(faults(FaultMode::WriteProtect)?)
                }
                _ => Box::new(Canary::new(memory.clone())),
            };
            Ok((witness, memory))
        }

        /// The middle one of three pages is watched; what happens beside it is nobody's business.
        pub(super) fn try_mapped(self, kind: AccessKind) -> Result<Measured, WitnessError> {
            let (mut witness, memory) = self.make()?;
            let page = page_size();
            witness.arm(page..2 * page)?;
            memory.write(page - 1, &[1])?;
            memory.read(2 * page, &mut [0])?;
            let quiet = witness.accesses()?;
            let at = page + PLANTED.0;
            let mut bytes = [0; PLANTED.1];
            if !self.sight().sees_changes.is_empty() {
                // Who sees changes alone does not see this, and each byte must change.
                memory.read(at, &mut bytes)?;
            }
            if let Err(why) = plant(&memory, kind, at, &bytes.map(|byte: u8| !byte)) {
                return Ok(Measured::NotPlanted { why });
            }
            let told = witness.accesses()?;
            witness.disarm()?;
            Ok(judged(&quiet, &told, kind, page))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{AccessKind, Guarded, Measured, Sight, Subject, Unavailable, Witness, WitnessError, socket};
    use crate::Grain;

    impl Subject {
        /// What it says it sees.
        pub fn sight(self) -> Sight {
            match self {
                Subject::ModelRegions => Guarded::default().sight(),
                Subject::SocketLog => socket::sight(),
                _ => Sight::of([], Grain::Page),
            }
        }

        /// Whether it can be had here.
        ///
        /// # Errors
        /// Why not, and the cure.
        pub fn ready(self) -> Result<(), Unavailable> {
            match self {
                Subject::ModelRegions | Subject::SocketLog => Ok(()),
                _ => Err(Unavailable {
                    what: "this witness watches memory of Linux".to_owned(),
                    cure: String::new(),
                }),
            }
        }

        pub(super) fn try_mapped(self, _: AccessKind) -> Result<Measured, WitnessError> {
            Err(WitnessError::Nonsense(
                "this witness watches memory of Linux".to_owned(),
            ))
        }
    }
}
