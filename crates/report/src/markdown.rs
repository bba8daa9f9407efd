//! The Markdown form, as GitHub renders it.

mod sections;
pub(crate) mod table;
mod timeline;

use crate::escape::{block, code, prose, sentence};
use crate::model::Answer;
use crate::{Postmortem, Touched, Watched};
use moonquake_clock::Span;
use moonquake_judge::Status;
use moonquake_scenario::Verdict;
pub(crate) use table::links_into;
use table::{Table, claim, links};

/// The postmortem as Markdown.
pub fn markdown(postmortem: &Postmortem) -> String {
    let parts = [
        top(postmortem),
        sections::baseline(postmortem),
        sections::what_happened(postmortem),
        sections::buffer(postmortem),
        sections::verdict(postmortem),
        sections::expectations(postmortem),
        sections::invariants(postmortem),
        timeline::timeline(postmortem),
        sections::replay(postmortem),
    ];
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

/// The word for a verdict at the start of a sentence.
fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "Holds",
        Verdict::Violated => "Violated",
        Verdict::NotReproduced => "Not reproduced",
    }
}

/// What a reader must know in five seconds.
fn top(postmortem: &Postmortem) -> String {
    let run = &postmortem.run;
    let as_claimed = match (postmortem.claim.is, postmortem.claim.met) {
        (None, _) => ", and the scenario claims nothing for this engine and profile".to_owned(),
        (Some(_), true) => ", as the scenario claims".to_owned(),
        (Some(is), false) if is == postmortem.verdict => {
            ", but not in the way the scenario claims".to_owned()
        }
        (Some(is), false) => format!(", but the scenario claims **{is}**"),
    };
    let mut lines = vec![
        format!(
            "# {}: {}",
            verdict_word(postmortem.verdict),
            block(&postmortem.scenario.id)
        ),
        String::new(),
        block(&postmortem.scenario.title),
        String::new(),
        format!(
            "**{}** on engine {} with profile {}{as_claimed}.",
            verdict_word(postmortem.verdict),
            code(&run.engine),
            code(&run.profile)
        ),
        String::new(),
        format!("- **Injected:** {}", injected_line(postmortem)),
    ];
    lines.push(format!("- **Did it hold?** {}", held_line(postmortem)));
    lines.push(format!(
        "- **Buffer touched after the failure?** {}",
        buffer_line(postmortem)
    ));
    lines.join("\n")
}

fn injected_line(postmortem: &Postmortem) -> String {
    let planned = sentence(&postmortem.injected.planned);
    let when = match (postmortem.fault_at_ns, &postmortem.injected.told) {
        (Some(at), Some(told)) => format!(
            ", {} after the start ({})",
            Span::from_ns(at),
            links(told.events())
        ),
        (Some(at), None) => format!(", {} after the start", Span::from_ns(at)),
        (None, _) => String::new(),
    };
    let proof = &postmortem.proof;
    if !proof.proven {
        return format!("{planned}{when}; **not proven**");
    }
    let by: Vec<&str> = proof.by.iter().map(|observer| observer.name()).collect();
    // Several sights rest on one event; it is named once.
    let mut seen: Vec<String> = Vec::new();
    for link in proof.seen.iter().flat_map(|seen| {
        links(seen.events())
            .split(", ")
            .map(str::to_owned)
            .collect::<Vec<_>>()
    }) {
        if !seen.contains(&link) {
            seen.push(link);
        }
    }
    format!(
        "{planned}{when}; proven, seen by {} ({})",
        by.join(" and "),
        seen.join(", ")
    )
}

fn held_line(postmortem: &Postmortem) -> String {
    let expectations = tally(
        "expectation",
        postmortem.expectations.iter().map(|row| row.status),
    );
    let invariants = tally("invariant", postmortem.invariants.iter().map(|row| row.status));
    match postmortem.verdict {
        Verdict::Holds => format!("yes: {expectations}; {invariants}"),
        Verdict::Violated => {
            let first = postmortem
                .actual
                .first()
                .map(|first| format!(". First: {}", claim(first)));
            format!(
                "**no**: {expectations}; {invariants}{}",
                first.unwrap_or_default()
            )
        }
        Verdict::NotReproduced => {
            let why: Vec<String> = postmortem.proof.missing.iter().map(claim).collect();
            let why = if why.is_empty() {
                "there is no evidence".to_owned()
            } else {
                why.join("; ")
            };
            format!("unknown, since the fault was not reproduced: {why}")
        }
    }
}

