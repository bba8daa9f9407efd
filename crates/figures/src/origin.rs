//! Where a number comes from.

/// Where the numbers of a table or chart come from.
pub trait Origin {
    /// One word for it, as people and machines read it.
    const WORD: &'static str;
    /// A sentence that says what such a number is worth.
    const SAYS: &'static str;
}

/// The result of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computed {}

/// What a model did in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulated {}

/// What a clock or a counter of a real machine showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {}

impl Origin for Computed {
    const WORD: &'static str = "computed";
    const SAYS: &'static str = "Computed from the inputs; nothing was run.";
}

impl Origin for Simulated {
    const WORD: &'static str = "simulated";
    const SAYS: &'static str = "Simulated in virtual time; nothing was measured.";
}

impl Origin for Measured {
    const WORD: &'static str = "measured";
    const SAYS: &'static str = "Measured on the machine that is named.";
}
