//! Two masters of one configuration, kept in step through many histories.

use crate::cast::Cast;
use crate::compare::{Canon, Difference, Parted};
use crate::coverage::Coverage;
use crate::error::{DifferError, Lost};
use crate::generator::Generator;
use crate::operation::{History, Operation};
use crate::reset::Reset;
use crate::setup::Setup;
use crate::sides::{Outcome, RealSide, RustSide};
use crate::source::{Generated, Source, Until, Written};
use moonquake_clock::{Clocks, Thread};
use moonquake_master::MasterConfig;
use moonquake_protocol::{ReplicateConfig, Request, Segment, Uuid};
use serde::Serialize;

/// Operations that the Rust master does before the real one does them too, in one go.
const CHUNK: usize = 64;

/// So many segments fit into the table that the first one makes; the next one makes it larger.
const SMALL_TABLE: usize = 13;

/// When the state that an observer sees is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// After every so many operations, rounded up to whole chunks, and at the end.
    Every(usize),
    /// After each operation.
    Each,
    /// At the end only.
    End,
}

/// How often a history that parted parts when it is run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recurrence {
    /// Runs in which the masters parted.
    pub parted: u32,
    /// Runs in all.
    pub replays: u32,
}

/// A history that was run, with the operations of the reset after it if the masters parted there.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What was done.
    pub history: History,
    /// Where the masters parted, if they did.
    pub difference: Option<Difference>,
}

/// A pair of masters.
#[derive(Debug)]
pub struct Pair {
    setup: Setup,
    config: MasterConfig,
    real: RealSide,
    fresh: RustSide,
    resets: u64,
    /// How many replica ids the real master has given out, where that is known.
    replicas_made: Option<u64>,
    /// Whether the real master may be in any state.
    is_dirty: bool,
    /// Whether the real master's table of segments has grown, which no reset takes back and its order shows.
    has_grown: bool,
    /// Who appeared in the last history that parted.
    last_cast: Cast,
    /// What the histories covered so far.
    pub coverage: Coverage,
}

impl Pair {
    /// Starts a pair.
    ///
    /// # Errors
    /// When the real master is not installed or does not come up.
    pub fn start(setup: &Setup) -> Result<Pair, DifferError> {
        let config = setup.config().map_err(|source| DifferError::Config {
            setup: setup.name.clone(),
            source,
        })?;
        Pair::with_config(setup, config)
    }

    /// Starts a pair whose Rust master has any configuration; a test breaks it by that.
    ///
    /// # Errors
    /// As [`Pair::start`].
    pub fn with_config(setup: &Setup, config: MasterConfig) -> Result<Pair, DifferError> {
        let real = RealSide::start(setup)?;
        let fresh = start_rust(setup, &config, real.clocks())?;
        let mut pair = Pair {
            setup: setup.clone(),
            config,
            real,
            fresh,
            resets: 0,
            replicas_made: Some(0),
            is_dirty: false,
            has_grown: false,
            last_cast: Cast::default(),
            coverage: Coverage::default(),
        };
        pair.find_engines()?;
        Ok(pair)
    }

    /// Makes both engines draw a number of times that no other thread draws by chance, so that each is the only one in memory
    /// with its content, and is found at the reset.
    fn find_engines(&mut self) -> Result<(), DifferError> {
        let healthy = self.setup.config().map_err(|source| DifferError::Config {
            setup: self.setup.name.clone(),
            source,
        })?;
        let broken = std::mem::replace(&mut self.config, healthy);
        let covered = self.coverage.clone();
        let ran = self.run(&drawing(), States::End);
        self.coverage = covered;
        self.config = broken;
        match ran?.difference {
            None => Ok(()),
            Some(parted) => Err(DifferError::Engines {
                what: format!("the masters part while they are looked for: {parted:?}"),
            }),
        }
    }

    /// The real master.
    pub fn real(&mut self) -> &mut RealSide {
        &mut self.real
    }

    /// Runs the history of a seed.
    ///
    /// # Errors
    /// When the real master fails; a difference is no error.
    pub fn run_seed(&mut self, seed: u64, longest: usize, states: States) -> Result<Ran, DifferError> {
        let mut generator = Generator::new(&self.setup, seed).map_err(|source| DifferError::Config {
            setup: self.setup.name.clone(),
            source,
        })?;
        let length = generator.length().min(longest);
        match self.run_source(&mut Generated::new(generator, length), states) {
            Ok(mut ran) => {
                ran.history.seed = Some(seed);
                Ok(ran)
            }
            Err(DifferError::Lost(mut lost)) => {
                lost.history.seed = Some(seed);
                Err(DifferError::Lost(lost))
            }
            Err(error) => Err(error),
        }
    }

    /// Runs operations that are known, until `stop` says so; what was done by then is in the result.
    ///
    /// # Errors
    /// As [`Pair::run_seed`].
    pub fn run_until(
        &mut self,
        operations: &[Operation],
        states: States,
        stop: &dyn Fn() -> bool,
    ) -> Result<Ran, DifferError> {
        let inner = &mut Written::new(operations);
        self.run_source(&mut Until { inner, stop }, states)
    }

