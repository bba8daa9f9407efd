//! `ReplicateConfig`: no answer repeats it, but whether it is taken and where the replicas go follows from its fields.

use super::peer::{Peer, as_set};
use super::values::{any_text, id, mounted, text};
use moonquake_protocol::strategies::WireStrategy;
use moonquake_protocol::{
    ErrorCode, ObjectDataType, ObjectMeta, ReplicaDescriptor, ReplicaType, ReplicateConfig, Request,
    Response, Segment, SoftPinAction,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const CASES: usize = 240;
const SEGMENTS: usize = 5;
/// The default of `max_kv_soft_pin_ttl`.
const SOFT_PIN_TTL_MS_MAX: u64 = 86_400_000;

/// Mostly what can be accepted, each field on its own sometimes not.
fn any_config(names: Vec<String>, hosts: Vec<String>) -> BoxedStrategy<ReplicateConfig> {
    let name = prop_oneof![3 => select(names), 1 => any_text()];
    let counts = (
        prop_oneof![1 => Just(0_u64), 12 => 1_u64..8, 1 => Just(65_536)],
        prop_oneof![16 => Just(0_u64), 1 => Just(1), 1 => u64::strategy()],
        prop_oneof![16 => Just(0_u64), 1 => Just(1), 1 => u64::strategy()],
    );
    let soft_pin = prop_oneof![
        4 => (select(SoftPinAction::ALL), Just(None)),
        2 => (Just(SoftPinAction::Enable), (0..=SOFT_PIN_TTL_MS_MAX).prop_map(Some)),
        1 => (
            SoftPinAction::strategy(),
            proptest::option::of(select(&[0, 1, SOFT_PIN_TTL_MS_MAX, SOFT_PIN_TTL_MS_MAX + 1, u64::MAX][..])),
        ),
    ];
    let names = (
        vec(name.clone(), 0..6),
        prop_oneof![3 => Just(String::new()), 1 => name],
        vec(any_text(), 0..3),
    );
    let groups = prop_oneof![
        6 => Just(None),
        3 => text().prop_map(|group| Some(vec![group])),
        1 => vec(any_text(), 0..4).prop_map(Some),
    ];
    let host = prop_oneof![1 => Just(String::new()), 2 => select(hosts), 1 => text()];
    (
        counts,
        soft_pin,
        names,
        groups,
        host,
        any::<[bool; 2]>(),
        ObjectDataType::strategy(),
    )
        .prop_map(
            |(counts, soft_pin, names, group_ids, host_id, flags, data_type)| ReplicateConfig {
                replica_num: counts.0,
                nof_replica_num: counts.1,
                dfs_replica_num: counts.2,
                soft_pin_action: soft_pin.0,
                soft_pin_ttl_ms: soft_pin.1,
                with_hard_pin: flags[0],
                preferred_segments: names.0,
                preferred_segment: names.1,
                preferred_nof_segments: names.2,
                prefer_alloc_in_same_node: flags[1],
                data_type,
                host_id,
                group_ids,
            },
        )
        .boxed()
}

/// A third of them leave it to the hosts where the one replica goes.
fn config(names: Vec<String>, hosts: Vec<String>) -> BoxedStrategy<ReplicateConfig> {
    let any = any_config(names, hosts.clone());
    let by_host = (any.clone(), select(hosts)).prop_map(|(config, host_id)| ReplicateConfig {
        replica_num: 1,
        preferred_segments: Vec::new(),
        preferred_segment: String::new(),
        prefer_alloc_in_same_node: true,
        host_id,
        ..config
    });
    prop_oneof![2 => any, 1 => by_host].boxed()
}

/// The documented answer of PutStart and UpsertStart to a key that does not exist. Mirrors `master_service.cpp:PutStart`.
fn refusal(config: &ReplicateConfig) -> Option<ErrorCode> {
    let soft_pin_is_wrong = match (config.soft_pin_action, config.soft_pin_ttl_ms) {
        (SoftPinAction::Enable, ttl_ms) => ttl_ms.is_some_and(|ttl_ms| ttl_ms > SOFT_PIN_TTL_MS_MAX),
        (SoftPinAction::Preserve | SoftPinAction::Disable, ttl_ms) => ttl_ms.is_some(),
        (SoftPinAction::Unknown(_), _) => true,
    };
    let no_replicas = config.replica_num == 0 && config.nof_replica_num == 0 && config.dfs_replica_num == 0;
    let too_many_dfs = config.dfs_replica_num > 1 || config.dfs_replica_num > 0 && config.replica_num == 0;
    let groups_are_wrong = config.group_ids.as_ref().is_some_and(|groups| groups.len() != 1);
    if no_replicas || too_many_dfs {
        Some(ErrorCode::InvalidParams)
    } else if config.dfs_replica_num > 0 {
        Some(ErrorCode::DfsServiceUnavailable)
    } else if config.nof_replica_num > 0 || soft_pin_is_wrong || groups_are_wrong {
        Some(ErrorCode::InvalidParams)
    } else {
        None
    }
}

/// The segments that are tried first, in their order.
fn preferred<'a>(config: &ReplicateConfig, segments: &'a [Segment]) -> Vec<&'a Segment> {
    let single = vec![config.preferred_segment.clone()];
    let names = if config.preferred_segment.is_empty() {
        &config.preferred_segments
    } else {
        &single
    };
    let mut found: Vec<&Segment> = Vec::new();
    for name in names {
        if let Some(segment) = segments.iter().find(|segment| segment.name == *name)
            && !found.contains(&segment)
        {
            found.push(segment);
        }
    }
    if found.is_empty() && config.replica_num == 1 && config.prefer_alloc_in_same_node {
        // Then the hosts in the order of their bytes, from the writer's own on; every host has one segment here.
        let mut by_host: Vec<&Segment> = segments.iter().collect();
        by_host.sort_by(|a, b| a.host_id.as_bytes().cmp(b.host_id.as_bytes()));
        let first = by_host
            .iter()
            .position(|segment| segment.host_id >= config.host_id)
            .unwrap_or(0);
        if !config.host_id.is_empty() {
            found.push(by_host[first]);
        }
    }
    found
}

