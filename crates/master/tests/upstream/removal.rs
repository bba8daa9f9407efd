//! RemoveAll. Where a case lets threads race, the calls come here in some of the orders that a race can have.

use crate::rig::*;
use moonquake_protocol::ErrorCode;

#[test]
fn remove_all() {
    let mut rig = Rig::with_lease(50);
    for number in 0..10 {
        let key = format!("test_key{number}");
        rig.put(&key, &plain());
        assert!(rig.exist(&key));
    }
    rig.pass_ms(50);
    assert_eq!(rig.remove_all(false), 10);
    assert!((0..10).all(|number| !rig.exist(&format!("test_key{number}"))));
}

#[test]
fn concurrent_write_and_remove_all() {
    for cut in [1, 40, 200, 399] {
        let mut rig = Rig::new().node_of("concurrent_segment", 256 * MIB);
        let mut removed = 0;
        for number in 0..400 {
            let key = format!("key_{}_{}", number % 4, number / 4);
            rig.start(WRITER, &key, KIB, &plain()).unwrap();
            if number == cut {
                removed += rig.remove_all(false);
                assert_eq!(removed, cut, "a write that is under way is skipped");
            }
            rig.end(WRITER, &key).unwrap();
        }
        let rest = rig.remove_all(false);
        assert!(rest > 0);
        assert_eq!(removed + rest, 400, "each object is removed exactly once");
    }
}

#[test]
fn concurrent_read_and_remove_all() {
    let mut rig = Rig::configured(|config| config.lease = moonquake_clock::Span::from_ms(200))
        .node_of("concurrent_segment", 256 * MIB);
    let keys: Vec<String> = (0..1_000).map(|number| format!("pre_key_{number}")).collect();
    for key in &keys {
        rig.put(key, &plain());
    }
    // The readers have come to the tenth object when the removal begins.
    let mut hits = keys[..10].iter().filter(|key| rig.get(key).is_ok()).count();
    assert_eq!(rig.remove_all(false), 990, "what is read is leased and stays");
    hits += keys[10..].iter().filter(|key| rig.get(key).is_ok()).count();
    assert_eq!(hits, 10);
    rig.pass_ms(200);
    assert_eq!(rig.remove_all(false), 10);
    assert!(
        keys.iter()
            .all(|key| rig.get(key) == Err(ErrorCode::ObjectNotFound))
    );
}

#[test]
fn concurrent_remove_all_operations() {
    let mut rig = Rig::new().node_of("concurrent_segment", 1_600 * MIB);
    for number in 0..1_000 {
        rig.put(&format!("pre_key_{number}"), &plain());
    }
    assert_eq!(rig.remove_all(false) + rig.remove_all(false), 1_000);
    assert!((0..1_000).all(|number| rig.get(&format!("pre_key_{number}")) == Err(ErrorCode::ObjectNotFound)));
}
