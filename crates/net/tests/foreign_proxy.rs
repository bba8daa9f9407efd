//! The stand-alone proxy: each rule strikes its own frame or byte, and everything else passes.
#![allow(
    clippy::disallowed_methods,
    reason = "a client is a process of its own, so here it has a thread"
)]

mod support;

use moonquake_net::datapath::SegmentServer;
use moonquake_net::foreign::{Act, At, Proxy, RelayEvent, Release, Rule};
use moonquake_net::link::Leg;
use moonquake_protocol::datapath::{DataOperation, DataStatus, DataVersion};
use moonquake_protocol::frame::encode_request;
use moonquake_protocol::{ErrorCode, Literal, Request, Response, Rpc};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::foreign::{connect, exact, has_ended, header, lane, net, pattern, status};
use support::served::read_answers;
use support::{Reply, ScriptedMaster, exist};

const BASE: u64 = 0x7f7e_14c0_0000;

fn master() -> ScriptedMaster {
    ScriptedMaster::start(|_| Reply::Say(Response::ExistKey(Ok(true))))
}

fn keys(master: &ScriptedMaster) -> String {
    let key = |request: &Request| match request {
        Request::ExistKey { key, .. } => key.clone(),
        other => other.rpc().name().to_owned(),
    };
    let seen: Vec<_> = master.seen().iter().map(|(_, _, request)| key(request)).collect();
    seen.join(" ")
}

fn rule(at: At, act: Act) -> Rule {
    Rule::new(at, act).unwrap()
}

fn request(nth: u64) -> At {
    let rpc = Rpc::ExistKey;
    At::Request { rpc, nth }
}

fn response(nth: u64) -> At {
    let rpc = Rpc::ExistKey;
    At::Response { rpc, nth }
}

fn say(stream: &mut TcpStream, sequence: u32, key: &str) {
    let bytes = encode_request(sequence, &exist(key), Literal::With);
    stream.write_all(&bytes).unwrap();
}

fn ask(stream: &mut TcpStream, sequence: u32, key: &str) -> Response {
    say(stream, sequence, key);
    let (heard, body, error) = read_answers(stream, 1).remove(0);
    assert_eq!((heard, error), (sequence, 0));
    Response::decode(Rpc::ExistKey, &body).unwrap()
}

/// Lets everything pass while the client does its part.
fn drive<T: Send + 'static>(proxy: &mut Proxy, client: impl FnOnce() -> T + Send + 'static) -> T {
    let client = std::thread::spawn(client);
    proxy.run(|| client.is_finished()).unwrap();
    client.join().unwrap()
}

/// A proxy with one rule, and whether it has killed.
fn with(master: SocketAddr, rule: Rule) -> (Proxy, Arc<AtomicBool>) {
    let killed = Arc::new(AtomicBool::new(false));
    let tell = killed.clone();
    let kill = move || tell.store(true, Ordering::SeqCst);
    let proxy = Proxy::listen(&net(), "w1", master, &[rule], kill).unwrap();
    (proxy, killed)
}

fn legs(proxy: &mut Proxy) -> Vec<Leg> {
    proxy.frames().into_iter().map(|frame| frame.leg).collect()
}

#[test]
fn a_message_is_lost_on_its_way_there_or_back() {
    for (at, act, seen) in [
        (request(2), Act::Drop, "a c"),
        (response(2), Act::Drop, "a b c"),
        (request(2), Act::Kill, "a c"),
        (response(2), Act::Kill, "a b c"),
    ] {
        let master = master();
        let (mut proxy, killed) = with(master.address, rule(at, act));
        let address = proxy.addr();
        drive(&mut proxy, move || {
            let mut client = connect(address);
            ask(&mut client, 0, "a");
            say(&mut client, 1, "b");
            // Had it an answer, it would come before this one.
            ask(&mut client, 2, "c");
        });
        assert_eq!(keys(&master), seen, "{at:?} {act:?}");
        assert_eq!(killed.load(Ordering::SeqCst), act == Act::Kill);
        let expected = [Leg::RequestArrived, Leg::RequestDropped, Leg::RequestArrived];
        assert_eq!(legs(&mut proxy)[2..5], expected);
        let struck = proxy.struck();
        assert_eq!(struck.len(), 1);
        assert_eq!(
            (struck[0].rule, struck[0].message.map(|message| message.0)),
            (0, Some(2))
        );
    }
}

