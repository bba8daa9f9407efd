//! Every captured vector decodes and re-encodes to the same bytes, or is refused with the right error.

#[path = "../common/mod.rs"]
mod common;
mod comparable;

use common::{bytes_of, lines, text_of};
use comparable::{comparable, hex};
use moonquake_protocol::datapath::{DataHeader, DataOperation, DataStatus, DataVersion};
use moonquake_protocol::frame::{
    FrameDecoder, Header, RequestError, RequestHeader, ResponseHeader, decode_request, decode_response,
    encode_error, encode_request, encode_response,
};
use moonquake_protocol::handshake::{
    HandshakeDecoder, HandshakeKind, HandshakeMessage, Notification, ProbeStatus, SegmentDescriptor,
};
use moonquake_protocol::struct_pack::{DynamicMessage, Type};
use moonquake_protocol::{Literal, Request, Response, Rpc, TypeTag};
use serde_json::{Value, json};

#[test]
fn struct_pack_vectors_round_trip() {
    let vectors = lines("struct-pack-vectors.jsonl");
    assert_eq!(vectors.len(), 112);
    for vector in &vectors {
        let (name, bytes) = (text_of(vector, "type"), bytes_of(vector, "hex"));
        let literal = bytes_of(vector, "literal");
        let ty = Type::parse(&literal).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ty.literal(), literal, "{name}");
        assert_eq!(
            format!("{:#010x}", ty.tag().hash()),
            text_of(vector, "type_hash"),
            "{name}"
        );

        let self_describing = text_of(vector, "mode").starts_with("type-literal");
        let message =
            DynamicMessage::decode_as(&bytes, &ty).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(message.encode().unwrap(), bytes, "{name}");
        if self_describing {
            assert_eq!(DynamicMessage::decode(&bytes), Ok(message.clone()), "{name}");
        }
        // The other mode: the same value, with or without the literal.
        let mut other = message.clone();
        other.literal = if self_describing {
            Literal::Without
        } else {
            Literal::With
        };
        let mode = if self_describing { "plain" } else { "type-literal" };
        let is_other =
            |line: &&Value| text_of(line, "type") == name && text_of(line, "mode").starts_with(mode);
        let twin = vectors
            .iter()
            .find(is_other)
            .expect("every type is there in both modes");
        assert_eq!(other.encode().unwrap(), bytes_of(twin, "hex"), "{name}");
    }
}

#[test]
fn the_table_of_methods_agrees() {
    let table = lines("rpc-table.jsonl");
    let mut registered = 0;
    for line in &table {
        let name = text_of(line, "rpc");
        let Some(rpc) = Rpc::from_name(name) else {
            assert_eq!(
                text_of(line, "verified"),
                "not registered by the master; computed only"
            );
            continue;
        };
        registered += 1;
        assert_eq!(rpc.function_name(), text_of(line, "function_name"));
        assert_eq!(
            u64::from(rpc.function_id()),
            line["function_id"].as_u64().unwrap(),
            "{name}"
        );
        let hash = |tag: &TypeTag| json!(tag.hash());
        let literal = |tag: &TypeTag| json!(hex(tag.literal()));
        let request = rpc.request_type();
        assert_eq!(
            request.map_or(Value::Null, hash),
            line["request_type_hash"],
            "{name}"
        );
        assert_eq!(
            request.map_or(Value::Null, literal),
            line["request_literal"],
            "{name}"
        );
        assert_eq!(hash(rpc.response_type()), line["response_type_hash"], "{name}");
        assert_eq!(literal(rpc.response_type()), line["response_literal"], "{name}");
        assert_eq!(
            rpc.argument_count(),
            line["params"].as_array().unwrap().len(),
            "{name}"
        );
    }
    assert_eq!((registered, table.len()), (Rpc::ALL.len(), 65));
}