fn placed_as_wished(replicas: &[ReplicaDescriptor], config: &ReplicateConfig, segments: &[Segment]) {
    let endpoints: Vec<String> = replicas
        .iter()
        .map(|replica| {
            replica
                .memory_buffer()
                .expect("in memory")
                .transport_endpoint
                .clone()
        })
        .collect();
    as_set(&endpoints);
    let expected = usize::try_from(config.replica_num)
        .expect("small")
        .min(segments.len());
    assert_eq!(endpoints.len(), expected, "{config:?}");
    let wished = preferred(config, segments);
    for (endpoint, segment) in endpoints.iter().zip(wished) {
        assert_eq!(*endpoint, segment.te_endpoint, "{config:?}");
    }
}

/// Each object is started twice: as a put or an upsert, ended or revoked, and then named once more.
pub(crate) fn replicate_config() {
    let mut peer = Peer::start([]);
    let segments: Vec<Segment> = mounted(&mut peer, SEGMENTS)
        .into_iter()
        .map(|(segment, _)| segment)
        .collect();
    let hosts: Vec<String> = segments.iter().map(|segment| segment.host_id.clone()).collect();
    let names = segments.iter().map(|segment| segment.name.clone()).collect();
    let configs = config(names, hosts);
    let (mut accepted, mut refused) = (0, 0);
    for number in 0..CASES {
        let config = peer.draw(&configs);
        let key = format!("{number}{}", peer.draw(&any_text()));
        let (client_id, slice_length, tenant_id) = peer.draw(&(id(), 1..1_u64 << 30, any_text()));
        let upsert = peer.draw(&any::<bool>());
        let start = start(
            upsert,
            client_id,
            key.clone(),
            slice_length,
            config.clone(),
            tenant_id,
        );
        let answer = match peer.call(&start) {
            Response::PutStart(answer) | Response::UpsertStart(answer) => answer,
            other => panic!("{other:?}"),
        };
        assert_eq!(answer.as_ref().err().copied(), refusal(&config), "{start:?}");
        match answer {
            Err(_) => refused += 1,
            Ok(replicas) => {
                accepted += 1;
                placed_as_wished(&replicas, &config, &segments);
                let end = end(&mut peer, upsert, client_id, key);
                peer.accept(&end);
            }
        }
    }
    assert!(
        accepted >= CASES / 3 && refused >= CASES / 8,
        "{accepted} and {refused}"
    );
}

fn start(
    upsert: bool,
    client_id: moonquake_protocol::Uuid,
    key: String,
    slice_length: u64,
    config: ReplicateConfig,
    tenant_id: String,
) -> Request {
    if upsert {
        Request::UpsertStart {
            client_id,
            key,
            slice_length,
            config,
            tenant_id,
        }
    } else {
        Request::PutStart {
            client_id,
            key,
            slice_length,
            config,
            tenant_id,
        }
    }
}

/// Ends or revokes it, in the words of puts or of upserts.
fn end(peer: &mut Peer, upsert: bool, client_id: moonquake_protocol::Uuid, key: String) -> Request {
    let (revoke, object_checksum, tenant_id) =
        peer.draw(&(any::<bool>(), Option::<u64>::strategy(), any_text()));
    let replica_type = ReplicaType::All;
    let object_meta = ObjectMeta {
        key: key.clone(),
        object_checksum,
    };
    match (upsert, revoke) {
        (false, false) => Request::PutEnd {
            client_id,
            object_meta,
            replica_type,
            tenant_id,
        },
        (true, false) => Request::UpsertEnd {
            client_id,
            object_meta,
            replica_type,
            tenant_id,
        },
        (false, true) => Request::PutRevoke {
            client_id,
            key,
            replica_type,
            tenant_id,
        },
        (true, true) => Request::UpsertRevoke {
            client_id,
            key,
            replica_type,
            tenant_id,
        },
    }
}
