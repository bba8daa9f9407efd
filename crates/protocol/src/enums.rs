//! The enumerations of the wire. Mirrors upstream `mooncake-store/include/types.h`, `replica.h`, `segment.h` and
//! `task_manager.h`. The codec validates none of them: a number without a name arrives as `Unknown(number)`.

use crate::struct_pack::{DecodeError, Reader, StructPack, Writer};
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! wire_enums {
    ($(
        $(#[$doc:meta])*
        $enum:ident($number:ty) {
            $($(#[$variant_doc:meta])* $variant:ident = $value:literal, $name:literal;)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum {
            $(
                #[doc = concat!("Upstream `", $name, "` (", stringify!($value), ").")]
                $(#[$variant_doc])*
                $variant,
            )*
            /// A number this release has no name for.
            Unknown($number),
        }

        impl $enum {
            /// Every named value, in upstream's order.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            /// The number on the wire.
            pub fn value(self) -> $number {
                match self { $($enum::$variant => $value,)* $enum::Unknown(value) => value }
            }

            /// From the number on the wire; never fails.
            pub fn from_value(value: $number) -> Self {
                match value { $($value => $enum::$variant,)* other => $enum::Unknown(other) }
            }

            /// Upstream's spelling, or `None` for an unknown number.
            pub fn name(self) -> Option<&'static str> {
                match self { $($enum::$variant => Some($name),)* $enum::Unknown(_) => None }
            }

            /// From upstream's spelling.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some($enum::$variant),)* _ => None }
            }
        }

        impl StructPack for $enum {
            const BYTES_MIN: usize = <$number as StructPack>::BYTES_MIN;
            const IS_COPIED: bool = true;

            fn push_literal(literal: &mut Vec<u8>) {
                <$number as StructPack>::push_literal(literal);
            }

            fn encode(&self, writer: &mut Writer<'_>) {
                self.value().encode(writer);
            }

            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                <$number as StructPack>::decode(reader).map($enum::from_value)
            }
        }

        #[cfg(feature = "proptest")]
        impl crate::strategies::WireStrategy for $enum {
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy as _;
                proptest::prop_oneof![
                    4 => proptest::sample::select($enum::ALL),
                    1 => proptest::arbitrary::any::<$number>().prop_map($enum::from_value),
                ]
                .boxed()
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "UNKNOWN({})", self.value()),
                }
            }
        }

        impl Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                if let Some(named) = $enum::from_name(&text) {
                    return Ok(named);
                }
                let number = text.strip_prefix("UNKNOWN(").and_then(|rest| rest.strip_suffix(')'));
                match number.and_then(|digits| digits.parse().ok()) {
                    Some(value) => Ok($enum::from_value(value)),
                    None => Err(serde::de::Error::custom(format!(
                        concat!("no ", stringify!($enum), " is called {:?}"), text
                    ))),
                }
            }
        }
    )*};
}

wire_enums! {
    /// The kind of storage a replica lives on. Mirrors `replica.h:ReplicaType`.
    ReplicaType(i32) {
        Memory = 0, "MEMORY";
        Disk = 1, "DISK";
        LocalDisk = 2, "LOCAL_DISK";
        NofSsd = 3, "NOF_SSD";
        /// What the client sends with PutEnd and PutRevoke.
        All = 4, "ALL";
        Dfs = 100, "DFS";
    }

    /// The life of one replica. Mirrors `replica.h:ReplicaStatus`.
    ReplicaStatus(i32) {
        Undefined = 0, "UNDEFINED";
        Initialized = 1, "INITIALIZED";
        /// Between PutStart and PutEnd.
        Processing = 2, "PROCESSING";
        Complete = 3, "COMPLETE";
        Removed = 4, "REMOVED";
        Failed = 5, "FAILED";
    }

    /// What the master thinks of a client. Mirrors `types.h:ClientStatus`.
    ClientStatus(i32) {
        Undefined = 0, "UNDEFINED";
        Ok = 1, "OK";
        /// The master does not know the client, or forgot it: mount again.
        NeedRemount = 2, "NEED_REMOUNT";
    }

    /// The life of a segment. Mirrors `segment.h:SegmentStatus`.
    SegmentStatus(i32) {
        Undefined = 0, "UNDEFINED";
        Ok = 1, "OK";
        Draining = 2, "DRAINING";
        Drained = 3, "DRAINED";
        GracefullyUnmounting = 4, "GRACEFULLY_UNMOUNTING";
        Unmounting = 5, "UNMOUNTING";
    }

    /// What a task asks a client to do. Mirrors `task_manager.h:TaskType`.
    TaskType(i32) {
        ReplicaCopy = 0, "REPLICA_COPY";
        ReplicaMove = 1, "REPLICA_MOVE";
    }

    /// The life of a task. Mirrors `task_manager.h:TaskStatus`.
    TaskStatus(i32) {
        Pending = 0, "PENDING";
        Processing = 1, "PROCESSING";
        Failed = 2, "FAILED";
        Success = 3, "SUCCESS";
    }

    /// What a put does to the soft pin of its object; one byte on the wire. Mirrors `types.h:SoftPinAction`.
    SoftPinAction(u8) {
        Preserve = 0, "PRESERVE";
        Enable = 1, "ENABLE";
        Disable = 2, "DISABLE";
    }

    /// What the bytes of an object are; one byte on the wire. Mirrors `types.h:ObjectDataType`.
    ObjectDataType(u8) {
        /// Called so because `Unknown` is every number without a name.
        Unclassified = 0, "UNKNOWN";
        KvCache = 1, "KVCACHE";
        Tensor = 2, "TENSOR";
        Weight = 3, "WEIGHT";
        Sample = 4, "SAMPLE";
        Activation = 5, "ACTIVATION";
        Gradient = 6, "GRADIENT";
        OptimizerState = 7, "OPTIMIZER_STATE";
        Metadata = 8, "METADATA";
        General = 9, "GENERAL";
    }
}

#[cfg(test)]
mod tests {
    use super::{ObjectDataType, ReplicaType, SoftPinAction};

    #[test]
    fn numbers_without_a_name_survive() {
        assert_eq!(ReplicaType::from_value(100), ReplicaType::Dfs);
        assert_eq!(ReplicaType::from_value(5).value(), 5);
        assert_eq!(SoftPinAction::from_value(9), SoftPinAction::Unknown(9));
        assert_eq!(ObjectDataType::from_value(0).to_string(), "UNKNOWN");
        assert_eq!(ObjectDataType::from_value(10).to_string(), "UNKNOWN(10)");
        for &named in ObjectDataType::ALL {
            assert_eq!(ObjectDataType::from_value(named.value()), named);
            assert_eq!(ObjectDataType::from_name(named.name().unwrap()), Some(named));
        }
    }
}
