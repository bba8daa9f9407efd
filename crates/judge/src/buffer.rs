//! Was the buffer of the failed operation still touched?

use crate::check::{accesses, names, sight};
use crate::judgement::{BufferAnswer, NameAnswer, Touch, Touched};
use crate::outcome;
use crate::overlaps::Covered;
use crate::proof::death_of;
use crate::regions::Lanes;
use crate::view::{Pos, Transfer, View};
use moonquake_clock::Span;
use moonquake_evidence::{Kind, Op, Range, staging_of};
use std::collections::BTreeMap;

/// Answers for every watched name, and for the staging memory of clients whose staged operations failed.
pub(crate) fn answer(view: &View<'_>, lanes: &Lanes) -> BufferAnswer {
    let failed = failed(view);
    // An operation that was refused before it had anything to do with bytes has no buffer to ask about.
    let failures = failed
        .iter()
        .filter(|(op, _)| has_bytes(view, **op))
        .map(|(op, (pos, how))| view.cited(format!("{} {how}", view.op_name(*op)), [*pos]));
    let watched = view
        .plan
        .watch
        .iter()
        .map(|name| of_name(view, lanes, name, &failed));
    let staging = staged(view, &failed)
        .into_iter()
        .map(|(client, op)| of_staging(view, lanes, client, op, &failed));
    BufferAnswer {
        failures: failures.collect(),
        names: watched.chain(staging).collect(),
    }
}

/// The clients whose operation failed while it used their staging memory, each with the first such operation. A client
/// that died has no memory left.
fn staged<'a>(view: &View<'a>, failed: &Failed) -> BTreeMap<&'a str, Op> {
    let mut clients: BTreeMap<&str, Op> = BTreeMap::new();
    for transfer in view
        .transfers
        .values()
        .filter(|transfer| transfer.block.is_some())
    {
        let Some((op, (end, _))) = transfer.op.and_then(|op| failed.get_key_value(&op)) else {
            continue;
        };
        if death_of(view, transfer.client, 0).is_some_and(|death| death <= *end) {
            continue;
        }
        let first = clients.entry(transfer.client).or_insert(*op);
        if failed.get(first).is_some_and(|(known, _)| known > end) {
            *first = *op;
        }
    }
    clients
}

fn of_staging(view: &View<'_>, lanes: &Lanes, client: &str, first: Op, failed: &Failed) -> NameAnswer {
    let name = staging_of(client);
    let (from, how) = failed.get(&first).cloned().unwrap_or_default();
    let (mut late, mut late_by_others) = (Vec::new(), Vec::new());
    for (pos, touch) in touches(view, &name) {
        let of_failed = touch.op.and_then(|op| failed.get(&op));
        if of_failed.is_some_and(|(end, _)| pos > *end) {
            late.push(with_hits(view, lanes, &name, pos, touch));
        } else if pos > from && lanes.is_late(view, &name, pos, &touch) {
            late_by_others.push(with_hits(view, lanes, &name, pos, touch));
        }
    }
    let answer = if late.is_empty() {
        unseen(view, &name, from)
    } else {
        Touched::Yes { touches: late }
    };
    NameAnswer {
        since: view.cited(format!("{} {how}", view.op_name(first)), [from]),
        name,
        answer,
        late_by_others,
        by_others: Vec::new(),
        life: Vec::new(),
    }
}

/// The same access with the memory that it hit and its owner then.
fn with_hits(view: &View<'_>, lanes: &Lanes, name: &str, pos: Pos, mut touch: Touch) -> Touch {
    let (place, bytes) = crate::regions::place_of(view, name, (touch.from, touch.to));
    touch.hits = lanes.hits(view, place, bytes, pos);
    touch
}

/// Whether an operation named a watched buffer, was given a range or moved bytes.
fn has_bytes(view: &View<'_>, op: Op) -> bool {
    let step = view.step(op);
    let named = view
        .plan
        .watch
        .iter()
        .any(|name| step.is_some_and(|step| names(step, name)));
    named
        || view.transfers_of(op).next().is_some()
        || view.frames_of(op).any(|frame| !frame.ranges.is_empty())
}