/// How many held, and what became of the rest: `10 of 11 expectations held, 1 failed`.
pub(crate) fn tally(what: &str, statuses: impl Iterator<Item = Status>) -> String {
    let statuses: Vec<Status> = statuses.collect();
    let count = |wanted: Status| statuses.iter().filter(|status| **status == wanted).count();
    let held = count(Status::Held);
    let mut text = match statuses.len() {
        0 => return format!("no {what}"),
        1 if held == 1 => format!("the one {what} held"),
        all if held == all => format!("all {all} {what}s held"),
        all => format!("{held} of {} held", counted(all, what)),
    };
    for status in [Status::Failed, Status::CouldNotSee, Status::NotApplicable] {
        let count = count(status);
        if count > 0 {
            text += &match status {
                Status::CouldNotSee => format!(", {count} could not be seen"),
                other => format!(", {count} {other}"),
            };
        }
    }
    text
}

fn buffer_line(postmortem: &Postmortem) -> String {
    let watched = &postmortem.buffer.watched;
    if watched.is_empty() {
        return "nobody looked, no buffer is watched".to_owned();
    }
    let parts: Vec<String> = watched
        .iter()
        .map(|watched| {
            let name = code(&watched.name);
            let answer = touched_word(watched);
            let late = late_by_others(watched);
            match (watched.touched, watched.shown_by.first()) {
                (Touched::Yes, Some(first)) => {
                    let more = match watched.shown_by.len() {
                        0 | 1 => String::new(),
                        count => format!(" and {} more", count - 1),
                    };
                    format!("{name} {answer}: {}{more}{late}", claim(first))
                }
                (Touched::CouldNotSee, Some(first)) => {
                    let blind = sentence(&watched.blind.join(", "));
                    let blind = format!("blind to {blind} ({})", links(first.events()));
                    format!("{name} {answer}: {blind}{late}")
                }
                (Touched::No, _) if !watched.late_by_others.is_empty() => {
                    format!("{name} {answer}: {}", first_late(watched))
                }
                (Touched::No, _) if postmortem.verdict == Verdict::NotReproduced => {
                    format!("{name} unknown, since the fault was not reproduced")
                }
                (Touched::No, Some(first)) => {
                    let others = not_late(watched.by_others.len());
                    format!("{name} {answer}{others} ({})", links(first.events()))
                }
                (_, None) => format!("{name} {answer}"),
            }
        })
        .collect();
    parts.join("; ")
}

/// That others used the bytes rightly after the fault is no late access, and a reader wants to know it.
fn not_late(by_others: usize) -> String {
    match by_others {
        0 => String::new(),
        1 => ", by no failed operation; 1 access by another".to_owned(),
        some => format!(", by no failed operation; {some} accesses by others"),
    }
}

/// The late accesses of operations that had not failed, the first of them in full.
fn first_late(watched: &Watched) -> String {
    let Some(first) = watched.late_by_others.first() else {
        return String::new();
    };
    match watched.late_by_others.len() - 1 {
        0 => claim(first),
        more => format!("{} and {more} more", claim(first)),
    }
}

/// The same behind another answer.
fn late_by_others(watched: &Watched) -> String {
    match watched.late_by_others.len() {
        0 => String::new(),
        _ => format!("; late, by others: {}", first_late(watched)),
    }
}

/// The answer about a buffer in a sentence.
pub(crate) fn buffer_says(watched: &Watched, not_reproduced: bool) -> &'static str {
    match (watched.touched, watched.late_by_others.is_empty()) {
        (Touched::No, false) => "no failed operation touched it, but others did so late",
        (Touched::No, true) if not_reproduced => "no late access was seen, but the fault was not reproduced",
        (Touched::No, true) if watched.by_others.is_empty() => "it was not touched",
        (Touched::No, true) => {
            "touched by no failed operation, and by others only while the bytes were theirs"
        }
        (Touched::Yes, _) => "it was touched",
        (Touched::CouldNotSee, _) => "no access was seen, but not every kind could be",
    }
}

/// The answer in bold where it is not the quiet one.
fn touched_word(watched: &Watched) -> &'static str {
    match Answer::from(watched) {
        Answer::LateByOthers => "**late, by others**",
        Answer::No => "no",
        Answer::Yes => "**yes**",
        Answer::CouldNotSee => "**could not see**",
    }
}

pub(crate) fn counted(count: usize, one: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{count} {one}s")
    }
}

/// Bytes with the largest unit that keeps them whole.
fn bytes(count: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units
        .iter()
        .find(|(_, size)| count > 0 && count.is_multiple_of(*size))
    {
        Some((unit, size)) => format!("{} {unit}", count / size),
        None => format!("{count} B"),
    }
}

/// A human column, or that the scenario leaves it empty.
fn column(text: &str) -> String {
    if text.trim().is_empty() {
        "(the scenario does not say)".to_owned()
    } else {
        prose(text)
    }
}

/// An empty table with these heads, for other pages of Markdown.
pub(crate) fn table(heads: &[&str]) -> Table {
    Table::new(heads)
}
