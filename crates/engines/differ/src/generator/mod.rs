//! Histories by a seed. Every history draws its own mixture of operations (some kinds not at all, some often), so that rare
//! meetings of a few kinds are not drowned by all the others.

mod alphabet;
mod draw;
mod dues;
mod family;
mod memory;
mod others;
mod reads;
mod writes;

pub(crate) use draw::Draw;

use crate::operation::Operation;
use crate::setup::{Lengths, Setup};
use crate::sides::Outcome;
use alphabet::{Alphabet, client};
use dues::Dues;
use family::{FAMILIES, Family};
use memory::Memory;
use moonquake_clock::{Clocks, Thread};
use moonquake_master::{ConfigError, MasterConfig};
use moonquake_protocol::Request;
use std::collections::VecDeque;

/// Makes the operations of one history, one after the other, from what the earlier ones were answered.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    draw: Draw,
    alphabet: Alphabet,
    dues: Dues,
    memory: Memory,
    weights: Vec<u64>,
    together: bool,
    script: VecDeque<Operation>,
}

impl Generator {
    /// For a configuration and a seed.
    ///
    /// # Errors
    /// The Rust master refuses the configuration.
    pub(crate) fn new(setup: &Setup, seed: u64) -> Result<Generator, ConfigError> {
        let config: MasterConfig = setup.config()?;
        let mut draw = Draw::new(seed);
        let alphabet = Alphabet::draw(&mut draw);
        let weights = FAMILIES
            .iter()
            .map(|(family, weight)| match draw.below(8) {
                // After tasks the real master must be restarted, so most histories go without.
                2.. if *family == Family::CreateTask => 0,
                0 | 1 if !family.is_vital() && *family != Family::CreateTask => 0,
                7 => weight * 4,
                _ => *weight,
            })
            .collect();
        let together = draw.chance(70);
        let mut generator = Generator {
            alphabet,
            dues: Dues::new(Lengths::of(&config)),
            memory: Memory::default(),
            weights,
            together,
            script: VecDeque::new(),
            draw,
        };
        generator.open();
        Ok(generator)
    }

    /// The same generator with other choices from here on.
    pub(crate) fn reseeded(&self, seed: u64) -> Generator {
        Generator {
            draw: Draw::new(seed),
            ..self.clone()
        }
    }

    /// Takes an operation for done that another copy of this generator has proposed.
    pub(crate) fn accept(&mut self, operation: &Operation) {
        if self.script.front() == Some(operation) {
            self.script.pop_front();
        }
    }

    /// How long this history should be.
    pub(crate) fn length(&mut self) -> usize {
        self.draw.within(100, 1_900) as usize
    }

    /// The segments are mounted first, most of them by a client of their own that pings and remounts.
    fn open(&mut self) {
        for slot in 0..self.alphabet.ordinary {
            let owner = client(self.draw.below(3));
            let segment = self.alphabet.segments[slot].clone();
            self.script.push_back(Operation::Call(Request::MountSegment {
                segment: segment.clone(),
                client_id: owner,
            }));
            if self.draw.chance(60) {
                self.script
                    .push_back(Operation::Call(Request::Ping { client_id: owner }));
                self.script.push_back(Operation::Call(Request::ReMountSegment {
                    segments: vec![segment],
                    client_id: owner,
                }));
            }
        }
        self.script.push_back(Operation::Tick(Thread::ClientMonitor));
    }

    /// The next operation at an instant.
    pub(crate) fn next(&mut self, now: Clocks) -> Operation {
        if let Some(operation) = self.script.pop_front() {
            return operation;
        }
        if self.memory.mounted.is_empty() && self.draw.chance(25) {
            return self.mount();
        }
        let index = self.draw.weighted(self.weights.iter().copied());
        let (family, _) = FAMILIES[index];
        self.of_family(family, now)
    }

    /// Learns what an operation did.
    pub(crate) fn observe(&mut self, operation: &Operation, outcome: &Outcome, now: Clocks) {
        let response = match outcome {
            Outcome::Answer(response) => Some(response),
            _ => None,
        };
        self.dues.observe(operation, response, now);
        if let (Operation::Call(request), Some(response)) = (operation, response) {
            self.memory.observe(request, response);
        }
    }

    fn of_family(&mut self, family: Family, now: Clocks) -> Operation {
        match family {
            Family::Clock => self.dues.step(&mut self.draw, now, self.together),
            Family::Eviction => Operation::Tick(Thread::Eviction),
            Family::Monitor => self.monitor(),
            Family::TaskCleanup => Operation::Tick(Thread::TaskCleanup),
            Family::JobDispatch => Operation::Tick(Thread::JobDispatch),
            Family::WholePut => self.whole_put(),
            Family::Fill => self.fill(),
            _ => Operation::Call(self.request(family)),
        }
    }

    fn request(&mut self, family: Family) -> Request {
        self.write_request(family)
            .or_else(|| self.read_request(family))
            .unwrap_or_else(|| self.other_request(family))
    }

    /// A round of the monitor, mostly after pings of most clients: otherwise everybody would be dead after a long step.
    fn monitor(&mut self) -> Operation {
        for number in 0..3 {
            if self.draw.chance(85) {
                self.script.push_back(Operation::Call(Request::Ping {
                    client_id: client(number),
                }));
            }
        }
        self.script.push_back(Operation::Tick(Thread::ClientMonitor));
        self.script
            .pop_front()
            .unwrap_or(Operation::Tick(Thread::ClientMonitor))
    }

    fn mount(&mut self) -> Operation {
        Operation::Call(self.request(Family::Mount))
    }
}
