//! Bytes that this project's typed codec neither writes nor reads, and what the real master makes of them.

use super::peer::{Peer, forged, hex};
use super::values::{mounted, put_end, put_start};
use crate::rig::tenant;
use moonquake_protocol::frame::{
    Frame, Header, RequestHeader, ResponseHeader, RpcErrorCode, decode_response, encode_request,
};
use moonquake_protocol::struct_pack::{DecodeError, DynamicMessage};
use moonquake_protocol::{ErrorCode, Literal, ObjectMeta, ReplicaType, Request, Response, Rpc, Uuid};
use std::os::unix::process::ExitStatusExt;

const CLIENT: Uuid = Uuid::new(7, 7);
/// Stands in a request where other bytes shall stand.
const PLACEHOLDER: &str = "#-+-#";
const NOT_UTF8: &[u8; 5] = b"\xff\0\xc3(\x80";

fn sent(peer: &mut Peer, request: &Request, placeholder: &[u8], bytes: &[u8]) -> Frame<ResponseHeader> {
    let forged = forged(request, placeholder, bytes);
    let body = &forged[<RequestHeader as Header>::BYTES..];
    assert!(
        Request::decode(request.rpc(), body).is_err(),
        "the typed codec refuses {}",
        hex(body)
    );
    peer.exchange(request.rpc(), &forged)
}

fn answer(frame: &Frame<ResponseHeader>, rpc: Rpc) -> Response {
    let decoded = decode_response(rpc, &frame.header, &frame.body).expect("a response");
    decoded.unwrap_or_else(|error| panic!("{error}"))
}

fn named(key: &str) -> [Request; 5] {
    let (key, tenant_id) = (key.to_owned(), tenant());
    [
        Request::PutEnd {
            client_id: CLIENT,
            object_meta: ObjectMeta {
                key: key.clone(),
                object_checksum: Some(1),
            },
            replica_type: ReplicaType::Memory,
            tenant_id: tenant_id.clone(),
        },
        Request::GetReplicaList {
            key: key.clone(),
            tenant_id: tenant_id.clone(),
        },
        Request::ExistKey {
            key: key.clone(),
            tenant_id: tenant_id.clone(),
        },
        Request::CreateCopyTask {
            key: key.clone(),
            tenant_id: tenant_id.clone(),
            targets: vec!["absent".to_owned()],
        },
        Request::Remove {
            key,
            force: true,
            tenant_id,
        },
    ]
}

/// Any bytes are a key to the master. Only a task cannot be made of it: its payload is JSON, and the handler throws.
pub(crate) fn keys_that_are_no_text() {
    let mut peer = Peer::start([]);
    let segments = mounted(&mut peer, 2);
    let start = Request::PutStart {
        client_id: CLIENT,
        key: PLACEHOLDER.to_owned(),
        slice_length: 10,
        config: moonquake_protocol::ReplicateConfig {
            preferred_segment: segments[0].0.name.clone(),
            ..Default::default()
        },
        tenant_id: tenant(),
    };
    let started = sent(&mut peer, &start, PLACEHOLDER.as_bytes(), NOT_UTF8);
    assert!(
        matches!(answer(&started, Rpc::PutStart), Response::PutStart(Ok(replicas)) if replicas.len() == 1)
    );
    let [end, get, exist, task, remove] = named(PLACEHOLDER);
    for request in [&end, &get, &exist] {
        let frame = sent(&mut peer, request, PLACEHOLDER.as_bytes(), NOT_UTF8);
        assert_eq!(answer(&frame, request.rpc()).error(), None, "{request:?}");
    }
    let Request::CreateCopyTask { key, tenant_id, .. } = task else {
        unreachable!("the fourth")
    };
    let task = Request::CreateCopyTask {
        key,
        tenant_id,
        targets: vec![segments[1].0.name.clone()],
    };
    let frame = sent(&mut peer, &task, PLACEHOLDER.as_bytes(), NOT_UTF8);
    let error = decode_response(Rpc::CreateCopyTask, &frame.header, &frame.body)
        .expect("an error")
        .unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (RpcErrorCode::HandlerThrew, "illegal unicode character")
    );

    // The list of all keys comes with these bytes; only the self-describing half of the codec reads it.
    let all = Request::GetReplicaListByRegex {
        regex: String::new(),
        tenant_id: tenant(),
    };
    let frame = peer.exchange(all.rpc(), &encode_request(8, &all, Literal::With));
    let refused = decode_response(all.rpc(), &frame.header, &frame.body);
    assert!(
        matches!(refused, Err(DecodeError::NotUtf8 { length: 5, .. })),
        "{refused:?}"
    );
    let dynamic = DynamicMessage::decode(&frame.body).expect("any bytes");
    assert_eq!(dynamic.encode().expect("its own type"), frame.body);
    let frame = sent(&mut peer, &remove, PLACEHOLDER.as_bytes(), NOT_UTF8);
    assert_eq!(answer(&frame, Rpc::Remove), Response::Remove(Ok(())));
}

