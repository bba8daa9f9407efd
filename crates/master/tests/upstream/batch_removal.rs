//! BatchRemove. The cases go through the real client, which hands the list on as it is.

use crate::rig::*;
use moonquake_protocol::ErrorCode;

const MISSING: Answer = Err(ErrorCode::ObjectNotFound);

fn with_keys(prefix: &str, count: usize) -> (Rig, Vec<String>) {
    let mut rig = Rig::new().node("test_segment");
    let keys: Vec<String> = (0..count).map(|number| format!("{prefix}{number}")).collect();
    for key in &keys {
        rig.put(key, &plain());
    }
    (rig, keys)
}

/// Removes as many as there are, and says what came of each.
fn remove(rig: &mut Rig, keys: &[String]) -> Vec<Answer> {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    rig.batch_remove(&keys, false)
}

#[test]
fn basic_functionality() {
    let (mut rig, keys) = with_keys("test_basic_", 10);
    assert_eq!(remove(&mut rig, &keys), [Ok(()); 10]);
    assert!(rig.keys().is_empty());
}

#[test]
fn mixed_existence() {
    let (mut rig, mut keys) = with_keys("test_mixed_exist_", 3);
    keys.extend((0..3).map(|number| format!("test_mixed_not_exist_{number}")));
    let answers = remove(&mut rig, &keys);
    assert_eq!(answers, [Ok(()), Ok(()), Ok(()), MISSING, MISSING, MISSING]);
}

#[test]
fn empty_and_duplicate() {
    let (mut rig, keys) = with_keys("test_duplicate_key", 1);
    assert!(remove(&mut rig, &[]).is_empty());
    let thrice = [keys[0].clone(), keys[0].clone(), keys[0].clone()];
    assert_eq!(remove(&mut rig, &thrice), [Ok(()), MISSING, MISSING]);
}

#[test]
fn consistency_with_single_remove() {
    let (mut rig, keys) = with_keys("test_consistency_exist", 3);
    assert_eq!(rig.remove("test_consistency_nonexist", false), MISSING);
    assert_eq!(rig.batch_remove(&["test_consistency_nonexist"], false), [MISSING]);
    assert_eq!(rig.remove(&keys[0], false), Ok(()));
    assert_eq!(rig.batch_remove(&[&keys[1]], false), [Ok(())]);
    rig.get(&keys[2]).unwrap();
    assert_eq!(
        rig.batch_remove(&[&keys[2]], false),
        [rig.clone().remove(&keys[2], false)],
        "also under a lease"
    );
}

#[test]
fn error_code_format() {
    let (mut rig, _) = with_keys("test_other", 1);
    assert_eq!(rig.batch_remove(&["test_error_format"], false), [MISSING]);
}

/// The case also holds the call to five seconds of real time, which says nothing about a state machine.
#[test]
fn large_batch() {
    let (mut rig, keys) = with_keys("test_large_", 1_000);
    assert_eq!(remove(&mut rig, &keys), vec![Ok(()); 1_000]);
    assert_eq!(rig.allocated(), 0);
}

#[test]
fn special_characters() {
    let mut rig = Rig::new().node("test_segment");
    let keys = [
        "test_key_with_underscore",
        "test-key-with-dash",
        "test.key.with.dot",
        "test/key/with/slash",
        "test:key:with:colon",
        "test key with spaces",
        "test\u{1f30b}key",
        "test\0key",
    ];
    for key in keys {
        rig.put(key, &plain());
    }
    assert_eq!(rig.batch_remove(&keys, false), [Ok(()); 8]);
    assert!(rig.keys().is_empty());
}
