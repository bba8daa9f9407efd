//! `std::nth_element` and `std::sort` of the GNU C++ library. An eviction round visits its candidates in the order that the
//! one leaves behind, and the order of frees decides later addresses; the other ranks segments, and says which of equals is first.

/// Moves the element of rank `nth` to its place, none larger before it and none smaller behind it. Ranks may tie.
pub(crate) fn nth_element<T: Clone>(items: &mut [T], nth: usize, rank: impl Fn(&T) -> u64) {
    let (mut first, mut last) = (0, items.len());
    if nth >= last {
        return;
    }
    let mut depth = 2 * items.len().ilog2();
    while last - first > 3 {
        if depth == 0 {
            // The library selects by a heap here. It takes inputs made for the purpose to come so far.
            items[first..last].sort_by_key(&rank);
            return;
        }
        depth -= 1;
        let cut = partition(items, first, last, &rank);
        if cut <= nth {
            first = cut;
        } else {
            last = cut;
        }
    }
    // Three elements at most: the library inserts each into its place, ties stay as they are.
    items[first..last].sort_by_key(&rank);
}

/// Longest stretch that is not divided any more.
const SORT_UNDIVIDED: usize = 16;

/// Sorts by rank, equals in the order in which the library leaves them.
pub(crate) fn sort_by_rank<T: Clone>(items: &mut [T], rank: impl Fn(&T) -> u64) {
    let mut open = vec![(0, items.len())];
    while let Some((first, mut last)) = open.pop() {
        while last - first > SORT_UNDIVIDED {
            let cut = partition(items, first, last, &rank);
            open.push((cut, last));
            last = cut;
        }
    }
    // What is left is inserted element by element, and equals stay as they are.
    items.sort_by_key(rank);
}

/// Puts the median of three elements in front and splits the rest around it; where the second part begins.
fn partition<T: Clone>(items: &mut [T], first: usize, last: usize, rank: &impl Fn(&T) -> u64) -> usize {
    let (a, b, c) = (first + 1, first + (last - first) / 2, last - 1);
    let less = |one: usize, other: usize| rank(&items[one]) < rank(&items[other]);
    let median = match (less(a, b), less(b, c), less(a, c)) {
        (true, true, _) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
        (false, false, false) => b,
    };
    items.swap(first, median);
    let pivot = rank(&items[first]);
    let (mut low, mut high) = (first + 1, last);
    loop {
        while rank(&items[low]) < pivot {
            low += 1;
        }
        high -= 1;
        while pivot < rank(&items[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{nth_element, sort_by_rank};
    use proptest::prelude::*;

    /// Numbers as the vectors were made from.
    fn numbers(state: &mut u64, count: usize, below: u64) -> Vec<(u64, usize)> {
        let draw = |index| {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((*state >> 33) % below, index)
        };
        (0..count).map(draw).collect()
    }

    /// Count, nth, bound of the values, and where each element came from; with the GNU C++ library, version 12.
    const VECTORS: [(usize, usize, u64, &[usize]); 3] = [
        (12, 4, 100, &[2, 8, 3, 5, 9, 4, 0, 10, 11, 6, 7, 1]),
        (
            40,
            7,
            20,
            &[
                39, 1, 38, 31, 24, 19, 13, 23, 4, 7, 18, 33, 12, 35, 11, 3, 30, 28, 36, 5, 25, 2, 0, 22, 21,
                20, 26, 27, 17, 29, 16, 15, 32, 14, 34, 6, 10, 37, 9, 8,
            ],
        ),
        (
            40,
            38,
            1000,
            &[
                20, 39, 28, 27, 22, 5, 19, 7, 16, 24, 1, 11, 12, 13, 14, 15, 8, 36, 18, 6, 35, 34, 4, 23, 33,
                25, 31, 3, 2, 29, 30, 32, 10, 9, 38, 37, 17, 26, 0, 21,
            ],
        ),
    ];

    #[test]
    fn the_order_is_that_of_the_cpp_library() {
        let mut state = 12_345;
        for (count, nth, below, expected) in VECTORS {
            let mut items = numbers(&mut state, count, below);
            nth_element(&mut items, nth, |item| item.0);
            assert_eq!(items.iter().map(|item| item.1).collect::<Vec<_>>(), expected);
        }
        let items = numbers(&mut state, 5_000, 3_000);
        for (nth, expected) in [
            (250, 14093293774530286200),
            (2500, 1091466699965754600),
            (4999, 6114700380254239332),
            (0, 13700784297994153754),
        ] {
            let mut items = items.clone();
            nth_element(&mut items, nth, |item| item.0);
            let sum = items.iter().fold(0_u64, |sum, item| {
                sum.wrapping_mul(31).wrapping_add(item.1 as u64)
            });
            assert_eq!(sum, expected, "{nth}");
        }
    }

    /// Count, bound of the values, and where each element came from; with `std::sort` of the same library.
    const SORTED: [(usize, u64, &[usize]); 3] = [
        (16, 1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        (17, 1, &[8, 16, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1]),
        (
            40,
            5,
            &[
                31, 22, 16, 15, 10, 8, 29, 25, 13, 9, 7, 0, 36, 4, 17, 18, 33, 34, 3, 35, 27, 2, 24, 20, 6,
                37, 11, 38, 32, 39, 30, 28, 26, 23, 21, 19, 14, 12, 5, 1,
            ],
        ),
    ];

    #[test]
    fn equals_lie_as_the_cpp_library_leaves_them() {
        let mut state = 12_345;
        for (count, below, expected) in SORTED {
            let mut items = numbers(&mut state, count, below);
            sort_by_rank(&mut items, |item| item.0);
            assert_eq!(items.iter().map(|item| item.1).collect::<Vec<_>>(), expected);
        }
    }

    proptest! {
        #[test]
        fn the_nth_divides(ranks in prop::collection::vec(0..20_u64, 1..200), nth in any::<prop::sample::Index>()) {
            let nth = nth.index(ranks.len());
            let mut items = ranks.clone();
            nth_element(&mut items, nth, |rank| *rank);
            prop_assert!(items[..nth].iter().all(|rank| *rank <= items[nth]));
            prop_assert!(items[nth..].iter().all(|rank| *rank >= items[nth]));
            let (mut before, mut after) = (ranks, items);
            before.sort_unstable();
            after.sort_unstable();
            prop_assert_eq!(before, after);
        }
    }
}
