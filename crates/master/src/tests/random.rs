//! Random requests: nothing panics, every byte is accounted for, and the same history gives the same answers.

use super::harness::*;
use crate::{Master, MasterConfig};
use moonquake_clock::{Span, Thread};
use moonquake_faults::Profile;
use moonquake_protocol::{
    ObjectMeta, ReplicaType, ReplicateConfig, Request, Response, Segment, SoftPinAction, Uuid,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    Request(Box<Request>, Vec<Option<u64>>),
    Tick(Thread),
    Settle,
    Pass(Span),
}

fn key() -> impl Strategy<Value = String> {
    (0..12_u8).prop_map(|number| {
        if number == 0 {
            String::new()
        } else {
            format!("key_{number}")
        }
    })
}

fn keys() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(key(), 0..4)
}

fn id() -> impl Strategy<Value = Uuid> {
    (0..3_u64).prop_map(client)
}

fn a_segment() -> impl Strategy<Value = Segment> {
    (0..4_usize, 0..3_u64, 0..3_usize).prop_map(|(name, size, host)| Segment {
        host_id: ["", "h1", "h2"][host].to_owned(),
        ..segment(["a", "b", "c", "d"][name], size * MIB)
    })
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..5_000_u64, MIB / 4..2 * MIB, Just(u64::MAX)]
}

fn config() -> impl Strategy<Value = ReplicateConfig> {
    (0..4_u64, 0..3_u8, 0..3_usize, any::<(bool, bool)>(), 0..3_usize).prop_map(
        |(replica_num, pin, group, (hard, near), name)| ReplicateConfig {
            replica_num,
            soft_pin_action: SoftPinAction::from_value(pin),
            with_hard_pin: hard,
            prefer_alloc_in_same_node: near,
            host_id: if near { "h1".to_owned() } else { String::new() },
            preferred_segment: ["", "b", "nowhere"][name].to_owned(),
            group_ids: [None, Some(vec!["g".to_owned()]), Some(vec![String::new()])][group].clone(),
            ..ReplicateConfig::default()
        },
    )
}

fn kind() -> impl Strategy<Value = ReplicaType> {
    prop_oneof![4 => Just(ReplicaType::All), 1 => (0..6).prop_map(ReplicaType::from_value)]
}

fn writes() -> impl Strategy<Value = Request> {
    let tenant_id = String::new();
    prop_oneof![
        4 => (id(), key(), size(), config()).prop_map(|(client_id, key, slice_length, config)| Request::PutStart {
            client_id, key, slice_length, config, tenant_id: String::new() }),
        4 => (id(), key(), kind()).prop_map(|(client_id, key, replica_type)| Request::PutEnd {
            client_id, object_meta: ObjectMeta { key, object_checksum: None }, replica_type, tenant_id: String::new() }),
        2 => (id(), key(), kind()).prop_map(|(client_id, key, replica_type)| Request::PutRevoke {
            client_id, key, replica_type, tenant_id: String::new() }),
        2 => (id(), key(), size(), config()).prop_map(|(client_id, key, slice_length, config)| Request::UpsertStart {
            client_id, key, slice_length, config, tenant_id: String::new() }),
        1 => (id(), keys(), prop::collection::vec(size(), 0..4), config()).prop_map(
            |(client_id, keys, slice_lengths, config)| Request::BatchPutStart {
                client_id, keys, slice_lengths, config, tenant_id: String::new() }),
        2 => (key(), any::<bool>()).prop_map(|(key, force)| Request::Remove { key, force, tenant_id: String::new() }),
        1 => (keys(), any::<bool>()).prop_map(
            |(keys, force)| Request::BatchRemove { keys, force, tenant_id: String::new() }),
        1 => any::<bool>().prop_map(move |force| Request::RemoveAll { force, tenant_id: tenant_id.clone() }),
        1 => (keys(), id(), 0..2_usize).prop_map(|(object_keys, client_id, name)| Request::BatchReplicaClear {
            object_keys, client_id, segment_name: ["", "a"][name].to_owned() }),
    ]
}

