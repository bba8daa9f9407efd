//! Each policy against its naive double, with blocks that may not go; and laws that hold for all of them.

use super::naive;
use super::*;
use crate::flat::{self, Hits};
use proptest::prelude::*;

const BLOCKS: usize = 14;

/// A use of a block, and a block that is held from now on, or let go if it was held.
#[derive(Clone, Debug)]
struct Step {
    block: u32,
    saved_ns: u64,
    bytes: u64,
    held: Option<u32>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let saved = prop_oneof![4 => 0..4u64, 1 => any::<u64>(), 1 => 1u64 << 40..1 << 50];
    let bytes = prop_oneof![4 => 1..4u64, 1 => 1u64..1 << 40];
    let block = 0..BLOCKS as u32;
    let step = (block.clone(), saved, bytes, prop::option::weighted(0.4, block)).prop_map(
        |(block, saved_ns, bytes, held)| Step {
            block,
            saved_ns,
            bytes,
            held,
        },
    );
    prop::collection::vec(step, 0..300)
}

/// What goes at each eviction; none where nothing may.
fn evictions<P: Policy>(steps: &[Step], capacity: usize) -> Vec<Option<Block>> {
    let references: Vec<Block> = steps.iter().map(|step| Block(step.block)).collect();
    let next = flat::next_uses(&references, BLOCKS);
    let mut policy = P::new(capacity, BLOCKS);
    let (mut cached, mut held) = ([false; BLOCKS], [false; BLOCKS]);
    let mut gone = Vec::new();
    for (seq, step) in steps.iter().enumerate() {
        if let Some(block) = step.held {
            let held = &mut held[block as usize];
            *held = !*held;
            if !*held {
                policy.release(Block(block));
            }
        }
        let used = Use {
            seq: seq as u64,
            next: next[seq],
            saved_ns: step.saved_ns,
            bytes: step.bytes,
        };
        let block = Block(step.block);
        if cached[block.index()] {
            policy.hit(block, &used);
            continue;
        }
        if cached.iter().filter(|cached| **cached).count() == capacity {
            let out = policy.evict(|block| !held[block.index()]);
            gone.push(out);
            let Some(out) = out else { continue };
            assert!(cached[out.index()] && !held[out.index()], "{out:?} may not go");
            if P::LOOKS_AHEAD {
                let soonest = |block: usize| (seq..steps.len()).find(|at| steps[*at].block == block as u32);
                let farthest = (0..BLOCKS).filter(|block| cached[*block] && !held[*block]);
                let farthest = farthest.map(|block| soonest(block).unwrap_or(usize::MAX)).max();
                assert_eq!(Some(soonest(out.index()).unwrap_or(usize::MAX)), farthest);
            }
            cached[out.index()] = false;
        }
        policy.insert(block, &used);
        cached[block.index()] = true;
    }
    gone
}

/// The fewest misses that any choice of evictions reaches, when every block is let in: all of them tried.
fn fewest_misses(references: &[Block], capacity: usize) -> u64 {
    let mut reached = std::collections::BTreeMap::from([(0u32, 0u64)]);
    for block in references {
        let bit = 1 << block.0;
        let mut then = std::collections::BTreeMap::new();
        let mut reach = |cached: u32, misses: u64| {
            let fewest = then.entry(cached).or_insert(misses);
            *fewest = misses.min(*fewest);
        };
        for (cached, misses) in reached {
            if cached & bit != 0 {
                reach(cached, misses);
            } else if (cached.count_ones() as usize) < capacity {
                reach(cached | bit, misses + 1);
            } else {
                (0..BLOCKS)
                    .map(|out| 1 << out)
                    .filter(|out| cached & out != 0)
                    .for_each(|out| reach(cached & !out | bit, misses + 1));
            }
        }
        reached = then;
    }
    reached.into_values().min().unwrap_or(0)
}

