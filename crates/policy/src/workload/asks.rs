//! The requests of each kind of load.

use super::{Ask, Dice, Shape, Workload, Zipf};
use crate::sim::SimError;

impl Workload {
    /// The requests, before they are cut into blocks, in the order of their arrival.
    ///
    /// # Errors
    ///
    /// If a field of the shape is zero that must not be.
    pub fn asks(self, seed: u64, shape: &Shape) -> Result<Vec<Ask>, SimError> {
        shape.check()?;
        let mut dice = Dice::new(seed);
        if self == Workload::Burst {
            return Ok(bursts(&mut dice, shape));
        }
        let zipf = Zipf::new(shape.prefixes, shape.zipf_exponent_milli);
        let switches = u64::from(shape.requests) * u64::from(shape.switch_permille) / 1_000;
        let mut arrival_ns: u64 = 0;
        let asks = (0..shape.requests).map(|number| {
            arrival_ns = arrival_ns.saturating_add(dice.exponential(shape.gap_ns));
            let prefix_id = match self {
                Workload::Scan => number % shape.prefixes,
                _ => zipf.draw(&mut dice),
            };
            let switched = self == Workload::Switch && u64::from(number) >= switches;
            Ask {
                arrival_ns,
                namespace: u32::from(switched),
                prefix_id,
                prefix_tokens: shape.prefix_tokens,
                suffix_tokens: dice.around(shape.suffix_tokens),
            }
        });
        Ok(asks.collect())
    }
}

/// Bursts begin as a Poisson process and may overlap; the gap between requests is the same in the mean as without bursts.
fn bursts(dice: &mut Dice, shape: &Shape) -> Vec<Ask> {
    let zipf = Zipf::new(shape.prefixes, shape.zipf_exponent_milli);
    let mut asks = Vec::new();
    let mut begin_ns: u64 = 0;
    let all = shape.requests as usize;
    while asks.len() < all {
        begin_ns =
            begin_ns.saturating_add(dice.exponential(shape.gap_ns.saturating_mul(shape.burst_requests)));
        let prefix_id = zipf.draw(dice);
        let mut arrival_ns = begin_ns;
        let size = usize::try_from(dice.around(shape.burst_requests)).unwrap_or(all);
        for _ in 0..size.min(all - asks.len()) {
            asks.push(Ask {
                arrival_ns,
                namespace: 0,
                prefix_id,
                prefix_tokens: shape.prefix_tokens,
                suffix_tokens: dice.around(shape.suffix_tokens),
            });
            arrival_ns = arrival_ns.saturating_add(dice.exponential(shape.burst_gap_ns));
        }
    }
    asks.sort_by_key(|ask| ask.arrival_ns);
    asks
}