fn others() -> impl Strategy<Value = Request> {
    prop_oneof![
        3 => key().prop_map(|key| Request::GetReplicaList { key, tenant_id: String::new() }),
        1 => keys().prop_map(|keys| Request::BatchGetReplicaList { keys, tenant_id: String::new() }),
        1 => keys().prop_map(|keys| Request::BatchExistKey { keys, tenant_id: String::new() }),
        2 => (a_segment(), id()).prop_map(|(segment, client_id)| Request::MountSegment { segment, client_id }),
        1 => (a_segment(), id()).prop_map(|(segment, client_id)| Request::UnmountSegment {
            segment_id: segment.id, client_id }),
        1 => (prop::collection::vec(a_segment(), 0..3), id()).prop_map(
            |(segments, client_id)| Request::ReMountSegment { segments, client_id }),
        1 => (a_segment(), id(), 0..20_000_u64).prop_map(
            |(segment, client_id, grace_period_ms)| Request::GracefulUnmountSegment {
                segment_id: segment.id, client_id, grace_period_ms }),
        1 => id().prop_map(|client_id| Request::Ping { client_id }),
        1 => (id(), key(), 0..4_usize, 0..4_usize).prop_map(|(client_id, key, from, to)| Request::CopyStart {
            client_id, key, tenant_id: String::new(), src_segment: ["a", "b", "c", "d"][from].to_owned(),
            tgt_segments: vec![["a", "b", "c", "d"][to].to_owned()] }),
        1 => (id(), key()).prop_map(|(client_id, key)| Request::CopyEnd { client_id, key, tenant_id: String::new() }),
        1 => (id(), key()).prop_map(|(client_id, key)| Request::MoveRevoke { client_id, key, tenant_id: String::new() }),
        1 => (id(), key(), 0..4_usize, 0..4_usize).prop_map(|(client_id, key, from, to)| Request::MoveStart {
            client_id, key, tenant_id: String::new(), src_segment: ["a", "b", "c", "d"][from].to_owned(),
            tgt_segment: ["a", "b", "c", "d"][to].to_owned() }),
        1 => (id(), key()).prop_map(|(client_id, key)| Request::MoveEnd { client_id, key, tenant_id: String::new() }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let fences = prop::collection::vec(prop::option::of(0..40_u64), 0..3);
    prop_oneof![
        6 => (writes(), fences).prop_map(|(request, fences)| Event::Request(Box::new(request), fences)),
        4 => others().prop_map(|request| Event::Request(Box::new(request), Vec::new())),
        2 => (0..4_usize).prop_map(|thread| Event::Tick(Thread::ALL[thread])),
        1 => Just(Event::Settle),
        2 => prop_oneof![1..20_000_000_000_u64, 1..900_000_000_000_u64].prop_map(|ns| Event::Pass(Span::from_ns(ns))),
    ]
}

/// Every requested byte belongs to a replica of an object or of the quarantine, and no two replicas overlap.
fn assert_accounted(master: &Master) {
    let objects = master.objects.iter().flat_map(|(_, object)| &object.replicas);
    let kept = master.quarantined.iter().flat_map(|entry| &entry.replicas);
    let live: Vec<_> = objects
        .chain(kept)
        .filter(|replica| master.segments.is_live(replica))
        .collect();
    let sum: u64 = live.iter().map(|replica| replica.size_bytes).sum();
    assert_eq!(master.view().allocated_bytes, sum);
    let mut ranges: Vec<_> = live
        .iter()
        .map(|replica| (replica.mount, replica.allocation.offset, replica.size_bytes))
        .collect();
    ranges.sort();
    for pair in ranges.windows(2) {
        let ((mount, offset, size), (next_mount, next, _)) = (pair[0], pair[1]);
        assert!(mount != next_mount || offset + size <= next, "{pair:?} overlap");
    }
    for (key, object) in master.objects.iter() {
        let listed = master
            .objects
            .writing_in_shard(master.objects.shard_of(key))
            .contains(&master.objects.find(key).unwrap());
        assert_eq!(listed, object.writing, "{key}");
        assert!(!object.replicas.is_empty(), "{key} has no replica at all");
    }
    for key in master.copies.keys() {
        assert!(
            master.objects.get(key).is_some(),
            "a copy of {key}, which is absent"
        );
    }
}

fn play(profile: Profile, seed: u64, events: &[Event]) -> Vec<Response> {
    let config = MasterConfig {
        quirks: profile.quirks(),
        placement_seed: seed,
        ..MasterConfig::default()
    };
    let mut master = Master::new(config, START).unwrap();
    let mut now = START;
    let mut answers = Vec::new();
    for event in events {
        match event {
            Event::Request(request, fences) => answers.push(master.handle(now, request, fences)),
            Event::Tick(thread) => master.tick(now, *thread),
            Event::Settle => master.settle_cleanup(),
            Event::Pass(span) => now = now + *span,
        }
        assert_accounted(&master);
    }
    for (answer, request) in answers.iter().zip(events.iter().filter_map(|event| match event {
        Event::Request(request, _) => Some(request),
        _ => None,
    })) {
        assert_eq!(answer.rpc(), request.rpc());
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_accounted_and_repeats(
        strict in any::<bool>(),
        seed in any::<u64>(),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let profile = if strict { Profile::Strict } else { Profile::Upstream };
        prop_assert_eq!(play(profile, seed, &events), play(profile, seed, &events));
    }
}