#[test]
fn a_cut_and_an_error_are_what_the_client_gets() {
    for (at, seen) in [(request(1), "b"), (response(1), "a b")] {
        let (cut, refused) = (master(), master());
        let (mut proxy, _) = with(cut.address, rule(at, Act::Cut));
        let address = proxy.addr();
        drive(&mut proxy, move || {
            let mut client = connect(address);
            say(&mut client, 0, "a");
            assert!(has_ended(&mut client));
            ask(&mut connect(address), 0, "b");
        });
        let code = ErrorCode::ObjectNotFound;
        let (mut proxy, _) = with(refused.address, rule(at, Act::Error(code)));
        let address = proxy.addr();
        let answers = drive(&mut proxy, move || {
            let mut client = connect(address);
            [ask(&mut client, 0, "a"), ask(&mut client, 1, "b")]
        });
        assert_eq!(
            answers,
            [Response::ExistKey(Err(code)), Response::ExistKey(Ok(true))]
        );
        assert_eq!((keys(&cut).as_str(), keys(&refused).as_str()), (seen, seen));
    }
}

#[test]
fn a_request_comes_twice_or_is_overtaken() {
    let twice = master();
    let (mut proxy, _) = with(twice.address, rule(request(1), Act::Duplicate));
    let address = proxy.addr();
    drive(&mut proxy, move || {
        let mut client = connect(address);
        ask(&mut client, 0, "a");
        ask(&mut client, 1, "b");
    });
    assert_eq!(keys(&twice), "a a b");
    let overtaken = master();
    let (mut proxy, _) = with(overtaken.address, rule(request(1), Act::Overtaken));
    let address = proxy.addr();
    let order = drive(&mut proxy, move || {
        let mut client = connect(address);
        say(&mut client, 0, "a");
        say(&mut client, 1, "b");
        read_answers(&mut client, 2)
            .iter()
            .map(|answer| answer.0)
            .collect::<Vec<_>>()
    });
    assert_eq!((keys(&overtaken).as_str(), order), ("b a", vec![1, 0]));
}

#[test]
fn a_message_waits_until_it_is_released_or_its_time_is_over() {
    for (at, act) in [
        (request(1), Act::Hold),
        (response(1), Act::Hold),
        (request(1), Act::Delay(Duration::from_millis(20))),
        (response(1), Act::Delay(Duration::from_millis(20))),
    ] {
        let master = master();
        let (mut proxy, _) = with(master.address, rule(at, act));
        let (address, release): (SocketAddr, Release) = (proxy.addr(), proxy.release());
        drive(&mut proxy, move || {
            let mut client = connect(address);
            say(&mut client, 0, "a");
            if act == Act::Hold {
                // Others pass meanwhile, and nothing comes of what is held.
                for sequence in 1..4 {
                    ask(&mut client, sequence, "b");
                }
                release.release();
            }
            assert_eq!(read_answers(&mut client, 1).remove(0).0, 0);
        });
    }
}

fn owner() -> SegmentServer {
    SegmentServer::start(&net(), "n1", BASE, 1 << 20).unwrap()
}

/// A client that writes 300,000 bytes and says whether they were acknowledged.
fn write_through(proxy: &mut Proxy, owner: &SegmentServer) -> bool {
    let endpoint = proxy.stand_in_for(owner.endpoint().parse().unwrap()).unwrap();
    drive(proxy, move || {
        let mut client = lane(endpoint);
        let head = header(DataOperation::Write, DataVersion::V2, BASE, 300_000);
        client.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
        // The connection may be closed in the middle.
        let _ = client.write_all(&[&head[..], &pattern(300_000)].concat());
        let mut word = [0; 8];
        client
            .read_exact(&mut word)
            .is_ok_and(|()| DataStatus::from_bytes(&word) == Ok(DataStatus::Ok))
    })
}