pub(crate) type Failed = BTreeMap<Op, (Pos, String)>;

/// The operations that told of a failure, or whose actor died under them, and where.
pub(crate) fn failed(view: &View<'_>) -> Failed {
    let mut failed = Failed::new();
    for op in view.runs.keys().copied() {
        let Some(action) = view.action(op) else { continue };
        let Some(run) = view.runs.get(&op) else { continue };
        let death = run
            .began
            .and_then(|began| death_of(view, action.who.as_deref()?, began));
        let death = death.filter(|death| run.ended.is_none_or(|ended| *death < ended));
        match view.ended(op) {
            Some(ended) if outcome::is_failure(ended.outcome) => {
                failed.insert(op, (ended.pos, format!("failed with {}", ended.outcome)));
            }
            Some(ended) if ended.entries.iter().any(|entry| outcome::is_failure(entry)) => {
                failed.insert(
                    op,
                    (ended.pos, format!("failed in part: {}", counted(ended.entries))),
                );
            }
            Some(ended) if outcome::is_dead(ended.outcome) => {
                let pos = death.unwrap_or(ended.pos);
                failed.insert(op, (pos, "lost its actor".to_owned()));
            }
            Some(_) => {}
            None => {
                if let Some(pos) = death {
                    failed.insert(op, (pos, "lost its actor".to_owned()));
                }
            }
        }
    }
    failed
}

