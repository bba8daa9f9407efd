//! Reads, probes, and what they grant.

use super::harness::*;
use moonquake_clock::Span;
use moonquake_protocol::{ErrorCode, Request, Response};

/// Whether the lease that something granted to `k` is still there so long after the start.
fn leased_at(harness: &mut Harness, since_start: Span) -> bool {
    harness.at(since_start);
    harness.remove("k", false) == Err(ErrorCode::ObjectHasLease)
}

#[test]
fn reads_and_probes_that_hit_grant_a_lease_and_the_rest_does_not() {
    let batch = |key: &str| vec![key.to_owned(), "missing".to_owned()];
    type Touch = fn(&mut Harness, Vec<String>);
    let cases: [(&str, bool, Touch); 7] = [
        ("get", true, |harness, keys| drop(harness.get(&keys[0]).unwrap())),
        ("exist", true, |harness, keys| assert!(harness.exist(&keys[0]))),
        ("batch get", true, |harness, keys| {
            drop(answer!(
                harness,
                BatchGetReplicaList {
                    keys,
                    tenant_id: String::new()
                }
            ));
        }),
        ("batch exist", true, |harness, keys| {
            drop(answer!(
                harness,
                BatchExistKey {
                    keys,
                    tenant_id: String::new()
                }
            ));
        }),
        ("view", false, |harness, _| drop(harness.keys())),
        ("put_end again", false, |harness, keys| {
            harness.put_end(&keys[0]).unwrap()
        }),
        ("get of another", false, |harness, keys| {
            drop(harness.get(&keys[1]))
        }),
    ];
    for (name, grants, touch) in cases {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        harness.put("k", 10);
        harness.at(Span::from_secs(1));
        touch(&mut harness, batch("k"));
        assert_eq!(
            leased_at(&mut harness, Span::from_secs(11).sub_ns()),
            grants,
            "{name}"
        );
        if grants {
            assert!(!leased_at(&mut harness, Span::from_secs(11)), "{name} at its end");
        }
    }
}

trait SubNs {
    fn sub_ns(self) -> Self;
}

impl SubNs for Span {
    fn sub_ns(self) -> Span {
        self - NS
    }
}

#[test]
fn a_lease_is_extended_and_never_shortened() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("k", 10);
    harness.get("k").unwrap();
    harness.at(Span::from_secs(4));
    harness.get("k").unwrap();
    // The wall clock steps back: a grant from there would end earlier.
    harness.at(Span::from_secs(2));
    harness.get("k").unwrap();
    assert!(leased_at(&mut harness, Span::from_secs(14).sub_ns()));
    assert!(!leased_at(&mut harness, Span::from_secs(14)));
}

#[test]
fn batches_keep_their_order() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let keys: Vec<String> = (0..40).map(|number| format!("key_{number}")).collect();
    for (number, key) in keys.iter().enumerate() {
        match number % 3 {
            0 => drop(harness.put(key, number as u64 + 1)),
            1 => drop(harness.put_start(key, 1).unwrap()),
            _ => {}
        }
    }
    let exists = answer!(
        harness,
        BatchExistKey {
            keys: keys.clone(),
            tenant_id: String::new()
        }
    );
    let read = answer!(
        harness,
        BatchGetReplicaList {
            keys,
            tenant_id: String::new()
        }
    );
    for number in 0..40 {
        assert_eq!(exists[number], Ok(number % 3 == 0));
        let size = read[number]
            .as_ref()
            .map(|response| range(&response.replicas[0]).size)
            .map_err(|code| *code);
        assert_eq!(
            size,
            [
                Ok(number as u64 + 1),
                Err(ErrorCode::ReplicaIsNotReady),
                Err(ErrorCode::ObjectNotFound)
            ][number % 3]
        );
    }
}

#[test]
fn the_lease_that_is_told_is_the_configured_one() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("k", 10);
    let response = answer!(
        harness,
        GetReplicaList {
            key: "k".to_owned(),
            tenant_id: String::new()
        }
    )
    .unwrap();
    assert_eq!((response.lease_ttl_ms, response.object_checksum), (10_000, None));
}

