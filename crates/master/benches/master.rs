//! How fast the master answers. Run with `cargo bench -p moonquake-master`.

use divan::{Bencher, black_box};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span, Thread};
use moonquake_master::{Master, MasterConfig};
use moonquake_protocol::{ObjectMeta, ReplicaType, ReplicateConfig, Request, Segment, Uuid};

const CLIENT: Uuid = Uuid::new(1, 1);
const START: Clocks = Clocks {
    realtime: RealtimeNs(1_700_000_000_000_000_000),
    monotonic: MonotonicNs(1_000_000_000_000),
};

fn main() {
    divan::main();
}

fn put(key: &str) -> [Request; 2] {
    let start = Request::PutStart {
        client_id: CLIENT,
        key: key.to_owned(),
        slice_length: 4_096,
        config: ReplicateConfig::default(),
        tenant_id: String::new(),
    };
    let end = Request::PutEnd {
        client_id: CLIENT,
        object_meta: ObjectMeta {
            key: key.to_owned(),
            object_checksum: None,
        },
        replica_type: ReplicaType::All,
        tenant_id: String::new(),
    };
    [start, end]
}

/// A master with that many objects in one segment of 16 GiB.
fn filled(objects: usize) -> Master {
    let mut master = Master::new(MasterConfig::default(), START).expect("upstream's defaults are valid");
    let segment = Segment {
        id: Uuid::new(2, 2),
        name: "n1".to_owned(),
        base: 1 << 40,
        size: 16 << 30,
        te_endpoint: "n1:1".to_owned(),
        protocol: "tcp".to_owned(),
        host_id: String::new(),
    };
    let client_id = CLIENT;
    master.handle(START, &Request::MountSegment { segment, client_id }, &[]);
    for number in 0..objects {
        for request in put(&format!("key_{number}")) {
            master.handle(START + Span::from_ns(number as u64), &request, &[]);
        }
    }
    master
}

#[divan::bench(args = [1_000, 100_000])]
fn exist_key(bencher: Bencher, objects: usize) {
    let mut master = filled(objects);
    let (key, tenant_id) = ("key_500".to_owned(), String::new());
    let request = Request::ExistKey { key, tenant_id };
    bencher.bench_local(|| black_box(master.handle(START, black_box(&request), &[])));
}

#[divan::bench(args = [1_000, 100_000])]
fn put_start_put_end_remove(bencher: Bencher, objects: usize) {
    let mut master = filled(objects);
    let [start, end] = put("another");
    let (key, tenant_id) = ("another".to_owned(), String::new());
    let remove = Request::Remove {
        key,
        force: false,
        tenant_id,
    };
    bencher.bench_local(|| {
        for request in [&start, &end, &remove] {
            black_box(master.handle(START, black_box(request), &[]));
        }
    });
}

#[divan::bench(args = [1_000, 100_000])]
fn eviction_tick_without_pressure(bencher: Bencher, objects: usize) {
    let mut master = filled(objects);
    bencher.bench_local(|| master.tick(black_box(START), Thread::Eviction));
}
