//! How many bytes a KV cache takes, and how long they travel.
//!
//! Everything is whole numbers with checked arithmetic; a result that does not fit, or an input that the formula does not
//! cover, is an error and never an approximation.
//!
//! A [`Shape`] says what a model keeps of each token; it comes from flags ([`Ask`]), from a published `config.json`
//! ([`config::read`]) or from the table of [`models()`]. [`budget`] makes a [`Budget`] of it, and [`show`] makes tables of
//! that.

mod ask;
mod budget;
mod chart;
mod compare;
pub mod config;
mod error;
mod ledger;
mod models;
mod number;
mod rank;
mod scale;
mod shape;
pub mod show;
mod units;
mod world;

pub use ask::Ask;
pub use budget::{Budget, Load, PerLayer, Precision, Transfer, budget};
pub use chart::bytes_over_tokens;
pub use compare::compare;
pub use error::CapacityError;
pub use ledger::Step;
pub use models::{Model, model, models};
pub use number::{Limit, number};
pub use rank::{Layout, lay};
pub use scale::Scale;
pub use shape::{Cache, Group, Keeps, Shape};
pub use units::{
    Bytes, BytesPerSecond, Chunks, ElementBytes, Elements, Heads, Layers, Nanoseconds, Pages, Ranks,
    Replicas, Requests, Tokens, Unit, readable_bytes, readable_time,
};
pub use world::segment_bytes;
