//! Small loads, each instant of which was worked out by hand.

use super::{ask, ends, small, told};
use crate::sim::{Capacity, Config, Decision, Discipline, Prefill, Queue, Twins, Writes};

#[test]
fn a_fetched_prefix_takes_a_lookup_a_transfer_and_the_rest_of_the_prompt() {
    // 25 tokens from 5 on; then 20 bytes from 10,005 on and 5 tokens.
    let (outcome, stories) = told(&[ask(0, 1, 20, 5), ask(10_000, 1, 20, 5)], &small());
    assert_eq!(stories[0].end_ns, 2_505);
    assert_eq!((stories[1].ready_ns, stories[1].end_ns), (10_025, 10_525));
    assert_eq!(
        (outcome.hit_tokens, outcome.computed_tokens, outcome.input_tokens),
        (20, 30, 50)
    );
    assert_eq!((outcome.fetched_bytes, outcome.stored_bytes), (20, 30));
    assert_eq!(
        (outcome.link_busy_ns, outcome.servers_busy_ns, outcome.span_ns),
        (20, 3_000, 10_525)
    );
    assert_eq!(outcome.ttft_ns, [525, 2_505]);
    assert_eq!(outcome.within_slo, 2);
}

#[test]
fn one_token_of_a_prompt_that_is_cached_as_a_whole_is_computed() {
    // All 25 bytes move, 24 tokens are saved, and the last block is shared although it is not full.
    let (outcome, stories) = told(&[ask(0, 1, 25, 0), ask(10_000, 1, 25, 0)], &small());
    assert_eq!((stories[1].hit_tokens, stories[1].computed_tokens), (24, 1));
    assert_eq!(stories[1].end_ns, 10_000 + 5 + 25 + 100);
    assert_eq!(
        (
            outcome.fetched_bytes,
            outcome.stored_bytes,
            outcome.passed_by_tokens
        ),
        (25, 25, 0)
    );
    // Nothing is fetched where nothing can be saved.
    let (outcome, stories) = told(&[ask(0, 1, 1, 0), ask(10_000, 1, 1, 0)], &small());
    assert_eq!((stories[1].end_ns, outcome.fetched_bytes), (10_105, 0));
}

#[test]
fn twins_wait_for_one_another_or_compute_twice() {
    let asks = [ask(0, 1, 20, 5), ask(10, 1, 20, 5)];
    let with = |twins, servers| Config {
        twins,
        servers,
        ..small()
    };
    // The second waits until 2,505, fetches 20 bytes and computes 5 tokens.
    assert_eq!(ends(&asks, &with(Twins::Wait, 2)), [2_505, 3_025]);
    assert_eq!(ends(&asks, &with(Twins::Wait, 1)), [2_505, 3_025]);
    // It computes all 25 at once on the other server, or after the first one on the same.
    assert_eq!(ends(&asks, &with(Twins::Twice, 2)), [2_505, 2_515]);
    assert_eq!(ends(&asks, &with(Twins::Twice, 1)), [2_505, 5_005]);
    for (twins, hits, fetched) in [(Twins::Wait, 20, 20), (Twins::Twice, 0, 0)] {
        let (outcome, _) = told(&asks, &with(twins, 2));
        assert_eq!(
            (outcome.hit_tokens, outcome.fetched_bytes),
            (hits, fetched),
            "{twins:?}"
        );
        // Whoever comes second stores its own suffix only.
        assert_eq!(outcome.stored_bytes, 30, "{twins:?}");
    }
}

#[test]
fn who_waited_in_vain_computes_itself_and_is_waited_for() {
    // One block fits: the first request stores its prefix block, but the suffix finds no room. Both others hit that.
    let config = Config {
        capacity: Capacity::Blocks(1),
        ..small()
    };
    let (outcome, stories) = told(&[ask(0, 1, 20, 0), ask(10, 1, 20, 0), ask(20, 1, 20, 0)], &config);
    // 2,005; then 10 bytes, and 10 tokens from 2,015 on. The third waits a second time, until 3,015.
    let times: Vec<_> = stories
        .iter()
        .map(|story| (story.ready_ns, story.end_ns))
        .collect();
    assert_eq!(times, [(5, 2_005), (2_015, 3_015), (3_025, 4_025)]);
    assert_eq!(outcome.stored_bytes, 10);
}

/// A prefix of 40 is cached; then two requests want it at the same instant.
fn two_fetches(config: &Config) -> (crate::Outcome, Vec<u64>) {
    let asks = [ask(0, 1, 40, 5), ask(10_000, 1, 40, 5), ask(10_000, 1, 40, 5)];
    let (outcome, stories) = told(&asks, config);
    (outcome, stories[1..].iter().map(|story| story.ready_ns).collect())
}

