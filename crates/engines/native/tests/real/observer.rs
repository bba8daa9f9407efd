//! The admin server as an observer.

use crate::Test;
use crate::rig::{MIB, Rig, START};
use moonquake_clock::{Span, Thread};
use moonquake_native::process::{AdminError, KeyState};
use moonquake_protocol::{Request, Uuid};

pub(crate) const TESTS: &[Test] = &[
    ("real_observer_sees_the_state", state),
    ("real_observer_grants_no_lease", no_lease),
    ("real_observer_counts_clients", clients),
];

fn state() {
    let mut rig = Rig::with_segments(2);
    let admin = rig.master.admin();
    assert_eq!(admin.keys().expect("keys"), Vec::<String>::new());
    let keys = ["plain", "with space", "a/b?c=d&e#f", "100%", "\u{1f30b}"];
    let mut buffers = Vec::new();
    for key in keys {
        buffers.push(rig.put(key, 4_096));
    }
    rig.put_start("unfinished", 4_096).expect("a place");

    let mut sorted = keys.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(admin.keys().expect("keys"), sorted, "only what can be read");
    for (key, buffer) in keys.iter().zip(&buffers) {
        let KeyState::Readable(seen) = admin.query_key(key).expect("an answer") else {
            panic!("{key} cannot be read");
        };
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].buffer_address, buffer.buffer_address, "{key}");
        assert_eq!(seen[0].size_bytes, 4_096);
        assert_eq!(seen[0].transport_endpoint, buffer.transport_endpoint);
    }
    let refusal = |key: &str| admin.query_key(key).expect("an answer");
    assert_eq!(
        refusal("absent"),
        KeyState::Refused("OBJECT_NOT_FOUND".to_owned())
    );
    assert_eq!(
        refusal("unfinished"),
        KeyState::Refused("REPLICA_IS_NOT_READY".to_owned())
    );
    assert!(
        matches!(admin.query_key("a,b"), Err(AdminError::Key { .. })),
        "it would be taken for two keys"
    );
    assert_eq!(admin.segments().expect("segments"), ["n0", "n1"]);

    let metrics = admin.metrics().expect("metrics");
    assert_eq!(metrics.allocated_bytes(), 6 * 4_096);
    assert_eq!(metrics.capacity_bytes(), 128 * MIB);
    let detail = admin.segments_detail().expect("details");
    assert_eq!(detail.total_segments, 2);
    let names: Vec<&str> = detail
        .segments
        .iter()
        .map(|segment| segment.segment_name.as_str())
        .collect();
    assert_eq!(names, ["n0", "n1"]);
    assert_eq!(detail.segments[1].base_address, "0x20000000000");
    assert_eq!(detail.segments[1].client_id, "200-1");
    assert_eq!(detail.segments[1].status, "OK");
    assert_eq!(
        detail
            .segments
            .iter()
            .map(|segment| segment.allocator_used_bytes)
            .sum::<u64>(),
        6 * 4_096
    );
}

fn no_lease() {
    let mut rig = Rig::with_segments(1);
    rig.put("k", 4_096);
    let admin = rig.master.admin();
    assert!(matches!(admin.query_key("k"), Ok(KeyState::Readable(_))));
    admin.keys().expect("keys");
    admin.segments().expect("segments");
    admin.segments_detail().expect("details");
    admin.metrics().expect("metrics");
    assert_eq!(rig.remove("k"), 0, "looking granted no lease");

    rig.put("k", 4_096);
    admin.get("/query_key?key=k").expect("an answer");
    assert_eq!(
        rig.remove("k"),
        -706,
        "this query does, which is why it is not used"
    );
    rig.at(START, 10_000_000_000);
    assert_eq!(rig.remove("k"), 0);
    rig.put("k", 4_096);
    assert_eq!(rig.get("k"), 0);
    assert_eq!(rig.remove("k"), -706, "a reader's look does");
}

fn clients() {
    let mut rig = Rig::with_segments(1);
    let admin = rig.master.admin();
    let alive = || admin.metrics().expect("metrics").active_clients();
    assert_eq!(
        alive(),
        0,
        "a client counts once it has said that all its segments are mounted"
    );
    assert_eq!(
        rig.code(&Request::ReMountSegment {
            segments: Vec::new(),
            client_id: Uuid::new(200, 0)
        }),
        0
    );
    assert_eq!(alive(), 1);
    rig.tick(Thread::ClientMonitor);
    assert_eq!(alive(), 1);
    rig.master.set_clocks(START + Span::from_secs(11));
    rig.tick(Thread::ClientMonitor);
    assert_eq!(alive(), 0);
}
