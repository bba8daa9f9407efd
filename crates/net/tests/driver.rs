//! The plain client, and the client machine over real sockets.

mod support;

use moonquake_client::{ClientConfig, Get, Mount, Operation, Outcome, Put, PutKind};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, SteppedClock};
use moonquake_faults::{Moment, PHASES, PhaseId};
use moonquake_master::{Master, MasterConfig};
use moonquake_net::datapath::{OwnerEvent, SegmentServer};
use moonquake_net::driver::{Driver, RpcClient};
use moonquake_net::{Net, Rounds, RpcFailure, ServerHandle, failpoints, serve};
use moonquake_protocol::{ErrorCode, ReplicateConfig, Response, Segment, Uuid};
use serial_test::serial;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use support::{Reply, ScriptedMaster, exist, nobody};

const LIMIT: Duration = Duration::from_secs(20);
const SIZE: usize = 150_000;

/// A master, an owner with a mounted segment, and a client.
struct World {
    net: Net,
    server: ServerHandle,
    owner: SegmentServer,
    driver: Driver,
}

impl World {
    fn new() -> World {
        let net = Net::stepped(LIMIT).unwrap();
        let start = Clocks {
            realtime: RealtimeNs(1_000_000_000_000),
            monotonic: MonotonicNs(1_000_000_000),
        };
        let clock = Arc::new(SteppedClock::new(start));
        let master = Master::new(MasterConfig::default(), start).unwrap();
        let bind = (Ipv4Addr::LOCALHOST, 0).into();
        let server = serve(master, clock.clone(), bind, Rounds::ByCommand).unwrap();
        let owner = SegmentServer::start(&net, "n1", 1 << 32, 1 << 20).unwrap();
        let driver = Driver::new(&net, RpcClient::new(server.address()), clock);
        let mut world = World {
            net,
            server,
            owner,
            driver,
        };
        let segment = Segment {
            id: Uuid::new(9, 9),
            name: "n1".to_owned(),
            base: world.owner.base(),
            size: world.owner.size_bytes(),
            te_endpoint: world.owner.endpoint(),
            protocol: "tcp".to_owned(),
            ..Segment::default()
        };
        let mut mount = Mount::new(Uuid::new(5, 5), vec![segment]);
        assert_eq!(world.run(&mut mount, &mut []), Outcome::Ok);
        world
    }

    fn run(&mut self, operation: &mut dyn Operation, buffer: &mut [u8]) -> Outcome {
        let net = self.net.clone();
        net.step("running an operation", self.driver.run(operation, buffer))
            .unwrap()
    }

    fn put(&mut self, key: &str) -> Outcome {
        let config = ReplicateConfig {
            replica_num: 1,
            ..ReplicateConfig::default()
        };
        let client = ClientConfig::new(Uuid::new(1, 1));
        let mut put = Put::new(client, PutKind::Put, key.to_owned(), SIZE as u64, config);
        self.run(&mut put, &mut payload())
    }

    fn get(&mut self, key: &str, buffer: &mut [u8]) -> Outcome {
        self.run(
            &mut Get::new(ClientConfig::new(Uuid::new(2, 2)), key.to_owned()),
            buffer,
        )
    }
}

fn payload() -> Vec<u8> {
    (0..SIZE).map(|at| (at % 253) as u8 + 1).collect()
}

#[test]
#[serial]
fn an_object_is_put_and_got_and_every_phase_is_passed() {
    let mut world = World::new();
    let guard = failpoints::setup("", 1).unwrap();
    assert_eq!(world.put("k"), Outcome::Ok);
    let mut read = vec![0; SIZE];
    assert_eq!(world.get("k", &mut read), Outcome::Ok);
    assert!(read == payload(), "other bytes came back");
    for row in PHASES.iter().filter(|row| matches!(row.operation, "put" | "get")) {
        let expected = match row.moment {
            Moment::Before | Moment::Done => 1,
            // Client and server share this process, and both pass them.
            Moment::Sent | Moment::Response => 2,
            // 150,000 bytes in parts of 64 KiB.
            Moment::Part => 3,
        };
        assert_eq!(guard.hits(row.id), expected, "{}", row.name);
    }
    let landed = world
        .owner
        .log()
        .into_iter()
        .filter(|event| matches!(event, OwnerEvent::Landed { .. }))
        .count();
    assert_eq!(landed, 3);
}

#[test]
#[serial]
fn a_failpoint_at_each_phase_fails_the_operation_as_a_fault_would() {
    let put: [(PhaseId, ErrorCode, u64); 7] = [
        (PhaseId::PutStartBefore, ErrorCode::RpcFail, 0),
        (PhaseId::PutStartSent, ErrorCode::RpcFail, 0),
        (PhaseId::PutStartResponse, ErrorCode::RpcFail, SIZE as u64),
        // A failed transfer is revoked, which frees the bytes at once.
        (PhaseId::PutPayloadPart, ErrorCode::TransferFail, 0),
        (PhaseId::PutPayloadDone, ErrorCode::TransferFail, 0),
        (PhaseId::PutEndSent, ErrorCode::RpcFail, SIZE as u64),
        (PhaseId::PutEndResponse, ErrorCode::RpcFail, SIZE as u64),
    ];
    for (phase, code, allocated) in put {
        let mut world = World::new();
        let _guard = failpoints::setup(&format!("{phase}=1*return"), 1).unwrap();
        assert_eq!(world.put("k"), Outcome::Error(code), "{phase}");
        assert_eq!(
            world.server.with_master(|master| master.view().allocated_bytes),
            allocated,
            "{phase}"
        );
    }
    let get = [
        (PhaseId::GetQueryBefore, ErrorCode::RpcFail),
        (PhaseId::GetQuerySent, ErrorCode::RpcFail),
        (PhaseId::GetQueryResponse, ErrorCode::RpcFail),
        (PhaseId::GetPayloadPart, ErrorCode::TransferFail),
        (PhaseId::GetPayloadDone, ErrorCode::TransferFail),
    ];
    let mut world = World::new();
    assert_eq!(world.put("k"), Outcome::Ok);
    for (phase, code) in get {
        let _guard = failpoints::setup(&format!("{phase}=1*return"), 1).unwrap();
        assert_eq!(
            world.get("k", &mut vec![0; SIZE]),
            Outcome::Error(code),
            "{phase}"
        );
    }
    for phase in [
        PhaseId::RevokeBefore,
        PhaseId::RevokeSent,
        PhaseId::RevokeResponse,
    ] {
        let mut world = World::new();
        let plan = format!("client.put.payload_done=1*return;{phase}=1*return");
        let _guard = failpoints::setup(&plan, 1).unwrap();
        // The code of the revoke is returned instead of that of the transfer.
        assert_eq!(world.put("k"), Outcome::Error(ErrorCode::RpcFail), "{phase}");
    }
}

