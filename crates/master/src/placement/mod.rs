//! Where a new replica goes.

mod choice;
mod mt19937;
mod ranked;
mod seed;
mod strategy;

pub(crate) use choice::{Placement, Wish, host_order};
pub(crate) use seed::{Dice, device_word};
pub use strategy::Strategy;
