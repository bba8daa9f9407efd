//! Checks: looks at the world, judged by what was seen.

use crate::attempts::{Attempts, Fate};
use crate::expect::Seen;
use crate::instant;
use crate::judgement::Status;
use crate::view::{Pos, Run, View};
use moonquake_evidence::{Kind, Observer, Op, Range, State};
use moonquake_scenario::{Check, CheckKind, Do, Verb, What};

/// What a check expects, in words.
pub(crate) fn expected(check: &Check) -> String {
    let of = check.of.join(", ");
    match check.kind {
        CheckKind::Quarantined => format!("{of} quarantined"),
        CheckKind::Released => format!("{of} released"),
        CheckKind::Disjoint => format!("{of} disjoint"),
        CheckKind::Allocated => format!("{} bytes allocated", check.size_bytes.unwrap_or(0)),
        CheckKind::Bytes => format!("every byte of {of} {}", check.payload.as_deref().unwrap_or("")),
        CheckKind::Untouched => {
            let since = check.since.as_ref().map(|since| format!(" since {}", since.text));
            format!("{of} untouched{}", since.unwrap_or_default())
        }
    }
}

/// Judges one check.
pub(crate) fn judged(view: &View<'_>, check: &Check, op: Op, run: Run) -> Seen {
    let Some(place) = run.began.or(run.ended) else {
        return Seen::new(Status::CouldNotSee, "it was not seen to run", None);
    };
    if let Some(ended) = view
        .ended(op)
        .filter(|ended| crate::outcome::is_not_run(ended.outcome))
    {
        let note = ended.note.unwrap_or("it did not run");
        return Seen::new(Status::Failed, note, [ended.pos]);
    }
    match check.kind {
        CheckKind::Quarantined | CheckKind::Released => across(view, check, op, place),
        CheckKind::Disjoint => disjoint(view, check, place),
        CheckKind::Allocated => allocated(view, check, place),
        CheckKind::Bytes => bytes(view, check, place),
        CheckKind::Untouched => untouched(view, check, run.ended.unwrap_or(place)),
    }
}

/// The ranges of names, each with the place at which it was bound; or the name that has none.
fn ranges<'a>(view: &View<'a>, names: &'a [String]) -> Result<Vec<(&'a str, Pos, &'a Range)>, Seen> {
    names
        .iter()
        .map(|name| match view.bound.get(name.as_str()) {
            Some((pos, Some(range))) => Ok((name.as_str(), *pos, *range)),
            Some((pos, None)) => {
                let text = format!("{name} never came into being");
                Err(Seen::new(Status::Failed, text, [*pos]))
            }
            None => Err(Seen::new(
                Status::CouldNotSee,
                format!("no range of {name} was seen"),
                None,
            )),
        })
        .collect()
}

