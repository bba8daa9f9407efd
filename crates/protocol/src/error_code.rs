//! The store's error codes. Mirrors upstream `mooncake-store/include/types.h:ErrorCode`.

use crate::struct_pack::{DecodeError, Reader, StructPack, Writer};
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! error_codes {
    ($($variant:ident = $value:literal, $name:literal;)*) => {
        /// An error code of the store (i32 on the wire). Each variant mirrors the upstream constant of the same
        /// name; numbers that are not in the table survive as [`ErrorCode::Unknown`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = concat!("Upstream `", $name, "` (", stringify!($value), ").")] $variant,)*
            /// A number this release's table does not have.
            Unknown(i32),
        }

        impl ErrorCode {
            /// Every named code, in upstream's order.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The number on the wire.
            pub fn value(self) -> i32 {
                match self { $(ErrorCode::$variant => $value,)* ErrorCode::Unknown(value) => value }
            }

            /// From the number on the wire; never fails.
            pub fn from_value(value: i32) -> Self {
                match value { $($value => ErrorCode::$variant,)* other => ErrorCode::Unknown(other) }
            }

            /// Upstream's spelling, or `None` for an unknown number.
            pub fn name(self) -> Option<&'static str> {
                match self { $(ErrorCode::$variant => Some($name),)* ErrorCode::Unknown(_) => None }
            }

            /// From upstream's spelling, such as `OBJECT_HAS_LEASE`.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(ErrorCode::$variant),)* _ => None }
            }
        }
    };
}

error_codes! {
    Ok = 0, "OK";
    InternalError = -1, "INTERNAL_ERROR";
    BufferOverflow = -10, "BUFFER_OVERFLOW";
    ShardIndexOutOfRange = -100, "SHARD_INDEX_OUT_OF_RANGE";
    SegmentNotFound = -101, "SEGMENT_NOT_FOUND";
    SegmentAlreadyExists = -102, "SEGMENT_ALREADY_EXISTS";
    ClientNotFound = -103, "CLIENT_NOT_FOUND";
    NoAvailableHandle = -200, "NO_AVAILABLE_HANDLE";
    InvalidVersion = -300, "INVALID_VERSION";
    InvalidKey = -400, "INVALID_KEY";
    WriteFail = -500, "WRITE_FAIL";
    InvalidParams = -600, "INVALID_PARAMS";
    IllegalClient = -601, "ILLEGAL_CLIENT";
    InvalidWrite = -700, "INVALID_WRITE";
    InvalidRead = -701, "INVALID_READ";
    InvalidReplica = -702, "INVALID_REPLICA";
    ReplicaIsNotReady = -703, "REPLICA_IS_NOT_READY";
    ObjectNotFound = -704, "OBJECT_NOT_FOUND";
    ObjectAlreadyExists = -705, "OBJECT_ALREADY_EXISTS";
    ObjectHasLease = -706, "OBJECT_HAS_LEASE";
    LeaseExpired = -707, "LEASE_EXPIRED";
    ObjectHasReplicationTask = -708, "OBJECT_HAS_REPLICATION_TASK";
    ObjectNoReplicationTask = -709, "OBJECT_NO_REPLICATION_TASK";
    ReplicaNotFound = -710, "REPLICA_NOT_FOUND";
    ReplicaAlreadyExists = -711, "REPLICA_ALREADY_EXISTS";
    ReplicaIsGone = -712, "REPLICA_IS_GONE";
    ReplicaNotInLocalMemory = -713, "REPLICA_NOT_IN_LOCAL_MEMORY";
    ObjectReplicaBusy = -714, "OBJECT_REPLICA_BUSY";
    TransferFail = -800, "TRANSFER_FAIL";
    ChecksumMismatch = -801, "CHECKSUM_MISMATCH";
    RpcFail = -900, "RPC_FAIL";
    RpcTimeout = -901, "RPC_TIMEOUT";
    EtcdOperationError = -1000, "ETCD_OPERATION_ERROR";
    EtcdKeyNotExist = -1001, "ETCD_KEY_NOT_EXIST";
    EtcdTransactionFail = -1002, "ETCD_TRANSACTION_FAIL";
    EtcdCtxCancelled = -1003, "ETCD_CTX_CANCELLED";
    OplogEntryNotFound = -1004, "OPLOG_ENTRY_NOT_FOUND";
    K8sLeaseOperationError = -1005, "K8S_LEASE_OPERATION_ERROR";
    K8sLeaseNotFound = -1006, "K8S_LEASE_NOT_FOUND";
    IncompleteOplogCatchUp = -1007, "INCOMPLETE_OPLOG_CATCH_UP";
    UnavailableInCurrentStatus = -1010, "UNAVAILABLE_IN_CURRENT_STATUS";
    UnavailableInCurrentMode = -1011, "UNAVAILABLE_IN_CURRENT_MODE";
    NotSupported = -1012, "NOT_SUPPORTED";
    FileNotFound = -1100, "FILE_NOT_FOUND";
    FileOpenFail = -1101, "FILE_OPEN_FAIL";
    FileReadFail = -1102, "FILE_READ_FAIL";
    FileWriteFail = -1103, "FILE_WRITE_FAIL";
    FileInvalidBuffer = -1104, "FILE_INVALID_BUFFER";
    FileLockFail = -1105, "FILE_LOCK_FAIL";
    FileInvalidHandle = -1106, "FILE_INVALID_HANDLE";
    BucketNotFound = -1200, "BUCKET_NOT_FOUND";
    BucketAlreadyExists = -1201, "BUCKET_ALREADY_EXISTS";
    KeysExceedBucketLimit = -1202, "KEYS_EXCEED_BUCKET_LIMIT";
    KeysUltraLimit = -1203, "KEYS_ULTRA_LIMIT";
    UnableOffload = -1300, "UNABLE_OFFLOAD";
    UnableOffloading = -1301, "UNABLE_OFFLOADING";
    TaskNotFound = -1400, "TASK_NOT_FOUND";
    TaskPendingLimitExceeded = -1401, "TASK_PENDING_LIMIT_EXCEEDED";
    JobNotFound = -1402, "JOB_NOT_FOUND";
    SerializeUnsupported = -1500, "SERIALIZE_UNSUPPORTED";
    SerializeFail = -1501, "SERIALIZE_FAIL";
    DeserializeFail = -1502, "DESERIALIZE_FAIL";
    PersistentFail = -1503, "PERSISTENT_FAIL";
    DfsNetworkTimeout = -1600, "DFS_NETWORK_TIMEOUT";
    DfsServiceUnavailable = -1601, "DFS_SERVICE_UNAVAILABLE";
    DfsQuotaExceeded = -1602, "DFS_QUOTA_EXCEEDED";
    DfsPermissionDenied = -1603, "DFS_PERMISSION_DENIED";
    DfsStaleHandle = -1604, "DFS_STALE_HANDLE";
    DfsPartialWrite = -1605, "DFS_PARTIAL_WRITE";
    TenantQuotaExceeded = -1700, "TENANT_QUOTA_EXCEEDED";
    TenantNotRegistered = -1701, "TENANT_NOT_REGISTERED";
    TenantNotEmpty = -1702, "TENANT_NOT_EMPTY";
}