#[test]
fn golden_frames_round_trip() {
    let mut rpcs_seen = std::collections::BTreeSet::new();
    let (mut refused, mut errors) = (0, 0);
    for line in lines("golden-frames.jsonl")
        .iter()
        .chain(&lines("golden-frames-extra.jsonl"))
    {
        let bytes = bytes_of(line, "hex");
        if text_of(line, "dir") == "request" {
            match check_request(line, &bytes) {
                Some(rpc) => drop(rpcs_seen.insert((rpc, "request"))),
                None => refused += 1,
            }
        } else {
            match check_response(line, &bytes) {
                Some(rpc) => drop(rpcs_seen.insert((rpc, "response"))),
                None => errors += 1,
            }
        }
    }
    // CalcCacheStats, an unknown id and a body of another type; each was answered by an RPC-level error.
    assert_eq!((refused, errors), (3, 3));
    assert_eq!(rpcs_seen.len(), 2 * Rpc::ALL.len());
}

fn single_frame<H: Header>(bytes: &[u8]) -> (H, Vec<u8>) {
    let mut decoder = FrameDecoder::<H>::new();
    decoder.feed(bytes);
    let frame = decoder.next_frame().unwrap().expect("the frame is complete");
    assert_eq!((decoder.pending_bytes(), frame.attachment.len()), (0, 0));
    (frame.header, frame.body)
}

/// How the peer that sent the frame writes its messages: bit 2 of metainfo says whether with a literal.
fn literal_mode(line: &Value) -> Literal {
    match line["metainfo"].as_u64() {
        Some(metainfo) if metainfo & 0b100 == 0 => Literal::Without,
        _ => Literal::With,
    }
}

fn check_request(line: &Value, bytes: &[u8]) -> Option<Rpc> {
    let (header, body) = single_frame::<RequestHeader>(bytes);
    assert_eq!(json!(header.sequence), line["header"]["seq"]);
    assert_eq!(json!(header.function_id), line["header"]["function_id"]);
    let name = text_of(line, "rpc");
    match decode_request(&header, &body) {
        Ok(request) => {
            assert_eq!(request.rpc().name(), name);
            assert_eq!(
                encode_request(header.sequence, &request, literal_mode(line)),
                bytes,
                "{name}"
            );
            assert_eq!(
                comparable(&arguments(&request)),
                comparable(&line["decoded"]),
                "{name}"
            );
            assert_same_value(&body, request.rpc().request_type(), name);
            Some(request.rpc())
        }
        Err(error) => {
            match &error {
                RequestError::NotRegistered { function_id } => {
                    assert!(["unknown", "CalcCacheStats"].contains(&name), "{name}: {error}");
                    assert_eq!(*function_id, header.function_id);
                }
                RequestError::InvalidArguments { rpc, .. } => {
                    assert_eq!((rpc.name(), "undecodable"), (name, first_key(&line["decoded"])));
                }
            }
            None
        }
    }
}

fn check_response(line: &Value, bytes: &[u8]) -> Option<Rpc> {
    let (header, body) = single_frame::<ResponseHeader>(bytes);
    assert_eq!(json!(header.error_code), line["header"]["err_code"]);
    let name = text_of(line, "rpc");
    // A call that is not registered has no response type, and none is needed: the answer is an RPC-level error.
    let rpc = Rpc::from_name(name).unwrap_or(Rpc::ServiceReady);
    match decode_response(rpc, &header, &body).unwrap_or_else(|error| panic!("{name}: {error}")) {
        Ok(response) => {
            assert_eq!(
                encode_response(header.sequence, &response, literal_mode(line)),
                bytes,
                "{name}"
            );
            assert_eq!(
                comparable(&result(&response)),
                comparable(&line["decoded"]["result"]),
                "{name}"
            );
            assert_same_value(&body, Some(rpc.response_type()), name);
            Some(rpc)
        }
        Err(error) => {
            assert_eq!(
                json!(error.code.header_value()),
                line["decoded"]["rpc_error"],
                "{name}"
            );
            assert_eq!(json!(error.message), line["decoded"]["message"], "{name}");
            assert_eq!(
                encode_error(header.sequence, &error, literal_mode(line)),
                bytes,
                "{name}"
            );
            None
        }
    }
}

