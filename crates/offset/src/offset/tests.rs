//! The allocator against a naive one that keeps nothing but a list of taken ranges.

use super::*;
use crate::bins::{bin_up, bin_value};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

#[test]
fn the_first_range_is_at_the_front_and_a_free_range_is_reused_first() {
    let mut allocator = OffsetAllocator::new(16 * MIB);
    let ranges: Vec<Allocation> = (0..4).map(|_| allocator.allocate(MIB).unwrap()).collect();
    assert_eq!(
        ranges.iter().map(|range| range.offset / MIB).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    allocator.free(ranges[0], MIB);
    allocator.free(ranges[2], MIB);
    // Both lie in one bin: the one that was filed last comes first.
    assert_eq!(allocator.allocate(MIB).unwrap().offset, 2 * MIB);
    assert_eq!(allocator.allocate(MIB).unwrap().offset, 0);
    assert_eq!(allocator.allocate(MIB).unwrap().offset, 4 * MIB);
}

#[test]
fn frees_merge_on_both_sides() {
    let mut allocator = OffsetAllocator::new(4 * MIB);
    let ranges: Vec<Allocation> = (0..4).map(|_| allocator.allocate(MIB).unwrap()).collect();
    assert_eq!(allocator.allocate(1), None);
    for index in [1, 3, 2, 0] {
        allocator.free(ranges[index], MIB);
    }
    assert_eq!(allocator.requested_bytes(), 0);
    assert_eq!(allocator.allocate(4 * MIB).map(|range| range.offset), Some(0));
}

#[test]
fn large_segments_count_in_larger_units() {
    let size = 16 << 30;
    let mut allocator = OffsetAllocator::new(size);
    assert_eq!(allocator.unit_bits, 3);
    let first = allocator.allocate(1).unwrap();
    let second = allocator.allocate(9).unwrap();
    assert_eq!(
        (first.offset, second.offset),
        (0, 8),
        "a byte takes a unit of eight"
    );
    assert_eq!(allocator.requested_bytes(), 10);
    assert_eq!(OffsetAllocator::new(MAX_UNITS).unit_bits, 0);
    assert_eq!(OffsetAllocator::new(MAX_UNITS + 1).unit_bits, 1);
    assert_eq!(OffsetAllocator::new(u64::MAX).allocate(u64::MAX), None);
}

#[test]
fn nothing_and_too_much_are_refused() {
    let mut allocator = OffsetAllocator::new(MIB);
    assert_eq!((allocator.allocate(0), allocator.allocate(MIB + 1)), (None, None));
    assert_eq!(
        OffsetAllocator::new(1).allocate(1).map(|range| range.offset),
        Some(0)
    );
}

#[test]
fn the_largest_segment_of_one_byte_units_can_be_taken_whole() {
    let mut allocator = OffsetAllocator::new(MAX_UNITS);
    let whole = allocator.allocate(MAX_UNITS).unwrap();
    assert_eq!((whole.offset, allocator.allocate(1)), (0, None));
    allocator.free(whole, MAX_UNITS);
    assert_eq!(allocator.allocate(MAX_UNITS).map(|range| range.offset), Some(0));
}

/// A request that fails lowers the note of what may fit; every free raises it again, as far as the regions merge.
#[test]
fn what_was_refused_fits_once_enough_is_free_also_in_larger_units() {
    const GIB: u64 = 1 << 30;
    let mut allocator = OffsetAllocator::new(16 * GIB);
    let quarters: Vec<Allocation> = (0..4).map(|_| allocator.allocate(4 * GIB).unwrap()).collect();
    assert_eq!(allocator.allocate(1), None);
    for (index, gib) in [(0, 4), (1, 8), (2, 12), (3, 16)] {
        allocator.free(quarters[index], 4 * GIB);
        assert_eq!(allocator.allocate((gib + 1) * GIB), None, "{gib}");
        let range = allocator.allocate(gib * GIB).unwrap();
        assert_eq!(range.offset, 0);
        allocator.free(range, gib * GIB);
    }
    let most = allocator.allocate(12 * GIB).unwrap();
    assert_eq!(allocator.allocate(8 * GIB), None);
    allocator.free(most, 12 * GIB);
    assert!(allocator.allocate(12 * GIB).is_some());
}

#[test]
fn a_segment_has_only_so_many_regions_and_merged_ones_count_once() {
    const REGIONS: usize = 1 << 20;
    let mut allocator = OffsetAllocator::new(4 * MIB);
    // The last region is the free rest.
    let ranges: Vec<Allocation> = (1..REGIONS).map(|_| allocator.allocate(1).unwrap()).collect();
    assert_eq!(
        allocator.allocate(1),
        None,
        "with three quarters of the bytes free"
    );
    allocator.free(ranges[0], 1);
    assert_eq!(allocator.allocate(1), None, "it is a region still");
    allocator.free(ranges[1], 1);
    assert_eq!(allocator.allocate(3), None, "the note knows of what merged since");
    assert_eq!(allocator.allocate(1).map(|range| range.offset), Some(0));
    assert_eq!(allocator.allocate(1), None);
    for range in &ranges[2..5] {
        allocator.free(*range, 1);
    }
    let again: Vec<Option<u64>> = (0..4)
        .map(|_| allocator.allocate(1).map(|range| range.offset))
        .collect();
    assert_eq!(again, [Some(1), Some(2), Some(3), None]);
    // A hole that fits is taken whole, and leaves nothing behind that would count.
    for place in [10, 20, 21] {
        allocator.free(ranges[place], 1);
    }
    let again: Vec<Option<u64>> = (0..4)
        .map(|_| allocator.allocate(1).map(|range| range.offset))
        .collect();
    assert_eq!(again, [Some(10), Some(4), Some(20), None]);
}

#[derive(Clone, Debug)]
enum Step {
    Take(u64),
    Give(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![0..64_u64, 1..9_000_u64, 1..400_000_u64].prop_map(Step::Take),
        2 => any::<prop::sample::Index>().prop_map(Step::Give),
    ]
}

/// What the naive allocator knows: taken ranges with their reserved lengths, by offset.
#[derive(Default)]
struct Naive {
    taken: std::collections::BTreeMap<u64, (u64, u64, Allocation)>,
}

impl Naive {
    /// The free gaps of a segment.
    fn gaps(&self, size: u64) -> Vec<u64> {
        let mut gaps = Vec::new();
        let mut end = 0;
        for (offset, (_, reserved, _)) in &self.taken {
            gaps.push(offset - end);
            end = offset + reserved;
        }
        gaps.push(size - end);
        gaps
    }
}

proptest! {
    #[test]
    fn ranges_never_overlap_and_a_fitting_gap_is_always_found(
        size in 1_000..3_000_000_u64,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut allocator = OffsetAllocator::new(size);
        let mut naive = Naive::default();
        for step in steps {
            match step {
                Step::Take(bytes) => {
                    let reserved = u64::from(bin_value(bin_up(bytes as u32)));
                    // Gaps are merged on free, so a gap holds the request exactly if its floor bin reaches the request's.
                    let fits = bytes > 0
                        && naive.gaps(size).iter().any(|gap| *gap > 0 && bin_down(*gap as u32) >= bin_up(bytes as u32));
                    let got = allocator.allocate(bytes);
                    prop_assert_eq!(got.is_some(), fits, "{} bytes", bytes);
                    if let Some(range) = got {
                        let before = naive.taken.range(..=range.offset).next_back();
                        prop_assert!(before.is_none_or(|(offset, (_, length, _))| offset + length <= range.offset));
                        let behind = naive.taken.range(range.offset..).next();
                        prop_assert!(behind.is_none_or(|(offset, _)| range.offset + reserved <= *offset));
                        prop_assert!(range.offset + reserved <= size);
                        naive.taken.insert(range.offset, (bytes, reserved, range));
                    }
                }
                Step::Give(index) if !naive.taken.is_empty() => {
                    let offset = *index.get(&naive.taken.keys().copied().collect::<Vec<_>>());
                    if let Some((bytes, _, range)) = naive.taken.remove(&offset) {
                        allocator.free(range, bytes);
                    }
                }
                Step::Give(_) => {}
            }
            let requested: u64 = naive.taken.values().map(|(bytes, ..)| bytes).sum();
            prop_assert_eq!(allocator.requested_bytes(), requested);
        }
        for (bytes, _, range) in naive.taken.into_values() {
            allocator.free(range, bytes);
        }
        let largest = u64::from(bin_value(bin_down(size as u32)));
        prop_assert_eq!(allocator.allocate(largest).map(|range| range.offset), Some(0), "all merged again");
    }
}