#[test]
fn a_master_says_its_version_and_that_it_has_no_disk() {
    let mut harness = Harness::with_segments(&[]);
    assert_eq!(answer!(harness, ServiceReady {}), Ok("2.0.0".to_owned()));
    assert_eq!(answer!(harness, GetFsdir {}), Ok(String::new()));
    let config = answer!(harness, GetStorageConfig {}).unwrap();
    assert_eq!(
        (
            config.fsdir.as_str(),
            config.enable_disk_eviction,
            config.quota_bytes
        ),
        ("", true, 0)
    );
    assert_eq!(
        answer!(harness, PollRemoveAll { client_id: client(1) }),
        Err(ErrorCode::SegmentNotFound)
    );
    assert_eq!(
        answer!(
            harness,
            MountLocalDiskSegment {
                client_id: client(1),
                enable_offloading: true
            }
        ),
        Err(ErrorCode::UnableOffload)
    );
    assert_eq!(answer!(harness, GetAllNoFSegments {}), Ok(vec![]));
    assert_eq!(
        answer!(
            harness,
            GetNoFSegmentsByName {
                segment_name: "n".to_owned()
            }
        ),
        Err(ErrorCode::SegmentNotFound)
    );
    assert_eq!(
        answer!(
            harness,
            FetchTasks {
                client_id: client(1),
                batch_size: 16
            }
        ),
        Ok(vec![])
    );
    assert_eq!(
        answer!(harness, QueryTask { task_id: client(1) }),
        Err(ErrorCode::TaskNotFound)
    );
}

/// What an answer to `request` is when it is written over an earlier one.
fn over(harness: &mut Harness, key: &str, mut earlier: Response) -> Response {
    let request = Request::GetReplicaList {
        key: key.to_owned(),
        tenant_id: String::new(),
    };
    assert!(harness.master.read_into(harness.now, &request, &mut earlier));
    earlier
}

#[test]
fn what_is_told_of_a_key_does_not_depend_on_the_answer_it_is_written_over() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_with("memory", 10, &on("a"));
    harness.put_with("both", 20, &replicas(2));
    super::disks::report(&mut harness, client(0), "disk", 30).unwrap();
    super::disks::report(&mut harness, client(0), "both", 40).unwrap();
    let keys = ["memory", "both", "disk", "missing"];
    let nothing = || Response::ExistKey(Ok(false));
    for first in keys {
        for second in keys {
            let mut earlier = over(&mut harness, first, nothing());
            if let Response::GetReplicaList(Ok(list)) = &mut earlier {
                for replica in &mut list.replicas {
                    if let moonquake_protocol::DescriptorVariant::Memory(memory) = &mut replica.descriptor {
                        memory.buffer.protocol = "rdma".to_owned();
                    }
                }
            }
            let alone = over(&mut harness, second, nothing());
            assert_eq!(
                over(&mut harness, second, earlier),
                alone,
                "{second} over {first}"
            );
        }
    }
}

#[test]
fn a_batch_read_walks_the_shards_downwards_from_a_drawn_one_and_round() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    let keys: Vec<String> = (0..500).map(|number| format!("k{}", number % 400)).collect();
    let mut drawn = harness.master.dice.clone();
    for _ in 0..3 {
        let first = drawn.index_below(crate::objects::SHARDS);
        let mut seen = Vec::new();
        harness
            .master
            .in_shard_order(&keys, |_, index, _| seen.push(index));
        let downwards = (0..=first).rev().chain((first + 1..crate::objects::SHARDS).rev());
        let mut expected = Vec::new();
        for shard in downwards {
            let of_shard = |index: &usize| harness.master.objects.shard_of(&keys[*index]) == shard;
            expected.extend((0..keys.len()).filter(of_shard));
        }
        assert_eq!(seen, expected);
    }
}

/// What is known of an object without a look at it names the mount, so another one that is still there does not count.
#[test]
fn a_probe_asks_for_the_mount_of_its_own_object() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_with("on a", 10, &on("a"));
    harness.put_with("on b", 10, &on("b"));
    assert!(harness.exist("on a") && harness.exist("on b"));
    harness.unmount("b").unwrap();
    assert!(harness.exist("on a") && !harness.exist("on b"));
}

/// The table of keys keeps half of a hash. Those of each pair share it.
#[test]
fn keys_whose_hashes_meet_are_told_apart() {
    let pairs = [
        ["k6629", "k54902"],
        ["k18995", "k55952"],
        [
            "a key that is too long to lie in a head 42054",
            "a key that is too long to lie in a head 113644",
        ],
    ];
    for pair in pairs {
        let mut harness = Harness::with_segments(&[("a", MIB)]);
        let hashes = pair.map(|key| crate::objects::hash::hash_of(key.as_bytes()) >> 32);
        assert_eq!(hashes[0], hashes[1]);
        let first = harness.put(pair[0], 10);
        assert_eq!(harness.get(pair[1]), Err(ErrorCode::ObjectNotFound));
        let second = harness.put(pair[1], 20);
        assert_eq!(range(&harness.get(pair[0]).unwrap()[0]), range(&first[0]));
        assert_eq!(range(&harness.get(pair[1]).unwrap()[0]), range(&second[0]));
        harness.remove(pair[0], true).unwrap();
        assert!(!harness.exist(pair[0]) && harness.exist(pair[1]));
    }
}
