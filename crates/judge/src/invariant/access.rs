//! `no-access-after-failure`: once an operation has reported failure it touches no buffer any more.
//!
//! The failure says whose memory was hit and since when that was its owner's. An access is what a witness saw or a part of a payload that the owner saw land, of that very operation, after its
//! result. The caller that fills its own buffer is another operation, and so is whoever got the range next. An
//! operation whose actor died reports nothing.

use super::Judged;
use crate::outcome;
use crate::regions::Lanes;
use crate::view::{Pos, View};
use moonquake_evidence::{Kind, Observer, Op};
use std::collections::BTreeMap;

pub(super) fn judge(view: &View<'_>, lanes: &Lanes) -> Judged {
    let failed: BTreeMap<Op, Pos> = view
        .runs
        .keys()
        .filter_map(|op| view.ended(*op).map(|ended| (*op, ended)))
        .filter(|(_, ended)| {
            let mut all = std::iter::once(ended.outcome).chain(ended.entries.iter().map(String::as_str));
            all.any(outcome::is_failure)
        })
        .map(|(op, ended)| (op, ended.pos))
        .collect();
    let places: Vec<Pos> = failed.values().copied().collect();
    let mut failures = Vec::new();
    for (pos, event) in view.events.iter().enumerate() {
        let access = match event.kind {
            Kind::Access { .. } => event.observer == Observer::Witness,
            Kind::Payload { .. } => event.observer == Observer::Owner,
            _ => false,
        };
        let Some((op, end)) = event
            .op
            .filter(|_| access)
            .and_then(|op| Some((op, *failed.get(&op)?)))
        else {
            continue;
        };
        if pos > end {
            let hits = lanes.hits_of(view, pos);
            let whose: String = hits.iter().map(|hit| format!("; {hit}")).collect();
            let text = format!(
                "{} had reported failure at {}, and at {}: {}{whose}",
                view.op_name(op),
                view.at(end),
                event.at,
                event.kind.line()
            );
            failures.push((text, vec![end, pos]));
        }
    }
    Judged::over(
        failures,
        &places,
        "failed operation|",
        "no operation reported failure",
    )
}
