//! A read whose like was answered before allocates nothing.

use allocation_counter::measure;
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs};
use moonquake_master::{Master, MasterConfig};
use moonquake_protocol::{
    ErrorCode, ObjectMeta, ReplicaType, ReplicateConfig, Request, Response, Segment, Uuid,
};

const NOW: Clocks = Clocks {
    realtime: RealtimeNs(1_700_000_000_000_000_000),
    monotonic: MonotonicNs(1_000_000_000_000),
};
const CLIENT: Uuid = Uuid::new(1, 1);

/// A master with two segments and twenty objects of two replicas, `key-0` to `key-9` in one group.
fn filled() -> Master {
    let mut master = Master::new(MasterConfig::default(), NOW).unwrap();
    for number in 1..=2 {
        let segment = Segment {
            id: Uuid::new(2, number),
            name: format!("node-{number}"),
            base: number << 40,
            size: 1 << 30,
            te_endpoint: format!("a-host-with-a-long-name-{number}:12345"),
            protocol: "tcp".to_owned(),
            host_id: String::new(),
        };
        let client_id = CLIENT;
        master.handle(NOW, &Request::MountSegment { segment, client_id }, &[]);
    }
    for number in 0..20 {
        let config = ReplicateConfig {
            replica_num: 2,
            group_ids: (number < 10).then(|| vec!["a-group".to_owned()]),
            ..ReplicateConfig::default()
        };
        let (key, tenant_id) = (format!("key-{number}"), String::new());
        let start = Request::PutStart {
            client_id: CLIENT,
            key: key.clone(),
            slice_length: 4_096,
            config,
            tenant_id: tenant_id.clone(),
        };
        let end = Request::PutEnd {
            client_id: CLIENT,
            object_meta: ObjectMeta {
                key,
                object_checksum: Some(number),
            },
            replica_type: ReplicaType::All,
            tenant_id,
        };
        for request in [start, end] {
            master.handle(NOW, &request, &[]);
        }
    }
    master
}

fn reads(keys: &[&str]) -> [Request; 4] {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let (key, tenant_id) = (keys[0].clone(), "default".to_owned());
    [
        Request::ExistKey {
            key: key.clone(),
            tenant_id: tenant_id.clone(),
        },
        Request::GetReplicaList {
            key,
            tenant_id: tenant_id.clone(),
        },
        Request::BatchExistKey {
            keys: keys.clone(),
            tenant_id: tenant_id.clone(),
        },
        Request::BatchGetReplicaList { keys, tenant_id },
    ]
}

#[test]
fn the_second_read_of_a_kind_allocates_nothing() {
    let mut master = filled();
    let first = reads(&["key-12", "key-13", "key-1", "key-15"]);
    // Members of a group among them, whose leases are refreshed together.
    let second = reads(&["key-2", "key-17", "key-3", "key-19"]);
    for (first, second) in first.iter().zip(&second) {
        let mut answer = Response::ExistKey(Err(ErrorCode::InternalError));
        let cold = measure(|| master.handle_into(NOW, first, &[], &mut answer));
        let warm = measure(|| master.handle_into(NOW, second, &[], &mut answer));
        assert_eq!(warm.count_total, 0, "{:?}", second.rpc());
        assert!(cold.count_total > 0 || matches!(first, Request::ExistKey { .. }));
        assert_eq!(
            answer,
            filled().handle(NOW, second, &[]),
            "what was there before shows nowhere"
        );
    }
}

#[test]
fn an_answer_of_any_kind_can_be_written_over() {
    let requests = [
        reads(&["key-1", "absent", "key-2"]),
        reads(&["absent", "key-3", "key-19"]),
    ]
    .concat();
    let mut answer = Response::ExistKey(Ok(true));
    let (mut over, mut fresh) = (filled(), filled());
    for before in &requests {
        for request in [before].into_iter().chain(&requests) {
            over.handle_into(NOW, request, &[], &mut answer);
            assert_eq!(
                answer,
                fresh.handle(NOW, request, &[]),
                "{:?} after {:?}",
                request.rpc(),
                before.rpc()
            );
        }
    }
}
