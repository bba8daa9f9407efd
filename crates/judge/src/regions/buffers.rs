//! The epochs of callers' buffers.

use super::{End, Lane, RegionAccess, Tenure};
use crate::buffer::{Failed, touches};
use crate::view::{Pos, View};
use moonquake_evidence::Op;
use moonquake_scenario::{Do, Verb};
use std::collections::BTreeMap;

/// What uses a buffer.
struct Use {
    op: Op,
    who: String,
    began: Pos,
    ended: Option<Pos>,
    /// The caller itself writes into it.
    fill: bool,
}

/// One place for each buffer that an operation was seen to use.
pub(super) fn lanes(view: &View<'_>, failed: &Failed) -> Vec<Lane> {
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for (op, run) in &view.runs {
        let (Some(action), Some(began)) = (view.action(*op), run.began) else {
            continue;
        };
        if action.verb.registers() {
            continue;
        }
        for name in action.from.iter().chain(&action.into) {
            let name = Do::repeated(name, op.repetition);
            let size = sizes.entry(name.clone()).or_default();
            *size = action.size_bytes.unwrap_or(0).max(*size);
            uses.entry(name).or_default().push(Use {
                op: *op,
                who: action.who.clone().unwrap_or_default(),
                began,
                ended: run.ended,
                fill: action.verb == Verb::Fill,
            });
        }
    }
    uses.into_iter()
        .map(|(name, uses)| of_buffer(view, failed, &name, uses, sizes.get(&name).copied().unwrap_or(0)))
        .collect()
}

fn of_buffer(view: &View<'_>, failed: &Failed, name: &str, mut uses: Vec<Use>, planned: u64) -> Lane {
    let touches = touches(view, name);
    let size = touches
        .iter()
        .map(|(_, touch)| touch.to)
        .max()
        .unwrap_or(0)
        .max(planned);
    uses.sort_by_key(|used| used.began);
    let mut tenures: Vec<Tenure> = Vec::new();
    for used in &uses {
        if used.fill {
            // What the caller fills is the caller's; that is no news if it was before.
            let callers = tenures.last().is_some_and(|last| last.op.is_none());
            if !callers && tenures.last().is_none_or(|last| last.until.is_some()) {
                hand(&mut tenures, used.began, &used.who, None, size);
            }
            continue;
        }
        hand(
            &mut tenures,
            used.began,
            &view.op_name(used.op),
            Some(used.op),
            size,
        );
        if let Some(ended) = used.ended {
            hand(&mut tenures, ended, &used.who, None, size);
        }
    }
    for (pos, touch) in touches {
        let Some(tenure) = tenures.iter_mut().rev().find(|tenure| tenure.covers(pos)) else {
            continue;
        };
        let after_failure = touch
            .op
            .and_then(|op| failed.get(&op))
            .is_some_and(|(end, _)| pos > *end);
        let fill = touch.op.and_then(|op| view.verb(op)) == Some(Verb::Fill);
        let own = if fill {
            tenure.op.is_none()
        } else {
            touch.op.is_some() && touch.op == tenure.op
        };
        tenure.touches.push((
            pos,
            RegionAccess {
                who: touch.who,
                op: touch.op,
                write: touch.write,
                from: touch.from,
                to: touch.to,
                at: touch.at,
                id: touch.id,
                late: after_failure || !own,
            },
        ));
    }
    Lane::new(name, size, false, tenures)
}

/// The buffer changes hands.
fn hand(tenures: &mut Vec<Tenure>, at: Pos, owner: &str, op: Option<Op>, size: u64) {
    // Operations side by side on one buffer: the last to take it counts as its owner.
    let at = tenures.last().map_or(at, |last| last.since.pos.max(at));
    if let Some(last) = tenures.last_mut() {
        last.end(End::at(at));
    }
    tenures.push(Tenure::new((0, size), owner.to_owned(), op, at));
}
