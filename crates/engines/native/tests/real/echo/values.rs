//! The values that are sent, and the requests they are sent in.

use super::peer::Peer;
use moonquake_protocol::strategies::WireStrategy;
use moonquake_protocol::{
    ObjectMeta, ReplicaDescriptor, ReplicaType, ReplicateConfig, Request, Response, Segment, Uuid,
};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

/// On both sides of every change of the width of lengths that a peer can be made to send, and beyond.
pub(crate) const LENGTHS: [usize; 6] = [1, 255, 256, 65_535, 65_536, 102_400];
/// Segments of this length hold every object of a test, and no length of an object is then refused.
pub(crate) const SEGMENT_BYTES: u64 = 1 << 60;
const OBJECT_BYTES_MAX: u64 = 1 << 50;

pub(crate) fn id() -> BoxedStrategy<Uuid> {
    Uuid::strategy()
}

/// Any text, empty ones included.
pub(crate) fn any_text() -> BoxedStrategy<String> {
    String::strategy()
}

/// Any text that is not empty.
pub(crate) fn text() -> BoxedStrategy<String> {
    String::strategy()
        .prop_filter("empty", |text| !text.is_empty())
        .boxed()
}

/// Texts of exactly that many bytes, with characters of every width.
pub(crate) fn text_of(length: usize) -> BoxedStrategy<String> {
    proptest::collection::vec(any::<char>(), 1..40)
        .prop_map(move |chars| {
            let mut text = String::with_capacity(length);
            for &char in chars.iter().cycle() {
                if text.len() + char.len_utf8() > length {
                    break;
                }
                text.push(char);
            }
            while text.len() < length {
                text.push('x');
            }
            text
        })
        .boxed()
}

/// Different texts, `count` of them.
pub(crate) fn different(peer: &mut Peer, count: usize, texts: &BoxedStrategy<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut drawn = Vec::new();
    while drawn.len() < count {
        let text = peer.draw(texts);
        if seen.insert(text.clone()) {
            drawn.push(text);
        }
    }
    drawn
}

pub(crate) fn size_bytes() -> BoxedStrategy<u64> {
    prop_oneof![
        1..=OBJECT_BYTES_MAX,
        1..=4_096_u64,
        select(
            &[
                1_u64,
                255,
                256,
                65_535,
                65_536,
                0xffff_ffff,
                0x1_0000_0000,
                OBJECT_BYTES_MAX
            ][..]
        ),
    ]
    .boxed()
}

/// A segment with every field drawn, `SEGMENT_BYTES` long.
pub(crate) fn segment() -> BoxedStrategy<Segment> {
    (id(), text(), 1..1_u64 << 62, (text(), any_text(), any_text()))
        .prop_map(|(id, name, base, (te_endpoint, protocol, host_id))| Segment {
            id,
            name,
            base,
            size: SEGMENT_BYTES,
            te_endpoint,
            protocol,
            host_id,
        })
        .boxed()
}

/// Different ids: those that are drawn have edges, which repeat.
pub(crate) fn different_ids(peer: &mut Peer, count: usize) -> Vec<Uuid> {
    let mut drawn = Vec::new();
    while drawn.len() < count {
        let id = peer.draw(&id());
        if !drawn.contains(&id) {
            drawn.push(id);
        }
    }
    drawn
}

/// Segments with different ids, names, endpoints and hosts, each mounted by a client of its own.
pub(crate) fn mounted(peer: &mut Peer, count: usize) -> Vec<(Segment, Uuid)> {
    let mut texts = different(peer, 3 * count, &text()).into_iter();
    let mut ids = different_ids(peer, 2 * count).into_iter();
    let mut next_text = move || texts.next().expect("enough texts");
    let mut next_id = move || ids.next().expect("enough ids");
    let mut mounted = Vec::new();
    for _ in 0..count {
        let segment = Segment {
            id: next_id(),
            name: next_text(),
            te_endpoint: next_text(),
            host_id: next_text(),
            ..peer.draw(&segment())
        };
        let client_id = next_id();
        peer.accept(&Request::MountSegment {
            segment: segment.clone(),
            client_id,
        });
        mounted.push((segment, client_id));
    }
    mounted
}

/// A write by `client_id` into the segment of that name.
pub(crate) fn put_start(
    peer: &mut Peer,
    client_id: Uuid,
    key: &str,
    size: u64,
    segment: &str,
) -> ReplicaDescriptor {
    let request = Request::PutStart {
        client_id,
        key: key.to_owned(),
        slice_length: size,
        config: ReplicateConfig {
            preferred_segment: segment.to_owned(),
            ..ReplicateConfig::default()
        },
        tenant_id: peer.draw(&any_text()),
    };
    match peer.call(&request) {
        Response::PutStart(Ok(replicas)) => {
            let [replica] = <[ReplicaDescriptor; 1]>::try_from(replicas).expect("one replica");
            replica
        }
        other => panic!("{other:?} to {request:?}"),
    }
}

pub(crate) fn put_end(peer: &mut Peer, client_id: Uuid, key: &str, object_checksum: Option<u64>) -> i32 {
    let request = Request::PutEnd {
        client_id,
        object_meta: ObjectMeta {
            key: key.to_owned(),
            object_checksum,
        },
        replica_type: peer.draw(&select(&[ReplicaType::Memory, ReplicaType::All][..])),
        tenant_id: peer.draw(&any_text()),
    };
    peer.code(&request)
}

/// What the master keeps of a write that ended.
pub(crate) fn put(peer: &mut Peer, key: &str, segment: &str) -> ReplicaDescriptor {
    let (client_id, size) = peer.draw(&(id(), size_bytes()));
    let replica = put_start(peer, client_id, key, size, segment);
    assert_eq!(put_end(peer, client_id, key, None), 0, "{key:?}");
    complete(replica)
}

pub(crate) fn complete(replica: ReplicaDescriptor) -> ReplicaDescriptor {
    ReplicaDescriptor {
        status: moonquake_protocol::ReplicaStatus::Complete,
        ..replica
    }
}

pub(crate) fn replicas_of(peer: &mut Peer, key: &str) -> Vec<ReplicaDescriptor> {
    let request = Request::GetReplicaList {
        key: key.to_owned(),
        tenant_id: peer.draw(&any_text()),
    };
    match peer.call(&request) {
        Response::GetReplicaList(Ok(list)) => list.replicas,
        other => panic!("{other:?} to {request:?}"),
    }
}