/// To the master every byte but 0 is true, as a bool and as the presence of an optional.
pub(crate) fn flags_that_are_neither() {
    let mut peer = Peer::start([]);
    let (segment, _) = mounted(&mut peer, 1).remove(0);
    for byte in [2_u8, 127, 128, 255] {
        let key = format!("k{byte}");
        put_start(&mut peer, CLIENT, &key, 10, &segment.name);
        let [end, get, exist, _, _] = named(&key);
        let flagged = |flag: u8| [&[flag][..], &1_u64.to_le_bytes()].concat();
        let frame = sent(&mut peer, &end, &flagged(1), &flagged(byte));
        assert_eq!(answer(&frame, Rpc::PutEnd).error(), None);
        match peer.call(&get) {
            Response::GetReplicaList(Ok(list)) => assert_eq!(list.object_checksum, Some(1)),
            other => panic!("{other:?}"),
        }
        peer.accept(&exist);
        let remove = |force| Request::Remove {
            key: key.clone(),
            force,
            tenant_id: tenant(),
        };
        assert_eq!(
            peer.call(&remove(false)),
            Response::Remove(Err(ErrorCode::ObjectHasLease))
        );
        let flagged = |flag: u8| [key.as_bytes(), &[flag], b"\x07default"].concat();
        let frame = sent(&mut peer, &remove(true), &flagged(1), &flagged(byte));
        assert_eq!(answer(&frame, Rpc::Remove), Response::Remove(Ok(())), "{byte}");
    }
}

/// The master's regular expressions recurse, once for each character that `.*` takes and for each parenthesis, until the stack ends and
/// the process with it (SIGSEGV). Measured: 17,995 parentheses are refused with INVALID_PARAMS and 18,069 end it; with `.*` a
/// key of 26,136 bytes is found and one of 26,225 ends it. `RemoveByRegex` does the same.
pub(crate) fn deep_patterns() {
    let pattern = |regex: String| Request::GetReplicaListByRegex {
        regex,
        tenant_id: tenant(),
    };
    let mut peer = Peer::start([]);
    assert_eq!(peer.code(&pattern("(".repeat(5_000))), -600);
    ended_by(&mut peer, &pattern("(".repeat(100_000)));

    let mut peer = Peer::start([]);
    let (segment, _) = mounted(&mut peer, 1).remove(0);
    for length in [5_000, 100_000] {
        let key = "k".repeat(length);
        put_start(&mut peer, CLIENT, &key, 10, &segment.name);
        assert_eq!(put_end(&mut peer, CLIENT, &key, None), 0);
        if length == 5_000 {
            peer.accept(&pattern(".*".to_owned()));
        }
    }
    let remove = Request::RemoveByRegex {
        regex: ".*".to_owned(),
        force: false,
        tenant_id: tenant(),
    };
    ended_by(&mut peer, &remove);
}

fn ended_by(peer: &mut Peer, request: &Request) {
    let answered = peer.try_exchange(&encode_request(9, request, Literal::With));
    assert!(answered.is_err(), "{:?} outlived it", request.rpc());
    let status = peer.master.kill().expect("its end");
    // Not the 9 with which one that still runs is ended.
    assert_eq!(status.signal(), Some(11), "{status}");
}
