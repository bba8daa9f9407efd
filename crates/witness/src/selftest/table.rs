//! What the self-test found: access kind x witness.

use crate::{AccessKind, Grain};

/// What a witness says of a kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It sees it.
    Sees,
    /// It may miss it.
    Blind,
    /// It cannot happen there.
    Absent,
}

/// What became of a planted access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The witness told of it.
    Seen,
    /// It happened, and the witness told of nothing.
    NotSeen,
    /// It could not be planted here.
    NotPlanted {
        /// Why.
        why: String,
    },
}

/// One kind of access under one witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The kind.
    pub kind: AccessKind,
    /// What the witness says.
    pub claimed: Claimed,
    /// What came out.
    pub measured: Measured,
}

/// What a cell means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The claim was met.
    Met,
    /// A claim that is not met: the witness missed what it says it sees, or saw what it says cannot happen.
    Broken,
    /// It saw more than it claims.
    Beyond,
    /// Nobody could try.
    Untried,
}

/// One witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub witness: String,
    /// How much of an access it tells.
    pub grain: Grain,
    /// One cell for each of [`AccessKind::ALL`], or why there is none and what to do about it.
    pub cells: Result<Vec<Cell>, Unavailable>,
}

/// Why a witness could not be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// What is missing.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}
