//! Edges of puts and upserts.

use crate::Test;
use crate::pair::{Answer, OTHER, Pair, WRITER, ask, endpoints, on, owner};
use crate::rig::{MIB, tenant};
use crate::same::twin::segment;
use moonquake_clock::{Span, Thread};
use moonquake_protocol::{
    ErrorCode, ReplicaDescriptor, ReplicaType, ReplicateConfig, Segment, SoftPinAction,
};

pub(crate) const TESTS: &[Test] = &[
    (
        "real_edge_a_batch_for_one_node_takes_an_endpoint_for_a_name",
        endpoint_as_name,
    ),
    (
        "real_edge_the_master_takes_two_replicas_for_one_node",
        two_replicas_one_node,
    ),
    ("real_edge_a_batch_starts_a_key_once", key_twice),
    ("real_edge_an_unfinished_put_on_a_dead_segment", dead_segment),
    (
        "real_edge_a_soft_pin_outlives_an_upsert_that_never_ends",
        pin_of_an_upsert,
    ),
];

fn batch(pair: &mut Pair, count: usize, config: &ReplicateConfig) -> Vec<Answer<Vec<ReplicaDescriptor>>> {
    let keys = (0..count).map(|number| format!("k{number}")).collect();
    let (client_id, config, tenant_id) = (WRITER, config.clone(), tenant());
    let slice_lengths = vec![1_024; count];
    ask!(
        pair,
        BatchPutStart {
            client_id,
            keys,
            slice_lengths,
            config,
            tenant_id
        }
    )
}

/// Edge 51, the master's part of it: of a key that a batch names twice the first entry is started and the second one refused, so it is
/// the first value's length that is stored.
fn key_twice() {
    let mut pair = Pair::with_segments(&[16 * MIB]);
    let keys: Vec<String> = ["d", "d", "e"].map(str::to_owned).to_vec();
    let (client_id, config, tenant_id) = (WRITER, ReplicateConfig::default(), tenant());
    let started = ask!(
        pair,
        BatchPutStart {
            client_id,
            keys,
            slice_lengths: vec![1, 2, 3],
            config,
            tenant_id
        }
    );
    let lengths: Vec<Answer<u64>> = started
        .iter()
        .map(|entry| entry.as_ref().map(|all| length(all)).map_err(|code| *code))
        .collect();
    assert_eq!(lengths, [Ok(1), Err(ErrorCode::ObjectAlreadyExists), Ok(3)]);
    assert_eq!(pair.end(WRITER, "d"), Ok(()));
    assert_eq!(pair.end(WRITER, "e"), Ok(()));
    assert_eq!(pair.get("d").map(|all| length(&all)), Ok(1), "the first one");
    assert_eq!(pair.allocated(), 4);
}

fn length(replicas: &[ReplicaDescriptor]) -> u64 {
    let buffers = replicas.iter().filter_map(ReplicaDescriptor::memory_buffer);
    buffers.map(|buffer| buffer.size).sum()
}

fn one_node() -> ReplicateConfig {
    ReplicateConfig {
        prefer_alloc_in_same_node: true,
        ..ReplicateConfig::default()
    }
}

/// The distinct endpoints that the keys of a batch for one node lie at.
fn nodes_of_a_batch(endpoint_is_name: bool) -> usize {
    let mut pair = Pair::with_segments(&[]);
    for number in 0..4 {
        let plain = segment(number, 16 * MIB);
        let segment = Segment {
            te_endpoint: if endpoint_is_name {
                plain.name.clone()
            } else {
                plain.te_endpoint.clone()
            },
            ..plain
        };
        pair.mount(&segment, owner(number)).unwrap();
    }
    let started: Vec<_> = batch(&mut pair, 32, &one_node())
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let mut nodes: Vec<&str> = started.iter().flat_map(|replicas| endpoints(replicas)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

/// Edge 52: all keys follow the first only where an endpoint is a name.
fn endpoint_as_name() {
    assert_eq!(nodes_of_a_batch(true), 1);
    assert!(
        nodes_of_a_batch(false) > 1,
        "the hint names no segment and is passed over"
    );
}

/// Edge 53: the real client refuses this before it asks; the master does not.
fn two_replicas_one_node() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    let config = ReplicateConfig {
        replica_num: 2,
        ..one_node()
    };
    assert_eq!(
        pair.start("k", MIB, &config).map(|replicas| replicas.len()),
        Ok(2)
    );
}

/// Edges 65 and 75: the call that comes right after the unmount finds nothing, whether the clean-up has been there before
/// it or not, and the key can be put at once.
fn dead_segment() {
    for call in 0..4 {
        let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
        pair.start("k", MIB, &on("n0")).unwrap();
        let (segment_id, client_id) = (segment(0, 1).id, owner(0));
        assert_eq!(
            ask!(
                pair,
                UnmountSegment {
                    segment_id,
                    client_id
                }
            ),
            Ok(())
        );
        let cleared = match call {
            0 => pair.end(WRITER, "k"),
            1 => pair.remove("k"),
            2 => {
                let (client_id, key, tenant_id) = (WRITER, "k".to_owned(), tenant());
                let replica_type = ReplicaType::All;
                ask!(
                    pair,
                    PutRevoke {
                        client_id,
                        key,
                        replica_type,
                        tenant_id
                    }
                )
            }
            _ => pair.get("k").map(|_| ()),
        };
        assert_eq!(cleared, Err(ErrorCode::ObjectNotFound));
        assert!(!pair.exist("k"));
        pair.settle();
        assert_eq!(
            pair.start("k", MIB, &on("n1")).map(|replicas| replicas.len()),
            Ok(1)
        );
    }
}

/// Edge 57: the old pin stands while an upsert that wants none is not finished, also across a change of size, and goes
/// at its end.
fn pin_of_an_upsert() {
    let pin = |action| ReplicateConfig {
        soft_pin_action: action,
        ..ReplicateConfig::default()
    };
    for (new_size, ended, survives) in [(MIB, false, true), (2 * MIB, false, true), (MIB, true, false)] {
        // Every round takes whatever is neither pinned nor unfinished.
        let flags = [
            ("eviction_high_watermark_ratio", "0.01"),
            ("eviction_ratio", "1"),
            ("allow_evict_soft_pinned_objects", "false"),
        ];
        let mut pair = Pair::flagged(flags, &[16 * MIB]);
        pair.put("k", MIB, &pin(SoftPinAction::Enable));
        pair.upsert(WRITER, "k", new_size, &pin(SoftPinAction::Disable))
            .unwrap();
        if !ended {
            // Another writer's upsert preempts it and inherits what is still pinned.
            pair.pass(Span::from_secs(1));
            pair.upsert(OTHER, "k", new_size, &ReplicateConfig::default())
                .unwrap();
        }
        pair.end(if ended { WRITER } else { OTHER }, "k").unwrap();
        assert_eq!(pair.keys(), ["k"]);
        pair.tick(Thread::Eviction);
        assert_eq!(pair.keys() == ["k"], survives, "{new_size} {ended}");
    }
}
