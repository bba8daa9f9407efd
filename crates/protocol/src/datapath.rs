//! The TCP data path of the transfer engine: a 24-byte header, the bytes, and in version 2 a status. Mirrors
//! `mooncake-transfer-engine/src/transport/tcp_transport/tcp_transport_session_impl.h`. All integers are
//! little-endian.

/// Size of the header: 17 bytes of fields and 7 of padding.
pub const DATA_HEADER_BYTES: usize = 24;
/// Size of the status frame.
pub const STATUS_BYTES: usize = 8;

/// High half of every status frame.
const STATUS_MAGIC: u32 = 0x4d43_5456;
/// Opcode bit that announces version 2.
const VERSION_2: u8 = 0x80;
/// Low bits of the opcode of a write. Everything else is served as a read.
const WRITE: u8 = 1;

/// What is asked of the owner of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataOperation {
    /// Send the bytes.
    Read,
    /// Store the bytes that follow.
    Write,
}

/// Framing of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataVersion {
    /// No status: a read is answered by its bytes, a write by nothing, a refusal by closing.
    #[default]
    V1,
    /// A status frame before the bytes of a read and after those of a write.
    V2,
}

impl DataVersion {
    /// What a peer speaks whose segment descriptor says `tcp_proto_version`; absent means 1.
    pub fn of_descriptor(tcp_proto_version: Option<u32>) -> Self {
        if tcp_proto_version.unwrap_or(1) >= 2 {
            DataVersion::V2
        } else {
            DataVersion::V1
        }
    }
}

/// What the initiator sends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataHeader {
    /// Bytes to move.
    pub size_bytes: u64,
    /// Absolute address in the owner's process.
    pub address: u64,
    /// Direction.
    pub operation: DataOperation,
    /// Framing.
    pub version: DataVersion,
}

impl DataHeader {
    /// The header as bytes, padding zero.
    pub fn to_bytes(&self) -> [u8; DATA_HEADER_BYTES] {
        let mut bytes = [0; DATA_HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.size_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.address.to_le_bytes());
        let low = match self.operation {
            DataOperation::Read => 0,
            DataOperation::Write => WRITE,
        };
        let high = match self.version {
            DataVersion::V1 => 0,
            DataVersion::V2 => VERSION_2,
        };
        bytes[16] = low | high;
        bytes
    }

    /// From bytes. Any low opcode but 1 is a read, as upstream serves it; the padding is ignored.
    pub fn from_bytes(bytes: &[u8; DATA_HEADER_BYTES]) -> Self {
        let [
            s0,
            s1,
            s2,
            s3,
            s4,
            s5,
            s6,
            s7,
            a0,
            a1,
            a2,
            a3,
            a4,
            a5,
            a6,
            a7,
            opcode,
            ..,
        ] = *bytes;
        Self {
            size_bytes: u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            address: u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
            operation: if opcode & !VERSION_2 == WRITE {
                DataOperation::Write
            } else {
                DataOperation::Read
            },
            version: if opcode & VERSION_2 == 0 {
                DataVersion::V1
            } else {
                DataVersion::V2
            },
        }
    }

    /// One past the last address; `None` for an empty range and for one beyond the address space, both of which an
    /// owner refuses.
    pub fn end_address(&self) -> Option<u64> {
        if self.size_bytes == 0 {
            None
        } else {
            self.address.checked_add(self.size_bytes)
        }
    }
}

/// The owner's word in version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataStatus {
    /// The bytes follow, or are stored.
    Ok,
    /// The range is not inside one registered buffer. The owner closes; for a write this comes before the body.
    AddressRefused,
}

/// Eight bytes that are no status frame. The real client fails the transfer with `TRANSFER_FAIL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{frame:#018x} is no status frame (its high half must be 0x4d435456, its low half 0 or 1)")]
pub struct DataStatusError {
    /// The frame, read as a number.
    pub frame: u64,
}

impl DataStatus {
    /// The frame as bytes.
    pub fn to_bytes(self) -> [u8; STATUS_BYTES] {
        let low = match self {
            DataStatus::Ok => 0,
            DataStatus::AddressRefused => 1,
        };
        (u64::from(STATUS_MAGIC) << 32 | low).to_le_bytes()
    }

    /// From bytes.
    ///
    /// # Errors
    /// [`DataStatusError`] for anything but the two frames.
    pub fn from_bytes(bytes: &[u8; STATUS_BYTES]) -> Result<Self, DataStatusError> {
        let frame = u64::from_le_bytes(*bytes);
        match (frame >> 32, frame & 0xffff_ffff) {
            (high, 0) if high == u64::from(STATUS_MAGIC) => Ok(DataStatus::Ok),
            (high, 1) if high == u64::from(STATUS_MAGIC) => Ok(DataStatus::AddressRefused),
            _ => Err(DataStatusError { frame }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataHeader, DataOperation, DataStatus, DataVersion};

    #[test]
    fn odd_opcodes_are_reads_and_padding_is_ignored() {
        let mut bytes = [0xee; 24];
        for (opcode, operation, version) in [
            (0x00, DataOperation::Read, DataVersion::V1),
            (0x01, DataOperation::Write, DataVersion::V1),
            (0x02, DataOperation::Read, DataVersion::V1),
            (0x7f, DataOperation::Read, DataVersion::V1),
            (0x80, DataOperation::Read, DataVersion::V2),
            (0x81, DataOperation::Write, DataVersion::V2),
            (0x83, DataOperation::Read, DataVersion::V2),
        ] {
            bytes[16] = opcode;
            let header = DataHeader::from_bytes(&bytes);
            assert_eq!(
                (header.operation, header.version),
                (operation, version),
                "{opcode:#x}"
            );
        }
    }

    #[test]
    fn impossible_ranges_have_no_end() {
        let range = |address, size_bytes| {
            let (operation, version) = (DataOperation::Read, DataVersion::V2);
            DataHeader {
                size_bytes,
                address,
                operation,
                version,
            }
            .end_address()
        };
        assert_eq!(range(10, 0), None);
        assert_eq!(range(u64::MAX, 1), None);
        assert_eq!(range(u64::MAX - 1, 1), Some(u64::MAX));
    }

    #[test]
    fn eight_other_bytes_are_no_status() {
        for frame in [0_u64, 0x4d43_5456_0000_0002, 0x4d43_5457_0000_0000, u64::MAX] {
            assert_eq!(
                DataStatus::from_bytes(&frame.to_le_bytes()).unwrap_err().frame,
                frame
            );
        }
        for status in [DataStatus::Ok, DataStatus::AddressRefused] {
            assert_eq!(DataStatus::from_bytes(&status.to_bytes()), Ok(status));
        }
    }

    #[test]
    fn a_descriptor_without_version_means_1() {
        for (published, version) in [
            (None, DataVersion::V1),
            (Some(1), DataVersion::V1),
            (Some(2), DataVersion::V2),
            (Some(3), DataVersion::V2),
        ] {
            assert_eq!(DataVersion::of_descriptor(published), version, "{published:?}");
        }
    }
}
