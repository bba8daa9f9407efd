//! The epochs of the clients' staging memory.

use super::gaps::gaps;
use super::{End, Lane, RegionAccess, Tenure, index_of};
use crate::buffer::Failed;
use crate::overlaps::Overlaps;
use crate::view::{Pos, Transfer, View};
use moonquake_evidence::{Block, Kind, Op, staging_of};
use std::collections::BTreeMap;

/// One place for each client whose operations were seen to use staging memory.
pub(super) fn lanes(view: &View<'_>, failed: &Failed) -> Vec<Lane> {
    let mut clients: BTreeMap<&str, Vec<(&Transfer<'_>, Block)>> = BTreeMap::new();
    for transfer in view.transfers.values() {
        if let Some(block) = transfer.block {
            clients
                .entry(transfer.client)
                .or_default()
                .push((transfer, block));
        }
    }
    clients
        .into_iter()
        .map(|(client, transfers)| of_client(view, failed, client, &transfers))
        .collect()
}

fn of_client(view: &View<'_>, failed: &Failed, client: &str, transfers: &[(&Transfer<'_>, Block)]) -> Lane {
    let mut taken: BTreeMap<(Op, Block), Pos> = BTreeMap::new();
    for (transfer, block) in transfers {
        let (Some(op), Some(opened)) = (transfer.op, transfer.opened) else {
            continue;
        };
        // A write has copied its payload in before anything else; a read takes its block when it knows the size.
        let began = view
            .runs
            .get(&op)
            .and_then(|run| run.began)
            .filter(|_| transfer.write);
        let since = taken.entry((op, *block)).or_insert(opened);
        *since = (*since).min(began.unwrap_or(opened));
    }
    let mut tenures: Vec<Tenure> = taken
        .into_iter()
        .map(|((op, block), since)| tenure(view, op, block, since))
        .collect();
    tenures.sort_by_key(|tenure| (tenure.since, tenure.from));
    let index = index_of(&tenures);
    for number in 1..tenures.len() {
        // Whoever takes bytes has them, also if nobody saw the last owner give them back.
        let (from, to, since) = (tenures[number].from, tenures[number].to, tenures[number].since);
        for earlier in index
            .over(from, to)
            .into_iter()
            .take_while(|earlier| *earlier < number)
        {
            tenures[earlier].end(since);
        }
    }
    tenures.extend(gaps(&tenures, 0));
    tenures.sort_by_key(|tenure| (tenure.since, tenure.from));
    let index = index_of(&tenures);
    for (transfer, block) in transfers {
        for landed in &transfer.landed {
            let Kind::Payload { from, to, .. } = landed.event.kind else {
                continue;
            };
            let (from, to) = (block.from.saturating_add(from), block.from.saturating_add(to));
            access(
                failed,
                (&mut tenures, &index),
                transfer,
                (from, to),
                landed.pos,
                landed.event,
            );
        }
    }
    for tenure in &mut tenures {
        tenure.touches.sort_by_key(|(pos, _)| *pos);
    }
    let size = transfers.iter().map(|(_, block)| block.to).max().unwrap_or(0);
    Lane::new(&staging_of(client), size, false, tenures)
}

fn tenure(view: &View<'_>, op: Op, block: Block, since: Pos) -> Tenure {
    let ended = view.runs.get(&op).and_then(|run| run.ended);
    let bytes = (block.from, block.to.max(block.from));
    let mut tenure = Tenure::new(bytes, view.op_name(op), Some(op), since);
    tenure.until = ended.map(|ended| End::at(ended.max(since)));
    // What an operation gives back, its client may hand out at once.
    tenure.freed = tenure.until;
    tenure
}

fn access(
    failed: &Failed,
    (tenures, index): (&mut [Tenure], &Overlaps),
    transfer: &Transfer<'_>,
    (from, to): (u64, u64),
    pos: Pos,
    event: &moonquake_evidence::Event,
) {
    let after_failure = transfer
        .op
        .and_then(|op| failed.get(&op))
        .is_some_and(|(end, _)| pos > *end);
    for number in index.over(from, to) {
        let tenure = &mut tenures[number];
        if !tenure.covers(pos) {
            continue;
        }
        let access = RegionAccess {
            who: event.actor.clone(),
            op: transfer.op,
            write: !transfer.write,
            from: from.max(tenure.from),
            to: to.min(tenure.to),
            at: event.at,
            id: event.id,
            late: after_failure || tenure.op.is_none() || tenure.op != transfer.op,
        };
        tenure.touches.push((pos, access));
    }
}
