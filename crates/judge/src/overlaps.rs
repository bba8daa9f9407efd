//! Which of many stretches of bytes overlap a given one, without a look at all of them: a batch has thousands.

use moonquake_evidence::Range;
use std::collections::BTreeMap;

/// Stretches of bytes of one place, each with the number of what it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Overlaps {
    /// From, to and number, in the order of the first bytes.
    spans: Vec<(u64, u64, usize)>,
    /// The farthest end of each stretch of `spans`: a binary tree whose leaves come last.
    ends: Vec<u64>,
}

impl Overlaps {
    /// An index of these: from, to (one past the last byte) and number.
    pub(crate) fn of(spans: impl IntoIterator<Item = (u64, u64, usize)>) -> Overlaps {
        let mut spans: Vec<(u64, u64, usize)> = spans.into_iter().collect();
        spans.sort_unstable();
        let leaves = spans.len().next_power_of_two();
        let mut ends = vec![0; 2 * leaves];
        for (end, (_, to, _)) in ends[leaves..].iter_mut().zip(&spans) {
            *end = *to;
        }
        for node in (1..leaves).rev() {
            ends[node] = ends[2 * node].max(ends[2 * node + 1]);
        }
        Overlaps { spans, ends }
    }

    /// The numbers of those that begin before `to` and end after `from`, each once, the smallest first.
    pub(crate) fn over(&self, from: u64, to: u64) -> Vec<usize> {
        let begin = self.spans.partition_point(|(begins, ..)| *begins < to);
        let mut found = Vec::new();
        let mut open = vec![1];
        let leaves = self.ends.len() / 2;
        while let Some(node) = open.pop() {
            // The first leaf below a node.
            let depth = leaves.ilog2() - usize::ilog2(node);
            let first = (node << depth) - leaves;
            if first >= begin || self.ends[node] <= from {
                continue;
            }
            if node < leaves {
                open.extend([2 * node, 2 * node + 1]);
            } else {
                found.push(self.spans[first].2);
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Ranges of segments, each with the number of what it belongs to.
#[derive(Clone, Debug, Default)]
pub(crate) struct InSegments<'a>(BTreeMap<&'a str, Overlaps>);

impl<'a> InSegments<'a> {
    /// An index of these.
    pub(crate) fn of(ranges: impl IntoIterator<Item = (&'a Range, usize)>) -> InSegments<'a> {
        let mut segments: BTreeMap<&str, Vec<(u64, u64, usize)>> = BTreeMap::new();
        for (range, number) in ranges {
            let end = range.offset.saturating_add(range.size);
            let spans = segments.entry(&range.segment).or_default();
            spans.push((range.offset, end, number));
        }
        let indexed = segments.into_iter();
        InSegments(indexed.map(|(name, spans)| (name, Overlaps::of(spans))).collect())
    }

    /// The numbers of those that overlap a range, each once, the smallest first.
    pub(crate) fn over(&self, range: &Range) -> Vec<usize> {
        let end = range.offset.saturating_add(range.size);
        let there = self.0.get(range.segment.as_str());
        there.map_or_else(Vec::new, |there| there.over(range.offset, end))
    }

    /// The same for several ranges together.
    pub(crate) fn over_any<'b>(&self, ranges: impl IntoIterator<Item = &'b Range>) -> Vec<usize> {
        let mut found: Vec<usize> = ranges.into_iter().flat_map(|range| self.over(range)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Bytes that something has happened to, to which more are added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Covered(BTreeMap<u64, u64>);

impl Covered {
    /// Adds those from `from` up to and not including `to`.
    pub(crate) fn add(&mut self, mut from: u64, mut to: u64) {
        while let Some((begins, ends)) = self.0.range(..=to).next_back().map(|(from, to)| (*from, *to)) {
            if ends < from {
                break;
            }
            self.0.remove(&begins);
            (from, to) = (from.min(begins), to.max(ends));
        }
        self.0.insert(from, to);
    }

    /// Whether one of them lies there.
    pub(crate) fn overlaps(&self, from: u64, to: u64) -> bool {
        let last = self.0.range(..to).next_back();
        last.is_some_and(|(_, ends)| from < *ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same in every run.
    fn numbers(count: usize, below: u64) -> Vec<u64> {
        let next = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some((*state >> 33) % below)
        };
        std::iter::repeat_n((), count)
            .scan(7, |state, ()| next(state))
            .collect()
    }

    #[test]
    fn what_overlaps_is_found_as_by_a_look_at_all() {
        for count in [0, 1, 2, 3, 8, 50] {
            let drawn = numbers(2 * count, 60);
            let spans: Vec<(u64, u64, usize)> = (drawn.chunks(2).zip(0..))
                .map(|(two, number)| (two[0], two[0] + two[1] / 4, number))
                .collect();
            let index = Overlaps::of(spans.clone());
            let mut covered = Covered::default();
            for (from, to, _) in spans.iter().filter(|(from, to, _)| from < to) {
                covered.add(*from, *to);
            }
            for from in 0..80 {
                for to in from + 1..80 {
                    let all = spans
                        .iter()
                        .filter(|(begins, ends, _)| *begins < to && from < *ends);
                    let all: Vec<usize> = all.map(|(.., number)| *number).collect();
                    assert_eq!(index.over(from, to), all, "{from}..{to} of {spans:?}");
                    let filled = spans
                        .iter()
                        .any(|(begins, ends, _)| begins < ends && *begins < to && from < *ends);
                    assert_eq!(covered.overlaps(from, to), filled, "{from}..{to} of {spans:?}");
                }
            }
        }
    }

    #[test]
    fn a_segment_has_its_own_bytes() {
        let range = |segment: &str, offset| Range {
            segment: segment.to_owned(),
            offset,
            size: 4,
        };
        let ranges = [range("n1", 0), range("n2", 0), range("n1", 2), range("n1", 9)];
        let index = InSegments::of(ranges.iter().zip(0..));
        assert_eq!(index.over(&range("n1", 3)), [0, 2]);
        assert_eq!(index.over(&range("n3", 3)), [0; 0]);
        assert_eq!(index.over_any(&ranges), [0, 1, 2, 3]);
    }
}
