//! Tables and charts whose numbers say where they come from.
//!
//! A number is computed from a formula, simulated by a model, or measured on a machine. The three are types of their own, so
//! that no table and no chart can hold two of them:
//!
//! ```compile_fail
//! use moonquake_figures::{Computed, Simulated, Table};
//! let mut tables: Vec<Table<Computed>> = Vec::new();
//! tables.push(Table::<Simulated>::new("hits", "Hits of a policy"));
//! ```

mod chart;
mod draw;
mod origin;
mod page;
mod table;
mod unit;

pub use chart::{Axis, Chart, Point, Scale, Series};
pub use origin::{Computed, Measured, Origin, Simulated};
pub use page::Page;
pub use table::{Cell, Column, Table};
pub use unit::Unit;