#[test]
fn payload_stops_at_the_byte() {
    for (byte, act) in [
        (0, Act::Kill),
        (1, Act::Cut),
        (70_001, Act::Kill),
        (299_999, Act::Drop),
        (300_000, Act::Hold),
    ] {
        let (master, owner) = (master(), owner());
        let (mut proxy, killed) = with(master.address, rule(At::Payload { byte }, act));
        assert!(!write_through(&mut proxy, &owner), "{byte} {act:?}");
        assert_eq!(killed.load(Ordering::SeqCst), act == Act::Kill);
        let struck = proxy.struck();
        assert!(
            struck.len() == 1 && struck[0].transfer.is_some(),
            "{byte} {act:?}"
        );
        let length = usize::try_from(byte).unwrap();
        let stored = owner.read(0, 300_000).unwrap();
        let expected = pattern(300_000);
        assert!(stored[..length] == expected[..length], "{byte} {act:?}");
        assert!(stored[length..].iter().all(|at| *at == 0), "{byte} {act:?}");
    }
}

#[test]
fn payload_that_is_slow_or_late_comes_whole() {
    for (byte, act) in [
        (0, Act::Rate(2_000_000)),
        (100_000, Act::Delay(Duration::from_millis(20))),
    ] {
        let (master, owner) = (master(), owner());
        let (mut proxy, _) = with(master.address, rule(At::Payload { byte }, act));
        assert!(write_through(&mut proxy, &owner), "{byte} {act:?}");
        assert!(owner.read(0, 300_000).unwrap() == pattern(300_000));
        assert_eq!(proxy.struck().len(), 1);
    }
}

#[test]
fn a_read_passes_by_itself() {
    let (master, owner) = (master(), owner());
    owner.write(0, &pattern(200_000)).unwrap();
    let far = rule(At::Payload { byte: u64::MAX }, Act::Kill);
    let (mut proxy, _) = with(master.address, far);
    let endpoint = proxy.stand_in_for(owner.endpoint().parse().unwrap()).unwrap();
    let bytes = drive(&mut proxy, move || {
        let mut client = lane(endpoint);
        let mut all = Vec::new();
        for _ in 0..2 {
            let head = header(DataOperation::Read, DataVersion::V2, BASE, 100_000);
            client.write_all(&head).unwrap();
            assert_eq!(status(&mut client), DataStatus::Ok);
            all.push(exact(&mut client, 100_000));
        }
        all
    });
    assert!(bytes.iter().all(|bytes| *bytes == pattern(100_000)));
    assert_eq!(proxy.struck(), []);
}

#[test]
fn transfers_beside_each_other_share_a_rate_in_turns() {
    let (master, owner) = (master(), owner());
    let (mut proxy, _) = with(
        master.address,
        rule(At::Payload { byte: 0 }, Act::Rate(2_000_000)),
    );
    let endpoint = proxy.stand_in_for(owner.endpoint().parse().unwrap()).unwrap();
    drive(&mut proxy, move || {
        let mut lanes = [lane(endpoint), lane(endpoint)];
        for (number, client) in (0..).zip(&mut lanes) {
            let head = header(
                DataOperation::Write,
                DataVersion::V2,
                BASE + number * 300_000,
                300_000,
            );
            client
                .write_all(&[&head[..], &pattern(300_000)].concat())
                .unwrap();
        }
        assert!(lanes.iter_mut().all(|client| status(client) == DataStatus::Ok));
    });
    assert!(owner.read(300_000, 300_000).unwrap() == pattern(300_000));
    let moved = proxy.transfers().into_iter().filter_map(|event| match event {
        RelayEvent::Moved { transfer, .. } => Some(transfer.0),
        _ => None,
    });
    let moved: Vec<u64> = moved.collect();
    let first_of_second = moved.iter().position(|transfer| *transfer == 2).unwrap();
    // One after the other would be: the second begins when the first has ended.
    assert!(moved[first_of_second..].contains(&1), "{moved:?}");
}
