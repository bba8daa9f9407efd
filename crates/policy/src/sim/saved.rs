//! What having a block is worth.

use super::Config;
use super::config::SECOND_NS;
use crate::Trace;

/// For each place in a chain, what a full block there saves, in nanoseconds: computing the prompt to its end instead of to its
/// beginning, minus moving it over an idle link. Nothing where moving takes longer.
pub(super) struct Saved {
    full: Vec<u64>,
    config: Config,
}

impl Saved {
    pub(super) fn new(trace: &Trace, config: &Config) -> Saved {
        let longest = trace.requests.iter().map(|request| request.count).max();
        let mut saved = Saved {
            full: Vec::new(),
            config: config.clone(),
        };
        saved.full = (0..longest.unwrap_or(0) as usize)
            .map(|place| saved.worth(place, config.block_tokens))
            .collect();
        saved
    }

    /// For a block with so many tokens at a place.
    pub(super) fn ns(&self, place: usize, tokens: u64) -> u64 {
        match self.full.get(place) {
            Some(saved) if tokens == self.config.block_tokens => *saved,
            _ => self.worth(place, tokens),
        }
    }

    fn worth(&self, place: usize, tokens: u64) -> u64 {
        let before = (place as u64).saturating_mul(self.config.block_tokens);
        let prefill = &self.config.prefill;
        let computes = prefill
            .ns(before.saturating_add(tokens), 0)
            .saturating_sub(prefill.ns(before, 0));
        let bytes = u128::from(tokens) * u128::from(self.config.bytes_per_token);
        let moves = bytes
            .saturating_mul(u128::from(SECOND_NS))
            .div_ceil(u128::from(self.config.bandwidth_bytes_per_s));
        u64::try_from(computes.saturating_sub(moves)).unwrap_or(u64::MAX)
    }
}