#[test]
fn fetches_share_the_link_or_follow_each_other() {
    let with = |link| Config { link, ..small() };
    assert_eq!(two_fetches(&with(Discipline::Fifo)).1, [10_045, 10_085]);
    assert_eq!(two_fetches(&with(Discipline::Shared)).1, [10_085, 10_085]);
}

#[test]
fn a_fetch_is_in_time_at_its_deadline_and_given_up_a_nanosecond_before() {
    let with = |link, ns| Config {
        link,
        prefetch_deadline_ns: Some(ns),
        ..small()
    };
    // First in, first out: the second one would be there after 80 ns. What it had moved counts.
    for (deadline, ready, fetched, passed) in [
        (81, 10_085, 80, 0),
        (80, 10_085, 80, 0),
        (79, 10_084, 79, 40),
        (50, 10_055, 50, 40),
        (40, 10_045, 40, 40),
    ] {
        let (outcome, times) = two_fetches(&with(Discipline::Fifo, deadline));
        assert_eq!(times, [10_045, ready], "{deadline}");
        assert_eq!(
            (outcome.fetched_bytes, outcome.passed_by_tokens),
            (fetched, passed),
            "{deadline}"
        );
        assert_eq!(outcome.hit_tokens + passed, 80, "{deadline}");
    }
    // Shared: both come too late, each with half of 79 bytes, or with half of one less.
    let (outcome, times) = two_fetches(&with(Discipline::Shared, 79));
    assert_eq!(
        (times, outcome.fetched_bytes, outcome.hit_tokens),
        (vec![10_084, 10_084], 78, 0)
    );
    let (outcome, times) = two_fetches(&with(Discipline::Shared, 80));
    assert_eq!(
        (times, outcome.fetched_bytes, outcome.hit_tokens),
        (vec![10_085, 10_085], 80, 80)
    );
}

#[test]
fn servers_take_the_first_the_shortest_or_the_most_urgent() {
    let with = |queue| Config {
        queue,
        lookup_ns: 0,
        ..small()
    };
    let asks = [ask(0, 1, 100, 0), ask(1, 2, 50, 0), ask(2, 3, 10, 0)];
    assert_eq!(ends(&asks, &with(Queue::Fifo)), [10_000, 15_000, 16_000]);
    assert_eq!(ends(&asks, &with(Queue::Shortest)), [10_000, 16_000, 11_000]);
    // The third one arrives first and is ready last, after a fetch.
    let asks = [
        ask(0, 1, 20, 1),
        ask(5_000, 2, 100, 0),
        ask(6_000, 1, 20, 30),
        ask(6_010, 3, 10, 0),
    ];
    assert_eq!(ends(&asks, &with(Queue::Fifo)), [2_100, 15_000, 19_000, 16_000]);
    assert_eq!(
        ends(&asks, &with(Queue::Deadline)),
        [2_100, 15_000, 18_000, 19_000]
    );
    // What counts for the shortest is what is left to compute: 30 of 50 against 35.
    let asks = [
        ask(0, 1, 20, 1),
        ask(5_000, 2, 100, 0),
        ask(6_000, 3, 35, 0),
        ask(6_010, 1, 20, 30),
    ];
    assert_eq!(
        ends(&asks, &with(Queue::Shortest)),
        [2_100, 15_000, 21_500, 18_000]
    );
}

#[test]
fn the_queue_is_what_waits_for_a_server() {
    let (outcome, _) = told(
        &[ask(0, 1, 100, 0), ask(1, 2, 50, 0), ask(2, 3, 10, 0)],
        &Config {
            lookup_ns: 0,
            ..small()
        },
    );
    // The second one from 1 to 10,000, the third one from 2 to 15,000.
    assert_eq!((outcome.queue_max, outcome.queue_request_ns), (2, 9_999 + 14_998));
}