/// The states before and after the last step that is no check.
fn states_across<'a>(view: &View<'a>, op: Op, place: Pos) -> Option<[(Pos, &'a State); 2]> {
    let index = usize::try_from(op.step).ok()?;
    let before_it = view.plan.steps.get(..index)?;
    let acting = before_it
        .iter()
        .rev()
        .find(|step| !matches!(step.what, What::Check(_)))?;
    let began = view.repetitions(acting.index).first()?.1.began?;
    let after = view.state_before(place)?;
    let before = view.state_before(began)?;
    (after.0 > began).then_some([before, after])
}

fn across(view: &View<'_>, check: &Check, op: Op, place: Pos) -> Seen {
    let ranges = match ranges(view, &check.of) {
        Ok(ranges) => ranges,
        Err(seen) => return seen,
    };
    let Some([(was, old), (now, new)]) = states_across(view, op, place) else {
        return Seen::new(
            Status::CouldNotSee,
            "the allocator was not seen before and after",
            [place],
        );
    };
    let (old, new_bytes) = (old.allocated_bytes, new.allocated_bytes);
    let change = format!("allocated bytes went from {old} to {new_bytes}");
    if check.kind == CheckKind::Released {
        let sizes: u64 = ranges
            .iter()
            .map(|(_, _, range)| range.size)
            .fold(0, u64::saturating_add);
        let fell = old.checked_sub(new_bytes) == Some(sizes);
        let status = if fell { Status::Held } else { Status::Failed };
        return Seen::new(status, change, [was, now]);
    }
    if new_bytes < old {
        return Seen::new(Status::Failed, change, [was, now]);
    }
    let attempts = Attempts::of(view);
    for (name, bound, range) in ranges {
        if let Some((other, pos)) = overlapping(&attempts, bound, range, new, now, place) {
            let text = format!("{other} overlaps {name}, which is {range}");
            return Seen::new(Status::Failed, text, [bound, pos]);
        }
    }
    Seen::new(
        Status::Held,
        format!("{change}, and nothing else overlaps"),
        [was, now],
    )
}

/// What else overlaps a bound range at `place`: a readable key, an unfinished attempt or another name's range.
fn overlapping(
    attempts: &Attempts,
    bound: Pos,
    range: &Range,
    state: &State,
    state_at: Pos,
    place: Pos,
) -> Option<(String, Pos)> {
    // The attempt that the name was bound to: the latest that was given exactly this range by then.
    let own = attempts
        .all
        .iter()
        .rposition(|attempt| attempt.start <= bound && attempt.ranges.contains(range));
    for (key, ranges) in &state.keys {
        let latest = attempts
            .all
            .iter()
            .rposition(|attempt| attempt.key == *key && attempt.start < place);
        if (latest.is_none() || latest != own) && ranges.iter().any(|other| other.overlaps(range)) {
            return Some((format!("the readable key {key}"), state_at));
        }
    }
    let other = attempts.all.iter().enumerate().find(|(index, attempt)| {
        let alive = attempt.unfinished_at(place)
            || matches!(attempt.fate, Some(Fate::Completed(at)) if at >= place && attempt.start < place);
        Some(*index) != own && alive && attempt.overlaps(range)
    });
    other.map(|(_, attempt)| (format!("a later PutStart of {}", attempt.key), attempt.start))
}

fn disjoint(view: &View<'_>, check: &Check, place: Pos) -> Seen {
    let ranges = match ranges(view, &check.of) {
        Ok(ranges) => ranges,
        Err(seen) => return seen,
    };
    for (index, (name, pos, range)) in ranges.iter().enumerate() {
        for (other_name, other_pos, other) in &ranges[index + 1..] {
            if range.overlaps(other) {
                let text = format!("{name} is {range} and {other_name} is {other}");
                return Seen::new(Status::Failed, text, [*pos, *other_pos]);
            }
        }
    }
    let words: Vec<String> = ranges
        .iter()
        .map(|(name, _, range)| format!("{name} is {range}"))
        .collect();
    let places: Vec<Pos> = ranges.iter().map(|(_, pos, _)| *pos).collect();
    let places = if places.is_empty() { vec![place] } else { places };
    Seen::new(Status::Held, words.join(", "), places)
}

fn allocated(view: &View<'_>, check: &Check, place: Pos) -> Seen {
    let next = view.next_step(place);
    // A state from before the check says nothing about now: a master that is down or stands still answers nobody.
    let fresh = view
        .states
        .iter()
        .find(|(pos, _)| place < *pos && *pos < next)
        .copied();
    match fresh {
        Some((pos, state)) => {
            let right = Some(state.allocated_bytes) == check.size_bytes;
            let status = if right { Status::Held } else { Status::Failed };
            Seen::new(
                status,
                format!("{} bytes allocated", state.allocated_bytes),
                [pos],
            )
        }
        None => Seen::new(
            Status::CouldNotSee,
            "the allocator was not seen at the check",
            [place],
        ),
    }
}

fn bytes(view: &View<'_>, check: &Check, place: Pos) -> Seen {
    let pattern = check.payload.as_deref().unwrap_or("");
    let next = view.next_step(place);
    let mut words = Vec::new();
    let mut places = Vec::new();
    for wanted in &check.of {
        let read = (place..next).find_map(|pos| match &view.events[pos].kind {
            Kind::Bytes { name, content }
                if name == wanted && view.events[pos].observer != Observer::Injector =>
            {
                Some((pos, content))
            }
            _ => None,
        });
        let Some((pos, content)) = read else {
            return Seen::new(
                Status::CouldNotSee,
                format!("the bytes of {wanted} were not read"),
                [place],
            );
        };
        let Some(content) = content else {
            return Seen::new(Status::Failed, format!("{wanted} does not exist"), [pos]);
        };
        if !content.is_all(pattern) {
            return Seen::new(Status::Failed, format!("{wanted}: {content}"), [pos]);
        }
        words.push(format!("{wanted}: {content}"));
        places.push(pos);
    }
    Seen::new(Status::Held, words.join(", "), places)
}

/// A witness that is not blind saw no access but the caller's own `fill`.
fn untouched(view: &View<'_>, check: &Check, place: Pos) -> Seen {
    let mut places = Vec::new();
    let mut blind = None;
    for name in &check.of {
        let since = match since(view, check, name) {
            Ok(since) => since,
            Err(text) => return Seen::new(Status::CouldNotSee, text, [place]),
        };
        let touched = accesses(view, name).find(|(pos, op)| {
            let own_fill = op.and_then(|op| view.verb(op)) == Some(Verb::Fill);
            since.before(view, *pos) && *pos <= place && !own_fill
        });
        if let Some((pos, _)) = touched {
            let event = &view.events[pos];
            let text = format!("{} at {}: {}", event.actor, event.at, event.kind.line());
            return Seen::new(Status::Failed, text, [pos]);
        }
        match sight(view, name) {
            None => {
                blind.get_or_insert((format!("no witness watches {name}"), place));
            }
            Some((pos, kinds)) if !kinds.is_empty() => {
                let text = format!("the witness of {name} is blind to {}", kinds.join(", "));
                blind.get_or_insert((text, pos));
            }
            Some((pos, _)) => places.push(pos),
        }
    }
    match blind {
        Some((text, pos)) => Seen::new(Status::CouldNotSee, text, [pos]),
        None => Seen::new(
            Status::Held,
            "the witness saw no access",
            places.into_iter().chain([place]),
        ),
    }
}

/// Since when accesses count.
enum Since {
    /// Everything after this place.
    Place(Pos),
    /// Everything from this instant on.
    Instant(moonquake_clock::Span),
}

impl Since {
    fn before(&self, view: &View<'_>, pos: Pos) -> bool {
        match self {
            Since::Place(place) => *place < pos,
            Since::Instant(at) => *at <= view.at(pos),
        }
    }
}

fn since(view: &View<'_>, check: &Check, name: &str) -> Result<Since, String> {
    if let Some(wanted) = &check.since {
        return match instant::resolve(view, wanted) {
            Some(resolved) => Ok(match resolved.base {
                Some(base) if !resolved.moved => Since::Place(base),
                _ => Since::Instant(resolved.at),
            }),
            None => Err(format!("{} never came to be", wanted.text)),
        };
    }
    let first = view.plan.steps.iter().find(|step| names(step, name));
    let end = first.and_then(|step| {
        view.repetitions(step.index)
            .first()
            .and_then(|(_, run)| run.ended)
    });
    end.map(Since::Place)
        .ok_or_else(|| format!("the first operation that named {name} was not seen to end"))
}

/// Whether a step is an operation that names a range or buffer.
pub(crate) fn names(step: &moonquake_scenario::Step, name: &str) -> bool {
    let What::Do(action) = &step.what else {
        return false;
    };
    // Who registers a buffer does not use it.
    if action.verb.registers() {
        return false;
    }
    let Do { from, into, bind, .. } = action;
    from.iter().chain(into).chain(bind).any(|own| {
        own == name || (own.contains("{i}") && (1..=step.times).any(|i| Do::repeated(own, i) == name))
    })
}

/// The accesses to a watched name that the witness saw.
pub(crate) fn accesses<'v>(
    view: &'v View<'_>,
    name: &'v str,
) -> impl Iterator<Item = (Pos, Option<Op>)> + 'v {
    view.events
        .iter()
        .enumerate()
        .filter_map(move |(pos, event)| match &event.kind {
            Kind::Access { buffer, .. } if event.observer == Observer::Witness && buffer == name => {
                Some((pos, event.op))
            }
            _ => None,
        })
}

/// The first statement of a witness about a name: its place and what it is blind to.
pub(crate) fn sight<'a>(view: &View<'a>, name: &str) -> Option<(Pos, &'a [String])> {
    view.events
        .iter()
        .enumerate()
        .find_map(|(pos, event)| match &event.kind {
            Kind::Sight { buffer, blind, .. } if event.observer == Observer::Witness && buffer == name => {
                Some((pos, blind.as_slice()))
            }
            _ => None,
        })
}
