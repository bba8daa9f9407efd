//! What an observer without side effects sees. Mirrors the admin endpoints of `master_admin_service.cpp`.

use std::collections::BTreeMap;

/// Where one readable replica lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the segment.
    pub segment: String,
    /// First byte, relative to the base of the segment.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

/// The state of a master at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Requested bytes that are taken: complete, unfinished and quarantined replicas.
    pub allocated_bytes: u64,
    /// Bytes of all mounted segments.
    pub capacity_bytes: u64,
    /// The readable keys with their replicas in the master's order.
    pub keys: BTreeMap<String, Vec<Place>>,
    /// The mounted segments by name with their bytes; segments that share a name are added up.
    pub segments: BTreeMap<String, u64>,
}
