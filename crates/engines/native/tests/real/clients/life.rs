//! All that a client does in its life, at the real master and at the Rust one: the same results, the same bytes.

use super::rig::{Host, KIB, Kind, MIB, Store, keys, plain, range};
use crate::Test;
use moonquake_native::agent::{Command, Outcome, RangedRead, Replication, Setup, SoftPin, code_of};
use moonquake_net::MetadataServer;
use moonquake_protocol::ErrorCode;
use std::net::{Ipv4Addr, SocketAddr};

pub(crate) const TESTS: &[Test] = &[
    ("real_client_life_at_the_real_master", || life(Kind::Real)),
    ("real_client_life_at_the_rust_master", || life(Kind::Rust)),
    ("real_client_metadata_over_http_at_the_real_master", || {
        metadata(Kind::Real)
    }),
    ("real_client_metadata_over_http_at_the_rust_master", || {
        metadata(Kind::Rust)
    }),
];

const LEASED: i64 = -706;
const NOT_FOUND: i64 = -704;

fn life(kind: Kind) {
    let host = Host::start(kind);
    let store = Store::with_segment(host.address(), 64 * MIB);
    let name = store.name();
    assert!(name.starts_with("127.0.0.1:"), "{name}");
    assert_eq!(store.number(Command::HealthCheck), 0);

    single(&store);
    zero_copy(&store);
    batches(&store);
    upserts(&store);
    put_session(&store);
    get_session(&store);
    ranges(&store);
    configured(&store);
    segments_and_tasks(&store);
    removals(&store);
    store.close();
    assert_eq!(store.number(Command::Close), 0, "once more changes nothing");

    // The same process may be another client.
    let again = Setup::tcp(host.address().to_string(), 16 * MIB);
    assert_eq!(store.number(Command::Setup(again)), 0);
    assert_eq!(store.is_exist("staged"), 0);
    store.close();
}

fn single(store: &Store) {
    store.fill(range(0, 5000), 1);
    assert_eq!(store.put("staged", range(0, 5000)), 0);
    assert_eq!(
        store.put("staged", range(0, 10)),
        0,
        "a second put is taken for done"
    );
    assert_eq!(store.is_exist("staged"), 1);
    assert_eq!(store.is_exist("missing"), 0);
    assert_eq!(
        store.number(Command::GetSize {
            key: "staged".to_owned()
        }),
        5000
    );
    assert_eq!(
        store.number(Command::GetSize {
            key: "missing".to_owned()
        }),
        NOT_FOUND
    );
    assert_eq!(code_of(NOT_FOUND), Err(ErrorCode::ObjectNotFound));
    assert_eq!(store.get("staged", range(8 * KIB, 5000)), 5000);
    assert!(store.has(range(8 * KIB, 5000), 1));
    assert_eq!(store.get("missing", range(8 * KIB, 5000)), 0);
    let parts = Command::PutParts {
        key: "parts".to_owned(),
        parts: vec![range(0, 100), range(100, 300)],
        config: plain(),
    };
    assert_eq!(store.number(parts), 0);
    assert_eq!(store.get("parts", range(16 * KIB, 400)), 400);
    assert!(store.has(range(16 * KIB, 400), 1));
}

fn zero_copy(store: &Store) {
    let (from, into) = (range(MIB, 4 * MIB), range(8 * MIB, 4 * MIB));
    store.register(from);
    store.register(into);
    store.fill(from, 2);
    assert_eq!(store.put_from("direct", from), 0);
    assert_eq!(store.get_into("direct", into), 4 << 20);
    assert!(store.has(into, 2));
    assert_eq!(store.get_into("missing", into), NOT_FOUND);
    assert_eq!(store.get_into("direct", range(8 * MIB, MIB)), -600, "too small");
    assert_eq!(store.number(Command::UnregisterBuffer { offset: into.offset }), 0);
    assert_eq!(store.number(Command::UnregisterBuffer { offset: from.offset }), 0);
    assert_ne!(
        store.number(Command::UnregisterBuffer { offset: from.offset }),
        0,
        "it is gone"
    );
}

