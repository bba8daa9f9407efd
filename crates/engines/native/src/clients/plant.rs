//! A late access made on purpose, so that it is known that such accesses are told.

use super::{MasterSide, RealClients};
use crate::agent::Command;
use moonquake_stage::{PortError, PortResult};
use moonquake_witness::selftest::reach_into;

/// An access to memory after an operation has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plant {
    /// To which memory.
    pub within: PlantedIn,
    /// On which way.
    pub by: PlantedBy,
    /// Written or read.
    pub write: bool,
}

/// Where an access is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedIn {
    /// The buffers of the caller whose operation has failed.
    Buffers,
    /// Each segment, by the process whose it is.
    Segments,
}

/// Who makes a planted access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBy {
    /// An instruction of the client's process.
    Cpu,
    /// A socket call of the client's process.
    Socket,
    /// Another process.
    Peer,
}

impl Plant {
    /// The first byte of the buffer that is touched: neither a page nor a word begins there.
    pub const FROM: u64 = 4096 + 1001;
    /// How many bytes are touched.
    pub const BYTES: u64 = 99;
    /// One of each kind.
    pub const ALL: [Plant; 12] = [
        Plant::new(PlantedIn::Buffers, PlantedBy::Cpu, false),
        Plant::new(PlantedIn::Buffers, PlantedBy::Cpu, true),
        Plant::new(PlantedIn::Buffers, PlantedBy::Socket, false),
        Plant::new(PlantedIn::Buffers, PlantedBy::Socket, true),
        Plant::new(PlantedIn::Buffers, PlantedBy::Peer, false),
        Plant::new(PlantedIn::Buffers, PlantedBy::Peer, true),
        Plant::new(PlantedIn::Segments, PlantedBy::Cpu, false),
        Plant::new(PlantedIn::Segments, PlantedBy::Cpu, true),
        Plant::new(PlantedIn::Segments, PlantedBy::Socket, false),
        Plant::new(PlantedIn::Segments, PlantedBy::Socket, true),
        Plant::new(PlantedIn::Segments, PlantedBy::Peer, false),
        Plant::new(PlantedIn::Segments, PlantedBy::Peer, true),
    ];

    const fn new(within: PlantedIn, by: PlantedBy, write: bool) -> Plant {
        Plant { within, by, write }
    }
}

/// A plant, and how far it is.
#[derive(Clone, Debug)]
pub(crate) struct Planting {
    plant: Plant,
    /// Whose buffer it is, once its operation has failed.
    failed: Option<String>,
    /// The result was told.
    is_late: bool,
}

impl Planting {
    pub(crate) fn new(plant: Plant) -> Planting {
        Planting {
            plant,
            failed: None,
            is_late: false,
        }
    }
}

impl<M: MasterSide> RealClients<M> {
    /// Has an access made when the first operation has failed.
    pub(crate) fn planting(mut self, plant: Option<Plant>) -> RealClients<M> {
        self.plant = plant.map(Planting::new);
        self
    }

    /// An operation has failed and is about to tell it.
    pub(super) fn plant_later(&mut self, actor: &str) {
        if let Some(planting) = &mut self.plant {
            planting.failed.get_or_insert_with(|| actor.to_owned());
        }
    }

    /// The witnesses are heard once with the result; after that the access is late.
    pub(super) fn plant_now(&mut self) -> PortResult<()> {
        let Some(planting) = self.plant.as_mut().filter(|planting| planting.failed.is_some()) else {
            return Ok(());
        };
        if !std::mem::replace(&mut planting.is_late, true) {
            return Ok(());
        }
        let Some(Planting { plant, failed, .. }) = self.plant.take() else {
            return Ok(());
        };
        let places: Vec<(String, u64)> = match plant.within {
            PlantedIn::Buffers => {
                let actor = failed.unwrap_or_default();
                let base = self.client(&actor)?.agent.hello().arena_base;
                let ranges = self.buffers.of(&actor).into_iter();
                ranges.map(|at| (actor.clone(), base + at)).collect()
            }
            PlantedIn::Segments => {
                let mounted = self.names.all().iter();
                mounted
                    .map(|mounted| (mounted.actor.clone(), mounted.segment.base))
                    .collect()
            }
        };
        for (actor, at) in places {
            self.touch(&actor, plant, at + Plant::FROM)?;
        }
        Ok(())
    }

    fn touch(&mut self, actor: &str, plant: Plant, address: u64) -> PortResult<()> {
        let Plant { by, write, .. } = plant;
        let agent = &self.client(actor)?.agent;
        let way = match by {
            PlantedBy::Cpu => "cpu",
            PlantedBy::Socket => "socket",
            PlantedBy::Peer => {
                let mut bytes = [7; Plant::BYTES as usize];
                return reach_into(agent.pid(), address, &mut bytes, write).map_err(PortError::new);
            }
        };
        let touch = Command::Touch {
            address,
            size: Plant::BYTES,
            way,
            write,
        };
        let outcome = agent.call(&touch).map_err(PortError::new)?.outcome;
        match outcome.number() {
            Some(number) if number >= 0 => Ok(()),
            _ => Err(PortError(format!("no access could be made: {outcome:?}"))),
        }
    }
}
