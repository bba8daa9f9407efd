//! Requests and responses as whole frames.

use super::{Header, RequestHeader, ResponseHeader, RpcError};
use crate::rpc::{Request, Response, Rpc};
use crate::struct_pack::{DecodeError, Literal};

/// Why a request is answered by the RPC layer and not by the function. The connection stays usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The master registers no such function.
    #[error("no function has the id {function_id:08x}")]
    NotRegistered {
        /// The id that came.
        function_id: u32,
    },
    /// The body is not the arguments of the function.
    #[error("the arguments of {} do not decode", rpc.name())]
    InvalidArguments {
        /// The function.
        rpc: Rpc,
        /// What is wrong with the body.
        source: DecodeError,
    },
}

impl RequestError {
    /// What the real master answers.
    pub fn rpc_error(&self) -> RpcError {
        match self {
            RequestError::NotRegistered { .. } => RpcError::not_registered(),
            RequestError::InvalidArguments { .. } => RpcError::invalid_arguments(),
        }
    }
}

/// A request as a frame.
///
/// # Panics
/// If the body is longer than 4 GiB, which the header cannot say.
pub fn encode_request(sequence: u32, request: &Request, literal: Literal) -> Vec<u8> {
    let mut frame = vec![0; RequestHeader::BYTES];
    request.encode_into(&mut frame, literal);
    let header = RequestHeader {
        sequence,
        function_id: request.rpc().function_id(),
        body_bytes: body_bytes(&frame, RequestHeader::BYTES),
        ..RequestHeader::default()
    };
    frame[..RequestHeader::BYTES].copy_from_slice(&header.to_bytes());
    frame
}

/// The request in a frame.
///
/// # Errors
/// [`RequestError`], whose [`RequestError::rpc_error`] is the answer.
pub fn decode_request(header: &RequestHeader, body: &[u8]) -> Result<Request, RequestError> {
    let function_id = header.function_id;
    let rpc = header.rpc().ok_or(RequestError::NotRegistered { function_id })?;
    Request::decode(rpc, body).map_err(|source| RequestError::InvalidArguments { rpc, source })
}

/// A response as a frame.
///
/// # Panics
/// If the body is longer than 4 GiB, which the header cannot say.
pub fn encode_response(sequence: u32, response: &Response, literal: Literal) -> Vec<u8> {
    let mut frame = Vec::new();
    encode_response_into(&mut frame, sequence, response, literal);
    frame
}

/// Appends a response as a frame, so that a server can use one buffer again and again.
///
/// # Panics
/// If the body is longer than 4 GiB, which the header cannot say.
pub fn encode_response_into(out: &mut Vec<u8>, sequence: u32, response: &Response, literal: Literal) {
    let start = begin_response(out);
    response.encode_into(out, literal);
    finish_response(out, start, sequence, 0);
}

/// An error of the RPC layer as a frame.
///
/// # Panics
/// If the message is longer than 4 GiB, which the header cannot say.
pub fn encode_error(sequence: u32, error: &RpcError, literal: Literal) -> Vec<u8> {
    let mut frame = Vec::new();
    encode_error_into(&mut frame, sequence, error, literal);
    frame
}

/// Appends an error of the RPC layer as a frame.
///
/// # Panics
/// If the message is longer than 4 GiB, which the header cannot say.
pub fn encode_error_into(out: &mut Vec<u8>, sequence: u32, error: &RpcError, literal: Literal) {
    let start = begin_response(out);
    out.extend_from_slice(&error.body(literal));
    finish_response(out, start, sequence, error.code.header_value());
}

/// The response in a frame: of the function, or of the RPC layer.
///
/// # Errors
/// [`DecodeError`] if the body is neither; the real client then closes the connection.
pub fn decode_response(
    rpc: Rpc,
    header: &ResponseHeader,
    body: &[u8],
) -> Result<Result<Response, RpcError>, DecodeError> {
    match header.error_code {
        0 => Response::decode(rpc, body).map(Ok),
        error_code => RpcError::decode(error_code, body).map(Err),
    }
}

/// Leaves room for the header, and says where.
fn begin_response(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; ResponseHeader::BYTES]);
    start
}

fn finish_response(out: &mut [u8], start: usize, sequence: u32, error_code: u8) {
    let frame = &mut out[start..];
    let header = ResponseHeader {
        sequence,
        error_code,
        body_bytes: body_bytes(frame, ResponseHeader::BYTES),
        ..ResponseHeader::default()
    };
    frame[..ResponseHeader::BYTES].copy_from_slice(&header.to_bytes());
}

fn body_bytes(frame: &[u8], header_bytes: usize) -> u32 {
    u32::try_from(frame.len() - header_bytes).expect("a body of more than 4 GiB does not fit a frame")
}
