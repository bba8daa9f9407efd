//! How often a block was asked for, estimated in few bits (count-min sketch).

use super::Block;

/// Odd constants, one a row: fractions of well-known irrational numbers.
const ROWS: [u64; 4] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
];
const MOST: u64 = 15;
/// The top bit of each counter once halved: what a shift brings down from its neighbour.
const SHIFTED_IN: u64 = 0x8888_8888_8888_8888;
/// Counts a block of the cache before all counters are halved.
const COUNTS_A_BLOCK: u64 = 10;
/// Blocks of the sketch that one cannot go below, so that a tiny cache still tells blocks apart.
const LEAST_BLOCKS: usize = 64;

/// Four rows of 4-bit counters, 16 of them in a word, a row as many words as the cache has blocks rounded up to a power of two.
/// After `10 * blocks` counts all counters are halved.
pub(super) struct Sketch {
    words: Vec<u64>,
    mask: usize,
    counts: u64,
    most_counts: u64,
}

impl Sketch {
    /// For a cache of `blocks` blocks.
    pub(super) fn new(blocks: usize) -> Sketch {
        let blocks = blocks.max(LEAST_BLOCKS);
        let words = blocks.next_power_of_two();
        Sketch {
            words: vec![0; words],
            mask: words - 1,
            counts: 0,
            most_counts: COUNTS_A_BLOCK * blocks as u64,
        }
    }

    /// Counts one more use.
    pub(super) fn count(&mut self, block: Block) {
        let mut counted = false;
        for row in 0..ROWS.len() {
            let (word, shift) = self.place(block, row);
            if self.words[word] >> shift & MOST < MOST {
                self.words[word] += 1 << shift;
                counted = true;
            }
        }
        if counted {
            self.counts += 1;
            if self.counts >= self.most_counts {
                self.halve();
            }
        }
    }

    /// At least how often it was counted since halving made it less, at most 15.
    pub(super) fn estimate(&self, block: Block) -> u64 {
        let counters = (0..ROWS.len()).map(|row| {
            let (word, shift) = self.place(block, row);
            self.words[word] >> shift & MOST
        });
        counters.min().unwrap_or(0)
    }

    /// Row `row` has counters `4 * row` to `4 * row + 3` of each word.
    fn place(&self, block: Block, row: usize) -> (usize, usize) {
        let mixed = (u64::from(block.0) + 1).wrapping_mul(ROWS[row]);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(ROWS[(row + 1) % ROWS.len()]);
        let word = (mixed >> 32) as usize & self.mask;
        (word, 16 * row + 4 * (mixed >> 28 & 3) as usize)
    }

    fn halve(&mut self) {
        for word in &mut self.words {
            *word = *word >> 1 & !SHIFTED_IN;
        }
        self.counts /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_up_to_fifteen_and_never_less_than_was_counted() {
        let mut sketch = Sketch::new(64);
        for block in 0..20 {
            for _ in 0..block {
                sketch.count(Block(block));
            }
        }
        assert!((0..20).all(|block| sketch.estimate(Block(block)) >= u64::from(block).min(MOST)));
        assert!(sketch.estimate(Block(19)) == MOST && sketch.estimate(Block(1)) < MOST);
    }

    #[test]
    fn halves_all_counters_after_ten_counts_a_block() {
        let mut sketch = Sketch::new(64);
        for _ in 0..12 {
            sketch.count(Block(7));
        }
        let others = (0..).map(|at| Block(1_000 + at % 500));
        for block in others.take(640 - 12 - 1) {
            sketch.count(block);
        }
        let before = sketch.estimate(Block(7));
        sketch.count(Block(5_000));
        assert!(before >= 12);
        assert!((6..=7).contains(&sketch.estimate(Block(7))), "{before}");
    }
}