impl StructPack for ErrorCode {
    const BYTES_MIN: usize = i32::BYTES_MIN;
    const IS_COPIED: bool = true;

    fn push_literal(literal: &mut Vec<u8>) {
        i32::push_literal(literal);
    }

    fn encode(&self, writer: &mut Writer<'_>) {
        self.value().encode(writer);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        i32::decode(reader).map(ErrorCode::from_value)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "UNKNOWN({})", self.value()),
        }
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if let Some(code) = ErrorCode::from_name(&text) {
            return Ok(code);
        }
        let number = text
            .strip_prefix("UNKNOWN(")
            .and_then(|rest| rest.strip_suffix(')'));
        match number.and_then(|digits| digits.parse().ok()) {
            Some(value) => Ok(ErrorCode::from_value(value)),
            None => Err(serde::de::Error::custom(format!(
                "no error code is called {text:?}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn names_and_numbers_round_trip() {
        for &code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_value(code.value()), code);
            assert_eq!(ErrorCode::from_name(code.name().unwrap()), Some(code));
        }
        assert_eq!(ErrorCode::from_value(-706), ErrorCode::ObjectHasLease);
        assert_eq!(ErrorCode::from_value(-901), ErrorCode::RpcTimeout);
        assert_eq!(
            ErrorCode::from_value(-713).name(),
            Some("REPLICA_NOT_IN_LOCAL_MEMORY")
        );
        assert_eq!(ErrorCode::from_value(77), ErrorCode::Unknown(77));
    }
}