    /// Runs operations several times, and counts how often the masters part.
    ///
    /// # Errors
    /// As [`Pair::run_seed`].
    pub fn recur(
        &mut self,
        operations: &[Operation],
        states: States,
        times: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<Recurrence, DifferError> {
        let mut seen = Recurrence::default();
        for _ in 0..times {
            let ran = self.run_until(operations, states, stop)?;
            if stop() {
                break;
            }
            seen.replays += 1;
            seen.parted += u32::from(ran.difference.is_some());
        }
        Ok(seen)
    }

    /// Runs operations that are known.
    ///
    /// # Errors
    /// As [`Pair::run_seed`].
    pub fn run(&mut self, operations: &[Operation], states: States) -> Result<Ran, DifferError> {
        self.run_source(&mut Written::new(operations), states)
    }

    fn run_source(&mut self, source: &mut dyn Source, states: States) -> Result<Ran, DifferError> {
        if self.real.process().ids_made() != 0 || self.has_grown {
            // Finished tasks, how many were ever pending, and the size of tables are not reset by anything.
            self.restart()?;
        } else if self.is_dirty {
            self.clean()?;
        }
        self.is_dirty = true;
        let mut run = Run {
            setup: &self.setup,
            rust: start_rust(&self.setup, &self.config, self.real.clocks())?,
            real: &mut self.real,
            canon: Canon {
                ids_before: self.replicas_made.take(),
            },
            operations: Vec::new(),
            cast: Cast::default(),
            coverage: Some(&mut self.coverage),
        };
        let ended = run.drive(source, states);
        self.has_grown = run.cast.segments.len() > SMALL_TABLE;
        let mut difference = ended?;
        if difference.is_none() {
            let reset = run.reset(&self.config, self.resets)?;
            self.resets += 1;
            match reset {
                Some(parted) => difference = Some(parted),
                None => {
                    let images = run.rust.engine_images();
                    let before = run.canon.ids_before;
                    self.replicas_made = before.map(|before| before + run.rust.replicas_made());
                    let (operations, cast) = (run.operations, run.cast);
                    if self.settle(&images)? {
                        return Ok(self.ran(operations, None));
                    }
                    self.last_cast = cast;
                    let difference = drawn(&operations);
                    return Ok(self.ran(operations, difference));
                }
            }
        }
        let operations = run.operations;
        self.last_cast = run.cast;
        Ok(self.ran(operations, difference))
    }

    fn ran(&self, operations: Vec<Operation>, difference: Option<Difference>) -> Ran {
        let history = History {
            setup: self.setup.clone(),
            seed: None,
            operations,
        };
        Ran { history, difference }
    }

    /// After a reset: nothing may be left, and the engines go back to their start. False if they have drawn something else than
    /// those of the Rust master.
    fn settle(&mut self, images: &[Vec<u8>; 2]) -> Result<bool, DifferError> {
        self.real.demand_clean()?;
        let agrees = self.real.rewind(images, &self.fresh.engine_images())?;
        self.is_dirty = !agrees;
        Ok(agrees)
    }

    /// After a difference the real master may be in any state: it is reset by its own answers, and restarted if that does not do.
    fn clean(&mut self) -> Result<(), DifferError> {
        let mut reset = Reset::new(
            self.last_cast.clone(),
            &self.config,
            self.real.behind(),
            self.resets,
        );
        self.resets += 1;
        while let Some(operation) = reset.next(self.real.clocks()) {
            for outcome in self.real.apply(std::slice::from_ref(&operation))? {
                reset.observe(&operation, &outcome, self.real.clocks());
            }
        }
        let is_clean =
            self.real.demand_clean().is_ok() && self.real.force_engines(&self.fresh.engine_images())?;
        self.is_dirty = false;
        if is_clean { Ok(()) } else { self.restart() }
    }

    fn restart(&mut self) -> Result<(), DifferError> {
        self.real = RealSide::start(&self.setup)?;
        self.replicas_made = Some(0);
        self.is_dirty = false;
        self.has_grown = false;
        self.find_engines()
    }
}

/// The draws by which the engines are found: of the request thread by batch reads, of the eviction thread by rounds under pressure.
fn drawing() -> Vec<Operation> {
    let segment = Segment {
        id: Uuid::new(1, 1),
        name: "engines".to_owned(),
        base: 1 << 40,
        size: 1 << 12,
        te_endpoint: "engines".to_owned(),
        protocol: "tcp".to_owned(),
        ..Segment::default()
    };
    let read = Request::BatchExistKey {
        keys: vec!["engines".to_owned()],
        tenant_id: String::new(),
    };
    let mut operations = vec![Operation::Call(read); 41];
    let client_id = Uuid::new(1, 2);
    operations.push(Operation::Call(Request::MountSegment { segment, client_id }));
    operations.push(Operation::Call(Request::PutStart {
        client_id,
        key: "engines".to_owned(),
        slice_length: 1 << 12,
        config: ReplicateConfig::default(),
        tenant_id: String::new(),
    }));
    operations.extend(vec![Operation::Tick(Thread::Eviction); 37]);
    operations
}

/// What an engine shows at the reset is told of the last operation; which one it was a shorter history says.
fn drawn(operations: &[Operation]) -> Option<Difference> {
    let index = operations.len().checked_sub(1)?;
    Some(Difference {
        index,
        operation: operations[index].clone(),
        parted: Parted::Draws,
    })
}

fn start_rust(setup: &Setup, config: &MasterConfig, now: Clocks) -> Result<RustSide, DifferError> {
    RustSide::with_config(config.clone(), now).map_err(|source| DifferError::Config {
        setup: setup.name.clone(),
        source,
    })
}

/// One history under way.
struct Run<'a> {
    setup: &'a Setup,
    rust: RustSide,
    real: &'a mut RealSide,
    canon: Canon,
    operations: Vec<Operation>,
    cast: Cast,
    /// None within a reset, which is no part of what a history covers.
    coverage: Option<&'a mut Coverage>,
}

