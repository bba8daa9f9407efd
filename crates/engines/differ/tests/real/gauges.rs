//! Gauges of the real master that are wrong, and so are not compared: those of single segments.

use crate::Test;
use moonquake_differ::{Operation, Outcome, Pair, Setup};
use moonquake_protocol::{ObjectMeta, ReplicaType, ReplicateConfig, Request, Segment, Uuid};

pub(crate) const TESTS: &[Test] = &[
    (
        "real_the_gauges_of_a_name_go_with_the_first_of_its_mounts",
        shared_name,
    ),
    (
        "real_an_unmount_leaves_a_gauge_of_its_segment_below_zero",
        emptied,
    ),
];

const MIB: u64 = 1 << 20;
const OWNER: Uuid = Uuid::new(2, 0);

fn pair() -> Pair {
    Pair::start(&Setup::defaults()).unwrap_or_else(|error| panic!("{error}"))
}

fn mount(number: u64, size: u64) -> Request {
    Request::MountSegment {
        segment: Segment {
            id: Uuid::new(1, number),
            name: "shared".to_owned(),
            base: (number + 1) << 40,
            size,
            te_endpoint: format!("h{number}"),
            protocol: "tcp".to_owned(),
            ..Segment::default()
        },
        client_id: OWNER,
    }
}

fn unmount(number: u64) -> Request {
    Request::UnmountSegment {
        segment_id: Uuid::new(1, number),
        client_id: OWNER,
    }
}

fn put(slice_length: u64) -> [Request; 2] {
    let (client_id, key, tenant_id) = (OWNER, "k".to_owned(), String::new());
    let object_meta = ObjectMeta {
        key: key.clone(),
        object_checksum: None,
    };
    [
        Request::PutStart {
            client_id,
            key,
            slice_length,
            config: ReplicateConfig::default(),
            tenant_id: tenant_id.clone(),
        },
        Request::PutEnd {
            client_id,
            object_meta,
            replica_type: ReplicaType::Memory,
            tenant_id,
        },
    ]
}

/// Sends requests that must all be accepted.
fn send(pair: &mut Pair, requests: &[Request]) {
    let operations: Vec<Operation> = requests.iter().cloned().map(Operation::Call).collect();
    let outcomes = pair
        .real()
        .apply(&operations)
        .unwrap_or_else(|error| panic!("{error}"));
    for outcome in outcomes {
        assert!(
            matches!(&outcome, Outcome::Answer(response) if response.error().is_none()),
            "{outcome:?}"
        );
    }
}

/// Allocated bytes and capacity: of the whole master, and of the name where there are such gauges.
fn gauges(pair: &mut Pair) -> ([f64; 2], [Option<f64>; 2]) {
    let all = pair.real().gauges().unwrap_or_else(|error| panic!("{error}"));
    let whole = ["master_allocated_bytes", "master_total_capacity_bytes"];
    let own = ["segment_allocated_bytes", "segment_total_capacity_bytes"];
    (
        whole.map(|name| all[name]),
        own.map(|name| all.get(&format!("{name}{{segment=\"shared\"}}")).copied()),
    )
}

fn shared_name() {
    let mut pair = pair();
    println!("{:?}", gauges(&mut pair));
    send(&mut pair, &[mount(0, MIB)]);
    send(&mut pair, &put(10));
    println!("{:?}", gauges(&mut pair));
    send(&mut pair, &[mount(1, 2 * MIB)]);
    println!("{:?}", gauges(&mut pair));
    send(&mut pair, &[unmount(1)]);
    println!("{:?}", gauges(&mut pair));
    let remove = Request::Remove {
        key: "k".to_owned(),
        force: true,
        tenant_id: String::new(),
    };
    send(&mut pair, &[remove]);
    println!("{:?}", gauges(&mut pair));
    panic!()
}

fn emptied() {
    let mut pair = pair();
    send(&mut pair, &[mount(0, MIB)]);
    send(&mut pair, &put(10));
    send(&mut pair, &[unmount(0)]);
    println!("{:?}", gauges(&mut pair));
    send(&mut pair, &[mount(0, MIB)]);
    println!("{:?}", gauges(&mut pair));
    panic!()
}
