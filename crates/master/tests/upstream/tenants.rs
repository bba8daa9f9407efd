//! Keys of tenants. Upstream's cases register tenants with quotas; here the quirk `tenant-ignored` is off, and nobody
//! needs to register.

use crate::rig::*;
use moonquake_protocol::{ErrorCode, ReplicateConfig};

const A: &str = "tenant_a";
const B: &str = "tenant_b";
const DEFAULT: &str = "default";
const MISSING: Answer<Replicas> = Err(ErrorCode::ObjectNotFound);

/// Does something in the name of a tenant.
fn of<T>(rig: &mut Rig, tenant: &'static str, call: impl FnOnce(&mut Rig) -> T) -> T {
    rig.tenant = tenant;
    call(rig)
}

/// Which of the tenants can read the key.
fn readers(rig: &mut Rig, key: &str) -> [bool; 3] {
    [DEFAULT, A, B].map(|tenant| of(rig, tenant, |rig| rig.get(key).is_ok()))
}

/// A key that some tenants have put.
fn shared(tenants: &[&'static str]) -> Rig {
    let mut rig = Rig::with_tenants();
    for tenant in tenants {
        of(&mut rig, tenant, |rig| rig.put("shared_key", &plain()));
    }
    rig
}

#[test]
fn group_routing_is_tenant_scoped_for_same_user_key() {
    let mut rig = Rig::with_tenants();
    of(&mut rig, A, |rig| rig.put("key", &in_group("group_a")));
    of(&mut rig, B, |rig| {
        rig.try_put("key", 2 * KIB, &in_group("group_b")).unwrap()
    });
    assert!(of(&mut rig, A, |rig| rig.exist("key")) && of(&mut rig, B, |rig| rig.exist("key")));
    assert_eq!(readers(&mut rig, "key"), [false, true, true]);
    of(&mut rig, A, |rig| rig.remove("key", true)).unwrap();
    assert_eq!(readers(&mut rig, "key"), [false, false, true]);
}

#[test]
fn batch_get_replica_list_keeps_tenant_isolation() {
    let mut rig = Rig::with_tenants();
    of(&mut rig, A, |rig| rig.put("key", &in_group("group")));
    of(&mut rig, B, |rig| rig.try_put("key", 2 * KIB, &plain()).unwrap());
    assert!(of(&mut rig, A, |rig| rig.batch_get(&["key"]))[0].is_ok());
    assert!(of(&mut rig, B, |rig| rig.batch_get(&["key"]))[0].is_ok());
    assert_eq!(of(&mut rig, DEFAULT, |rig| rig.batch_get(&["key"])), [MISSING]);
}

#[test]
fn get_all_keys_lists_only_requested_tenant() {
    let mut rig = shared(&[DEFAULT, A]);
    of(&mut rig, DEFAULT, |rig| rig.put("default_listing_key", &plain()));
    of(&mut rig, A, |rig| rig.put("tenant_listing_key", &plain()));
    assert_eq!(
        of(&mut rig, DEFAULT, |rig| rig.matches(".*")),
        ["default_listing_key", "shared_key"]
    );
    assert_eq!(
        of(&mut rig, A, |rig| rig.matches(".*")),
        ["shared_key", "tenant_listing_key"]
    );
}

#[test]
fn tenant_put_get_remove_isolates_same_user_key() {
    let mut rig = shared(&[A]);
    of(&mut rig, B, |rig| {
        rig.try_put("shared_key", 2 * KIB, &plain()).unwrap()
    });
    assert_eq!(readers(&mut rig, "shared_key"), [false, true, true]);
    assert!(!of(&mut rig, DEFAULT, |rig| rig.exist("shared_key")));
    assert_eq!(rig.keys().len(), 2);
    of(&mut rig, A, |rig| rig.remove("shared_key", true)).unwrap();
    assert_eq!(readers(&mut rig, "shared_key"), [false, false, true]);
    assert_eq!(rig.keys().len(), 1);
}

#[test]
fn regex_operations_are_tenant_scoped() {
    let mut rig = shared(&[DEFAULT, A, B]);
    assert_eq!(
        of(&mut rig, DEFAULT, |rig| rig.matches("^shared")),
        ["shared_key"]
    );
    assert_eq!(
        of(&mut rig, DEFAULT, |rig| rig.remove_by_regex("^shared", true)),
        1
    );
    assert_eq!(readers(&mut rig, "shared_key"), [false, true, true]);
    assert_eq!(of(&mut rig, A, |rig| rig.remove_by_regex("^shared", true)), 1);
    assert_eq!(readers(&mut rig, "shared_key"), [false, false, true]);
}

fn batch_upsert(rig: &mut Rig, config: &ReplicateConfig) {
    let tenant_id = rig.tenant.to_owned();
    let (client_id, keys, config) = (WRITER, owned(&["key_a", "key_b"]), config.clone());
    let slice_lengths = vec![KIB, 2 * KIB];
    let started = ask!(
        rig,
        BatchUpsertStart {
            client_id,
            keys,
            slice_lengths,
            config,
            tenant_id
        }
    );
    assert!(started.iter().all(Result::is_ok));
    let (object_metas, tenant_id) = (
        vec![meta("key_a", None), meta("key_b", None)],
        rig.tenant.to_owned(),
    );
    assert_eq!(
        ask!(
            rig,
            BatchUpsertEnd {
                client_id,
                object_metas,
                tenant_id
            }
        ),
        [Ok(()); 2]
    );
}

#[test]
fn tenant_batch_upsert_and_revoke_are_scoped() {
    let mut rig = Rig::with_tenants();
    of(&mut rig, A, |rig| batch_upsert(rig, &plain()));
    of(&mut rig, B, |rig| batch_upsert(rig, &plain()));
    for key in ["key_a", "key_b"] {
        assert_eq!(readers(&mut rig, key), [false, true, true]);
    }
    rig.tenant = A;
    rig.upsert(WRITER, "revoked", KIB, &plain()).unwrap();
    rig.upsert_revoke(WRITER, "revoked").unwrap();
    assert_eq!(rig.get("revoked"), MISSING);
}

#[test]
fn tenant_batch_remove_and_remove_all_are_scoped() {
    let mut rig = shared(&[DEFAULT, A, B]);
    assert_eq!(
        of(&mut rig, A, |rig| rig.batch_remove(&["shared_key"], true)),
        [Ok(())]
    );
    assert_eq!(readers(&mut rig, "shared_key"), [true, false, true]);
    assert_eq!(of(&mut rig, B, |rig| rig.remove_all(true)), 1);
    assert_eq!(readers(&mut rig, "shared_key"), [true, false, false]);
    assert_eq!(
        of(&mut rig, "", |rig| rig.remove_all(true)),
        1,
        "no tenant means all"
    );
    assert_eq!(readers(&mut rig, "shared_key"), [false, false, false]);
}

#[test]
fn legacy_remove_all_removes_all_tenants() {
    let mut rig = shared(&[DEFAULT, A, B]);
    assert_eq!(of(&mut rig, "", |rig| rig.remove_all(true)), 3);
    assert_eq!(readers(&mut rig, "shared_key"), [false, false, false]);
    assert_eq!(of(&mut rig, "", |rig| rig.remove_all(true)), 0);
}

#[test]
fn batch_exist_key_tenant_aware_preserves_order() {
    let mut rig = Rig::with_tenants();
    of(&mut rig, A, |rig| rig.put("tenant_only", &plain()));
    of(&mut rig, DEFAULT, |rig| rig.put("default_only", &plain()));
    of(&mut rig, A, |rig| rig.start(WRITER, "incomplete", KIB, &plain())).unwrap();
    let keys = [
        "tenant_only",
        "default_only",
        "missing",
        "incomplete",
        "tenant_only",
    ];
    assert_eq!(
        of(&mut rig, A, |rig| rig.batch_exist(&keys)),
        [true, false, false, false, true]
    );
    assert_eq!(
        of(&mut rig, DEFAULT, |rig| rig.batch_exist(&keys[..2])),
        [false, true]
    );
}

#[test]
fn wrapped_request_boundary_rejects_invalid_tenant_ids() {
    let mut rig = Rig::with_tenants();
    assert_eq!(
        of(&mut rig, "_invalid-tenant", |rig| rig.get("key")),
        Err(ErrorCode::InvalidParams)
    );
    let refused = of(&mut rig, "tenant\0bad", |rig| rig.batch_get(&["key-a", "key-b"]));
    assert_eq!(refused, vec![Err(ErrorCode::InvalidParams); 2]);
    assert_eq!(of(&mut rig, "_invalid-tenant", |rig| rig.remove_all(false)), 0);
}

#[test]
fn wrapped_request_boundary_preserves_tenant_normalization() {
    let mut rig = Rig::with_tenants();
    of(&mut rig, DEFAULT, |rig| rig.put("key", &plain()));
    assert!(
        of(&mut rig, "", |rig| rig.exist("key")),
        "no tenant is the default one"
    );
    let mut rig = Rig::new().node("test_segment");
    of(&mut rig, "_invalid-tenant", |rig| rig.put("key", &plain()));
    assert!(
        of(&mut rig, "another", |rig| rig.exist("key")),
        "without tenants nobody looks"
    );
}
