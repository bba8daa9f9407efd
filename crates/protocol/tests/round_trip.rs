//! Random values of every request and response survive the wire, in both modes and through both halves of the codec.

use moonquake_protocol::frame::{
    FrameDecoder, Header, RequestHeader, ResponseHeader, RpcError, RpcErrorCode, decode_request,
    decode_response, encode_error, encode_request, encode_response,
};
use moonquake_protocol::strategies::{request_of, response_of};
use moonquake_protocol::struct_pack::{DynamicMessage, Type};
use moonquake_protocol::{Literal, Request, Response, Rpc};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

/// Cases per method.
const CASES: u32 = 128;

fn frame_of<H: Header + std::fmt::Debug>(bytes: &[u8]) -> (H, Vec<u8>) {
    let mut decoder = FrameDecoder::new();
    decoder.feed(bytes);
    let frame = decoder.next_frame().unwrap().unwrap();
    assert_eq!(decoder.pending_bytes(), 0);
    (frame.header, frame.body)
}

/// The same seed every time: a failure here is the same failure everywhere.
fn for_each_case<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig {
        cases: CASES,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(strategy, test)
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Reading by the literal alone and writing again gives the same bytes.
fn dynamic_agrees(body: &[u8], literal: &[u8]) -> Result<(), TestCaseError> {
    let ty = Type::parse(literal).unwrap();
    let message =
        DynamicMessage::decode_as(body, &ty).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(message.encode().unwrap(), body);
    Ok(())
}

#[test]
fn requests() {
    for &rpc in Rpc::ALL {
        for_each_case(&(any::<u32>(), request_of(rpc)), |(sequence, request)| {
            for literal in [Literal::With, Literal::Without] {
                let (header, body) = frame_of::<RequestHeader>(&encode_request(sequence, &request, literal));
                prop_assert_eq!((header.sequence, header.rpc()), (sequence, Some(rpc)));
                prop_assert_eq!(decode_request(&header, &body), Ok(request.clone()));
                if let Some(tag) = rpc.request_type() {
                    dynamic_agrees(&body, tag.literal())?;
                }
            }
            Ok(())
        });
    }
}

#[test]
fn responses() {
    for &rpc in Rpc::ALL {
        for_each_case(&(any::<u32>(), response_of(rpc)), |(sequence, response)| {
            for literal in [Literal::With, Literal::Without] {
                let (header, body) =
                    frame_of::<ResponseHeader>(&encode_response(sequence, &response, literal));
                prop_assert_eq!((header.sequence, header.error_code), (sequence, 0));
                prop_assert_eq!(decode_response(rpc, &header, &body), Ok(Ok(response.clone())));
                dynamic_agrees(&body, rpc.response_type().literal())?;
            }
            Ok(())
        });
    }
}

#[test]
fn rpc_errors() {
    let code = prop_oneof![
        (1_u8..=254).prop_map(|value| RpcErrorCode::from_header_value(value).unwrap()),
        any::<u16>().prop_map(RpcErrorCode::Custom),
    ];
    for_each_case(
        &(any::<u32>(), code, any::<String>()),
        |(sequence, code, message)| {
            let error = RpcError { code, message };
            for literal in [Literal::With, Literal::Without] {
                let (header, body) = frame_of::<ResponseHeader>(&encode_error(sequence, &error, literal));
                prop_assert_eq!(header.sequence, sequence);
                prop_assert_eq!(decode_response(Rpc::Ping, &header, &body), Ok(Err(error.clone())));
            }
            Ok(())
        },
    );
}

#[test]
fn json_keeps_requests_and_responses() {
    for_each_case(&(any::<Request>(), any::<Response>()), |(request, response)| {
        let text = serde_json::to_string(&(&request, &response)).unwrap();
        let again: (Request, Response) = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(again, (request, response));
        Ok(())
    });
}
