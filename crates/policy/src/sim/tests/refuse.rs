//! What is refused, and in which words.

use super::{Oldest, ask, cut, small};
use crate::sim::{Capacity, Config, Prefill, SimError, run};
use crate::workload::{Shape, Workload, trace_of};
use crate::{Block, Trace};

fn refused(trace: &Trace, config: &Config) -> SimError {
    run::<Oldest>(trace, config).unwrap_err()
}

#[test]
fn machines_that_nobody_has_are_refused() {
    let trace = cut(&[ask(0, 1, 20, 5)], &small());
    let none = |change: fn(&mut Config), field| {
        let mut config = small();
        change(&mut config);
        assert_eq!(refused(&trace, &config), SimError::Zero { field });
    };
    none(|config| config.servers = 0, "servers");
    none(|config| config.block_tokens = 0, "block_tokens");
    none(|config| config.bytes_per_token = 0, "bytes_per_token");
    none(|config| config.bandwidth_bytes_per_s = 0, "bandwidth_bytes_per_s");
    none(|config| config.slo_ns = 0, "slo_ns");
    none(
        |config| config.prefetch_deadline_ns = Some(0),
        "prefetch_deadline_ns",
    );
}

#[test]
fn caches_without_room_for_a_block_are_refused() {
    let trace = cut(&[ask(0, 1, 20, 5)], &small());
    let none = Config {
        capacity: Capacity::Bytes(9),
        ..small()
    };
    assert_eq!(refused(&trace, &none), SimError::NoBlock { block_bytes: 10 });
    assert_eq!(
        refused(&trace, &none).to_string(),
        "the cache holds no block: one is 10 bytes; give at least one block, or that many bytes"
    );
    assert_eq!(
        Config {
            capacity: Capacity::Bytes(19),
            ..small()
        }
        .capacity_blocks(),
        Ok(1)
    );
    let huge = Config {
        bytes_per_token: u64::MAX,
        capacity: Capacity::Bytes(9),
        ..small()
    };
    assert!(matches!(refused(&trace, &huge), SimError::TooBig { .. }));
}

#[test]
fn absurd_numbers_are_refused_before_they_overflow() {
    let trace = cut(&[ask(0, 1, 20, 5), ask(7, 1, 20, 5)], &small());
    let long = |request| SimError::TooLong { request };
    let prefill = Prefill::Quadratic {
        request_ns: u64::MAX,
        token_ps: u64::MAX,
        pair_ps: u64::MAX,
    };
    assert_eq!(refused(&trace, &Config { prefill, ..small() }), long(0));
    // Half of the time that there is: the second request is too much.
    let prefill = Prefill::Constant { request_ns: 1 << 61 };
    assert_eq!(refused(&trace, &Config { prefill, ..small() }), long(1));
    assert_eq!(
        refused(
            &trace,
            &Config {
                lookup_ns: u64::MAX,
                ..small()
            }
        ),
        long(0)
    );
    assert_eq!(
        refused(
            &trace,
            &Config {
                slo_ns: u64::MAX,
                ..small()
            }
        ),
        long(0)
    );
    assert_eq!(
        refused(
            &trace,
            &Config {
                prefetch_deadline_ns: Some(u64::MAX),
                ..small()
            }
        ),
        long(0)
    );
    assert_eq!(
        refused(
            &trace,
            &Config {
                bytes_per_token: u64::MAX / 10,
                ..small()
            }
        ),
        long(0)
    );
    let mut late = trace.clone();
    late.requests[1].arrival_ns = u64::MAX;
    assert_eq!(refused(&late, &small()), long(1));
    let most = Config {
        prefill: Prefill::Constant {
            request_ns: (1 << 61) - 100,
        },
        ..small()
    };
    assert_eq!(
        run::<Oldest>(&trace, &most).map(|outcome| outcome.requests),
        Ok(2)
    );
}

#[test]
fn traces_that_are_none_are_refused() {
    let trace = cut(&[ask(0, 1, 20, 5), ask(7, 1, 20, 5)], &small());
    let other = Config {
        block_tokens: 11,
        ..small()
    };
    assert_eq!(
        refused(&trace, &other),
        SimError::BlockSize {
            trace: 10,
            config: 11
        }
    );
    let mut bad = trace.clone();
    bad.requests[1].input_tokens = 0;
    assert_eq!(refused(&bad, &small()), SimError::Empty { request: 1 });
    bad.requests[1].input_tokens = 31;
    assert_eq!(
        refused(&bad, &small()),
        SimError::Chain {
            request: 1,
            blocks: 3,
            tokens: 31,
            needs: 4
        }
    );
    let mut bad = trace.clone();
    bad.requests[0].arrival_ns = 8;
    assert_eq!(refused(&bad, &small()), SimError::Order { request: 1 });
    let mut bad = trace.clone();
    bad.references[4] = Block(2);
    assert_eq!(refused(&bad, &small()), SimError::Parent { request: 1, block: 2 });
    bad.references[4] = Block(99);
    assert_eq!(
        refused(&bad, &small()),
        SimError::Parent {
            request: 1,
            block: 99
        }
    );
    let mut bad = trace;
    bad.requests[1].first = 5;
    assert!(matches!(
        refused(&bad, &small()),
        SimError::Chain {
            request: 1,
            blocks: 0,
            ..
        }
    ));
}

#[test]
fn an_empty_trace_has_an_empty_outcome() {
    let outcome = run::<Oldest>(&cut(&[], &small()), &small()).unwrap();
    assert_eq!(
        (outcome.requests, outcome.span_ns, outcome.ttft_ns.len()),
        (0, 0, 0)
    );
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let shape = Workload::Zipf.shape();
    let made = |shape: &Shape| Workload::Zipf.generate(1, shape).map(|_| ());
    assert_eq!(
        made(&Shape {
            prefixes: 0,
            ..shape.clone()
        }),
        Err(SimError::Workload { field: "prefixes" })
    );
    let long = Shape {
        prefix_tokens: u64::MAX,
        block_tokens: 1 << 62,
        ..shape.clone()
    };
    assert!(matches!(made(&long), Err(SimError::Trace(_))));
    let back = trace_of(&[ask(1, 1, 5, 0), ask(0, 1, 5, 0)], 10).map(|_| ());
    assert!(matches!(back, Err(SimError::Trace(_))));
    let many = Shape {
        prefix_tokens: 1 << 50,
        ..shape
    };
    assert!(matches!(
        made(&many),
        Err(SimError::TooMany {
            what: "references",
            ..
        })
    ));
    assert_eq!(
        trace_of(&[ask(0, 1, 0, 0)], 10).map(|_| ()),
        Err(SimError::Empty { request: 0 })
    );
}