#[test]
fn prefill_costs_what_its_formula_says() {
    let quadratic = Prefill::Quadratic {
        request_ns: 7,
        token_ps: 1_000,
        pair_ps: 2_000,
    };
    // 3 tokens after 10: 30 pairs with what was there and 1 + 2 + 3 among themselves.
    assert_eq!(quadratic.ns(3, 10), 7 + 3 + 2 * 36);
    assert_eq!(quadratic.ns(10, 0) + quadratic.ns(3, 10) - 7, quadratic.ns(13, 0));
    assert_eq!(
        Prefill::Linear {
            request_ns: 7,
            token_ps: 1_500
        }
        .ns(3, 10),
        7 + 5
    );
    assert_eq!(Prefill::Constant { request_ns: 7 }.ns(3, 10), 7);
    // 20 of 25 tokens are there, with a microsecond per pair.
    let prefill = Prefill::Quadratic {
        request_ns: 0,
        token_ps: 0,
        pair_ps: 1_000_000,
    };
    let asks = [ask(0, 1, 20, 5), ask(1_000_000, 1, 20, 5)];
    assert_eq!(
        ends(&asks, &Config { prefill, ..small() }),
        [5 + 325_000, 1_000_025 + 115_000]
    );
}

#[test]
fn what_is_faster_depends_on_what_is_on_the_link() {
    let asks = [
        ask(0, 1, 40, 5),
        ask(10_000, 1, 40, 5),
        ask(10_000, 1, 40, 5),
        ask(10_000, 1, 40, 5),
    ];
    let with = |token_ps, link| Config {
        prefill: Prefill::Linear {
            request_ns: 0,
            token_ps,
        },
        decision: Decision::Faster,
        servers: 4,
        link,
        ..small()
    };
    // 40 tokens cost 80 ns: the first fetch takes 40 of them, the second one all, a third one would take 120.
    let (outcome, stories) = told(&asks, &with(2_000, Discipline::Fifo));
    let hits: Vec<_> = stories.iter().map(|story| story.hit_tokens).collect();
    assert_eq!((hits, outcome.passed_by_tokens), (vec![0, 40, 40, 0], 40));
    // A picosecond less per token, and the second one is slower by what 40 tokens make of it.
    let (outcome, _) = told(&asks, &with(1_950, Discipline::Fifo));
    assert_eq!((outcome.hit_tokens, outcome.passed_by_tokens), (40, 80));
    let (outcome, _) = told(&asks, &with(2_000, Discipline::Shared));
    assert_eq!((outcome.hit_tokens, outcome.passed_by_tokens), (80, 40));
    // Nothing is fetched that would be given up.
    let config = Config {
        prefetch_deadline_ns: Some(79),
        ..with(2_000, Discipline::Fifo)
    };
    assert_eq!(told(&asks, &config).0.hit_tokens, 40);
    // Never is never, and nobody waits for what it would not fetch.
    let config = Config {
        decision: Decision::Recompute,
        ..small()
    };
    let (outcome, _) = told(
        &[ask(0, 1, 20, 5), ask(10, 1, 20, 5), ask(9_000, 1, 20, 5)],
        &config,
    );
    assert_eq!(
        (
            outcome.hit_tokens,
            outcome.passed_by_tokens,
            outcome.fetched_bytes
        ),
        (0, 20, 0)
    );
    assert_eq!(outcome.ttft_ns, [2_505, 2_505, 4_995]);
}

#[test]
fn writes_delay_reads_only_where_they_go_the_same_way() {
    // The second one stores 100 bytes at 20,005, when the third one asks for 20.
    let asks = [ask(0, 1, 20, 5), ask(10_000, 2, 100, 0), ask(20_000, 1, 20, 5)];
    let with = |writes| Config { writes, ..small() };
    assert_eq!(told(&asks, &with(Writes::OwnWay)).1[2].ready_ns, 20_025);
    let (outcome, stories) = told(&asks, &with(Writes::SameWay));
    assert_eq!(stories[2].ready_ns, 20_125);
    assert_eq!(
        (outcome.link_busy_ns, outcome.fetched_bytes, outcome.stored_bytes),
        (25 + 120, 20, 130)
    );
}

#[test]
fn a_block_in_use_stays_and_what_finds_no_room_is_not_stored() {
    // Room for three: the prefix of two and a suffix. While the second request computes behind the prefix, the third one,
    // which has three blocks of its own, gets the place of the first one's suffix and no other.
    let config = Config {
        capacity: Capacity::Blocks(3),
        servers: 2,
        ..small()
    };
    let asks = [
        ask(0, 1, 20, 5),
        ask(10_000, 1, 20, 50),
        ask(10_001, 2, 30, 0),
        ask(30_000, 2, 30, 0),
    ];
    let (outcome, stories) = told(&asks, &config);
    assert_eq!(stories[2].end_ns, 13_006);
    // 25 and 10; the second one finds no leaf but that block, which goes for the first of its five; the fourth one has
    // nothing left, and takes all three places.
    assert_eq!((stories[1].hit_tokens, stories[3].hit_tokens), (20, 0));
    assert_eq!(outcome.stored_bytes, 25 + 10 + 10 + 30);
}
