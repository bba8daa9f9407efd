//! A late access made on purpose, so that it is known that such accesses are told.

use super::{MasterSide, RealClients};
use crate::agent::{Command, Range};
use moonquake_stage::{PortError, PortResult};
use moonquake_witness::selftest::reach_into;

/// An access to a buffer whose operation has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plant {
    /// On which way.
    pub by: PlantedBy,
    /// Written or read.
    pub write: bool,
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
    pub const ALL: [Plant; 6] = [
        Plant::new(PlantedBy::Cpu, false),
        Plant::new(PlantedBy::Cpu, true),
        Plant::new(PlantedBy::Socket, false),
        Plant::new(PlantedBy::Socket, true),
        Plant::new(PlantedBy::Peer, false),
        Plant::new(PlantedBy::Peer, true),
    ];

    const fn new(by: PlantedBy, write: bool) -> Plant {
        Plant { by, write }
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
        let actor = failed.unwrap_or_default();
        let ranges = self.buffers.of(&actor);
        for at in ranges {
            self.touch(&actor, plant, at + Plant::FROM)?;
        }
        Ok(())
    }

    fn touch(&mut self, actor: &str, plant: Plant, offset: u64) -> PortResult<()> {
        let Plant { by, write } = plant;
        let agent = &self.client(actor)?.agent;
        let range = Range {
            offset,
            size: Plant::BYTES,
        };
        let way = match by {
            PlantedBy::Cpu => "cpu",
            PlantedBy::Socket => "socket",
            PlantedBy::Peer => {
                let mut bytes = [7; Plant::BYTES as usize];
                let address = agent.hello().arena_base + offset;
                return reach_into(agent.pid(), address, &mut bytes, write).map_err(PortError::new);
            }
        };
        let outcome = agent
            .call(&Command::Touch { range, way, write })
            .map_err(PortError::new)?
            .outcome;
        match outcome.number() {
            Some(number) if number >= 0 => Ok(()),
            _ => Err(PortError(format!("no access could be made: {outcome:?}"))),
        }
    }
}
