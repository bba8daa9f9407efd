//! Every allocation strategy places objects where the real master places them.

use super::twin::{MIB, Twin, owner, segment};
use moonquake_clock::Span;
use moonquake_protocol::frame::RpcErrorCode;
use moonquake_protocol::{ErrorCode, Literal, ReplicateConfig, Request, Response, Segment, Uuid};
use proptest::prelude::*;

/// Steps in each of the worlds, which have 2 to 7 segments.
const STEPS: usize = 700;
const KEYS: usize = 60;

#[derive(Clone, Debug)]
enum Step {
    Put(usize, u64, ReplicateConfig),
    Upsert(usize, u64, ReplicateConfig),
    Remove(usize),
    Copy(usize, usize, usize),
    Unmount(usize),
    Mount(usize),
}

fn config(segments: usize) -> impl Strategy<Value = ReplicateConfig> {
    let preferred = prop::collection::vec((0..=segments).prop_map(|number| format!("n{number}")), 0..3);
    (1..5_u64, preferred, any::<bool>(), 0..3_u64).prop_map(|(replica_num, preferred, near, host)| {
        ReplicateConfig {
            replica_num: if near { 1 } else { replica_num },
            preferred_segments: preferred,
            prefer_alloc_in_same_node: near && host == 0,
            host_id: if host == 0 {
                String::new()
            } else {
                format!("h{host}")
            },
            ..ReplicateConfig::default()
        }
    })
}

fn step(segments: usize) -> impl Strategy<Value = Step> {
    let size = prop_oneof![1..64_u64 * 1024, 1..3 * MIB];
    prop_oneof![
        12 => (0..KEYS, size.clone(), config(segments)).prop_map(|(key, size, config)| Step::Put(key, size, config)),
        2 => (0..KEYS, size, config(segments)).prop_map(|(key, size, config)| Step::Upsert(key, size, config)),
        6 => (0..KEYS).prop_map(Step::Remove),
        1 => (0..KEYS, 0..segments, 0..segments).prop_map(|(key, from, to)| Step::Copy(key, from, to)),
        1 => (0..segments).prop_map(Step::Unmount),
        2 => (0..segments).prop_map(Step::Mount),
    ]
}

/// A segment of one of three hosts; the sizes differ, and the last shares its name with the first.
fn place(number: usize, segments: usize) -> Segment {
    let number = number as u64;
    let mut place = segment(number, (8 + 4 * (number % 3)) * MIB);
    place.host_id = format!("h{}", number % 3);
    if number + 1 == segments as u64 && segments > 3 {
        place.name = "n0".to_owned();
    }
    place
}

fn world(strategy: &str, segments: usize) {
    let mut twin = Twin::start([("allocation_strategy", strategy)]);
    for number in 0..segments {
        let segment = place(number, segments);
        twin.code(&Request::MountSegment {
            segment,
            client_id: owner(number as u64),
        });
    }
    for _ in 0..STEPS {
        let step = twin.draw(&step(segments));
        run(&mut twin, segments, step);
    }
    twin.compare_state();
}

fn run(twin: &mut Twin, segments: usize, step: Step) {
    let key = |number: usize| format!("k{number}");
    match step {
        Step::Put(number, size, config) => {
            twin.put(&key(number), size, &config);
        }
        Step::Upsert(number, slice_length, config) => {
            let (client_id, key, tenant_id) = (owner(0), key(number), String::new());
            twin.code(&Request::UpsertStart {
                client_id,
                key: key.clone(),
                slice_length,
                config,
                tenant_id,
            });
            twin.put_end(&key);
        }
        Step::Remove(number) => {
            twin.code(&Request::Remove {
                key: key(number),
                force: true,
                tenant_id: String::new(),
            });
        }
        Step::Copy(number, from, to) => {
            let (client_id, key, tenant_id) = (owner(0), key(number), String::new());
            let (src_segment, tgt_segments) = (format!("n{from}"), vec![format!("n{to}")]);
            twin.code(&Request::CopyStart {
                client_id,
                key: key.clone(),
                tenant_id,
                src_segment,
                tgt_segments,
            });
            twin.code(&Request::CopyEnd {
                client_id,
                key,
                tenant_id: String::new(),
            });
        }
        Step::Unmount(number) => {
            let (segment_id, client_id) = (Uuid::new(100, number as u64), owner(number as u64));
            twin.code(&Request::UnmountSegment {
                segment_id,
                client_id,
            });
            twin.settle();
            twin.pass(Span::from_secs(1));
        }
        Step::Mount(number) => {
            let segment = place(number, segments);
            twin.code(&Request::MountSegment {
                segment,
                client_id: owner(number as u64),
            });
        }
    }
}

fn every_world(strategy: &str) {
    for segments in 2..=7 {
        world(strategy, segments);
    }
}

pub(crate) fn random() {
    every_world("random");
}

pub(crate) fn free_ratio_first() {
    every_world("free_ratio_first");
}

pub(crate) fn ssd_free_ratio_first() {
    every_world("ssd_free_ratio_first");
}

pub(crate) fn local_first() {
    every_world("local_first");
}

pub(crate) fn cxl() {
    every_world("cxl");
}

/// More candidates than a sort leaves undivided.
pub(crate) fn many_segments() {
    for strategy in ["free_ratio_first", "ssd_free_ratio_first"] {
        world(strategy, 40);
    }
}

/// More replicas than there is memory for: the real master's handler throws, ours says INTERNAL_ERROR, and both have done the same.
pub(crate) fn absurd_counts() {
    let start = |key: &str, replica_num: u64| Request::PutStart {
        client_id: owner(0),
        key: key.to_owned(),
        slice_length: 1_000,
        config: ReplicateConfig {
            replica_num,
            ..ReplicateConfig::default()
        },
        tenant_id: String::new(),
    };
    for segments in 0..3 {
        let mut twin = Twin::start([]);
        for number in 0..segments {
            twin.mount(number, 64 * MIB, owner(number));
        }
        for (index, replica_num) in [1 << 32, 1 << 48, (1 << 57) - 1, 1 << 57, 1 << 63, u64::MAX]
            .into_iter()
            .enumerate()
        {
            twin.code(&start(&format!("few{index}"), 1 << 20));
            let request = start("k", replica_num);
            if segments == 0 {
                twin.code(&request);
                continue;
            }
            twin.code(&start("k", 1));
            twin.pass(Span::from_secs(31));
            let real = twin
                .real
                .call_as(&request, Literal::With)
                .expect_err("an exception");
            assert_eq!(real.code, RpcErrorCode::HandlerThrew, "{replica_num}: {real}");
            let ours = twin.ours.handle(twin.now, &request, &[]);
            assert_eq!(
                ours,
                Response::PutStart(Err(ErrorCode::InternalError)),
                "{replica_num}"
            );
            twin.code(&Request::GetReplicaList {
                key: "k".to_owned(),
                tenant_id: String::new(),
            });
            twin.compare_state();
        }
    }
}
