//! What the self-test found: access kind x witness.

use crate::{AccessKind, Grain, Sight};
use std::fmt;

/// What a witness says of a kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It sees it.
    Sees,
    /// It sees a write that changes a byte.
    SeesChanges,
    /// It may miss it.
    Blind,
    /// It cannot happen there.
    Absent,
}

impl Claimed {
    /// What a sight says of a kind.
    pub fn by(sight: &Sight, kind: AccessKind) -> Claimed {
        if sight.sees.contains(&kind) {
            Claimed::Sees
        } else if sight.sees_changes.contains(&kind) {
            Claimed::SeesChanges
        } else if sight.absent.contains(&kind) {
            Claimed::Absent
        } else {
            Claimed::Blind
        }
    }
}

/// What became of a planted access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The witness told of it, of all its bytes.
    Seen,
    /// It happened, and the witness told of nothing.
    NotSeen,
    /// The witness told of something else.
    Mistaken {
        /// What it told.
        told: String,
    },
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// It is as the witness says.
    Met,
    /// Nobody could try.
    Untried,
    /// It saw more than it claims.
    Beyond,
    /// The witness missed what it says it sees, saw what it says cannot happen, or told of what did not happen.
    Broken,
}

impl Cell {
    /// What it means.
    pub fn finding(&self) -> Finding {
        match (self.claimed, &self.measured) {
            (_, Measured::NotPlanted { .. }) => match self.claimed {
                Claimed::Absent => Finding::Met,
                _ => Finding::Untried,
            },
            (_, Measured::Mistaken { .. }) | (Claimed::Absent, _) => Finding::Broken,
            (Claimed::Sees | Claimed::SeesChanges, Measured::Seen) => Finding::Met,
            (Claimed::Sees | Claimed::SeesChanges, Measured::NotSeen) => Finding::Broken,
            (Claimed::Blind, Measured::NotSeen) => Finding::Met,
            (Claimed::Blind, Measured::Seen) => Finding::Beyond,
        }
    }
}

/// One or two words for a table.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.finding(), self.claimed, &self.measured) {
            (Finding::Met, Claimed::Sees, _) => "seen",
            (Finding::Met, Claimed::SeesChanges, _) => "changes",
            (Finding::Met, Claimed::Blind, _) => "blind",
            (Finding::Met, Claimed::Absent, _) => "none",
            (Finding::Untried, Claimed::Blind, _) => "blind?",
            (Finding::Untried, Claimed::SeesChanges, _) => "changes?",
            (Finding::Untried, ..) => "seen?",
            (Finding::Beyond, ..) => "seen+",
            (Finding::Broken, _, Measured::NotSeen) => "MISSED",
            (Finding::Broken, ..) => "WRONG",
        })
    }
}

/// What the words of [`Cell`] mean.
pub const LEGEND: &str = "seen: told, as claimed; changes: told if a byte changed; blind: not told, and never taken for a no; \
seen+: told, and not claimed; none: nobody can do that there; ?: claimed, and could not be planted here; MISSED, WRONG: \
the claim is not met.";

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

impl Row {
    /// The claims that are not met, and what came out instead.
    pub fn broken(&self) -> Vec<String> {
        let broken = self
            .cells
            .iter()
            .flatten()
            .filter(|cell| cell.finding() == Finding::Broken);
        let words = broken.map(|cell| match &cell.measured {
            Measured::Mistaken { told } => format!("{}, {}: told of {told}", self.witness, cell.kind),
            measured => format!(
                "{}, {}: claims {:?}, measured {measured:?}",
                self.witness, cell.kind, cell.claimed
            ),
        });
        words.collect()
    }

    /// What could not be planted, each reason once.
    pub fn untried(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for cell in self
            .cells
            .iter()
            .flatten()
            .filter(|cell| cell.finding() == Finding::Untried)
        {
            if let Measured::NotPlanted { why } = &cell.measured
                && !reasons.contains(why)
            {
                reasons.push(why.clone());
            }
        }
        reasons
    }
}

/// Why a witness could not be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// What is missing.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cure.as_str() {
            "" => f.write_str(&self.what),
            cure => write!(f, "{}; to mend this: {cure}", self.what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Way;

    #[test]
    fn a_claim_is_met_or_broken_and_sight_beyond_it_is_told() {
        let cell = |claimed, measured: &Measured| Cell {
            kind: AccessKind::write(Way::Cpu),
            claimed,
            measured: measured.clone(),
        };
        let unplanted = Measured::NotPlanted { why: String::new() };
        let mistaken = Measured::Mistaken { told: String::new() };
        for (claimed, measured, finding, words) in [
            (Claimed::Sees, &Measured::Seen, Finding::Met, "seen"),
            (Claimed::Sees, &Measured::NotSeen, Finding::Broken, "MISSED"),
            (Claimed::Sees, &unplanted, Finding::Untried, "seen?"),
            (Claimed::SeesChanges, &Measured::Seen, Finding::Met, "changes"),
            (
                Claimed::SeesChanges,
                &Measured::NotSeen,
                Finding::Broken,
                "MISSED",
            ),
            (Claimed::Blind, &Measured::NotSeen, Finding::Met, "blind"),
            (Claimed::Blind, &Measured::Seen, Finding::Beyond, "seen+"),
            (Claimed::Blind, &unplanted, Finding::Untried, "blind?"),
            (Claimed::Blind, &mistaken, Finding::Broken, "WRONG"),
            (Claimed::Absent, &unplanted, Finding::Met, "none"),
            (Claimed::Absent, &Measured::Seen, Finding::Broken, "WRONG"),
        ] {
            let cell = cell(claimed, measured);
            assert_eq!(
                (cell.finding(), cell.to_string().as_str()),
                (finding, words),
                "{cell:?}"
            );
        }
    }
}
