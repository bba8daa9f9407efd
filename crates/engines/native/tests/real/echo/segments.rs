//! Segments: what is mounted is what is found, and mounting it again tells whether every field is the same.

use super::peer::{Peer, as_set};
use super::values::{any_text, different, different_ids, id, put_start, segment, text};
use moonquake_protocol::{ClientStatus, PingResponse, Request, Response, Segment, SegmentStatus, Uuid};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

const CLIENTS: usize = 24;
const SEGMENTS_OF_CLIENT_MAX: usize = 4;

pub(crate) fn segments() {
    let mut peer = Peer::start([]);
    let owners = owners(&mut peer);
    for (client_id, segments) in &owners {
        for segment in segments {
            peer.accept(&Request::MountSegment {
                segment: segment.clone(),
                client_id: *client_id,
            });
        }
        assert_eq!(ping(&mut peer, *client_id), ClientStatus::NeedRemount);
    }
    for (client_id, segments) in &owners {
        mounted_again(&mut peer, *client_id, segments);
    }
    shown(&peer, &owners);
    found(&mut peer, &owners);
    addresses(&mut peer, &owners);
    first_objects(&mut peer, &owners);
    unmounted(&mut peer, &owners);
}

fn owners(peer: &mut Peer) -> BTreeMap<Uuid, Vec<Segment>> {
    let names = different(peer, CLIENTS * SEGMENTS_OF_CLIENT_MAX, &text());
    let ids = different_ids(peer, CLIENTS * SEGMENTS_OF_CLIENT_MAX);
    let mut names_and_ids = names.into_iter().zip(ids);
    let lengths = prop_oneof![
        1..=1_u64 << 62,
        1..=4_096_u64,
        select(&[1, 0xffff_ffff, 1 << 32, 1 << 62][..])
    ];
    let mut owners = BTreeMap::new();
    for client_id in different_ids(peer, CLIENTS) {
        let mut segments = peer.draw(&vec(segment(), 1..=SEGMENTS_OF_CLIENT_MAX));
        for segment in &mut segments {
            (segment.name, segment.id) = names_and_ids.next().expect("enough of them");
            segment.size = peer.draw(&lengths);
        }
        owners.insert(client_id, segments);
    }
    owners
}

fn ping(peer: &mut Peer, client_id: Uuid) -> ClientStatus {
    match peer.call(&Request::Ping { client_id }) {
        Response::Ping(Ok(PingResponse {
            view_version_id: 0,
            client_status,
        })) => client_status,
        other => panic!("{other:?}"),
    }
}

/// A field that differs is noticed, each by itself; all of them as they were make the client one that the master knows.
fn mounted_again(peer: &mut Peer, client_id: Uuid, segments: &[Segment]) {
    for (number, segment) in segments.iter().enumerate() {
        let other = peer.draw(&text());
        let altered = [
            Segment {
                name: format!("{}{other}", segment.name),
                ..segment.clone()
            },
            Segment {
                base: segment.base ^ 1 << 63,
                ..segment.clone()
            },
            Segment {
                size: segment.size ^ 1 << 63,
                ..segment.clone()
            },
            Segment {
                te_endpoint: format!("{}{other}", segment.te_endpoint),
                ..segment.clone()
            },
            Segment {
                protocol: format!("{}{other}", segment.protocol),
                ..segment.clone()
            },
            Segment {
                host_id: format!("{}{other}", segment.host_id),
                ..segment.clone()
            },
        ];
        for altered in altered {
            let mut list = segments.to_vec();
            list[number] = altered;
            let request = Request::ReMountSegment {
                segments: list,
                client_id,
            };
            assert_eq!(peer.code(&request), -600, "{request:?}");
        }
    }
    let stranger = Uuid::new(client_id.first ^ 1, client_id.second);
    let segments = segments.to_vec();
    let request = Request::ReMountSegment {
        segments: segments.clone(),
        client_id: stranger,
    };
    assert_eq!(peer.code(&request), -600, "{request:?}");
    let segments = peer.draw(&Just(segments).prop_shuffle());
    peer.accept(&Request::ReMountSegment { segments, client_id });
    assert_eq!(ping(peer, client_id), ClientStatus::Ok);
}

