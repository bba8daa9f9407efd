//! Errors of the RPC layer, which are not errors of the store.

use crate::struct_pack::{DecodeError, Literal, decode_message, encode_message};
use std::fmt;

/// Error code of a response header. Mirrors `coro_rpc` `include/ylt/coro_rpc/impl/errno.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RpcErrorCode {
    /// 1.
    IoError,
    /// 2.
    NotConnected,
    /// 3.
    TimedOut,
    /// 4: the arguments do not decode.
    InvalidArguments,
    /// 5.
    AddressInUse,
    /// 6.
    BadAddress,
    /// 7.
    OpenError,
    /// 8.
    ListenError,
    /// 9.
    Cancelled,
    /// 10: the handler threw.
    HandlerThrew,
    /// 11.
    FunctionNotRegistered,
    /// 12.
    ProtocolError,
    /// 13.
    UnknownProtocolVersion,
    /// 14.
    MessageTooLarge,
    /// 15.
    ServerHasRun,
    /// 16: the result does not decode.
    InvalidResult,
    /// 17.
    SerialNumberConflict,
    /// 18 to 254: no name.
    Other(u8),
    /// 255: the code is in the body. No master of the store sends it.
    Custom(u16),
}

/// Names in the order of their numbers, from 1.
const NAMED: [(RpcErrorCode, &str); 17] = [
    (RpcErrorCode::IoError, "io error"),
    (RpcErrorCode::NotConnected, "not connected"),
    (RpcErrorCode::TimedOut, "timed out"),
    (RpcErrorCode::InvalidArguments, "arguments do not decode"),
    (RpcErrorCode::AddressInUse, "address in use"),
    (RpcErrorCode::BadAddress, "bad address"),
    (RpcErrorCode::OpenError, "open error"),
    (RpcErrorCode::ListenError, "listen error"),
    (RpcErrorCode::Cancelled, "cancelled"),
    (RpcErrorCode::HandlerThrew, "the handler threw"),
    (RpcErrorCode::FunctionNotRegistered, "function not registered"),
    (RpcErrorCode::ProtocolError, "protocol error"),
    (RpcErrorCode::UnknownProtocolVersion, "unknown protocol version"),
    (RpcErrorCode::MessageTooLarge, "message too large"),
    (RpcErrorCode::ServerHasRun, "the server has run"),
    (RpcErrorCode::InvalidResult, "result does not decode"),
    (RpcErrorCode::SerialNumberConflict, "serial number conflict"),
];

/// Header value that puts the code into the body.
const CUSTOM: u8 = 255;

impl RpcErrorCode {
    /// The number in the response header.
    pub fn header_value(self) -> u8 {
        match self {
            RpcErrorCode::Other(value) => value,
            RpcErrorCode::Custom(_) => CUSTOM,
            named => NAMED
                .iter()
                .position(|(code, _)| *code == named)
                .map_or(0, |index| index as u8 + 1),
        }
    }

    /// From the number in the response header. `None` for 0, which is no error, and for 255, whose code is in the
    /// body.
    pub fn from_header_value(value: u8) -> Option<Self> {
        match value {
            0 | CUSTOM => None,
            value => match NAMED.get(usize::from(value) - 1) {
                Some((code, _)) => Some(*code),
                None => Some(RpcErrorCode::Other(value)),
            },
        }
    }
}

impl fmt::Display for RpcErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RpcErrorCode::Other(value) => write!(f, "RPC error {value}"),
            RpcErrorCode::Custom(value) => write!(f, "RPC error 255/{value}"),
            named => {
                let value = named.header_value();
                let name = NAMED
                    .get(usize::from(value).wrapping_sub(1))
                    .map_or("", |(_, name)| *name);
                write!(f, "RPC error {value} ({name})")
            }
        }
    }
}

/// An answer of the RPC layer instead of the function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[error("{code}: {message}")]
pub struct RpcError {
    /// What is wrong.
    pub code: RpcErrorCode,
    /// The peer's text.
    pub message: String,
}

impl RpcError {
    /// What the real master answers to arguments that do not decode.
    pub fn invalid_arguments() -> Self {
        Self {
            code: RpcErrorCode::InvalidArguments,
            message: "invalid rpc arg".to_owned(),
        }
    }

    /// What the real master answers to a function id it does not know.
    pub fn not_registered() -> Self {
        Self {
            code: RpcErrorCode::FunctionNotRegistered,
            message: "the rpc function not registered".to_owned(),
        }
    }

    /// The body of the answer.
    pub(crate) fn body(&self, literal: Literal) -> Vec<u8> {
        match self.code {
            RpcErrorCode::Custom(code) => encode_message(&(code, self.message.clone()), literal),
            _ => encode_message(&self.message, literal),
        }
    }

    /// From header value and body.
    pub(crate) fn decode(header_value: u8, body: &[u8]) -> Result<Self, DecodeError> {
        match RpcErrorCode::from_header_value(header_value) {
            Some(code) => Ok(Self {
                code,
                message: decode_message(body)?,
            }),
            None => {
                let (code, message) = decode_message::<(u16, String)>(body)?;
                Ok(Self {
                    code: RpcErrorCode::Custom(code),
                    message,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMED, RpcError, RpcErrorCode};
    use crate::frame::encode_error;
    use crate::struct_pack::Literal;

    #[test]
    fn numbers_and_names_belong_together() {
        for (number, (code, _)) in (1_u8..).zip(NAMED) {
            assert_eq!(code.header_value(), number);
            assert_eq!(RpcErrorCode::from_header_value(number), Some(code));
        }
        assert_eq!(
            RpcErrorCode::InvalidArguments.to_string(),
            "RPC error 4 (arguments do not decode)"
        );
        assert_eq!(RpcErrorCode::SerialNumberConflict.header_value(), 17);
        assert_eq!(RpcErrorCode::from_header_value(18), Some(RpcErrorCode::Other(18)));
        assert_eq!(
            RpcErrorCode::from_header_value(254),
            Some(RpcErrorCode::Other(254))
        );
        assert_eq!(RpcErrorCode::from_header_value(0), None);
        assert_eq!(RpcErrorCode::from_header_value(255), None);
    }

    #[test]
    fn a_custom_code_travels_in_the_body() {
        let error = RpcError {
            code: RpcErrorCode::Custom(1000),
            message: "x".to_owned(),
        };
        let frame = encode_error(1, &error, Literal::With);
        assert_eq!(frame[2], 255);
        // Metainfo, then the literal of a pair of u16 and text, then 1000 and the text.
        assert_eq!(frame[20..], *b"\x04\xfd\x08\x80\x0c\xff\0\xe8\x03\x01x");
        assert_eq!(error.to_string(), "RPC error 255/1000: x");
    }
}
