//! Keys, lengths, checksums and lists of them.

use super::peer::{Peer, as_map, draw, draws};
use super::values::{
    LENGTHS, any_text, complete, different, id, mounted, put_end, put_start, size_bytes, text, text_of,
};
use moonquake_protocol::strategies::WireStrategy;
use moonquake_protocol::{
    ErrorCode, GetReplicaListResponse, ObjectMeta, ReplicaDescriptor, ReplicaStatus, ReplicaType,
    ReplicateConfig, Request, Response, Segment, Uuid,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

const CLIENTS: usize = 3;
const SHORT_KEYS: usize = 96;
const KEYS_IN_BATCH: usize = 24;
/// Batches of more than 255 entries widen every length of the answer.
const KEYS_ASKED: usize = 300;
const PATTERNS: usize = 24;

/// An object as it was sent, with the replica that was promised for it.
#[derive(Clone)]
struct Sent {
    client_id: Uuid,
    checksum: Option<u64>,
    replica: ReplicaDescriptor,
}

type Objects = BTreeMap<String, Sent>;

/// What is read of an object is what was written of it.
pub(crate) fn keys_lengths_and_checksums() {
    let lease_ttl_ms = draw(&mut draws(), &(1_u64..1 << 40));
    let mut peer = Peer::start([("default_kv_lease_ttl", lease_ttl_ms.to_string())]);
    let (segment, _) = mounted(&mut peer, 1).remove(0);
    let clients: Vec<Uuid> = peer.draw(&vec(id(), CLIENTS));

    let mut objects = Objects::new();
    let short = different(&mut peer, SHORT_KEYS, &text());
    for (number, keys) in short.chunks(KEYS_IN_BATCH).enumerate() {
        if number < 2 {
            one_by_one(&mut peer, &segment, &clients, keys, &mut objects);
        } else {
            batch(
                &mut peer,
                &segment,
                clients[number % CLIENTS],
                keys,
                number % 2 == 0,
                &mut objects,
            );
        }
    }
    patterns(&mut peer, &objects);

    let long: Vec<String> = LENGTHS
        .iter()
        .map(|length| peer.draw(&text_of(*length)))
        .collect();
    let long: Vec<String> = long
        .into_iter()
        .filter(|key| !objects.contains_key(key))
        .collect();
    one_by_one(&mut peer, &segment, &clients, &long, &mut objects);

    cleared(&mut peer, clients[0], &mut objects, lease_ttl_ms);
    read_one_by_one(&mut peer, &objects, lease_ttl_ms);
    read_in_batches(&mut peer, &objects, lease_ttl_ms);
    assert_eq!(matching(&mut peer, ""), all_of(&objects, |_| true));
}

fn one_by_one(peer: &mut Peer, segment: &Segment, clients: &[Uuid], keys: &[String], objects: &mut Objects) {
    for key in keys {
        let (client_id, stranger, size) = peer.draw(&(select(clients.to_vec()), id(), size_bytes()));
        let checksum = peer.draw(&Option::<u64>::strategy());
        let replica = put_start(peer, client_id, key, size, &segment.name);
        well_placed(&replica, size, segment);
        if !clients.contains(&stranger) {
            assert_eq!(
                put_end(peer, stranger, key, checksum),
                -601,
                "the id of the writer"
            );
        }
        assert_eq!(put_end(peer, client_id, key, checksum), 0);
        let replica = complete(replica);
        objects.insert(
            key.clone(),
            Sent {
                client_id,
                checksum,
                replica,
            },
        );
    }
}

/// Starts and ends all of them in one request each, as puts or as upserts.
fn batch(
    peer: &mut Peer,
    segment: &Segment,
    client_id: Uuid,
    keys: &[String],
    upsert: bool,
    objects: &mut Objects,
) {
    let sizes = peer.draw(&vec(size_bytes(), keys.len()));
    let checksums = peer.draw(&vec(Option::<u64>::strategy(), keys.len()));
    let started = start_all(peer, client_id, (keys, &sizes), upsert);
    assert_eq!(started.len(), keys.len());
    end_all(peer, client_id, (keys, &checksums), upsert);
    for (((key, size), checksum), replicas) in keys.iter().zip(sizes).zip(checksums).zip(started) {
        let replicas = replicas.unwrap_or_else(|error| panic!("{error} for {key:?} of {size} bytes"));
        assert_eq!(replicas.len(), 1);
        well_placed(&replicas[0], size, segment);
        let replica = complete(replicas[0].clone());
        objects.insert(
            key.clone(),
            Sent {
                client_id,
                checksum,
                replica,
            },
        );
    }
}

/// What each of several keys was given.
type Started = Vec<Result<Vec<ReplicaDescriptor>, ErrorCode>>;

fn start_all(peer: &mut Peer, client_id: Uuid, (keys, sizes): (&[String], &[u64]), upsert: bool) -> Started {
    let (keys, slice_lengths) = (keys.to_vec(), sizes.to_vec());
    let (config, tenant_id) = (ReplicateConfig::default(), peer.draw(&any_text()));
    let start = if upsert {
        Request::BatchUpsertStart {
            client_id,
            keys,
            slice_lengths,
            config,
            tenant_id,
        }
    } else {
        Request::BatchPutStart {
            client_id,
            keys,
            slice_lengths,
            config,
            tenant_id,
        }
    };
    match peer.call(&start) {
        Response::BatchUpsertStart(started) | Response::BatchPutStart(started) => started,
        other => panic!("{other:?}"),
    }
}

fn end_all(peer: &mut Peer, client_id: Uuid, (keys, checksums): (&[String], &[Option<u64>]), upsert: bool) {
    let meta = |(key, checksum): (&String, &Option<u64>)| ObjectMeta {
        key: key.clone(),
        object_checksum: *checksum,
    };
    let object_metas: Vec<ObjectMeta> = keys.iter().zip(checksums).map(meta).collect();
    let tenant_id = peer.draw(&any_text());
    let end = if upsert {
        Request::BatchUpsertEnd {
            client_id,
            object_metas,
            tenant_id,
        }
    } else {
        Request::BatchPutEnd {
            client_id,
            object_metas,
            replica_type: ReplicaType::All,
            tenant_id,
        }
    };
    match peer.call(&end) {
        Response::BatchUpsertEnd(ended) | Response::BatchPutEnd(ended) => {
            assert_eq!(ended, vec![Ok(()); keys.len()]);
        }
        other => panic!("{other:?}"),
    }
}

/// Length and endpoint are those that were sent, the address lies in the segment.
fn well_placed(replica: &ReplicaDescriptor, size: u64, segment: &Segment) {
    assert_eq!(replica.status, ReplicaStatus::Processing);
    let buffer = replica.memory_buffer().expect("a replica in memory");
    assert_eq!(buffer.size, size);
    assert_eq!(buffer.transport_endpoint, segment.te_endpoint);
    assert_eq!(buffer.protocol, "tcp", "whatever the segment said");
    let offset = buffer
        .buffer_address
        .checked_sub(segment.base)
        .expect("not before the segment");
    assert!(offset + size <= segment.size, "not behind the segment");
}

/// A writer's keys come back, in the order in which they were named, and are gone.
fn cleared(peer: &mut Peer, client_id: Uuid, objects: &mut Objects, lease_ttl_ms: u64) {
    // Those that the patterns have found are leased.
    let clocks = peer.master.clocks();
    peer.master
        .set_clocks(clocks + moonquake_clock::Span::from_ms(lease_ttl_ms));
    let mut keys: Vec<String> = objects.keys().cloned().collect();
    let unknown = different(peer, 8, &text());
    keys.extend(unknown.into_iter().filter(|key| !objects.contains_key(key)));
    let object_keys = peer.draw(&Just(keys).prop_shuffle());
    let own = |key: &String| {
        objects
            .get(key)
            .is_some_and(|object| object.client_id == client_id)
    };
    let expected: Vec<String> = object_keys.iter().filter(|key| own(key)).cloned().collect();
    assert!(expected.len() >= 8, "enough to tell their order");
    let request = Request::BatchReplicaClear {
        object_keys,
        client_id,
        segment_name: String::new(),
    };
    assert_eq!(
        peer.call(&request),
        Response::BatchReplicaClear(Ok(expected.clone()))
    );
    for key in expected {
        objects.remove(&key);
        let request = Request::GetReplicaList {
            key,
            tenant_id: String::new(),
        };
        assert_eq!(peer.code(&request), -704);
    }
}

fn told(object: &Sent, lease_ttl_ms: u64) -> GetReplicaListResponse {
    GetReplicaListResponse {
        replicas: vec![object.replica.clone()],
        lease_ttl_ms,
        object_checksum: object.checksum,
    }
}

fn read_one_by_one(peer: &mut Peer, objects: &Objects, lease_ttl_ms: u64) {
    for (key, object) in objects {
        let (key, tenant_id) = (key.clone(), peer.draw(&any_text()));
        let request = Request::GetReplicaList {
            key: key.clone(),
            tenant_id: tenant_id.clone(),
        };
        let expected = Response::GetReplicaList(Ok(told(object, lease_ttl_ms)));
        assert_eq!(peer.call(&request), expected, "{key:?}");
        let request = Request::ExistKey { key, tenant_id };
        assert_eq!(peer.call(&request), Response::ExistKey(Ok(true)));
    }
}

/// Known and unknown keys in one list, repeatedly and in any order.
fn read_in_batches(peer: &mut Peer, objects: &Objects, lease_ttl_ms: u64) {
    let mut known: Vec<String> = objects.keys().cloned().collect();
    known.extend(different(peer, 30, &any_text()));
    for asked in [1, 255, KEYS_ASKED] {
        let keys = peer.draw(&vec(select(known.clone()), asked));
        let tenant_id = peer.draw(&any_text());
        let exist: Vec<_> = keys.iter().map(|key| Ok(objects.contains_key(key))).collect();
        let request = Request::BatchExistKey {
            keys: keys.clone(),
            tenant_id: tenant_id.clone(),
        };
        assert_eq!(peer.call(&request), Response::BatchExistKey(exist));
        let lists: Vec<_> = keys
            .iter()
            .map(|key| match objects.get(key) {
                Some(object) => Ok(told(object, lease_ttl_ms)),
                None => Err(ErrorCode::ObjectNotFound),
            })
            .collect();
        let request = Request::BatchGetReplicaList { keys, tenant_id };
        assert_eq!(peer.call(&request), Response::BatchGetReplicaList(lists));
    }
}

/// Pieces of keys find exactly the keys in which they occur.
fn patterns(peer: &mut Peer, objects: &Objects) {
    let keys: Vec<String> = objects.keys().cloned().collect();
    for _ in 0..PATTERNS {
        let (key, from, to) = peer.draw(&(
            select(keys.clone()),
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
        ));
        let chars: Vec<char> = key.chars().collect();
        let (from, to) = (from.index(chars.len()), to.index(chars.len()));
        let piece: String = chars[from.min(to)..=from.max(to)].iter().collect();
        let found = matching(peer, &escaped(&piece));
        assert_eq!(found, all_of(objects, |key| key.contains(&piece)), "{piece:?}");
    }
}

fn matching(peer: &mut Peer, regex: &str) -> BTreeMap<String, Vec<ReplicaDescriptor>> {
    let request = Request::GetReplicaListByRegex {
        regex: regex.to_owned(),
        tenant_id: peer.draw(&any_text()),
    };
    match peer.call(&request) {
        Response::GetReplicaListByRegex(Ok(found)) => found,
        other => panic!("{other:?} to {request:?}"),
    }
}

fn all_of(objects: &Objects, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<ReplicaDescriptor>> {
    let entries = objects
        .iter()
        .filter(|(key, _)| wanted(key))
        .map(|(key, object)| (key.clone(), vec![object.replica.clone()]))
        .collect();
    as_map(entries)
}

/// A pattern that means this text.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    for char in text.chars() {
        if r"^$\.*+?()[]{}|".contains(char) {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}
