//! Equal lines beside each other.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A pair of lines, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) same: bool,
    pub(super) one: Option<usize>,
    pub(super) two: Option<usize>,
}

/// Every line of both lists in order. Up to the first line that differs, lines are paired by their number; behind it,
/// equal lines find each other again where they can, and lines that differ are set against each other.
pub(super) fn aligned(one: &[&str], two: &[&str]) -> Vec<Pair> {
    let equal = one.iter().zip(two).take_while(|(one, two)| one == two).count();
    let mut pairs: Vec<Pair> = (0..equal).map(|index| same(index, index)).collect();
    for op in capture_diff_slices(Algorithm::Myers, &one[equal..], &two[equal..]) {
        let (_, old, new) = op.as_tag_tuple();
        let (old, new) = (
            old.start + equal..old.end + equal,
            new.start + equal..new.end + equal,
        );
        if matches!(op, DiffOp::Equal { .. }) {
            pairs.extend(old.zip(new).map(|(one, two)| same(one, two)));
            continue;
        }
        let rows = old.len().max(new.len());
        pairs.extend((0..rows).map(|row| Pair {
            same: false,
            one: old.clone().nth(row),
            two: new.clone().nth(row),
        }));
    }
    pairs
}

fn same(one: usize, two: usize) -> Pair {
    Pair {
        same: true,
        one: Some(one),
        two: Some(two),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `a=a b/x c/-`: each pair, equal or not.
    fn shown(one: &str, two: &str) -> String {
        let (one, two): (Vec<&str>, Vec<&str>) = (one.split(' ').collect(), two.split(' ').collect());
        let word = |list: &[&str], index: Option<usize>| index.map_or("-", |index| list[index]).to_owned();
        let pairs = aligned(&one, &two).into_iter().map(|pair| {
            let sign = if pair.same { "=" } else { "/" };
            format!("{}{sign}{}", word(&one, pair.one), word(&two, pair.two))
        });
        pairs.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_find_their_like_again_behind_a_difference() {
        assert_eq!(shown("a b c", "a b c"), "a=a b=b c=c");
        assert_eq!(shown("a b c", "a x c"), "a=a b/x c=c");
        assert_eq!(shown("a b c", "a c"), "a=a b/- c=c");
        assert_eq!(shown("a c", "a b c"), "a=a -/b c=c");
        assert_eq!(shown("a b", "x y"), "a/x b/y");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_line_is_there_once_and_in_order(
            one in prop::collection::vec("[abc]", 0..12),
            two in prop::collection::vec("[abc]", 0..12),
        ) {
            let (one, two): (Vec<&str>, Vec<&str>) =
                (one.iter().map(String::as_str).collect(), two.iter().map(String::as_str).collect());
            let pairs = aligned(&one, &two);
            prop_assert!(pairs.iter().filter_map(|pair| pair.one).eq(0..one.len()));
            prop_assert!(pairs.iter().filter_map(|pair| pair.two).eq(0..two.len()));
            for pair in &pairs {
                let equal = matches!((pair.one, pair.two), (Some(a), Some(b)) if one[a] == two[b]);
                prop_assert!(!pair.same || equal);
            }
            let first = pairs.iter().position(|pair| !pair.same);
            let plain = (0..one.len().max(two.len())).find(|index| one.get(*index) != two.get(*index));
            prop_assert_eq!(first, plain);
        }
    }
}
