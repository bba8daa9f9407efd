//! What the master knows of each key. Mirrors `master_service.h:ObjectMetadata` and its shards.

mod arena;
mod column;
pub(crate) mod hash;
mod head;
mod index;
mod object;
pub(crate) mod order;
mod pages;
mod store;

pub(crate) use arena::Id;
pub(crate) use object::{Before, Object, PendingPin, Replica, Replicas, split_off};
pub(crate) use store::{Objects, SHARDS};
