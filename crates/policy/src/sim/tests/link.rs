//! The link by itself.

use crate::sim::config::{Discipline, SECOND_NS};
use crate::sim::link::Link;
use crate::workload::Dice;

/// When each transfer ends: `(asked for at, bytes)`, in that order, on a link of so many bytes per second.
fn ends(discipline: Discipline, bandwidth: u64, asked: &[(u64, u64)]) -> Vec<u64> {
    let mut link = Link::new(discipline, bandwidth);
    let mut ends = vec![0; asked.len()];
    let mut coming = asked.iter().enumerate().peekable();
    loop {
        let asks = coming.peek().map(|(_, (at, _))| *at);
        let Some(now) = asks.into_iter().chain(link.next_ns()).min() else {
            return ends;
        };
        link.advance(now);
        while let Some(key) = link.finished() {
            ends[key as usize] = now;
        }
        while let Some((key, (_, bytes))) = coming.next_if(|(_, (at, _))| *at == now) {
            link.submit(key as u32, *bytes);
        }
    }
}

const SHARED: Discipline = Discipline::Shared;
const FIFO: Discipline = Discipline::Fifo;

#[test]
fn equal_transfers_end_together_or_one_after_the_other() {
    let asked = [(0, 1_000), (0, 1_000)];
    assert_eq!(ends(SHARED, SECOND_NS, &asked), [2_000, 2_000]);
    assert_eq!(ends(FIFO, SECOND_NS, &asked), [1_000, 2_000]);
}

#[test]
fn shares_change_with_each_coming_and_going() {
    // Alone until 600; halves until the second one has its 300 at 1,200 (the first one has 900); alone again to 1,300.
    assert_eq!(ends(SHARED, SECOND_NS, &[(0, 1_000), (600, 300)]), [1_300, 1_200]);
    // Thirds: 300 each by 900, halves: 600 each by 1,500, then the last one alone.
    assert_eq!(
        ends(SHARED, SECOND_NS, &[(0, 300), (0, 600), (0, 900)]),
        [900, 1_500, 1_800]
    );
    // A lone transfer of any size takes its bytes by the bandwidth, rounded up.
    assert_eq!(ends(SHARED, 3, &[(0, 1)]), [333_333_334]);
}

#[test]
fn nothing_is_lost_between_transfers() {
    // Three of a byte on a link of three bytes per second are done after a second: no nanosecond is lost by rounding.
    for discipline in [FIFO, SHARED] {
        let all = ends(discipline, 3, &[(0, 1), (0, 1), (0, 1)]);
        assert_eq!(all.iter().max(), Some(&SECOND_NS), "{discipline:?}");
    }
    assert_eq!(
        ends(FIFO, 3, &[(0, 1), (0, 1), (0, 1)]),
        [333_333_334, 666_666_667, 1_000_000_000]
    );
}

#[test]
fn what_moves_is_time_by_bandwidth() {
    for (seed, discipline) in [(1, FIFO), (2, SHARED), (3, FIFO), (4, SHARED)] {
        let mut dice = Dice::new(seed);
        let mut link = Link::new(discipline, 7_777_777);
        let (mut now, mut asked, mut idle, mut ended) = (0, 0, 0, 0);
        let mut tickets = Vec::new();
        let mut given_up = 0;
        for key in 0..2_000 {
            now += dice.exponential(40_000_000);
            while let Some(next) = link.next_ns().filter(|next| *next <= now) {
                link.advance(next);
                while let Some(key) = link.finished() {
                    tickets.retain(|(other, _)| *other != key);
                    ended += 1;
                }
                idle += u128::from(link.len() == 0);
            }
            link.advance(now);
            if dice.below(8) == 0 && !tickets.is_empty() {
                let (_, ticket) = tickets.remove(dice.below(tickets.len() as u64) as usize);
                link.abandon(ticket);
                given_up += 1;
                idle += u128::from(link.len() == 0);
            }
            let bytes = dice.around(300_000);
            asked += bytes;
            tickets.push((key, link.submit(key, bytes)));
        }
        while let Some(next) = link.next_ns() {
            link.advance(next);
            while link.finished().is_some() {
                ended += 1;
            }
            idle += u128::from(link.len() == 0);
        }
        assert!(
            given_up > 20 && ended + given_up == 2_000,
            "{discipline:?}: {given_up}"
        );
        // Less than a nanosecond's work is lost each time it falls idle, and none in between.
        let could = u128::from(link.busy_ns()) * 7_777_777;
        assert!(link.moved_units() <= could, "{discipline:?}");
        assert!(could - link.moved_units() < 7_777_777 * idle, "{discipline:?}");
        assert!(
            link.moved_units() < u128::from(asked) * u128::from(SECOND_NS),
            "{discipline:?}"
        );
    }
}

#[test]
fn what_is_given_up_makes_way() {
    let mut link = Link::new(FIFO, SECOND_NS);
    let tickets: Vec<_> = (0..4).map(|key| link.submit(key, 100)).collect();
    link.advance(30);
    // The second one has not begun; the first one leaves a third of its way.
    assert_eq!(link.abandon(tickets[1]), 0);
    assert_eq!(link.abandon(tickets[0]), 30);
    assert_eq!((link.next_ns(), link.expected_ns(50)), (Some(130), 250));
    link.advance(130);
    assert_eq!((link.finished(), link.finished()), (Some(2), None));
    let mut link = Link::new(SHARED, SECOND_NS);
    let tickets: Vec<_> = (0..4).map(|key| link.submit(key, 100)).collect();
    link.advance(40);
    assert_eq!(link.abandon(tickets[1]), 10);
    // 90 each are left to three; 50 would move beside them in 4 * 50.
    assert_eq!((link.next_ns(), link.expected_ns(50)), (Some(310), 200));
}

#[test]
fn what_is_expected_comes_true_if_nothing_else_comes() {
    for (seed, discipline) in [(5, FIFO), (6, SHARED)] {
        let mut dice = Dice::new(seed);
        for _ in 0..200 {
            let mut link = Link::new(discipline, 1 + dice.below(3 * SECOND_NS));
            for key in 0..dice.below(6) {
                link.submit(key as u32, dice.around(5_000));
            }
            let at = link.next_ns().map_or(0, |next| next / 2);
            link.advance(at);
            let bytes = dice.around(5_000);
            let expected = link.expected_ns(bytes);
            link.submit(99, bytes);
            let end = loop {
                link.advance(link.next_ns().unwrap());
                let mut ended = std::iter::from_fn(|| link.finished());
                if ended.any(|key| key == 99) {
                    break link.now_ns();
                }
            };
            // With shares, what several transfers were told by rounding up may add a nanosecond each.
            assert!(
                u128::from(end - at).abs_diff(expected) <= 6,
                "{discipline:?}: {expected}, {}",
                end - at
            );
        }
    }
}