impl Run<'_> {
    /// Does what a source says, chunk by chunk.
    fn drive(&mut self, source: &mut dyn Source, states: States) -> Result<Option<Difference>, DifferError> {
        let chunk = if states == States::Each { 1 } else { CHUNK };
        let mut unseen = 0;
        loop {
            let done = self.chunk(source, chunk)?;
            if let Done::Parted(difference) = done {
                return Ok(Some(*difference));
            }
            unseen += chunk;
            let is_end = matches!(done, Done::End);
            let look = match states {
                States::Each => true,
                States::Every(operations) => is_end || unseen >= operations,
                States::End => is_end,
            };
            if look {
                unseen = 0;
                if let Some(difference) = self.look()? {
                    return Ok(Some(difference));
                }
            }
            if is_end {
                return Ok(None);
            }
        }
    }

    fn chunk(&mut self, source: &mut dyn Source, size: usize) -> Result<Done, DifferError> {
        let first = self.operations.len();
        let mut expected: Vec<Outcome> = Vec::with_capacity(size);
        while expected.len() < size {
            let Some(operation) = source.next(self.rust.clocks()) else {
                break;
            };
            let outcome = self.rust.apply(&operation);
            source.observe(&operation, &outcome, self.rust.clocks());
            self.cast.add_operation(&operation);
            if let Some(coverage) = &mut self.coverage {
                coverage.add(&operation, &outcome);
            }
            self.operations.push(operation);
            expected.push(outcome);
        }
        let is_end = expected.len() < size;
        let mut outcomes = Vec::with_capacity(expected.len());
        if let Err(error) = self.real.apply_into(&self.operations[first..], &mut outcomes) {
            return Err(self.lost(first + outcomes.len(), error));
        }
        for (place, (rust, real)) in expected.into_iter().zip(outcomes).enumerate() {
            let real = self.canon.bring(real, &rust);
            if rust != real {
                let index = first + place;
                // What came after it was done as well, but is no part of what parts.
                self.operations.truncate(index + 1);
                return Ok(Done::Parted(Box::new(Difference {
                    index,
                    operation: self.operations[index].clone(),
                    parted: Parted::Outcome {
                        rust: Box::new(rust),
                        real: Box::new(real),
                    },
                })));
            }
        }
        Ok(if is_end { Done::End } else { Done::More })
    }

    /// The real master has failed, at an operation or at a look after the last one.
    fn lost(&self, unanswered_from: usize, error: DifferError) -> DifferError {
        let index = unanswered_from.min(self.operations.len().saturating_sub(1));
        let operation = self.operations.get(index);
        DifferError::Lost(Box::new(Lost {
            history: History {
                setup: self.setup.clone(),
                seed: None,
                operations: self.operations.clone(),
            },
            index,
            unanswered: self.operations.len() - unanswered_from,
            operation: serde_json::to_string(&operation).unwrap_or_default(),
            became: self.real.what_became(&error),
            log_tail: self.real.process().log_tail(),
            source: Box::new(error),
        }))
    }

    /// Compares what an observer sees.
    fn look(&mut self) -> Result<Option<Difference>, DifferError> {
        let (keys, segments) = (self.cast.askable_keys(), self.cast.segment_ids());
        let rust = self.rust.state(&keys, &segments);
        let real = match self.real.state(&keys, &segments) {
            Ok(real) => real,
            Err(error) => return Err(self.lost(self.operations.len(), error)),
        };
        let (Some(index), false) = (self.operations.len().checked_sub(1), rust == real) else {
            return Ok(None);
        };
        Ok(Some(Difference {
            index,
            operation: self.operations[index].clone(),
            parted: Parted::State {
                rust: Box::new(rust),
                real: Box::new(real),
            },
        }))
    }

    fn reset(&mut self, config: &MasterConfig, number: u64) -> Result<Option<Difference>, DifferError> {
        let mut reset = Reset::new(self.cast.clone(), config, self.real.behind(), number);
        let length = self.operations.len();
        self.coverage = None;
        let parted = self.drive(&mut reset, States::Every(usize::MAX))?;
        if parted.is_none() {
            self.operations.truncate(length);
        }
        Ok(parted)
    }
}

/// How a chunk ended.
enum Done {
    More,
    End,
    Parted(Box<Difference>),
}