fn blocks(steps: &[u32]) -> Vec<Block> {
    steps.iter().copied().map(Block).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn policies_choose_as_their_naive_doubles_do(steps in steps(), capacity in 1..12usize) {
        prop_assert_eq!(evictions::<Lru>(&steps, capacity), evictions::<naive::Listed<true>>(&steps, capacity));
        prop_assert_eq!(evictions::<Fifo>(&steps, capacity), evictions::<naive::Listed<false>>(&steps, capacity));
        prop_assert_eq!(evictions::<Sieve>(&steps, capacity), evictions::<naive::Sieve>(&steps, capacity));
        prop_assert_eq!(evictions::<TimeSaved>(&steps, capacity), evictions::<naive::TimeSaved>(&steps, capacity));
        prop_assert_eq!(evictions::<TinyLfu>(&steps, capacity), evictions::<naive::TinyLfu>(&steps, capacity));
    }

    #[test]
    fn belady_lets_the_farthest_go_that_may(steps in steps(), capacity in 1..12usize) {
        // The check stands in `evictions`.
        let nobody = evictions::<Belady>(&steps, capacity).iter().filter(|gone| gone.is_none()).count();
        prop_assert!(nobody == 0 || steps.iter().any(|step| step.held.is_some()));
    }

    #[test]
    fn belady_is_what_trying_everything_finds(
        steps in prop::collection::vec(0..7u32, 0..60),
        capacity in 1..6usize,
    ) {
        let references = blocks(&steps);
        let hits = flat::replay::<Belady>(&references, BLOCKS, capacity);
        prop_assert_eq!(hits.misses, fewest_misses(&references, capacity));
    }

    #[test]
    fn laws_of_all_policies(steps in prop::collection::vec(0..60u32, 0..600), capacity in 0..70usize) {
        let references = blocks(&steps);
        let infinite = flat::infinite(&references, 60);
        let bound = flat::replay::<Belady>(&references, 60, capacity);
        let more = flat::replay::<Lru>(&references, 60, capacity + 1);
        prop_assert!(flat::replay::<Lru>(&references, 60, capacity).hits <= more.hits);
        for kind in Kind::ALL {
            let Hits { hits, misses } = flat::replay_kind(kind, &references, 60, capacity);
            prop_assert_eq!(hits + misses, references.len() as u64);
            prop_assert!(hits <= bound.hits && bound.hits <= infinite.hits, "{}", kind.name());
            if capacity >= 60 {
                prop_assert_eq!(hits, infinite.hits, "{}", kind.name());
            }
        }
    }
}

/// 100 blocks in a circle through a cache of 50. Whoever throws away what is oldest has none when it comes round again.
#[test]
fn cyclic_scan() {
    let references: Vec<Block> = (0..1_000).map(|at| Block(at % 100)).collect();
    let hits = |kind| flat::replay_kind(kind, &references, 100, 50).hits;
    assert_eq!(hits(Kind::Lru), 0);
    assert_eq!(hits(Kind::Fifo), 0);
    // 49 of the blocks can be kept through each of nine rounds, and the last one meets itself once in a while.
    assert!(
        (441..=450).contains(&hits(Kind::Belady)),
        "{}",
        hits(Kind::Belady)
    );
    assert!(hits(Kind::TinyLfu) > 350, "{}", hits(Kind::TinyLfu));
}

/// A refused block is out of the question until it is released, and keeps its age.
#[test]
fn a_released_block_goes_in_its_turn() {
    let used = Use {
        seq: 0,
        next: NEVER,
        saved_ns: 1,
        bytes: 1,
    };
    let mut lru = Lru::new(4, 4);
    (0..4).for_each(|block| lru.insert(Block(block), &used));
    assert_eq!(lru.evict(|block| block.0 == 2), Some(Block(2)));
    assert_eq!(lru.evict(|_| true), Some(Block(3)));
    assert_eq!(lru.evict(|_| true), None);
    lru.release(Block(1));
    lru.release(Block(0));
    assert_eq!(lru.evict(|_| true), Some(Block(0)));
    assert_eq!(lru.evict(|_| true), Some(Block(1)));
    assert_eq!(lru.evict(|_| true), None);
}

/// A long chain whose root is oldest: the inner blocks are asked about once, not at every eviction.
#[test]
fn refused_blocks_are_walked_once() {
    fn asked<P: Policy>() -> usize {
        const LONG: u32 = 4_000;
        let mut policy = P::new(2 * LONG as usize, 2 * LONG as usize);
        for block in 0..2 * LONG {
            let seq = u64::from(block);
            policy.insert(
                Block(block),
                &Use {
                    seq,
                    next: seq + 9_000,
                    saved_ns: 1,
                    bytes: 1,
                },
            );
        }
        let mut asked = 0;
        for _ in 0..LONG {
            let gone = policy.evict(|block| {
                asked += 1;
                block.0 >= LONG
            });
            assert!(gone.is_some_and(|gone| gone.0 >= LONG));
        }
        asked
    }
    assert_eq!(asked::<Lru>(), 8_000);
    assert_eq!(asked::<Fifo>(), 8_000);
    assert_eq!(asked::<Sieve>(), 8_000);
    assert_eq!(asked::<TimeSaved>(), 8_000);
    assert!(asked::<TinyLfu>() < 16_000);
    assert_eq!(asked::<Belady>(), 4_000);
}
