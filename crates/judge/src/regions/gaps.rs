//! The epochs in which memory belongs to nobody.

use super::{NOBODY, Tenure};
use crate::view::Pos;

/// The stretches between two owners.
pub(super) fn gaps(owned: &[Tenure]) -> Vec<Tenure> {
    let mut gaps = Vec::new();
    for tenure in owned {
        let Some(ended) = tenure.until else { continue };
        let later = || owned.iter().filter(|other| other.since >= ended);
        let inside = |edge: &u64| tenure.from < *edge && *edge < tenure.to;
        let mut edges: Vec<u64> = later()
            .flat_map(|other| [other.from, other.to])
            .filter(inside)
            .collect();
        edges.extend([tenure.from, tenure.to]);
        edges.sort_unstable();
        edges.dedup();
        let mut pieces: Vec<(u64, u64, Option<Pos>)> = Vec::new();
        for edge in edges.windows(2) {
            let (from, to) = (edge[0], edge[1]);
            let next = later()
                .filter(|other| other.overlaps(from, to))
                .map(|other| other.since)
                .min();
            match pieces.last_mut() {
                Some((_, end, until)) if *end == from && *until == next => *end = to,
                _ => pieces.push((from, to, next)),
            }
        }
        gaps.extend(
            pieces
                .into_iter()
                .filter(|(.., next)| *next != Some(ended))
                .map(|(from, to, next)| Tenure {
                    from,
                    to,
                    owner: NOBODY.to_owned(),
                    op: None,
                    since: ended,
                    until: next,
                    readable: None,
                    touches: Vec::new(),
                }),
        );
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(from: u64, to: u64, since: Pos, until: Option<Pos>) -> Tenure {
        Tenure {
            from,
            to,
            owner: format!("from {since}"),
            op: None,
            since,
            until,
            readable: None,
            touches: Vec::new(),
        }
    }

    #[test]
    fn memory_between_two_owners_is_nobodys() {
        // [0, 8) ends at 5; its first half is handed out at 7, the second never again.
        let gaps = gaps(&[owned(0, 8, 1, Some(5)), owned(0, 4, 7, None)]);
        let seen: Vec<_> = gaps
            .iter()
            .map(|gap| (gap.from, gap.to, gap.since, gap.until))
            .collect();
        assert_eq!(seen, [(0, 4, 5, Some(7)), (4, 8, 5, None)]);
    }

    #[test]
    fn memory_that_is_handed_over_at_once_is_never_nobodys() {
        assert!(gaps(&[owned(0, 8, 1, Some(5)), owned(0, 8, 5, None)]).is_empty());
    }
}