#[test]
#[serial]
fn a_code_of_the_store_is_an_answer_of_the_store() {
    let mut world = World::new();
    let _guard = failpoints::setup("client.put.start_before=return(OBJECT_ALREADY_EXISTS)", 1).unwrap();
    // As upstream, a key that exists counts as success and nothing is written.
    assert_eq!(world.put("k"), Outcome::Ok);
    assert_eq!(
        world.server.with_master(|master| master.view().allocated_bytes),
        0
    );
}

#[test]
#[serial]
fn a_buffer_that_is_too_small_is_not_overrun() {
    let mut world = World::new();
    assert_eq!(world.put("k"), Outcome::Ok);
    let mut small = vec![0; SIZE - 1];
    assert_eq!(
        world.get("k", &mut small),
        Outcome::Error(ErrorCode::TransferFail)
    );
    assert!(small.iter().all(|&byte| byte == 0));
}

#[test]
#[serial]
fn a_dead_owner_fails_the_put() {
    let mut world = World::new();
    world.owner.kill().unwrap();
    assert_eq!(world.put("k"), Outcome::Error(ErrorCode::TransferFail));
    assert_eq!(
        world.server.with_master(|master| master.view().allocated_bytes),
        0,
        "it was not revoked"
    );
}

fn call(net: &Net, client: &mut RpcClient) -> Result<Response, RpcFailure> {
    net.step("calling", client.call(&exist("k"))).unwrap()
}

#[test]
fn calls_fail_as_upstreams_do_and_the_next_one_is_made_anew() {
    let net = Net::stepped(LIMIT).unwrap();
    type Once = fn() -> Reply;
    let cases: [(Once, ErrorCode); 5] = [
        (|| Reply::Silence, ErrorCode::RpcTimeout),
        (|| Reply::Close, ErrorCode::RpcFail),
        (|| Reply::BytesThenClose(vec![1, 2, 3]), ErrorCode::RpcFail),
        (
            || Reply::Bytes([&[0x15, 0, 0, 0, 0, 0, 0, 0][..], &[0xff; 8]].concat()),
            ErrorCode::RpcFail,
        ),
        (|| Reply::Say(Response::RemoveAll(1)), ErrorCode::RpcFail),
    ];
    for (first, code) in cases {
        let replies = std::sync::Mutex::new(Some(first()));
        let master = ScriptedMaster::start(move |_| {
            replies
                .lock()
                .unwrap()
                .take()
                .unwrap_or(Reply::Say(Response::ExistKey(Ok(true))))
        });
        let mut client = RpcClient::new(master.address).with_timeout(Duration::from_millis(200));
        assert_eq!(call(&net, &mut client).unwrap_err().code(), code);
        assert_eq!(call(&net, &mut client), Ok(Response::ExistKey(Ok(true))));
        assert_eq!(call(&net, &mut client), Ok(Response::ExistKey(Ok(true))));
        let numbers: Vec<(usize, u32)> = master
            .seen()
            .into_iter()
            .map(|(connection, sequence, _)| (connection, sequence))
            .collect();
        assert_eq!(numbers, [(0, 0), (1, 0), (1, 1)]);
    }
    let mut client = RpcClient::new(nobody());
    let failure = call(&net, &mut client).unwrap_err();
    assert!(matches!(failure, RpcFailure::Connect { .. }), "{failure}");
    assert_eq!(failure.code(), ErrorCode::RpcFail);
}

#[test]
#[serial]
fn a_lost_message_is_a_time_out() {
    let net = Net::stepped(LIMIT).unwrap();
    let master =
        ScriptedMaster::start(|_| Reply::Say(Response::GetReplicaList(Err(ErrorCode::ObjectNotFound))));
    let query = moonquake_protocol::Request::GetReplicaList {
        key: "k".to_owned(),
        tenant_id: String::new(),
    };
    let mut client = RpcClient::new(master.address).with_timeout(Duration::from_millis(50));
    for (phase, handled) in [("query_before", 0), ("query_sent", 0), ("query_response", 1)] {
        let _guard = failpoints::setup(&format!("client.get.{phase}=return(drop)"), 1).unwrap();
        let before = master.seen().len();
        let failure = net.step("calling", client.call(&query)).unwrap().unwrap_err();
        assert_eq!(failure.code(), ErrorCode::RpcTimeout, "{phase}");
        assert_eq!(master.seen().len() - before, handled, "{phase}");
    }
    let _guard = failpoints::setup("client.get.query_before=return(drop)", 1).unwrap();
    let mut quiet = RpcClient::new(master.address).without_failpoints();
    assert!(net.step("calling", quiet.call(&query)).unwrap().is_ok());
}