fn batches(store: &Store) {
    let whole = range(MIB, 4 * MIB);
    store.register(whole);
    store.fill(range(MIB, 64 * KIB), 3);
    store.fill(range(2 * MIB, 32 * KIB), 4);
    let parts = vec![range(MIB, 64 * KIB), range(2 * MIB, 32 * KIB)];
    let names = keys(&["b1", "b2"]);
    let put = Command::BatchPutFrom {
        keys: names.clone(),
        buffers: parts.clone(),
        config: plain(),
    };
    assert_eq!(store.numbers(put), [0, 0]);
    let staged = Command::PutBatch {
        keys: keys(&["b3", "b4"]),
        values: parts.clone(),
        config: plain(),
    };
    assert_eq!(store.number(staged), 0);
    let exist = Command::BatchIsExist {
        keys: keys(&["b1", "none", "b4"]),
    };
    assert_eq!(store.numbers(exist), [1, 0, 1]);
    let into = vec![
        range(3 * MIB, 64 * KIB),
        range(4 * MIB, 32 * KIB),
        range(3 * MIB, KIB),
    ];
    let get = Command::BatchGetInto {
        keys: keys(&["b3", "b4", "none"]),
        buffers: into.clone(),
    };
    assert_eq!(store.numbers(get), [64 << 10, 32 << 10, NOT_FOUND]);
    assert!(store.has(into[0], 3) && store.has(into[1], 4));
    let staged = Command::GetBatch {
        keys: names,
        into: range(16 * MIB, 2 * MIB),
    };
    assert_eq!(store.ask(staged), Outcome::Lengths(vec![64 << 10, 32 << 10]));
    assert!(store.has(range(16 * MIB, 64 * KIB), 3) && store.has(range(16 * MIB + 64 * KIB, 32 * KIB), 4));
    let several = Command::BatchPutFromMultiBuffers {
        keys: keys(&["m1"]),
        buffers: vec![vec![range(MIB, 16 * KIB), range(MIB + 16 * KIB, 48 * KIB)]],
        config: plain(),
    };
    assert_eq!(store.numbers(several), [0]);
    let back = Command::BatchGetIntoMultiBuffers {
        keys: keys(&["m1"]),
        buffers: vec![vec![range(3 * MIB, 60 * KIB), range(3 * MIB + 60 * KIB, 4 * KIB)]],
        prefer_alloc_in_same_node: false,
    };
    assert_eq!(store.numbers(back), [64 << 10]);
    assert!(store.has(range(3 * MIB, 64 * KIB), 3));
    assert_eq!(
        store.number(Command::UnregisterBuffer { offset: whole.offset }),
        0
    );
}

fn upserts(store: &Store) {
    let buffer = range(MIB, MIB);
    store.register(buffer);
    store.fill(buffer, 5);
    let upsert = |value| Command::Upsert {
        key: "u".to_owned(),
        value,
        config: plain(),
    };
    assert_eq!(store.number(upsert(range(MIB, 1000))), 0);
    assert_eq!(store.number(upsert(range(MIB + 1000, 1000))), 0, "in place");
    assert_eq!(store.get("u", range(0, 1000)), 1000);
    assert_eq!(store.bytes(range(0, 1000)), store.bytes(range(MIB + 1000, 1000)));
    let from = Command::UpsertFrom {
        key: "u".to_owned(),
        buffer,
        config: plain(),
    };
    assert_eq!(store.number(from), 0, "of another size");
    let batch = Command::BatchUpsertFrom {
        keys: keys(&["u", "u2"]),
        buffers: vec![range(MIB, 2000), range(MIB, 3000)],
        config: plain(),
    };
    assert_eq!(store.numbers(batch), [0, 0]);
    let staged = Command::UpsertBatch {
        keys: keys(&["u", "u3"]),
        values: vec![range(MIB, 4000), range(MIB, 3000)],
        config: plain(),
    };
    assert_eq!(store.number(staged), 0);
    let parts = Command::UpsertParts {
        key: "u3".to_owned(),
        parts: vec![range(MIB, 10), range(MIB + 10, 10)],
        config: plain(),
    };
    assert_eq!(store.number(parts), 0);
    assert_eq!(store.number(Command::GetSize { key: "u".to_owned() }), 4000);
    assert_eq!(store.number(Command::GetSize { key: "u3".to_owned() }), 20);
    assert_eq!(store.number(Command::UnregisterBuffer { offset: MIB }), 0);
}

