//! Many histories on every configuration.

use crate::coverage::Coverage;
use crate::error::DifferError;
use crate::pair::{Pair, Ran, Recurrence, States};
use crate::setup::Setup;
use crate::shrink::shrink_until;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Serialize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// What to do.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Operations in all, divided evenly between the configurations.
    pub operations: u64,
    /// From what everything follows.
    pub seed: u64,
    /// Pairs of masters that run beside each other; what is found does not depend on it.
    pub jobs: usize,
    /// The configurations.
    pub setups: Vec<Setup>,
    /// The state is compared after so many operations and at the end of each history.
    pub look_every: usize,
    /// After so many differences a configuration is given up.
    pub differences: usize,
}

/// Where a campaign stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Operations done so far.
    pub operations: u64,
    /// Histories done so far.
    pub histories: u64,
    /// Differences found so far.
    pub differences: u64,
}

/// What came out for one configuration.
#[derive(Clone, Debug, Serialize)]
pub struct SetupReport {
    /// Which.
    pub setup: Setup,
    /// Operations done, those of resets not counted.
    pub operations: u64,
    /// Histories done.
    pub histories: u64,
    /// Real time in seconds.
    pub seconds: f64,
    /// What was asked and answered.
    pub coverage: Coverage,
    /// The differences.
    #[serde(skip)]
    pub found: Vec<Found>,
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed of its history.
    pub seed: u64,
    /// How often the whole history parts when it is run again.
    pub recurrence: Recurrence,
    /// The history: shrunk if it parts again, else as it was.
    pub ran: Ran,
}

/// So often a history that parts is run again before anything is said about it.
const REPLAYS: u32 = 3;

/// The seed of a history of a campaign.
pub fn history_seed(seed: u64, setup: &str, number: u64) -> u64 {
    let name = setup
        .bytes()
        .fold(seed, |mixed, byte| mix(mixed ^ u64::from(byte)));
    mix(name ^ mix(number))
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Runs a campaign; the reports come in the order of the configurations. `tell` hears of each finished history, `stop` is asked
/// between histories and between the runs of a shrinking.
///
/// What was found comes back also where a real master could not be had or failed; that error stands beside it, and ends every
/// job at its next history. A difference is no error.
pub fn run(
    campaign: &Campaign,
    tell: &(dyn Fn(Progress) + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> (Vec<SetupReport>, Result<(), DifferError>) {
    let shared = Shared {
        campaign,
        tell,
        stop,
        next: AtomicUsize::new(0),
        operations: AtomicU64::new(0),
        histories: AtomicU64::new(0),
        differences: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        reports: Mutex::new(Vec::new()),
    };
    let jobs = campaign.jobs.clamp(1, campaign.setups.len().max(1));
    let ended = if jobs == 1 {
        shared.job(None)
    } else {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs)
                .map(|job| {
                    let shared = &shared;
                    scope.spawn(move || shared.job(Some(job)))
                })
                .collect();
            let ends: Vec<_> = workers
                .into_iter()
                .map(|worker| {
                    worker
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect();
            ends.into_iter().collect()
        })
    };
    let mut reports = shared
        .reports
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    reports.sort_by_key(|(index, _)| *index);
    (reports.into_iter().map(|(_, report)| report).collect(), ended)
}

struct Shared<'a> {
    campaign: &'a Campaign,
    tell: &'a (dyn Fn(Progress) + Sync),
    stop: &'a (dyn Fn() -> bool + Sync),
    next: AtomicUsize,
    operations: AtomicU64,
    histories: AtomicU64,
    differences: AtomicU64,
    /// Whether a job has met an error.
    failed: AtomicBool,
    reports: Mutex<Vec<(usize, SetupReport)>>,
}

impl Shared<'_> {
    /// Takes one configuration after the other until there is none left. On a core of its own both ends of a pair wake each
    /// other without a detour.
    fn job(&self, core: Option<usize>) -> Result<(), DifferError> {
        if let Some(core) = core {
            pin(core);
        }
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(setup) = self.campaign.setups.get(index) else {
                return Ok(());
            };
            if self.is_over() {
                return Ok(());
            }
            let (report, ended) = self.setup(setup);
            let mut reports = self
                .reports
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            reports.push((index, report));
            if let Err(error) = ended {
                self.failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    }

    fn is_over(&self) -> bool {
        (self.stop)() || self.failed.load(Ordering::Relaxed)
    }

    fn setup(&self, setup: &Setup) -> (SetupReport, Result<(), DifferError>) {
        let began = Instant::now();
        let mut report = SetupReport {
            setup: setup.clone(),
            operations: 0,
            histories: 0,
            seconds: 0.0,
            coverage: Coverage::default(),
            found: Vec::new(),
        };
        let ended = self.fill(setup, &mut report);
        report.seconds = began.elapsed().as_secs_f64();
        (report, ended)
    }

    fn fill(&self, setup: &Setup, report: &mut SetupReport) -> Result<(), DifferError> {
        let share = self
            .campaign
            .operations
            .div_ceil(self.campaign.setups.len() as u64);
        let mut pair = Pair::start(setup)?;
        let ended = self.histories(setup, &mut pair, share, report);
        report.coverage = pair.coverage;
        ended
    }

    fn histories(
        &self,
        setup: &Setup,
        pair: &mut Pair,
        share: u64,
        report: &mut SetupReport,
    ) -> Result<(), DifferError> {
        while report.operations < share && report.found.len() < self.campaign.differences && !self.is_over() {
            let seed = history_seed(self.campaign.seed, &setup.name, report.histories);
            let left = usize::try_from(share - report.operations).unwrap_or(usize::MAX);
            let ran = pair.run_seed(seed, left, states_of(self.campaign.look_every))?;
            let operations = ran.history.operations.len() as u64;
            report.operations += operations;
            report.histories += 1;
            if ran.difference.is_some() {
                self.differences.fetch_add(1, Ordering::Relaxed);
                report.found.push(self.look_into(pair, seed, ran)?);
            }
            (self.tell)(Progress {
                operations: self.operations.fetch_add(operations, Ordering::Relaxed) + operations,
                histories: self.histories.fetch_add(1, Ordering::Relaxed) + 1,
                differences: self.differences.load(Ordering::Relaxed),
            });
        }
        Ok(())
    }

    /// Runs a history that parted again, and shrinks it if it parts again.
    fn look_into(&self, pair: &mut Pair, seed: u64, ran: Ran) -> Result<Found, DifferError> {
        let states = states_of(self.campaign.look_every);
        let covered = pair.coverage.clone();
        let recurrence = pair.recur(&ran.history.operations, states, REPLAYS, self.stop)?;
        let ran = if recurrence.parted > 0 {
            shrink_until(pair, ran, self.stop)?
        } else {
            ran
        };
        pair.coverage = covered;
        Ok(Found {
            seed,
            recurrence,
            ran,
        })
    }
}

/// Keeps the calling thread, and the processes that it starts from now on, on one core. Where that is not allowed nothing happens:
/// it only makes things faster.
fn pin(core: usize) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut set = CpuSet::new();
    set.set(core % cores);
    let _only_faster = sched_setaffinity(None, &set);
}

/// When the state is looked at.
fn states_of(look_every: usize) -> States {
    match look_every {
        0 | 1 => States::Each,
        operations => States::Every(operations),
    }
}
