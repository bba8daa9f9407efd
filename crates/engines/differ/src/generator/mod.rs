//! Histories by a seed. Every history draws its own mixture of operations (some kinds not at all, some often), so that rare
//! meetings of a few kinds are not drowned by all the others.

mod alphabet;
mod draw;
mod dues;
mod family;
mod memory;
mod names;
mod others;
mod reads;
mod stories;
mod tasks;
mod writes;

pub(crate) use draw::Draw;

use crate::operation::Operation;
use crate::setup::{Lengths, Setup, Theme};
use crate::sides::Outcome;
use alphabet::{Alphabet, client};
use dues::Dues;
use family::{FAMILIES, Family};
use memory::Memory;
use moonquake_clock::{Clocks, Thread};
use moonquake_master::{ConfigError, MasterConfig};
use moonquake_protocol::Request;
use std::collections::VecDeque;

/// Names that a caller may give to a tenant, some of which are none.
const TENANTS: [&str; 10] = [
    "",
    "ta",
    "tb",
    "_ta",
    "a/b\u{e4}",
    "t\n",
    "\0",
    "t\0k1",
    "0123456789abcdef",
    "\u{7f}\"%\\",
];

/// Makes the operations of one history, one after the other, from what the earlier ones were answered.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    draw: Draw,
    alphabet: Alphabet,
    dues: Dues,
    memory: Memory,
    weights: Vec<u64>,
    together: bool,
    theme: Theme,
    /// How many of a hundred tasks fail in their client's hands.
    failing: u64,
    script: VecDeque<Operation>,
}

/// What a history is about.
fn theme_of(setup: &Setup, draw: &mut Draw) -> Theme {
    match (setup.theme, draw.below(100)) {
        (Theme::Mixed, 0..=9) => Theme::Tasks,
        (Theme::Mixed, 10..=17) => Theme::Drains,
        (Theme::Mixed, 18..=20) => Theme::Crowd,
        (Theme::Mixed, _) => Theme::Mixed,
        (_, 75..) => Theme::Mixed,
        (theme, _) => theme,
    }
}

impl Generator {
    /// For a configuration and a seed.
    ///
    /// # Errors
    /// The Rust master refuses the configuration.
    pub(crate) fn new(setup: &Setup, seed: u64) -> Result<Generator, ConfigError> {
        let config: MasterConfig = setup.config()?;
        let mut draw = Draw::new(seed);
        let theme = theme_of(setup, &mut draw);
        let alphabet = Alphabet::draw(&mut draw, theme);
        let weights = FAMILIES
            .iter()
            .map(|(family, weight)| match (theme.weight(*family), draw.below(8)) {
                (Some(weight), _) => weight,
                (None, 0 | 1) if !family.is_vital() => 0,
                (None, 7) => weight * 4,
                (None, _) => *weight,
            })
            .collect();
        let together = draw.chance(70);
        let mut generator = Generator {
            alphabet,
            dues: Dues::new(Lengths::of(&config)),
            memory: Memory::default(),
            weights,
            together,
            theme,
            failing: *draw.pick(&[5, 30, 95]),
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
        // Many short ones meet more starts, the long ones more of what piles up. An operation of a crowd is worth hundreds.
        let longest = if self.theme == Theme::Crowd || self.draw.chance(70) {
            500
        } else {
            1_900
        };
        self.draw.within(100, longest) as usize
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
            // A client that never says that it lives is never missed.
            let pings = if matches!(self.theme, Theme::Tasks | Theme::Drains) {
                20
            } else {
                60
            };
            if self.draw.chance(pings) {
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
        match (operation, response) {
            (Operation::Call(request), Some(response)) => {
                self.memory.observe(request, response);
                self.work_on_answer(request, response);
            }
            (Operation::CreateDrainJob { segments, .. }, None) => {
                if let Outcome::JobCreated(Ok(id)) = outcome {
                    self.memory.observe_job(*id);
                    self.follow_job(*id, segments);
                }
            }
            _ => {}
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
            Family::WholeBatch => self.whole_batch(),
            Family::Fill => self.fill(),
            Family::CreateTasks => self.create_tasks(),
            Family::CreateDrain => self.create_drain(),
            Family::QueryDrain => Operation::QueryDrainJob(self.job()),
            Family::CancelDrain => {
                let job = self.job();
                self.script.push_back(Operation::QueryDrainJob(job));
                Operation::CancelDrainJob(job)
            }
            Family::Story => self.story(),
            _ => Operation::Call(self.request(family)),
        }
    }

    /// Multi-tenancy is off, so the name of a tenant means nothing; now and then it is another.
    fn request(&mut self, family: Family) -> Request {
        let mut request = self
            .write_request(family)
            .or_else(|| self.read_request(family))
            .unwrap_or_else(|| self.other_request(family));
        if self.draw.chance(12) {
            request.set_tenant(self.draw.pick::<&str>(&TENANTS));
        }
        request
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
