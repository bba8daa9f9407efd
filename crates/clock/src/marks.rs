//! What made a difference in a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Up to 64 marks that all clones share. A test that breaks one thing at a time reads off a plain run which breaks can
/// make a difference at all, and spares itself the others. Marks decide nothing, and two sets of them always compare
/// as equal.
#[derive(Clone, Debug, Default)]
pub struct Marks(Arc<AtomicU64>);

impl Marks {
    /// Sets a mark; marks from 64 on share the last bit.
    pub fn set(&self, index: usize) {
        let bit = Marks::bit(index);
        if self.0.load(Ordering::Relaxed) & bit == 0 {
            self.0.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether a mark is set.
    pub fn has(&self, index: usize) -> bool {
        self.0.load(Ordering::Relaxed) & Marks::bit(index) != 0
    }

    fn bit(index: usize) -> u64 {
        1 << index.min(63)
    }
}

impl PartialEq for Marks {
    fn eq(&self, _: &Marks) -> bool {
        true
    }
}

impl Eq for Marks {}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn clones_share_their_marks_and_never_differ() {
        let marks = Marks::default();
        let clone = marks.clone();
        clone.set(3);
        clone.set(200);
        assert!(marks.has(3) && marks.has(63) && marks.has(200) && !marks.has(4));
        assert_eq!(marks, Marks::default());
    }
}
