//! Where a new replica goes.

mod choice;
mod mt19937;
mod seed;

pub(crate) use choice::{Placement, Wish, host_order};
pub(crate) use seed::{Dice, device_word};
