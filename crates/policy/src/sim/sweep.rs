//! Many runs on some threads, with results in an order that does not depend on them.

use super::{Config, SimError, run_kind};
use crate::policies::Kind;
use crate::{Outcome, Trace};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A load by its name and how it is made from a seed.
pub struct Load<'a> {
    /// For [`Outcome::workload`].
    pub name: &'a str,
    /// Makes the trace of a seed: a generated load, or a trace file spread inside its ticks.
    pub make: &'a (dyn Fn(u64) -> Result<Trace, SimError> + Sync),
}

/// Runs each pair of a policy and a configuration with each seed, on so many threads. The outcomes are in the order of the
/// pairs, and for each pair in the order of the seeds; they are the same on any number of threads. Each trace is made once.
///
/// # Errors
///
/// As for [`run`](super::run) and of the load; of several, that of the first run in that order.
pub fn sweep(
    load: &Load<'_>,
    runs: &[(Kind, Config)],
    seeds: &[u64],
    threads: usize,
) -> Result<Vec<Outcome>, SimError> {
    let traces = on_threads(seeds.len(), threads, |at| (load.make)(seeds[at]))?;
    on_threads(runs.len() * seeds.len(), threads, |at| {
        let (kind, config) = &runs[at / seeds.len()];
        let seed = at % seeds.len();
        let outcome = run_kind(*kind, &traces[seed], config)?;
        Ok(Outcome {
            workload: load.name.to_owned(),
            seed: seeds[seed],
            ..outcome
        })
    })
}

/// `work` for each number below `count`, in their order. A thread takes the next number when it is done with one; a run reads
/// nothing that another one writes, so which thread does what makes no difference but to how long it takes.
fn on_threads<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, SimError> + Sync,
) -> Result<Vec<T>, SimError> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return done;
            }
            done.push((at, work(at)));
        }
    };
    let mut all = if threads <= 1 {
        take()
    } else {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.min(count)).map(|_| scope.spawn(take)).collect();
            workers
                .into_iter()
                .flat_map(|worker| {
                    worker
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    };
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}
