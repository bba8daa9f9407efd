//! The epochs in which memory belongs to nobody.

use super::{End, Idle, NOBODY, Tenure, index_of};
use crate::view::Pos;

/// The stretches between two owners. After `last` nobody saw any more what is allocated.
pub(super) fn gaps(owned: &[Tenure], last: Pos) -> Vec<Tenure> {
    let mut gaps = Vec::new();
    let index = index_of(owned);
    for tenure in owned {
        let Some(ended) = tenure.until else { continue };
        let others = index.over(tenure.from, tenure.to);
        let others: Vec<&Tenure> = others.into_iter().map(|number| &owned[number]).collect();
        let later = || others.iter().filter(|other| other.since.pos >= ended.pos);
        let inside = |edge: &u64| tenure.from < *edge && *edge < tenure.to;
        let mut edges: Vec<u64> = later()
            .flat_map(|other| [other.from, other.to])
            .filter(inside)
            .collect();
        edges.extend([tenure.from, tenure.to]);
        edges.sort_unstable();
        edges.dedup();
        let mut pieces: Vec<(u64, u64, Option<End>)> = Vec::new();
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
        for (from, to, next) in pieces {
            gaps.extend(idle((from, to), (ended, next), tenure.freed, last));
        }
    }
    gaps
}

/// One stretch: in quarantine until the bytes were given back, and free from there on.
fn idle(bytes: (u64, u64), (since, until): (End, Option<End>), freed: Option<End>, last: Pos) -> Vec<Tenure> {
    let gap = |since: End, until: Option<End>, idle: Idle| Tenure {
        idle: Some(idle),
        since,
        until,
        ..Tenure::new(bytes, NOBODY.to_owned(), None, since.pos)
    };
    let lasts = |since: End, until: Option<End>| until.is_none_or(|until| until.pos > since.pos);
    let pieces = match freed {
        Some(freed) if freed.pos <= since.pos => vec![gap(since, until, Idle::Free)],
        Some(freed) if lasts(freed, until) => vec![
            gap(since, Some(freed), Idle::Quarantined),
            gap(freed, until, Idle::Free),
        ],
        Some(_) => vec![gap(since, until, Idle::Quarantined)],
        None if since.pos <= last => vec![gap(since, until, Idle::Quarantined)],
        None => vec![gap(since, until, Idle::Unknown)],
    };
    pieces
        .into_iter()
        .filter(|piece| lasts(piece.since, piece.until))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(from: u64, to: u64, since: Pos, until: Option<Pos>, freed: Option<Pos>) -> Tenure {
        Tenure {
            until: until.map(End::at),
            freed: freed.map(End::at),
            ..Tenure::new((from, to), format!("from {since}"), None, since)
        }
    }

    type Seen = (u64, u64, Pos, Option<Pos>, Option<Idle>);

    fn seen(owned: &[Tenure], last: Pos) -> Vec<Seen> {
        let gaps = gaps(owned, last);
        let line = |gap: &Tenure| {
            let until = gap.until.map(|until| until.pos);
            (gap.from, gap.to, gap.since.pos, until, gap.idle)
        };
        gaps.iter().map(line).collect()
    }

    #[test]
    fn memory_between_two_owners_is_nobodys() {
        // [0, 8) ends at 5; its first half is handed out at 7, the second never again.
        let seen = seen(&[owned(0, 8, 1, Some(5), Some(5)), owned(0, 4, 7, None, None)], 9);
        let free = Some(Idle::Free);
        assert_eq!(seen, [(0, 4, 5, Some(7), free), (4, 8, 5, None, free)]);
    }

    #[test]
    fn memory_that_is_handed_over_at_once_is_never_nobodys() {
        let handed = [owned(0, 8, 1, Some(5), Some(5)), owned(0, 8, 5, None, None)];
        assert!(seen(&handed, 9).is_empty());
    }

    #[test]
    fn memory_is_in_quarantine_until_it_is_given_back() {
        let (quarantined, free) = (Some(Idle::Quarantined), Some(Idle::Free));
        assert_eq!(
            seen(&[owned(0, 8, 1, Some(5), Some(7))], 9),
            [(0, 8, 5, Some(7), quarantined), (0, 8, 7, None, free)]
        );
        assert_eq!(
            seen(&[owned(0, 8, 1, Some(5), None)], 9),
            [(0, 8, 5, None, quarantined)]
        );
        // Nobody read the state after 4.
        assert_eq!(
            seen(&[owned(0, 8, 1, Some(5), None)], 4),
            [(0, 8, 5, None, Some(Idle::Unknown))]
        );
    }
}
