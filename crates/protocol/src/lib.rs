//! Ids, error codes, RPC types, the struct_pack codec and the frames of Mooncake Store. No I/O.

mod error_code;

pub use error_code::ErrorCode;
