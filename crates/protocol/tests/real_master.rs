//! The odd requests that the real master was seen to take or to refuse.

use moonquake_protocol::frame::{
    FrameDecoder, RequestHeader, RpcError, decode_request, encode_error, encode_request,
};
use moonquake_protocol::{Literal, Request, Rpc, TypeTag, Uuid};

fn exist_key() -> Request {
    Request::ExistKey {
        key: "k1".to_owned(),
        tenant_id: "default".to_owned(),
    }
}

fn ping() -> Request {
    Request::Ping {
        client_id: Uuid::new(0x1122_3344_5566_7788, 2),
    }
}

fn body_of(request: &Request, literal: Literal) -> Vec<u8> {
    let mut body = Vec::new();
    request.encode_into(&mut body, literal);
    body
}

#[test]
fn the_worked_example_of_the_protocol() {
    let frame = b"\x15\0\0\0\x05\0\0\0\x09\x5f\x38\x89\x17\0\0\0\0\0\0\0\
        \xd9\x1e\xf9\x7c\x04\xfd\x80\x0c\x80\x0c\xff\0\x02k1\x07default";
    assert_eq!(encode_request(5, &exist_key(), Literal::With), frame);
    let short = b"\x15\0\0\0\x05\0\0\0\x09\x5f\x38\x89\x0f\0\0\0\0\0\0\0\xd8\x1e\xf9\x7c\x02k1\x07default";
    assert_eq!(encode_request(5, &exist_key(), Literal::Without), short);
}

#[test]
fn what_the_master_takes() {
    let plain = body_of(&exist_key(), Literal::Without);
    let mut taken = vec![
        ("bytes after a complete body", [&plain[..], b"more"].concat()),
        (
            "flag bit set and metainfo 0",
            [&[plain[0] | 1], &plain[1..4], &[0], &plain[4..]].concat(),
        ),
    ];
    for (width, bytes) in [(1_u8, 2_usize), (2, 4), (3, 8)] {
        let mut wide = [&[plain[0] | 1], &plain[1..4], &[width << 3]].concat();
        for text in ["k1", "default"] {
            wide.extend_from_slice(&(text.len() as u64).to_le_bytes()[..bytes]);
            wide.extend_from_slice(text.as_bytes());
        }
        taken.push(("lengths wider than necessary", wide));
    }
    for (what, body) in taken {
        assert_eq!(Request::decode(Rpc::ExistKey, &body), Ok(exist_key()), "{what}");
    }
    assert_eq!(
        Request::decode(Rpc::ServiceReady, b"anything"),
        Ok(Request::ServiceReady {})
    );
}

#[test]
fn a_single_argument_may_lie_in_a_tuple() {
    let value = &body_of(&ping(), Literal::Without)[4..];
    let tag = TypeTag::new([&[0xfd][..], Rpc::Ping.request_type().unwrap().literal(), &[0xff]].concat());
    let plain = [&tag.hash().to_le_bytes()[..], value].concat();
    assert_eq!(Request::decode(Rpc::Ping, &plain), Ok(ping()));
    let hash = (tag.hash() | 1).to_le_bytes();
    let with_literal = [&hash[..], &[0b100], tag.literal(), &[0], value].concat();
    assert_eq!(Request::decode(Rpc::Ping, &with_literal), Ok(ping()));
    // Not for calls with several arguments: there it would be another type.
    let arguments = Rpc::ExistKey.request_type().unwrap().literal();
    let twice = TypeTag::new([&[0xfd][..], arguments, &[0xff]].concat());
    let value = &body_of(&exist_key(), Literal::Without)[4..];
    assert!(Request::decode(Rpc::ExistKey, &[&twice.hash().to_le_bytes()[..], value].concat()).is_err());
}

#[test]
fn what_the_master_refuses_with_an_answer() {
    let good = body_of(&exist_key(), Literal::With);
    let mut wrong_literal = good.clone();
    wrong_literal[6] = 0x84;
    let mut wrong_hash = good.clone();
    wrong_hash[1] ^= 1;
    for (what, body) in [
        ("another hash", wrong_hash),
        ("another literal", wrong_literal),
        ("a body cut short", good[..good.len() - 1].to_vec()),
        ("no body", Vec::new()),
    ] {
        let function_id = Rpc::ExistKey.function_id();
        let header = RequestHeader {
            sequence: 98,
            function_id,
            ..Default::default()
        };
        let error = decode_request(&header, &body).expect_err(what);
        assert_eq!(error.rpc_error(), RpcError::invalid_arguments(), "{what}");
    }
    let header = RequestHeader {
        function_id: 0xdead_beef,
        ..Default::default()
    };
    let error = decode_request(&header, &[]).unwrap_err();
    assert_eq!(error.to_string(), "no function has the id deadbeef");
    assert_eq!(
        encode_error(0x63, &error.rpc_error(), Literal::With),
        b"\x15\0\x0b\0\x63\0\0\0\x28\0\0\0\0\0\0\0\x77\xfa\xcf\x9d\x04\x80\x0c\0\x1fthe rpc function not registered"
    );
}

#[test]
fn pipelined_requests_come_out_in_order_byte_by_byte() {
    let mut decoder = FrameDecoder::<RequestHeader>::new();
    let stream: Vec<u8> = (0..200_u32)
        .flat_map(|sequence| encode_request(sequence / 2, &exist_key(), Literal::With))
        .collect();
    let mut sequences = Vec::new();
    for byte in stream {
        decoder.feed(&[byte]);
        while let Some(frame) = decoder.next_frame().unwrap() {
            assert_eq!(decode_request(&frame.header, &frame.body), Ok(exist_key()));
            sequences.push(frame.header.sequence);
        }
    }
    assert_eq!(
        sequences,
        (0..200).map(|sequence| sequence / 2).collect::<Vec<_>>()
    );
}
