//! `no-foreign-bytes`: every byte of a successful read follows the pattern of a completed write of that key.
//!
//! A write is completed when its own payload had fully landed and the PutEnd of its own attempt was handled with
//! success before the read ended. Bytes that nobody wrote (`zero`) and bytes of no known pattern (`unknown`) are
//! foreign, and so are bytes that another operation wrote into the memory of the read after its own had landed there. A
//! read of a session is a read of the key that the session was opened for.

use super::Judged;
use crate::attempts::{Attempt, Attempts};
use crate::lease;
use crate::outcome;
use crate::regions::Lanes;
use crate::rpc;
use crate::view::{Pos, View};
use moonquake_evidence::{Content, Op};
use moonquake_scenario::Verb;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn judge(view: &View<'_>, attempts: &Attempts, lanes: &Lanes) -> Judged {
    let mut failures = Vec::new();
    let mut reads = Vec::new();
    for op in view.runs.keys().copied() {
        let Some(ended) = view.ended(op) else { continue };
        let Some(content) = ended.content else { continue };
        let keys = keys_read(view, op);
        if keys.is_empty() || !outcome::is_success(ended.outcome) {
            continue;
        }
        reads.push(ended.pos);
        // A batch is told key by key.
        let mut each: BTreeMap<&str, &Content> = BTreeMap::new();
        for (key, content) in view.brought(op) {
            each.entry(key).or_insert(content);
        }
        let told = if each.is_empty() {
            vec![(keys.as_slice(), content)]
        } else {
            let named = keys.chunks(1).filter_map(|key| {
                let content = each.get(key[0].as_str())?;
                Some((key, *content))
            });
            named.collect()
        };
        let mut is_foreign = false;
        for (keys, content) in told {
            if let Some(text) = foreign(view, attempts, op, keys, content, ended.pos) {
                failures.push((text, vec![ended.pos]));
                is_foreign = true;
            }
        }
        if is_foreign {
            continue;
        }
        if let Some((text, late)) = overwritten(view, lanes, op, ended.pos) {
            failures.push((text, vec![late, ended.pos]));
        }
    }
    Judged::over(failures, &reads, "successful read|", "no read succeeded")
}

/// A write of somebody else into the memory of a read that the read itself did not write over again. The bytes are
/// foreign even if they follow the right pattern by chance.
fn overwritten(view: &View<'_>, lanes: &Lanes, op: Op, end: Pos) -> Option<(String, Pos)> {
    let writes = || {
        lanes
            .while_owned_by(op)
            .filter(|(_, pos, access)| access.write && *pos < end)
    };
    let by_others = writes().find(|(_, pos, access)| {
        let again = || {
            writes().any(|(_, later, own)| {
                own.op == Some(op) && later > *pos && own.from <= access.from && access.to <= own.to
            })
        };
        access.op.is_some() && access.op != Some(op) && !again()
    });
    let (place, pos, access) = by_others?;
    let writer = access.op.map(|op| view.op_name(op)).unwrap_or_default();
    let text = format!(
        "{} ended with success, and {writer} wrote into its memory at {place}[{}, {})",
        view.op_name(op),
        access.from,
        access.to
    );
    Some((text, pos))
}

/// The first bytes of a read that no completed write of its keys wrote, in words.
fn foreign(
    view: &View<'_>,
    attempts: &Attempts,
    op: Op,
    keys: &[String],
    content: &Content,
    until: Pos,
) -> Option<String> {
    let known: BTreeSet<&str> = keys
        .iter()
        .flat_map(|key| patterns(view, attempts, key, until))
        .collect();
    let foreign = content
        .0
        .iter()
        .find(|run| !known.contains(run.pattern.as_str()))?;
    let key = keys.join(", ");
    Some(format!(
        "{} read {key} with success and got {} at [{}, {}), which no completed put of {key} wrote",
        view.op_name(op),
        foreign.pattern,
        foreign.from,
        foreign.to
    ))
}

/// The keys whose bytes an operation reads.
fn keys_read(view: &View<'_>, op: Op) -> Vec<String> {
    let keys = |op: Op| view.action(op).map(|action| rpc::keys_of(action, op.repetition));
    let own = keys(op).unwrap_or_default();
    match view.verb(op) {
        Some(Verb::GetRead) if own.is_empty() => lease::session(view, op).and_then(keys).unwrap_or_default(),
        Some(Verb::Get | Verb::GetRead | Verb::BatchGet) => own,
        _ => Vec::new(),
    }
}

/// The patterns of the writes of a key that were completed before `until`.
fn patterns<'a>(view: &View<'a>, attempts: &Attempts, key: &str, until: Pos) -> Vec<&'a str> {
    let of_key = attempts.of_key(key);
    of_key
        .filter(|attempt| attempt.own_end.is_some_and(|end| end < until))
        .filter_map(|attempt| landed_pattern(view, attempt, until))
        .collect()
}

/// The pattern that fully landed for an attempt before `until`: that of its own operation's payload, or of the latest
/// `put_write` of its session.
fn landed_pattern<'a>(view: &View<'a>, attempt: &Attempt, until: Pos) -> Option<&'a str> {
    let op = attempt.op?;
    if view.transfers_of(op).next().is_some() {
        return fully_landed(view, op, attempt, until).then(|| view.action(op)?.written_pattern())?;
    }
    let writes = view.runs.keys().copied().filter(|write| {
        let Some(action) = view.action(*write) else {
            return false;
        };
        action.verb == Verb::PutWrite
            && action.who.as_deref() == Some(attempt.client.as_str())
            && writes_into(view, *write, attempt)
    });
    let landed = writes.filter(|write| fully_landed(view, *write, attempt, until));
    landed
        .max_by_key(|write| view.runs.get(write).and_then(|run| run.ended))
        .and_then(|write| view.action(write)?.written_pattern())
}

/// Whether a `put_write` moved its bytes into the ranges of an attempt.
fn writes_into(view: &View<'_>, write: Op, attempt: &Attempt) -> bool {
    view.transfers_of(write)
        .flat_map(|(_, transfer)| transfer.landed.iter())
        .any(|landed| landed.write && landed.pos > attempt.start && attempt.overlaps(landed.range))
}

/// Whether every transfer that an operation opened for writing into the ranges of an attempt had landed to its last part
/// before `until`. The transfers of a batch to other keys say nothing about this one.
fn fully_landed(view: &View<'_>, op: Op, attempt: &Attempt, until: Pos) -> bool {
    let there = view.transfers_over(op, attempt.places());
    let mut transfers = there
        .chain(view.transfers_nowhere(op))
        .filter(|transfer| transfer.write)
        .peekable();
    transfers.peek().is_some() && transfers.all(|transfer| transfer.complete_at(until).is_some())
}
