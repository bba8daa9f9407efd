//! Where the allocator of a segment got ranges back.
//!
//! No observer sees that of a single range. Each state of the master tells how many bytes are allocated and which
//! ranges are readable; what is allocated and not readable must be among the ranges that were handed out and not yet
//! given back. Where the sum is smaller than all of those, some were given back since the state before: first what a
//! call took from its owner since then, then what had been due for the longest time.

use super::End;
use super::grants::{Grant, cause};
use crate::master_clock::MasterClock;
use crate::overlaps::InSegments;
use crate::view::{Pos, View};
use moonquake_evidence::{Range, State};
use std::collections::BTreeSet;

/// The most places that are tried for one state where there are not more ranges.
const MAX_TRIES: u32 = 20_000;

/// Enters where each range was given back, and ends the epochs that had not ended by then.
pub(super) fn settle(view: &View<'_>, grants: &mut [Grant]) {
    let clock = MasterClock::of(view);
    let ranges: Vec<Range> = grants.iter().map(|grant| grant.range.clone()).collect();
    let places = InSegments::of(ranges.iter().zip(0..));
    let mut held: BTreeSet<usize> = BTreeSet::new();
    let mut next = 0;
    let mut before = 0;
    for (pos, state) in &view.states {
        while next < grants.len() && grants[next].tenure.since.pos < *pos {
            hand_out(view, grants, &places, &mut held, next, before);
            next += 1;
        }
        let mut freed: Vec<(usize, End)> = Vec::new();
        for index in &held {
            let grant = &grants[*index];
            if let Some(lost) = grant.lost.filter(|lost| lost <= pos) {
                freed.push((*index, End::at(lost)));
            } else if !state.segments.contains_key(&grant.range.segment) {
                freed.push((*index, cause(view, before.max(grant.tenure.since.pos), *pos)));
            }
        }
        for (gone, _) in &freed {
            held.remove(gone);
        }
        let now = clock.at(view, *pos);
        for index in given_back(grants, &held, state, (before, *pos), now) {
            freed.push((index, when(view, &grants[index], before, *pos)));
        }
        for (index, end) in freed {
            held.remove(&index);
            give_back(&mut grants[index], end);
        }
        before = *pos;
    }
    while next < grants.len() {
        hand_out(view, grants, &places, &mut held, next, before);
        next += 1;
    }
    // What the master forgot after its last state is nobody's any more.
    for index in held {
        if let Some(lost) = grants[index].lost {
            give_back(&mut grants[index], End::at(lost));
        }
    }
}

/// A range is handed out; whoever had bytes of it has lost them.
fn hand_out(
    view: &View<'_>,
    grants: &mut [Grant],
    places: &InSegments<'_>,
    held: &mut BTreeSet<usize>,
    next: usize,
    before: Pos,
) {
    let since = grants[next].tenure.since;
    for other in places.over(&grants[next].range) {
        if grants[other].tenure.since < since && held.remove(&other) {
            let end = when(view, &grants[other], before, since.pos);
            give_back(&mut grants[other], end);
        }
    }
    held.insert(next);
}

fn give_back(grant: &mut Grant, end: End) {
    // The same bytes may have left their owner at the same place, and that place is exact.
    let end = match grant.tenure.until {
        Some(until) if until.pos == end.pos => until.min(end),
        _ => end,
    };
    grant.tenure.freed = Some(end);
    grant.tenure.end(end);
}

/// When a range was given back that was held at `before` and is not at `pos`.
fn when(view: &View<'_>, grant: &Grant, before: Pos, pos: Pos) -> End {
    match grant.tenure.until {
        Some(until) if grant.at_once && before < until.pos && until.pos <= pos => until,
        _ => cause(view, before.max(grant.tenure.since.pos), pos),
    }
}

/// The ranges, of those held, that a state has no room for.
fn given_back(
    grants: &[Grant],
    held: &BTreeSet<usize>,
    state: &State,
    (before, pos): (Pos, Pos),
    now: i128,
) -> Vec<usize> {
    let live: BTreeSet<&Range> = state.keys.values().flatten().collect();
    let readable: u64 = live.iter().map(|range| range.size).fold(0, u64::saturating_add);
    let hidden: Vec<usize> = held
        .iter()
        .copied()
        .filter(|index| !live.contains(&grants[*index].range))
        .collect();
    let size = |index: &usize| grants[*index].range.size;
    let all = hidden.iter().map(size).fold(0, u64::saturating_add);
    let excess = all.saturating_sub(state.allocated_bytes.saturating_sub(readable));
    if excess == 0 {
        return Vec::new();
    }
    let mut order = hidden;
    order.sort_by_key(|index| {
        let grant = &grants[*index];
        let taken_now = grant.at_once
            && grant
                .tenure
                .until
                .is_some_and(|until| before < until.pos && until.pos <= pos);
        let due = grant.due(pos);
        (!taken_now, due > now, due, *index)
    });
    let sizes: Vec<u64> = order.iter().map(size).collect();
    let chosen = exactly(&sizes, excess).unwrap_or_else(|| at_most(&sizes, excess));
    chosen.into_iter().map(|place| order[place]).collect()
}

/// The first places whose sizes add up to `sum`, earlier ones rather than later ones. None if there are none, or if they are not
/// found soon.
fn exactly(sizes: &[u64], sum: u64) -> Option<Vec<usize>> {
    // What all from a place on add up to.
    let mut rest = vec![0; sizes.len() + 1];
    for (place, size) in sizes.iter().enumerate().rev() {
        rest[place] = u64::saturating_add(rest[place + 1], *size);
    }
    let (mut chosen, mut place, mut left) = (Vec::new(), 0, sum);
    let mut tries = MAX_TRIES.max(u32::try_from(sizes.len()).unwrap_or(u32::MAX));
    while left > 0 {
        if rest[place] < left {
            // The last that was taken is left out instead.
            let last: usize = chosen.pop()?;
            (place, left) = (last + 1, left + sizes[last]);
            continue;
        }
        tries = tries.checked_sub(1)?;
        if sizes[place] <= left {
            chosen.push(place);
            left -= sizes[place];
        }
        place += 1;
    }
    Some(chosen)
}

/// Where no sizes add up, as many as fit.
fn at_most(sizes: &[u64], mut sum: u64) -> Vec<usize> {
    let mut places = Vec::new();
    for (place, size) in sizes.iter().enumerate() {
        if *size <= sum {
            sum -= size;
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sizes_that_add_up_are_chosen() {
        assert_eq!(exactly(&[4, 4, 2], 4), Some(vec![0]));
        assert_eq!(exactly(&[4, 3, 2], 5), Some(vec![1, 2]));
        assert_eq!(exactly(&[4, 3, 2], 6), Some(vec![0, 2]));
        assert_eq!(exactly(&[4, 3], 5), None);
        assert_eq!(at_most(&[4, 3], 5), [0]);
        // As many as a large batch has.
        let many = vec![1; 100_000];
        assert_eq!(exactly(&many, 100_000).map(|places| places.len()), Some(100_000));
        // Nobody waits for all sets of many.
        let even: Vec<u64> = (1..40).map(|half| 2 * half).collect();
        assert_eq!(exactly(&even, 701), None);
    }
}