/// The dynamic half reads the same bytes as the typed one.
fn assert_same_value(body: &[u8], tag: Option<&TypeTag>, name: &str) {
    let Some(tag) = tag else {
        return assert!(body.is_empty(), "{name}");
    };
    let message = DynamicMessage::decode_as(body, &Type::parse(tag.literal()).unwrap()).unwrap();
    assert_eq!(message.encode().unwrap(), body, "{name}");
}

fn first_key(value: &Value) -> &str {
    value
        .as_object()
        .and_then(|object| object.keys().next())
        .map_or("", String::as_str)
}

/// The arguments without the name of the method around them.
fn arguments(request: &Request) -> Value {
    serde_json::to_value(request).unwrap()[request.rpc().name()].clone()
}

fn result(response: &Response) -> Value {
    serde_json::to_value(response).unwrap()[response.rpc().name()].clone()
}

#[test]
fn refused_requests_are_answered_as_by_the_real_master() {
    let frames = lines("golden-frames-extra.jsonl");
    let mut answered = 0;
    for line in frames.iter().filter(|line| text_of(line, "dir") == "request") {
        let (header, body) = single_frame::<RequestHeader>(&bytes_of(line, "hex"));
        let Err(error) = decode_request(&header, &body) else {
            continue;
        };
        let is_answer = |other: &&Value| other["pair"] == line["pair"] && text_of(other, "dir") == "response";
        let answer = frames.iter().find(is_answer).expect("the master answered");
        assert_eq!(
            encode_error(header.sequence, &error.rpc_error(), Literal::With),
            bytes_of(answer, "hex")
        );
        answered += 1;
    }
    assert_eq!(answered, 3);
}

#[test]
fn datapath_vectors_round_trip() {
    let vectors = lines("datapath-vectors.jsonl");
    assert_eq!(vectors.len(), 10);
    for vector in &vectors {
        let (kind, bytes, decoded) = (
            text_of(vector, "kind"),
            bytes_of(vector, "hex"),
            &vector["decoded"],
        );
        match kind {
            "data header" => {
                let header = DataHeader::from_bytes(bytes.first_chunk().unwrap());
                assert_eq!(header.to_bytes(), bytes[..]);
                assert_eq!(json!(header.size_bytes), decoded["size"]);
                assert_eq!(json!(header.address), decoded["addr"]);
                assert_eq!(header.operation == DataOperation::Write, decoded["op"] == "write");
                assert_eq!(header.version == DataVersion::V2, decoded["version"] == 2);
            }
            "status frame" => {
                let status = DataStatus::from_bytes(bytes.first_chunk().unwrap()).unwrap();
                assert_eq!(status.to_bytes(), bytes[..]);
                assert_eq!(status == DataStatus::Ok, decoded["status"] == "ok");
            }
            _ => check_handshake(kind, &bytes, decoded),
        }
    }
}

fn check_handshake(kind: &str, bytes: &[u8], decoded: &Value) {
    let mut decoder = HandshakeDecoder::new();
    decoder.feed(bytes);
    let message = decoder.next_message().unwrap().expect("the message is complete");
    assert!(!message.old_form && decoder.next_message().unwrap().is_none());
    assert_eq!(message.to_bytes(), bytes, "{kind}");
    assert_eq!(message.parse::<Value>().unwrap(), decoded["json"], "{kind}");
    // Through the typed form and back.
    let again = match message.kind {
        HandshakeKind::Metadata => {
            let descriptor = SegmentDescriptor::from_json(&message.json).unwrap();
            HandshakeMessage::new(message.kind, &descriptor)
        }
        HandshakeKind::Notify => {
            HandshakeMessage::new(message.kind, &message.parse::<Notification>().unwrap())
        }
        HandshakeKind::Probe => HandshakeMessage::new(message.kind, &message.parse::<ProbeStatus>().unwrap()),
        HandshakeKind::Connection => panic!("no vector of that kind"),
    };
    assert_eq!(again.unwrap().to_bytes(), bytes, "{kind}");
}
