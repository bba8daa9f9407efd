//! Leases, and removals that meet one.

use crate::rig::*;
use moonquake_protocol::ErrorCode;

const LEASED: Answer = Err(ErrorCode::ObjectHasLease);

#[test]
fn remove_leased_object() {
    let probe = |rig: &mut Rig| assert!(rig.exist("test_key"));
    let read = |rig: &mut Rig| assert!(rig.get("test_key").is_ok());
    let mut rig = Rig::with_lease(50);
    for touch in [probe, read] {
        rig.put("test_key", &plain());
        touch(&mut rig);
        assert_eq!(rig.remove("test_key", false), LEASED);
        rig.pass_ms(50);
        rig.remove("test_key", false).unwrap();
        rig.put("test_key", &plain());
        touch(&mut rig);
        rig.pass_ms(50);
        touch(&mut rig);
        assert_eq!(
            rig.remove("test_key", false),
            LEASED,
            "the second touch extends the lease"
        );
        rig.pass_ms(50);
        rig.remove("test_key", false).unwrap();
    }
    assert_eq!(rig.get("test_key"), Err(ErrorCode::ObjectNotFound));
}

#[test]
fn remove_all_leased_object() {
    let mut rig = Rig::with_lease(50);
    for number in 0..10 {
        let key = format!("test_key{number}");
        rig.put(&key, &plain());
        if number >= 5 {
            assert!(rig.exist(&key));
        }
    }
    assert_eq!(rig.remove_all(false), 5);
    assert_eq!(
        rig.keys(),
        ["test_key5", "test_key6", "test_key7", "test_key8", "test_key9"]
    );
    rig.pass_ms(50);
    assert_eq!(rig.remove_all(false), 5);
    assert!(rig.keys().is_empty());
}

#[test]
fn force_remove_leased_object() {
    let mut rig = Rig::with_lease(10_000);
    rig.put("leased_key", &plain());
    assert!(rig.exist("leased_key"));
    assert_eq!(rig.remove("leased_key", false), LEASED);
    assert_eq!(rig.remove("leased_key", true), Ok(()));
    assert_eq!(rig.get("leased_key"), Err(ErrorCode::ObjectNotFound));
}

fn leased(count: usize, prefix: &str) -> Rig {
    let mut rig = Rig::with_lease(10_000);
    for number in 0..count {
        let key = format!("{prefix}{number}");
        rig.put(&key, &plain());
        assert!(rig.exist(&key));
    }
    rig
}

#[test]
fn force_remove_by_regex_leased_objects() {
    let mut rig = leased(5, "force_regex_key_");
    assert_eq!(rig.remove_by_regex("^force_regex_key_", false), 0);
    assert_eq!(rig.keys().len(), 5);
    assert_eq!(rig.remove_by_regex("^force_regex_key_", true), 5);
    assert!(rig.keys().is_empty());
}

#[test]
fn force_remove_all_leased_objects() {
    let mut rig = leased(10, "force_all_key_");
    assert_eq!(rig.remove_all(false), 0);
    assert_eq!(rig.keys().len(), 10);
    assert_eq!(rig.remove_all(true), 10);
    assert!(rig.keys().is_empty());
}
