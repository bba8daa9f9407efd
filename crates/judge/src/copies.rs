//! Copies and moves of replicas, from the answers of the master that the link saw.
//!
//! A copy hands out memory that belongs to an object which is readable already. Its end adds those ranges to the
//! attempt that wrote the object; the end of a move also takes a range away, which is quarantined from then on.

use crate::rpc::{self, ReplicationEnd};
use crate::view::{Frame, Pos, View};
use moonquake_evidence::{Op, Range, State};

/// A copy or move that was begun.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) key: String,
    /// The node that was told to make it.
    pub(crate) client: String,
    /// The operation that sent its start.
    pub(crate) op: Option<Op>,
    /// Where its start was handled.
    pub(crate) start: Pos,
    pub(crate) targets: Vec<Range>,
    /// Where it was committed or revoked.
    pub(crate) over: Option<Pos>,
    /// Whether it was committed: its targets are the object's from there on.
    pub(crate) committed: bool,
    /// Where the master forgot it.
    pub(crate) lost: Option<Pos>,
}

impl Copy {
    /// Whether its targets belonged to nobody but it at `pos`.
    pub(crate) fn is_open_at(&self, pos: Pos) -> bool {
        let before = |at: Option<Pos>| at.is_some_and(|at| at < pos);
        self.start < pos && !before(self.over) && !before(self.lost)
    }
}

/// What a handled call did to the copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// These ranges were added to the object, and these were taken from it.
    Committed {
        key: String,
        added: Vec<Range>,
        taken: Vec<Range>,
    },
    Other,
}

/// Every copy and move of a run, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    pub(crate) all: Vec<Copy>,
}

impl Copies {
    /// Takes in a handled call.
    pub(crate) fn handle(&mut self, view: &View<'_>, frame: &Frame<'_>) -> Done {
        let Some(key) = frame.key else { return Done::Other };
        if rpc::is_replication_start(frame.rpc) {
            if frame.code == Some("ok") {
                self.all.push(Copy {
                    key: key.to_owned(),
                    client: frame.event.actor.clone(),
                    op: frame.event.op,
                    start: frame.pos,
                    targets: frame.ranges.to_vec(),
                    over: None,
                    committed: false,
                    lost: None,
                });
            }
            return Done::Other;
        }
        let Some(how) = rpc::replication_end(frame.rpc) else {
            return Done::Other;
        };
        // A commit that lost its source or a target is over too, and what is left of it counts.
        let over = match how {
            ReplicationEnd::Commit { .. } => matches!(frame.code, Some("ok" | "REPLICA_IS_GONE")),
            ReplicationEnd::Revoke => frame.code == Some("ok"),
        };
        let open = |copy: &&mut Copy| copy.key == key && copy.over.is_none() && copy.lost.is_none();
        let Some(copy) = self.all.iter_mut().rev().find(open).filter(|_| over) else {
            return Done::Other;
        };
        copy.over = Some(frame.pos);
        copy.committed = matches!(how, ReplicationEnd::Commit { .. });
        match how {
            ReplicationEnd::Revoke => Done::Other,
            ReplicationEnd::Commit { moves } => Done::Committed {
                key: key.to_owned(),
                added: copy.targets.clone(),
                taken: if moves {
                    taken(view, frame.pos, key)
                } else {
                    Vec::new()
                },
            },
        }
    }

    /// A new master knows nothing of the old one's copies.
    pub(crate) fn forget(&mut self, pos: Pos) {
        for copy in &mut self.all {
            copy.lost.get_or_insert(pos);
        }
    }
}

/// The ranges of a key that the observer saw before a call and not after it, on segments that are still there.
fn taken(view: &View<'_>, pos: Pos, key: &str) -> Vec<Range> {
    let after = view
        .states
        .iter()
        .find(|(at, _)| *at > pos)
        .map(|(_, state)| *state);
    let (Some((_, before)), Some(after)) = (view.state_before(pos), after) else {
        return Vec::new();
    };
    let of = |state: &State| state.keys.get(key).cloned().unwrap_or_default();
    let left = of(after);
    let gone = |range: &Range| !left.contains(range) && after.segments.contains_key(&range.segment);
    of(before).into_iter().filter(gone).collect()
}

/// Whether a segment was away at some state between two places: it takes along what was on it.
pub(crate) fn was_away(view: &View<'_>, segment: &str, from: Pos, to: Pos) -> bool {
    let between = view.states.iter().filter(|(at, _)| from < *at && *at <= to);
    between
        .into_iter()
        .any(|(_, state)| !state.segments.contains_key(segment))
}