fn put_session(store: &Store) {
    let buffer = range(MIB, MIB);
    store.register(buffer);
    store.fill(buffer, 6);
    let start = |name: &str| Command::BatchPutSessionStart {
        keys: keys(&[name]),
        sizes: vec![MIB],
        config: plain(),
    };
    assert_eq!(store.numbers(start("s")), [0]);
    assert_eq!(store.is_exist("s"), 0, "nobody sees it yet");
    for half in [1, 0] {
        let write = Command::BatchPutFromMultiBufferRanges {
            keys: keys(&["s"]),
            buffers: vec![vec![range(MIB + half * MIB / 2, MIB / 2)]],
            dst_offsets: vec![vec![half * MIB / 2]],
        };
        assert_eq!(store.numbers(write), [512 << 10]);
    }
    let end = Command::BatchPutSessionEnd { keys: keys(&["s"]) };
    assert_eq!(store.numbers(end), [0]);
    assert_eq!(store.get("s", range(4 * MIB, MIB)), MIB);
    assert!(store.has(range(4 * MIB, MIB), 6));
    assert_eq!(store.numbers(start("given_up")), [0]);
    let revoke = Command::BatchPutSessionRevoke {
        keys: keys(&["given_up"]),
    };
    assert_eq!(store.numbers(revoke), [0]);
    assert_eq!(store.is_exist("given_up"), 0);
    assert_eq!(store.number(Command::UnregisterBuffer { offset: MIB }), 0);
}

fn get_session(store: &Store) {
    let buffer = range(2 * MIB, MIB);
    store.register(buffer);
    let start = Command::BatchGetSessionStart {
        keys: keys(&["s", "missing"]),
    };
    assert_eq!(store.numbers(start), [0, NOT_FOUND]);
    let read = Command::BatchGetIntoMultiBufferRanges {
        keys: keys(&["s"]),
        buffers: vec![vec![range(2 * MIB, KIB), range(2 * MIB + KIB, KIB)]],
        src_offsets: vec![vec![4 * KIB, 0]],
    };
    assert_eq!(store.numbers(read), [2 << 10]);
    let whole = super::rig::pattern(6, MIB);
    assert_eq!(store.bytes(range(2 * MIB, KIB)), whole[4 << 10..5 << 10]);
    assert_eq!(store.bytes(range(2 * MIB + KIB, KIB)), whole[..1 << 10]);
    let end = Command::BatchGetSessionEnd {
        keys: keys(&["s", "missing"]),
    };
    assert_eq!(store.number(end), 0);
    assert_eq!(store.number(Command::UnregisterBuffer { offset: 2 * MIB }), 0);
}

fn ranges(store: &Store) {
    let buffer = range(2 * MIB, MIB);
    store.register(buffer);
    let read = |key: &str, from: u64| RangedRead {
        key: key.to_owned(),
        dst_offsets: vec![0, KIB],
        src_offsets: vec![from, 0],
        sizes: vec![KIB, 10],
    };
    let get = Command::GetIntoRanges {
        buffers: vec![buffer],
        reads: vec![vec![read("s", 8 * KIB), read("missing", 0)]],
    };
    let outcome = store.ask(get);
    assert_eq!(
        outcome,
        Outcome::Nested(vec![vec![vec![1 << 10, 10], vec![NOT_FOUND, NOT_FOUND]]])
    );
    let whole = super::rig::pattern(6, MIB);
    assert_eq!(store.bytes(range(2 * MIB, KIB)), whole[8 << 10..9 << 10]);
    assert_eq!(store.number(Command::UnregisterBuffer { offset: 2 * MIB }), 0);
}

