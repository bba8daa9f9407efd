//! The simulation against what can be known without it.

mod hand;
mod link;
mod queueing;
mod random;
mod refuse;
mod sweep;

use super::{Config, Observer, Prefill, Seen, Story, run_seen};
use crate::workload::{Ask, trace_of};
use crate::{Block, Outcome, Policy, Trace, Use};

/// The least recently used block goes: slow and plain, so that no policy of the crate has a part in these tests.
#[derive(Debug)]
struct Oldest(Vec<Block>);

impl Policy for Oldest {
    const NAME: &'static str = "oldest";

    fn new(_capacity: usize, _blocks: usize) -> Oldest {
        Oldest(Vec::new())
    }

    fn hit(&mut self, block: Block, used: &Use) {
        self.0.retain(|other| *other != block);
        self.insert(block, used);
    }

    fn insert(&mut self, block: Block, _used: &Use) {
        self.0.push(block);
    }

    fn evict(&mut self, may: impl FnMut(Block) -> bool) -> Option<Block> {
        let at = self.0.iter().copied().position(may)?;
        Some(self.0.remove(at))
    }

    fn release(&mut self, _block: Block) {}
}

/// Keeps everything that can be seen, and stops at the first thing that must not be.
#[derive(Default)]
struct Witness {
    instants: Vec<Seen>,
    stories: Vec<Story>,
}

impl Observer for Witness {
    const AUDITS: bool = true;

    fn instant(&mut self, seen: &Seen) {
        self.instants.push(*seen);
    }

    fn ended(&mut self, story: &Story) {
        self.stories.push(*story);
    }

    fn wrong(&mut self, what: &str) {
        panic!("{what}");
    }
}

/// A byte per token and nanosecond, 100 ns per token computed, blocks of 10 tokens, one server, lookups after 5 ns.
fn small() -> Config {
    Config {
        block_tokens: 10,
        bytes_per_token: 1,
        bandwidth_bytes_per_s: 1_000_000_000,
        lookup_ns: 5,
        prefill: Prefill::Linear {
            request_ns: 0,
            token_ps: 100_000,
        },
        servers: 1,
        slo_ns: 4_000,
        ..Config::default()
    }
}

/// A request: when, which prefix, how long, how much behind it.
fn ask(arrival_ns: u64, prefix_id: u32, prefix_tokens: u64, suffix_tokens: u64) -> Ask {
    Ask {
        arrival_ns,
        namespace: 0,
        prefix_id,
        prefix_tokens,
        suffix_tokens,
    }
}

fn cut(asks: &[Ask], config: &Config) -> Trace {
    trace_of(asks, config.block_tokens).unwrap()
}

/// The outcome, and the stories in the order of arrival.
fn told(asks: &[Ask], config: &Config) -> (Outcome, Vec<Story>) {
    let mut witness = Witness::default();
    let outcome = run_seen::<Oldest, _>(&cut(asks, config), config, &mut witness).unwrap();
    witness.stories.sort_by_key(|story| story.request);
    (outcome, witness.stories)
}

/// When each request ended, in the order of arrival.
fn ends(asks: &[Ask], config: &Config) -> Vec<u64> {
    told(asks, config).1.iter().map(|story| story.end_ns).collect()
}
