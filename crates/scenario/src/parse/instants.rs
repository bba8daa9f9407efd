//! Instants: a base, then terms.

use super::names::{Kind, Names};
use super::problems::{Problems, did_you_mean, nearest, shown};
use super::tree::{Value, text};
use super::values::duration_mend;
use crate::error::ProblemKind;
use crate::{Base, Instant, Length, Moment, Term, Timeouts};
use moonquake_clock::Span;
use std::ops::Range;

/// Which steps an instant may count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Any step of the file.
    Whole,
    /// Steps before this one.
    Before(usize),
    /// Steps up to this one.
    UpTo(usize),
}

/// A text inside the file, with the place of each of its bytes where that is known.
struct Place<'a> {
    text: &'a str,
    span: Range<usize>,
}

impl Place<'_> {
    /// The place of a part of the text. A text with escapes is shown as a whole.
    fn of(&self, part: &str) -> Range<usize> {
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        match offset {
            Some(offset) if self.span.len() == self.text.len() + 2 => {
                let start = self.span.start + 1 + offset;
                start..start + part.len().max(1)
            }
            _ => self.span.clone(),
        }
    }
}

/// Reads an instant.
pub(super) fn instant(
    value: Value<'_>,
    sight: Sight,
    names: &Names<'_>,
    problems: &mut Problems,
) -> Option<Instant> {
    let found = text(
        value,
        "an instant such as `at = \"p1 + discard - 1ns\"`",
        problems,
    )?;
    let place = Place {
        text: found,
        span: value.span(),
    };
    let end = found.find(['+', '-']).unwrap_or(found.len());
    let (base, mut rest) = found.split_at(end);
    let base = read_base(base.trim(), &place, sight, names, problems);
    let mut terms = Vec::new();
    let mut whole = true;
    while let Some(sign) = rest.chars().next() {
        let after = &rest[1..];
        let end = after.find(['+', '-']).unwrap_or(after.len());
        match read_length(after[..end].trim(), &place, problems) {
            Some(length) => terms.push(Term {
                minus: sign == '-',
                length,
            }),
            None => whole = false,
        }
        rest = &after[end..];
    }
    let base = base?;
    whole.then(|| Instant {
        base,
        terms,
        text: found.to_owned(),
    })
}

fn read_base(
    found: &str,
    place: &Place<'_>,
    sight: Sight,
    names: &Names<'_>,
    problems: &mut Problems,
) -> Option<Base> {
    match found {
        "start" => return Some(Base::Start),
        "fault" => return Some(Base::Fault),
        _ => {}
    }
    let (id, moment) = match found.split_once('.') {
        None => (found, Moment::Handled),
        Some((id, "sent")) => (id, Moment::Sent),
        Some((id, "done")) => (id, Moment::Done),
        Some((_, other)) => {
            problems.add(
                ProblemKind::Time,
                format!("`.{}` is no moment of a step", shown(other)),
                place.of(other),
                "expected `sent` or `done`",
                did_you_mean(other, ["sent", "done"]),
            );
            return None;
        }
    };
    let Some(step) = names.find(id, &[Kind::Step]) else {
        unknown_base(id, place, names, problems);
        return None;
    };
    let allowed = match sight {
        Sight::Whole => true,
        Sight::Before(index) => step.step < index,
        Sight::UpTo(index) => step.step <= index,
    };
    if !allowed {
        problems.add_at(
            ProblemKind::Time,
            format!("`{id}` has not run when this instant is needed"),
            vec![
                (place.of(id), "refers to a later step".to_owned()),
                (step.span.clone(), "which is this one".to_owned()),
            ],
            "count from a step above this one, from `start` or from `fault`",
        );
        return None;
    }
    let brief = &names.steps[step.step];
    if moment == Moment::Sent && !brief.verb.is_some_and(crate::Verb::sends_request) {
        problems.add_at(
            ProblemKind::Time,
            format!("`{id}` sends no request"),
            vec![
                (place.of(found), "no request leaves here".to_owned()),
                (step.span.clone(), "this step".to_owned()),
            ],
            format!("write `{id}`: the instant it runs"),
        );
        return None;
    }
    Some(Base::Step(step.step, moment))
}

fn unknown_base(id: &str, place: &Place<'_>, names: &Names<'_>, problems: &mut Problems) {
    let steps: Vec<&str> = names.of(&[Kind::Step]).chain(["start", "fault"]).collect();
    let (label, help) = if id.is_empty() {
        (
            "an instant begins with what it counts from".to_owned(),
            "write `start`, `fault` or a step's id first, such as `start + 30s`".to_owned(),
        )
    } else if Timeouts::NAMES.contains(&id) || Span::parse(id).is_ok() {
        (
            "a length, not an instant".to_owned(),
            format!("say from when it counts, such as `start + {id}` or `p1 + {id}`"),
        )
    } else if let Some(other) = names.all.get(id) {
        (
            format!("this is a {}, not a step", other.kind.word()),
            "count from a step's id, from `start` or from `fault`".to_owned(),
        )
    } else {
        (
            "no step has this id".to_owned(),
            match nearest(id, steps.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "count from a step's id, from `start` or from `fault`".to_owned(),
            },
        )
    };
    let kind = if id.is_empty() {
        ProblemKind::Time
    } else {
        ProblemKind::Unbound
    };
    problems.add(
        kind,
        format!("`{}` is nothing an instant can count from", shown(id)),
        place.of(id),
        label,
        help,
    );
}

fn read_length(found: &str, place: &Place<'_>, problems: &mut Problems) -> Option<Length> {
    if let Some((factor, name)) = found.split_once('*') {
        let (factor, name) = (factor.trim(), name.trim());
        let number = factor
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| factor.parse().ok());
        let known = Timeouts::NAMES.contains(&name);
        if let (Some(Some(number)), true) = (number, known) {
            return Some(Length::Deadline(name.to_owned(), number));
        }
        let help = if known {
            "write a whole number first, such as `2 * lease`".to_owned()
        } else {
            format!(
                "multiply a deadline, such as `2 * lease`: {}",
                did_you_mean(name, Timeouts::NAMES)
            )
        };
        problems.add(
            ProblemKind::Time,
            format!("`{}` is no multiple of a deadline", shown(found)),
            place.of(found),
            "expected a whole number, `*` and a deadline name",
            help,
        );
        return None;
    }
    if Timeouts::NAMES.contains(&found) {
        return Some(Length::Deadline(found.to_owned(), 1));
    }
    match Span::parse(found) {
        Ok(span) => Some(Length::Span(span)),
        Err(error) => {
            let (message, help) = if found.starts_with(|first: char| first.is_ascii_digit()) {
                duration_mend(found, &error)
            } else {
                let message = format!("`{}` is neither a duration nor a deadline", shown(found));
                (message, did_you_mean(found, Timeouts::NAMES))
            };
            problems.add(
                ProblemKind::Time,
                message,
                place.of(found),
                "expected a duration, a deadline name or `2 * lease`",
                help,
            );
            None
        }
    }
}
