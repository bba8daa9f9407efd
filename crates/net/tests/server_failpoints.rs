//! Failpoints in the server. They are the process's, so no other test of the server shares this file.

mod support;

use moonquake_faults::PhaseId;
use moonquake_net::failpoints;
use moonquake_protocol::frame::encode_request;
use moonquake_protocol::{ErrorCode, Literal, Request, Response, Rpc};
use serial_test::serial;
use std::io::Write;
use std::net::TcpStream;
use support::ping;
use support::served::{LIMIT, busy, mount, put_start, read_answers, talk};
use tracing_test::traced_test;

#[test]
#[serial]
fn failpoints_strike_at_the_server() {
    let (_net, server) = busy();
    talk(&server, &encode_request(0, &mount("n1"), Literal::With), 1);
    let plan = "client.put.start_sent=1*return(NO_AVAILABLE_HANDLE)->1*return(drop)->1*return(cut)->1*panic(boom);\
                client.put.start_response=1*return->1*return(drop)";
    let guard = failpoints::setup(plan, 1).unwrap();
    let ask = |frames| {
        let stream = [
            encode_request(0, &put_start("k"), Literal::With),
            encode_request(1, &ping(1), Literal::With),
        ];
        talk(&server, &stream.concat(), frames)
    };
    let put = |answers: &[(u32, Vec<u8>, u8)]| Response::decode(Rpc::PutStart, &answers[0].1).unwrap();
    assert_eq!(
        put(&ask(2)),
        Response::PutStart(Err(ErrorCode::NoAvailableHandle))
    );
    assert_eq!(
        ask(1)[0].0,
        1,
        "a lost request is answered by nobody, and the connection lives"
    );
    assert_eq!(ask(2), [], "a cut connection says nothing");
    assert_eq!(ask(2), []);
    assert!(
        server.with_master(|master| master.view().allocated_bytes) == 0,
        "a request was handled that was on its way"
    );
    assert_eq!(put(&ask(2)), Response::PutStart(Err(ErrorCode::RpcFail)));
    assert_eq!(
        server.with_master(|master| master.view().allocated_bytes),
        4096,
        "the answer is lost, not the call"
    );
    assert_eq!(ask(1)[0].0, 1);
    assert_eq!(
        put(&ask(2)),
        Response::PutStart(Err(ErrorCode::ObjectAlreadyExists))
    );
    assert_eq!(guard.hits(PhaseId::PutStartSent), 7);
}

#[test]
#[serial]
#[traced_test]
fn a_pause_at_the_server_holds_one_message_and_nobody_else() {
    let (_net, server) = busy();
    let guard = failpoints::setup("client.get.query_sent=1*pause", 1).unwrap();
    let query = Request::GetReplicaList {
        key: "k".to_owned(),
        tenant_id: "default".to_owned(),
    };
    let mut held = TcpStream::connect(server.address()).unwrap();
    held.set_read_timeout(Some(LIMIT)).unwrap();
    held.write_all(&encode_request(3, &query, Literal::With)).unwrap();
    let phase = PhaseId::GetQuerySent;
    guard.wait_paused(phase, LIMIT).expect("the request is paused");
    assert!(logs_contain("paused at client.get.query_sent"));
    // Others go on.
    assert_eq!(
        talk(&server, &encode_request(4, &query, Literal::With), 1)[0].0,
        4
    );
    assert_eq!(guard.resume(phase), 1);
    assert_eq!(read_answers(&mut held, 1)[0].0, 3);
}

#[test]
#[serial]
fn a_delayed_message_is_in_nobodys_way_not_even_of_a_stop() {
    let (_net, mut server) = busy();
    let day = 24 * 60 * 60 * 1000;
    let plan =
        format!("client.get.query_sent=1*delay({day});client.get.query_response=1*yield->1*delay({day})");
    let guard = failpoints::setup(&plan, 1).unwrap();
    let query = Request::GetReplicaList {
        key: "k".to_owned(),
        tenant_id: "default".to_owned(),
    };
    let mut on_its_way = TcpStream::connect(server.address()).unwrap();
    let frame = |sequence| encode_request(sequence, &query, Literal::With);
    on_its_way.write_all(&frame(1)).unwrap();
    // Until the first message is at its phase, others would be delayed instead of it.
    while guard.hits(PhaseId::GetQuerySent) == 0 {
        talk(&server, &encode_request(0, &ping(1), Literal::With), 1);
    }
    // This one yields behind the master and goes on by itself; the next is delayed there.
    assert_eq!(talk(&server, &frame(2), 1)[0].0, 2);
    let mut on_its_way_back = TcpStream::connect(server.address()).unwrap();
    on_its_way_back.write_all(&frame(3)).unwrap();
    while guard.hits(PhaseId::GetQueryResponse) < 2 {
        talk(&server, &encode_request(0, &ping(1), Literal::With), 1);
    }
    assert_eq!(talk(&server, &frame(4), 1)[0].0, 4);
    server.stop().unwrap();
    for mut held in [on_its_way, on_its_way_back] {
        assert_eq!(read_answers(&mut held, 1), [], "a stopped server answered");
    }
}

#[test]
fn arguments_of_return_are_checked_before_anything_is_set() {
    let error = failpoints::setup("client.put.start_sent=return(OBJECT_HAS)", 1).unwrap_err();
    assert!(
        error.to_string().contains("the nearest is OBJECT_HAS_LEASE"),
        "{error}"
    );
    let error = failpoints::setup("client.put.start_sent=return(frop)", 1).unwrap_err();
    assert!(
        error.to_string().contains("or drop, or cut; the nearest is drop"),
        "{error}"
    );
    let error = failpoints::setup("client.put.start_sent=return(OBJECT_NOT_FUND)", 1).unwrap_err();
    assert!(
        error.to_string().contains("the nearest is OBJECT_NOT_FOUND"),
        "{error}"
    );
}
