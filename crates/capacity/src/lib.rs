//! How many bytes a KV cache takes, and how long they travel.
//!
//! Everything is whole numbers with checked arithmetic; a result that does not fit, or an input that the formula does not
//! cover, is an error and never an approximation.

mod chart;

pub use chart::bytes_over_tokens;
