//! Random small loads on random machines: what must hold always.

use super::{Config, Witness, cut};
use crate::policies::Kind;
use crate::sim::{Capacity, Decision, Discipline, Observer, Prefill, Queue, Twins, Writes, run_seen};
use crate::workload::{Ask, Dice};
use crate::{Outcome, Trace, with_policy};

fn one<T: Copy>(dice: &mut Dice, of: &[T]) -> T {
    of[dice.below(of.len() as u64) as usize]
}

fn machine(dice: &mut Dice) -> Config {
    let token_ps = dice.around(200_000);
    Config {
        capacity: Capacity::Blocks(dice.around(30)),
        block_tokens: one(dice, &[1, 7, 10, 16]),
        bytes_per_token: one(dice, &[1, 3, 1_000]),
        bandwidth_bytes_per_s: one(dice, &[1_000_000_000, 999_999_937, 50_000_000, 7_000_000_000_000]),
        link: one(dice, &[Discipline::Fifo, Discipline::Shared]),
        writes: one(dice, &[Writes::OwnWay, Writes::SameWay]),
        lookup_ns: one(dice, &[0, 1, 500]),
        prefill: one(
            dice,
            &[
                Prefill::Constant { request_ns: 0 },
                Prefill::Constant { request_ns: 900 },
                Prefill::Linear {
                    request_ns: 3,
                    token_ps,
                },
                Prefill::Quadratic {
                    request_ns: 0,
                    token_ps,
                    pair_ps: 2_500,
                },
            ],
        ),
        servers: dice.around(3),
        queue: one(dice, &[Queue::Fifo, Queue::Shortest, Queue::Deadline]),
        prefetch_deadline_ns: one(dice, &[None, Some(1), Some(300), Some(20_000)]),
        decision: one(
            dice,
            &[
                Decision::Fetch,
                Decision::Faster,
                Decision::Faster,
                Decision::Recompute,
            ],
        ),
        twins: one(dice, &[Twins::Wait, Twins::Twice]),
        slo_ns: 5_000,
    }
}

fn load(dice: &mut Dice, config: &Config) -> Trace {
    let (mut arrival_ns, gap) = (dice.below(1_000), dice.around(4_000));
    let asks: Vec<_> = (0..150)
        .map(|_| {
            arrival_ns += one(dice, &[0, 1]) * dice.exponential(gap);
            let prefix_tokens = one(dice, &[5, 20, 33, 80]);
            let suffix_tokens = one(dice, &[0, 1, 25]);
            Ask {
                arrival_ns,
                namespace: dice.below(2) as u32,
                prefix_id: dice.below(4) as u32,
                prefix_tokens,
                suffix_tokens,
            }
        })
        .collect();
    cut(&asks, config)
}

/// Time integral of what `of` sees, instant by instant.
fn integral(witness: &Witness, of: fn(&crate::sim::Seen) -> u64) -> u128 {
    let pairs = witness.instants.windows(2);
    pairs
        .map(|pair| u128::from(of(&pair[0])) * u128::from(pair[1].now_ns - pair[0].now_ns))
        .sum()
}

fn laws(outcome: &Outcome, witness: &Witness, config: &Config, trace: &Trace) {
    let stories = &witness.stories;
    assert_eq!(stories.len(), trace.requests.len());
    let input: u64 = trace.requests.iter().map(|request| request.input_tokens).sum();
    assert_eq!(outcome.input_tokens, input);
    assert_eq!(outcome.hit_tokens + outcome.computed_tokens, input);
    for story in stories {
        let asked = &trace.requests[story.request as usize];
        assert_eq!(story.hit_tokens + story.computed_tokens, asked.input_tokens);
        assert!(story.computed_tokens > 0);
        assert!(story.ready_ns >= asked.arrival_ns + config.lookup_ns && story.start_ns >= story.ready_ns);
    }
    // Little: the queue over time is the waits, the servers over time are the computations.
    let waits: u128 = stories
        .iter()
        .map(|story| u128::from(story.start_ns - story.ready_ns))
        .sum();
    let work: u64 = stories.iter().map(|story| story.end_ns - story.start_ns).sum();
    assert_eq!(outcome.queue_request_ns, waits);
    assert_eq!(integral(witness, |seen| seen.waiting), waits);
    assert_eq!(outcome.servers_busy_ns, work);
    assert_eq!(integral(witness, |seen| seen.computing), u128::from(work));
    assert_eq!(
        outcome.queue_max,
        witness.instants.iter().map(|seen| seen.waiting).max().unwrap()
    );
    let mut idle = 0;
    for seen in &witness.instants {
        assert!(seen.cached_blocks <= seen.capacity_blocks);
        assert!(seen.computing <= config.servers);
        // No server is free while somebody waits, and nothing is forgotten.
        assert!(seen.waiting == 0 || seen.computing == config.servers);
        assert!(seen.waiting + seen.computing <= seen.inside);
        idle += u128::from(seen.transfers == 0);
        let could = u128::from(seen.link_busy_ns) * u128::from(config.bandwidth_bytes_per_s);
        assert!(seen.link_moved_units <= could);
        if seen.transfers == 0 {
            assert!(could - seen.link_moved_units <= idle * u128::from(config.bandwidth_bytes_per_s));
        }
    }
    let last = witness.instants.last().unwrap();
    assert_eq!((last.inside, last.waiting, last.computing), (0, 0, 0));
    let most = (outcome.hit_tokens + outcome.passed_by_tokens + trace.requests.len() as u64)
        * config.bytes_per_token;
    assert!(outcome.fetched_bytes <= most);
    assert!(outcome.link_busy_ns <= outcome.span_ns);
    assert!(outcome.ttft_ns.is_sorted());
    let within = outcome
        .ttft_ns
        .iter()
        .filter(|ttft| **ttft <= config.slo_ns)
        .count();
    assert_eq!(outcome.within_slo, within as u64);
}

#[test]
fn the_laws_hold_for_every_policy_on_every_machine() {
    let (mut hit, mut passed, mut waited, mut evicted) = (0, 0, 0, 0);
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let config = machine(&mut dice);
        let trace = load(&mut dice, &config);
        for kind in Kind::ALL {
            let mut witness = Witness::default();
            let outcome = with_policy!(kind, P => run_seen::<P, _>(&trace, &config, &mut witness)).unwrap();
            laws(&outcome, &witness, &config, &trace);
            // Seen or not, it is the same run.
            assert_eq!(crate::sim::run_kind(kind, &trace, &config), Ok(outcome.clone()));
            hit += u64::from(outcome.hit_tokens > 0);
            passed += u64::from(outcome.passed_by_tokens > 0);
            waited += u64::from(outcome.queue_max > 0);
            let last = witness.instants.last().unwrap();
            evicted += u64::from(last.cached_blocks == last.capacity_blocks);
        }
    }
    // The laws were asked where they could have been broken.
    assert!(
        hit > 500 && passed > 600 && waited > 900 && evicted > 900,
        "{hit} {passed} {waited} {evicted}"
    );
}

#[test]
fn the_witness_asks_for_the_audit() {
    const { assert!(Witness::AUDITS && !<() as Observer>::AUDITS) };
}
