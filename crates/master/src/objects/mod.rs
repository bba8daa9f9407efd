//! What the master knows of each key. Mirrors `master_service.h:ObjectMetadata` and its shards.

pub(crate) mod hash;
mod object;
pub(crate) mod order;
mod store;

pub(crate) use object::{Before, Object, PendingPin, Replica, split_off};
pub(crate) use store::{Objects, SHARDS};