fn configured(store: &Store) {
    let with = |key: &str, config| Command::Put {
        key: key.to_owned(),
        value: range(0, 100),
        config,
    };
    let pinned = Replication {
        replica_num: Some(1),
        soft_pin_action: Some(SoftPin::Enable),
        soft_pin_ttl_ms: Some(60_000),
        with_hard_pin: Some(false),
        group_ids: Some(keys(&["g"])),
        data_type: Some("KVCACHE".to_owned()),
        ..Replication::default()
    };
    assert_eq!(store.number(with("pinned", pinned)), 0);
    let none = Replication {
        replica_num: Some(0),
        ..Replication::default()
    };
    assert_eq!(store.number(with("none", none)), -600);
    let Outcome::Raised { kind, .. } = store.ask(with(
        "odd",
        Replication {
            data_type: Some("NOTHING".to_owned()),
            ..Replication::default()
        },
    )) else {
        panic!("the client's own layer refuses that")
    };
    assert_eq!(kind, "AttributeError");
}

fn segments_and_tasks(store: &Store) {
    let mount = Command::AllocateAndMountSegment {
        size: 16 * MIB,
        protocol: "tcp".to_owned(),
    };
    let Outcome::Mount {
        code,
        segment_ids,
        allocated_size,
    } = store.ask(mount)
    else {
        panic!("a mount")
    };
    assert_eq!((code, segment_ids.len(), allocated_size), (0, 1, 16 * MIB));
    let Outcome::Replicas(replicas) = store.ask(Command::GetReplicaDesc {
        key: "staged".to_owned(),
    }) else {
        panic!("replicas")
    };
    assert_eq!(replicas.len(), 1);
    assert_eq!(
        (replicas[0].kind.as_str(), replicas[0].status.as_str()),
        ("memory", "COMPLETE")
    );
    assert_eq!(replicas[0].size, 5000);
    let of = Command::BatchGetReplicaDesc {
        keys: keys(&["missing", "staged"]),
    };
    assert_eq!(store.ask(of), Outcome::ReplicasOf(vec![None, Some(replicas)]));
    let copy = Command::CreateCopyTask {
        key: "staged".to_owned(),
        targets: keys(&["nowhere"]),
    };
    assert_eq!(
        store.ask(copy),
        Outcome::Task {
            code: -600,
            id: (0, 0)
        }
    );
    let query = store.ask(Command::QueryTask { task_id: (1, 2) });
    assert!(
        matches!(query, Outcome::TaskState { code: -1400, .. }),
        "{query:?}"
    );
    let unmount = Command::UnmountAndFreeSegment {
        segment_ids,
        grace_period_seconds: 0,
    };
    assert_eq!(store.number(unmount), 0);
}

fn removals(store: &Store) {
    assert_eq!(store.remove("staged", false), LEASED);
    assert_eq!(store.remove("staged", true), 0);
    assert_eq!(store.remove("staged", true), NOT_FOUND);
    let batch = Command::BatchRemove {
        keys: keys(&["direct", "missing"]),
        force: true,
    };
    assert_eq!(store.numbers(batch), [0, NOT_FOUND]);
    let by_regex = |pattern: &str, force| Command::RemoveByRegex {
        pattern: pattern.to_owned(),
        force,
    };
    assert_eq!(store.number(by_regex("^b[1-2]$", true)), 2);
    assert_eq!(store.number(by_regex("^none$", true)), 0);
    assert!(store.number(by_regex("(", true)) < 0, "no pattern");
    // b3, b4, m1, u, u2, u3, s, parts and pinned.
    assert_eq!(store.number(Command::RemoveAll { force: true }), 9);
    assert_eq!(store.number(Command::RemoveAll { force: true }), 0);
}

/// A writer and a reader that find each other through a metadata server.
fn metadata(kind: Kind) {
    let host = Host::start(kind);
    let metadata = MetadataServer::serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
    let setup = |segment| Setup {
        metadata_server: metadata.url(),
        ..Setup::tcp(host.address().to_string(), segment)
    };
    let owner = Store::set_up(setup(16 * MIB));
    let other = Store::set_up(setup(0));
    other.fill(range(0, MIB), 9);
    assert_eq!(other.put("k", range(0, MIB)), 0);
    assert_eq!(owner.get("k", range(0, MIB)), MIB);
    assert!(owner.has(range(0, MIB), 9));
    assert_eq!(other.get("k", range(2 * MIB, MIB)), MIB);
    assert!(other.has(range(2 * MIB, MIB), 9));
    other.close();
    owner.close();
}
