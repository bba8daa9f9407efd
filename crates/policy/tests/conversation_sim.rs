//! The public conversation trace through the full simulation.

mod conversation;

use conversation::conversation;
use moonquake_policy::policies::Kind;
use moonquake_policy::sim::{Capacity, Config, Load, SimError, sweep};
use moonquake_policy::trace::{Reading, Ticks, read};

#[test]
fn every_token_of_the_conversation_trace_is_hit_or_computed() {
    let Some(path) = conversation() else { return };
    let make = |seed| {
        read(
            &path,
            &Reading {
                ticks: Ticks::Spread { seed },
                ..Reading::default()
            },
        )
        .map_err(SimError::from)
    };
    let load = Load {
        name: "conversation",
        make: &make,
    };
    let with = |kind, blocks| {
        (
            kind,
            Config {
                capacity: Capacity::Blocks(blocks),
                ..Config::default()
            },
        )
    };
    let mut runs: Vec<_> = Kind::ALL.map(|kind| with(kind, 10_000)).into();
    runs.push(with(Kind::Lru, 200_000));
    let one = sweep(&load, &runs, &[1, 2], 1).unwrap();
    assert_eq!(one, sweep(&load, &runs, &[1, 2], 2).unwrap());
    let all = one.last().unwrap().hit_tokens;
    for outcome in &one {
        assert_eq!(outcome.requests, 12_031);
        assert_eq!(outcome.input_tokens, 144_793_823);
        assert_eq!(outcome.hit_tokens + outcome.computed_tokens, outcome.input_tokens);
        // A cache that holds everything hits most; nothing was passed by on a link that is never late.
        assert!(outcome.hit_tokens > 0 && outcome.hit_tokens <= all);
        assert_eq!(outcome.passed_by_tokens, 0);
    }
    // 105,710 references are hits without a bound, of 512 tokens at most, and each whole prompt leaves one token.
    assert!(all <= 105_710 * 512 && all > 50_000_000, "{all}");
}
