//! The frames of coro_rpc: a fixed header, a struct_pack body, an attachment that the store never uses. Mirrors
//! `coro_rpc` `include/ylt/coro_rpc/impl/protocol/coro_rpc_protocol.hpp`. All integers are little-endian.

mod codec;
mod decoder;
mod header;
mod rpc_error;

pub use codec::{
    RequestError, decode_request, decode_response, encode_error, encode_error_into, encode_request,
    encode_response, encode_response_into,
};
pub use decoder::{BODY_BYTES_MAX, Frame, FrameDecoder, FrameView, first_frame};
pub use header::{FrameError, Header, MAGIC, RequestHeader, ResponseHeader};
pub use rpc_error::{RpcError, RpcErrorCode};
