//! Timestamps that stand for a whole tick.
//!
//! Public traces round times: all requests of some seconds have one timestamp. Taken as they are they come in bursts that
//! nobody sent; spread inside the tick they come at times that nobody measured. Which of the two was done is always said.

use super::Trace;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What to do with timestamps that stand for a whole tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ticks {
    /// Requests arrive at the timestamps of the file.
    #[default]
    Raw,
    /// Requests of a tick arrive at random times inside it, in the order of the file. A trace without ticks stays as it is.
    Spread {
        /// Of the random times.
        seed: u64,
    },
}

/// How many requests an instant has at least, on average, in a trace of ticks.
const REQUESTS_AN_INSTANT: usize = 2;

/// Finds the ticks, spreads them if that is wanted, and says so in a note.
pub(super) fn apply(trace: &mut Trace, ticks: Ticks) {
    let gaps = gaps(trace);
    let instants = gaps.len() + 1;
    let requests = trace.requests.len();
    let Some(tick_ns) = median(gaps).filter(|_| requests >= REQUESTS_AN_INSTANT * instants) else {
        if matches!(ticks, Ticks::Spread { .. }) {
            trace.notes.push(format!(
                "Timestamps are not batched ({requests} requests at {instants} instants): nothing was spread."
            ));
        }
        return;
    };
    let tick = match tick_ns % 1_000_000 {
        0 => format!("{} ms", tick_ns / 1_000_000),
        _ => format!("{tick_ns} ns"),
    };
    let found =
        format!("Timestamps are batched: {requests} requests at {instants} instants, {tick} apart (median).");
    let done = match ticks {
        Ticks::Raw => "Taken as they are, so the requests of a tick arrive at once.".to_owned(),
        Ticks::Spread { seed } => {
            spread(trace, tick_ns, seed);
            format!("Spread inside their tick in the order of the file, at random times from seed {seed}.")
        }
    };
    trace.notes.push(format!("{found} {done}"));
}

/// Between instants that follow each other.
fn gaps(trace: &Trace) -> Vec<u64> {
    let pairs = trace.requests.windows(2);
    pairs
        .map(|pair| pair[1].arrival_ns.saturating_sub(pair[0].arrival_ns))
        .filter(|gap| *gap > 0)
        .collect()
}

fn median(mut gaps: Vec<u64>) -> Option<u64> {
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied()
}

/// A tick ends with its length or with the next one, whichever is sooner.
fn spread(trace: &mut Trace, tick_ns: u64, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut times = Vec::new();
    let mut rest = trace.requests.as_mut_slice();
    while let Some(at) = rest.first().map(|request| request.arrival_ns) {
        let count = rest.partition_point(|request| request.arrival_ns == at);
        let (tick, later) = rest.split_at_mut(count);
        let length = later
            .first()
            .map_or(tick_ns, |next| tick_ns.min(next.arrival_ns - at));
        times.clear();
        times.extend(tick.iter().map(|_| below(random.next_u64(), length)));
        times.sort_unstable();
        for (request, time) in tick.iter_mut().zip(&times) {
            request.arrival_ns = at.saturating_add(*time);
        }
        rest = later;
    }
}

/// A random number of 64 bits as one below `length`.
fn below(random: u64, length: u64) -> u64 {
    ((u128::from(random) * u128::from(length)) >> 64) as u64
}