/// The results of a batch, those that are alike counted.
fn counted(entries: &[String]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        match counts.iter_mut().find(|(known, _)| known == entry) {
            Some((_, count)) => *count += 1,
            None => counts.push((entry, 1)),
        }
    }
    let words = counts.into_iter().map(|(entry, count)| match count {
        1 => entry.to_owned(),
        count => format!("{count} × {entry}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn of_name(view: &View<'_>, lanes: &Lanes, name: &str, failed: &Failed) -> NameAnswer {
    let naming = failed
        .iter()
        .find(|(op, _)| view.step(**op).is_some_and(|step| names(step, name)));
    let (from, since) = match naming {
        Some((op, (pos, how))) => (*pos, view.cited(format!("{} {how}", view.op_name(*op)), [*pos])),
        None => match view.injected() {
            Some(pos) => (pos, view.cited("the fault", [pos])),
            None => (0, view.cited("the start", [0])),
        },
    };
    // Accesses count from the fault on, also those of operations that had not failed yet.
    let first = view.injected().map_or(from, |fault| fault.min(from));
    let (mut late, mut late_by_others, mut by_others) = (Vec::new(), Vec::new(), Vec::new());
    for (pos, touch) in touches(view, name) {
        let own_fill = touch.op.and_then(|op| view.verb(op)) == Some(moonquake_scenario::Verb::Fill);
        match touch.op.and_then(|op| failed.get(&op)) {
            Some((end, _)) if pos > *end => late.push(with_hits(view, lanes, name, pos, touch)),
            // Nobody knows whose access it was, after a failure: it counts as one of the failed operation.
            None if touch.op.is_none() && naming.is_some() && pos > from => {
                late.push(with_hits(view, lanes, name, pos, touch));
            }
            // The bytes lane and this answer mean the same by late.
            _ if pos > first && lanes.is_late(view, name, pos, &touch) => {
                late_by_others.push(with_hits(view, lanes, name, pos, touch));
            }
            _ if pos > first && !own_fill => by_others.push(touch),
            _ => {}
        }
    }
    let life = crate::life::of(view, name, late.iter().chain(&late_by_others));
    let answer = if late.is_empty() {
        unseen(view, name, from)
    } else {
        Touched::Yes { touches: late }
    };
    NameAnswer {
        name: name.to_owned(),
        since,
        answer,
        late_by_others,
        by_others,
        life,
    }
}

/// No late access was seen; whether one could have been.
fn unseen(view: &View<'_>, name: &str, from: Pos) -> Touched {
    match sight(view, name) {
        Some((pos, [])) => Touched::No {
            witness: view.cited(view.events[pos].kind.line(), [pos]),
        },
        Some((pos, blind)) => Touched::CouldNotSee {
            kinds: blind.to_vec(),
            witness: view.cited(view.events[pos].kind.line(), [pos]),
        },
        None => Touched::CouldNotSee {
            kinds: vec!["every access".to_owned()],
            witness: view.cited(format!("no witness watches {name}"), [from]),
        },
    }
}

/// Accesses to a name, in order: what the witness saw, and parts of payloads that the owner saw and the witness did not.
pub(crate) fn touches(view: &View<'_>, name: &str) -> Vec<(Pos, Touch)> {
    let mut all: Vec<(Pos, Touch)> = accesses(view, name)
        .filter_map(|(pos, op)| match view.events[pos].kind {
            Kind::Access { write, from, to, .. } => Some((pos, touch(view, pos, op, write, from, to))),
            _ => None,
        })
        .collect();
    let range = view
        .bound
        .get(name)
        .and_then(|(bound, range)| Some((*bound, (*range)?)));
    // What is known already, by who did it, when, and in which direction.
    let mut known: BTreeMap<(Option<Op>, Span, bool), Covered> = BTreeMap::new();
    for (_, touch) in &all {
        let alike = known.entry((touch.op, touch.at, touch.write)).or_default();
        alike.add(touch.from, touch.to);
    }
    for landed in view.landed() {
        let seen_there = |write: bool, from: u64, to: u64| {
            let alike = known.get(&(landed.event.op, landed.event.at, write));
            alike.is_some_and(|alike| alike.overlaps(from, to))
        };
        // The client's transport may have read them ahead of what the owner saw: a witness there says when that was.
        let seen_before = |write: bool, from: u64, to: u64| {
            let (op, at) = (landed.event.op, landed.event.at);
            let mut earlier = known.range((op, Span::ZERO, false)..=(op, at, true));
            earlier.any(|((_, _, other), alike)| *other == write && alike.overlaps(from, to))
        };
        let end = view
            .transfers
            .get(&landed.transfer)
            .and_then(Transfer::client_end);
        let named = end
            .filter(|(place, _)| place == name)
            .and_then(|(_, first)| match landed.event.kind {
                Kind::Payload { from, to, .. } => {
                    Some((first.saturating_add(from), first.saturating_add(to)))
                }
                _ => None,
            });
        let extra = match (named, range) {
            (Some((from, to)), _) if !seen_before(!landed.write, from, to) => Some((!landed.write, from, to)),
            (_, Some((bound, range))) if landed.pos > bound => within(range, landed.range)
                .filter(|(from, to)| !seen_there(landed.write, *from, *to))
                .map(|(from, to)| (landed.write, from, to)),
            _ => None,
        };
        if let Some((write, from, to)) = extra {
            let alike = known
                .entry((landed.event.op, landed.event.at, write))
                .or_default();
            alike.add(from, to);
            all.push((
                landed.pos,
                touch(view, landed.pos, landed.event.op, write, from, to),
            ));
        }
    }
    all.sort_by_key(|(pos, _)| *pos);
    all
}

/// The bytes of `moved` inside `range`, counted from its first byte.
fn within(range: &Range, moved: &Range) -> Option<(u64, u64)> {
    range.overlaps(moved).then(|| {
        let from = moved.offset.max(range.offset) - range.offset;
        let end = moved
            .offset
            .saturating_add(moved.size)
            .min(range.offset.saturating_add(range.size));
        (from, end - range.offset)
    })
}

fn touch(view: &View<'_>, pos: Pos, op: Option<Op>, write: bool, from: u64, to: u64) -> Touch {
    let event = &view.events[pos];
    Touch {
        who: event.actor.clone(),
        op,
        at: event.at,
        write,
        from,
        to,
        id: event.id,
        hits: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn results_of_a_batch_that_are_alike_are_counted() {
        let entries = ["ok", "X", "ok", "X", "Y"].map(str::to_owned);
        assert_eq!(counted(&entries), "2 × ok, 2 × X, Y");
    }
}
