//! Sharp edges of the store that are no faults but facts: the same steps to the Rust master and to the unmodified one,
//! equal answers, and the edge's own outcome. The expected values come from the description of the store, not from a run.

pub(crate) mod copies;
pub(crate) mod disks;
pub(crate) mod memory;
pub(crate) mod probes;
pub(crate) mod segments;
pub(crate) mod tasks;
pub(crate) mod writes;
