//! Removal.

use super::harness::*;
use moonquake_clock::Span;
use moonquake_protocol::{ErrorCode, Request, Response};

const LEASE: Span = Span::from_secs(10);

#[test]
fn a_lease_stops_a_plain_remove_and_not_a_forced_one() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    harness.put("k", 10);
    harness.put("l", 10);
    harness.get("k").unwrap();
    harness.exist("l");
    assert_eq!(harness.remove("k", false), Err(ErrorCode::ObjectHasLease));
    assert_eq!(harness.remove("k", true), Ok(()));
    assert_eq!(harness.remove("k", true), Err(ErrorCode::ObjectNotFound));
    assert_eq!(harness.allocated(), 10, "a forced remove frees at once");
    harness.advance(LEASE);
    assert_eq!(harness.remove("l", false), Ok(()));
}

#[test]
fn remove_all_takes_what_nothing_protects() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    for number in 0..10 {
        harness.put(&format!("key_{number}"), 10);
    }
    harness.put_start("unfinished", 10).unwrap();
    harness.get("key_3").unwrap();
    harness.get("key_7").unwrap();
    assert_eq!(harness.remove_all(false), 8);
    assert_eq!(harness.keys(), ["key_3", "key_7"]);
    assert_eq!(harness.remove_all(true), 2);
    assert_eq!((harness.remove_all(true), harness.allocated()), (0, 10));
    harness.put_end("unfinished").unwrap();
    assert_eq!(harness.remove_all(false), 1);
}

#[test]
fn a_batch_answers_for_each_key_in_order() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    for key in ["x", "y", "leased"] {
        harness.put(key, 10);
    }
    harness.put_start("unfinished", 10).unwrap();
    harness.get("leased").unwrap();
    let keys = ["x", "none", "leased", "unfinished", "x", "y"]
        .map(str::to_owned)
        .to_vec();
    let removed = answer!(
        harness,
        BatchRemove {
            keys,
            force: false,
            tenant_id: String::new()
        }
    );
    use ErrorCode::{ObjectHasLease, ObjectNotFound, ReplicaIsNotReady};
    let expected = [
        Ok(()),
        Err(ObjectNotFound),
        Err(ObjectHasLease),
        Err(ReplicaIsNotReady),
        Err(ObjectNotFound),
        Ok(()),
    ];
    assert_eq!(removed, expected);
}

fn clear(harness: &mut Harness, number: u64, keys: &[&str], segment_name: &str) -> Vec<String> {
    let request = Request::BatchReplicaClear {
        object_keys: keys.iter().map(ToString::to_string).collect(),
        client_id: client(number),
        segment_name: segment_name.to_owned(),
    };
    match harness.send(&request) {
        Response::BatchReplicaClear(cleared) => cleared.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn clearing_takes_only_own_unleased_objects() {
    let mut harness = Harness::with_segments(&[("a", MIB), ("b", MIB)]);
    harness.put_with("both", 10, &replicas(2));
    harness.put("k", 10);
    harness.get("k").unwrap();
    assert!(
        clear(&mut harness, 1, &["k", "", "none"], "").is_empty(),
        "leased, empty, absent"
    );
    assert!(clear(&mut harness, 2, &["both"], "").is_empty(), "another's");
    harness.advance(LEASE);
    assert_eq!(clear(&mut harness, 1, &["both"], "a"), ["both"]);
    assert_eq!(names(&harness.get("both").unwrap()), ["b"]);
    harness.advance(LEASE);
    assert!(
        clear(&mut harness, 1, &["both"], "a").is_empty(),
        "nothing left there"
    );
    assert_eq!(clear(&mut harness, 1, &["both", "k"], ""), ["both", "k"]);
    assert_eq!((harness.keys().len(), harness.allocated()), (0, 0));
}

fn remove_by_regex(harness: &mut Harness, regex: &str, force: bool) -> Result<i64, ErrorCode> {
    let regex = regex.to_owned();
    answer!(
        harness,
        RemoveByRegex {
            regex,
            force,
            tenant_id: String::new()
        }
    )
}

#[test]
fn patterns_are_searched_for_anywhere_in_a_key() {
    let mut harness = Harness::with_segments(&[("a", MIB)]);
    for key in ["user_1", "user_22", "order_3", "other"] {
        harness.put(key, 10);
    }
    harness.put_start("user_9", 10).unwrap();
    assert_eq!(
        remove_by_regex(&mut harness, "[", false),
        Err(ErrorCode::InvalidParams)
    );
    let mut found = |regex: &str| {
        let regex = regex.to_owned();
        let found = answer!(
            harness,
            GetReplicaListByRegex {
                regex,
                tenant_id: String::new()
            }
        );
        found.map(|found| found.into_keys().collect::<Vec<_>>())
    };
    assert_eq!(found("^none"), Ok(vec![]));
    assert_eq!(found("[").unwrap_err(), ErrorCode::InvalidParams);
    assert_eq!(
        found("r_\\d$").unwrap(),
        ["order_3", "user_1"],
        "an unfinished one is left out"
    );
    assert_eq!(
        remove_by_regex(&mut harness, "r", false),
        Ok(2),
        "those that were found are leased"
    );
    assert_eq!(harness.keys(), ["order_3", "user_1"]);
    assert_eq!(remove_by_regex(&mut harness, "^user|order", true), Ok(2));
    assert_eq!(
        remove_by_regex(&mut harness, "", true),
        Ok(0),
        "the unfinished one stays"
    );
}
