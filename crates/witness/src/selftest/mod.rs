//! Every kind of access is planted under every witness, and each must tell of what it claims to see.

#[cfg(target_os = "linux")]
mod plant;
mod subject;
mod table;

#[cfg(target_os = "linux")]
pub use plant::reach_into;
pub use subject::Subject;
pub use table::{Cell, Claimed, Finding, LEGEND, Measured, Row, Unavailable};

use crate::AccessKind;

/// Tries all witnesses of this process. Takes some milliseconds.
pub fn measure() -> Vec<Row> {
    let row = |subject: Subject| Row {
        witness: subject.name().to_owned(),
        grain: subject.sight().grain,
        cells: subject
            .ready()
            .map(|()| AccessKind::ALL.map(|kind| subject.cell(kind)).to_vec()),
    };
    Subject::ALL.map(row).to_vec()
}