/// The admin server spells ids and numbers as text, so that halves of ids and fields of one type cannot change places unseen.
fn shown(peer: &Peer, owners: &BTreeMap<Uuid, Vec<Segment>>) {
    const FIELDS: [&str; 6] = [
        "segment_id",
        "client_id",
        "segment_name",
        "base_address",
        "te_endpoint",
        "protocol",
    ];
    let (status, body) = peer
        .master
        .admin()
        .get("/get_segments_detail")
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(status, 200);
    let detail: Value = serde_json::from_slice(&body).expect("JSON");
    let shown: Vec<([String; 6], Option<u64>)> = detail["segments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            let texts = FIELDS.map(|field| one[field].as_str().expect("a text").to_owned());
            (texts, one["size_bytes"].as_u64())
        })
        .collect();
    let halves = |id: Uuid| format!("{}-{}", id.first, id.second);
    let mut expected = BTreeSet::new();
    for (client_id, segments) in owners {
        for segment in segments {
            let texts = [
                halves(segment.id),
                halves(*client_id),
                segment.name.clone(),
                format!("{:#x}", segment.base),
                segment.te_endpoint.clone(),
                segment.protocol.clone(),
            ];
            expected.insert((texts, Some(segment.size)));
        }
    }
    assert_eq!(as_set(&shown), expected);
}

fn found(peer: &mut Peer, owners: &BTreeMap<Uuid, Vec<Segment>>) {
    for segment in owners.values().flatten() {
        let Segment { id, name, .. } = segment.clone();
        let by_id = Request::QuerySegmentStatusById { segment_id: id };
        assert_eq!(
            peer.call(&by_id),
            Response::QuerySegmentStatusById(Ok(SegmentStatus::Ok))
        );
        let by_name = Request::QuerySegmentStatus {
            segment_name: name.clone(),
        };
        assert_eq!(
            peer.call(&by_name),
            Response::QuerySegmentStatus(Ok(SegmentStatus::Ok))
        );
        let absent = Request::QuerySegmentStatus {
            segment_name: format!("{name}\u{1f31a}"),
        };
        assert_eq!(peer.code(&absent), -101);
    }
}

/// The part of an endpoint before a port, of every segment of every client that is asked for.
fn addresses(peer: &mut Peer, owners: &BTreeMap<Uuid, Vec<Segment>>) {
    let asked: Vec<Uuid> = owners.keys().copied().collect();
    for count in [0, 1, 5, 300] {
        let mut client_ids = peer.draw(&vec(select(asked.clone()), count));
        client_ids.extend(peer.draw(&vec(id(), 0..3)));
        let expected: BTreeMap<Uuid, BTreeSet<String>> = client_ids
            .iter()
            .filter_map(|client_id| Some((*client_id, owners.get(client_id)?)))
            .map(|(client_id, segments)| (client_id, segments.iter().map(host_of).collect()))
            .collect();
        match peer.call(&Request::BatchQueryIp { client_ids }) {
            Response::BatchQueryIp(Ok(map)) => {
                let sets: BTreeMap<Uuid, BTreeSet<String>> = map
                    .into_iter()
                    .map(|(client_id, hosts)| (client_id, as_set(&hosts)))
                    .collect();
                assert_eq!(sets, expected);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn host_of(segment: &Segment) -> String {
    let endpoint = &segment.te_endpoint;
    match endpoint.rsplit_once(':') {
        Some((host, _)) if endpoint.parse::<Ipv6Addr>().is_err() => host.to_owned(),
        _ => endpoint.clone(),
    }
}

/// The first byte of a segment is at its base.
fn first_objects(peer: &mut Peer, owners: &BTreeMap<Uuid, Vec<Segment>>) {
    for (number, segment) in owners.values().flatten().enumerate() {
        let client_id = peer.draw(&id());
        let replica = put_start(peer, client_id, &format!("first{number}"), 1, &segment.name);
        let buffer = replica.memory_buffer().expect("in memory");
        assert_eq!(
            (buffer.buffer_address, buffer.size),
            (segment.base, 1),
            "{segment:?}"
        );
        assert_eq!(buffer.transport_endpoint, segment.te_endpoint);
    }
}

fn unmounted(peer: &mut Peer, owners: &BTreeMap<Uuid, Vec<Segment>>) {
    for (client_id, segments) in owners {
        for segment in segments {
            let (segment_id, client_id) = (segment.id, *client_id);
            let (graceful, grace_period_ms) = peer.draw(&(any::<bool>(), 1_u64..1 << 40));
            let query = Request::QuerySegmentStatusById { segment_id };
            if graceful {
                peer.accept(&Request::GracefulUnmountSegment {
                    segment_id,
                    client_id,
                    grace_period_ms,
                });
                let status = Response::QuerySegmentStatusById(Ok(SegmentStatus::GracefullyUnmounting));
                assert_eq!(peer.call(&query), status);
            } else {
                peer.accept(&Request::UnmountSegment {
                    segment_id,
                    client_id,
                });
                peer.master
                    .await_cleanup_idle()
                    .unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(peer.code(&query), -101, "{segment:?}");
            }
        }
    }
    let strange = Request::QuerySegmentStatus {
        segment_name: peer.draw(&any_text()),
    };
    assert_eq!(peer.code(&strange), -101);
}
