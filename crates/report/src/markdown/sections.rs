//! The sections of the Markdown form, in their order, except the timeline.

use super::table::{Table, claim, item, links};
use super::{buffer_says, bytes, column, counted, touched_word, verdict_word};
use crate::cite::joined;
use crate::escape::{code, inline, prose, sentence, target};
use crate::{Claim, Postmortem};
use moonquake_clock::Span;
use moonquake_judge::Status;
use moonquake_scenario::Verdict;

/// The most claims that a list spells out; JSON has all of them.
const MAX_CLAIMS: usize = 8;

pub(super) fn baseline(postmortem: &Postmortem) -> String {
    let before = &postmortem.baseline;
    let mut table = Table::new(&["Before the fault", ""]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    let scenario = &postmortem.scenario;
    row(
        "Scenario",
        format!("{}, SHA-256 {}", code(&scenario.path), code(&scenario.sha256)),
    );
    if !scenario.why.trim().is_empty() {
        row("Why", prose(&scenario.why));
    }
    if !scenario.see.is_empty() {
        let see: Vec<String> = scenario.see.iter().map(|see| reference(see)).collect();
        row("See", see.join(", "));
    }
    let mut world: Vec<String> = before
        .segments
        .iter()
        .map(|(name, capacity)| format!("node {} with {}", code(name), bytes(*capacity)))
        .collect();
    let clients: Vec<String> = before.clients.iter().map(|name| code(name)).collect();
    match clients.as_slice() {
        [] => {}
        [one] => world.push(format!("client {one}")),
        many => world.push(format!("clients {}", many.join(" "))),
    }
    row("World", world.join(", "));
    row("Configuration", pairs(&before.configuration));
    row("Versions", pairs(&before.versions));
    if !before.real_time.is_empty() {
        row("In real time", pairs(&before.real_time));
    }
    row(
        "Order of deliveries",
        match postmortem.run.seed {
            Some(seed) => format!("drawn from seed {seed}"),
            None => "first in, first out".to_owned(),
        },
    );
    row(
        "State",
        match &before.state {
            Some(state) => claim(state),
            None => "nobody read it before the fault".to_owned(),
        },
    );
    row(
        "Evidence",
        format!(
            "{}, SHA-256 {}",
            counted(postmortem.run.events, "event"),
            code(&postmortem.run.evidence_sha256)
        ),
    );
    format!("## Baseline\n\n{}", table.finish())
}

fn pairs(map: &std::collections::BTreeMap<String, String>) -> String {
    if map.is_empty() {
        return "not recorded".to_owned();
    }
    let pairs: Vec<String> = map
        .iter()
        .map(|(name, value)| format!("{} {}", inline(name), code(value)))
        .collect();
    pairs.join("<br>")
}

/// A link if it is plainly one, text otherwise.
fn reference(see: &str) -> String {
    match target(see) {
        Some(target) => format!("[{}]({})", inline(see), target.replace('&', "&amp;")),
        None => inline(see),
    }
}

pub(super) fn what_happened(postmortem: &Postmortem) -> String {
    let mut injected = sentence(&postmortem.injected.planned);
    injected += &match (&postmortem.injected.told, postmortem.fault_at_ns) {
        (Some(told), Some(at)) => {
            format!(
                "<br>told by the injector at {} ({})",
                Span::from_ns(at),
                links(told.events())
            )
        }
        (Some(told), None) => format!("<br>{}", claim(told)),
        (None, _) => "<br>No injection took place.".to_owned(),
    };
    let actual: Vec<String> = postmortem.actual.iter().map(claim).collect();
    let mut table = Table::new(&["Injected", "Expected", "Actual evidence", "Repair or degradation"]);
    table.row(vec![
        injected,
        column(&postmortem.expected),
        actual.join("<br>"),
        column(&postmortem.repair),
    ]);
    format!("## What happened\n\n{}", table.finish())
}

pub(super) fn buffer(postmortem: &Postmortem) -> String {
    let answer = &postmortem.buffer;
    let mut text = "## Buffer after failure\n\n".to_owned();
    if answer.watched.is_empty() {
        text += "Nobody looked: no buffer is watched.\n";
    }
    for watched in &answer.watched {
        let verdict = buffer_says(watched, postmortem.verdict == Verdict::NotReproduced);
        let word = touched_word(watched);
        text += &format!("- {}: {word}, {verdict}\n", code(&watched.name));
        text += &format!("  - counted from: {}\n", claim(&watched.since));
        if !watched.blind.is_empty() {
            text += &format!("  - nobody could see: {}\n", sentence(&watched.blind.join(", ")));
        }
        for shown in some(&watched.shown_by) {
            text += &format!("  {}", item(&shown));
        }
        for late in some(&watched.late_by_others) {
            let late = claim(&late);
            text += &format!("  - **late**, by an operation that had not failed: {late}\n");
        }
        for other in some(&watched.by_others) {
            let other = claim(&other);
            text += &format!("  - not late, by an operation that had not failed: {other}\n");
        }
    }
    text += &lives(postmortem);
    if !answer.failures.is_empty() {
        let failures: Vec<String> = some(&answer.failures).iter().map(claim).collect();
        text += &format!(
            "\nOperations that failed or lost their actor: {}.\n",
            failures.join("; ")
        );
    }
    text
}

/// The lives of the watched buffers of callers.
fn lives(postmortem: &Postmortem) -> String {
    let lives: Vec<_> = postmortem
        .buffer
        .watched
        .iter()
        .filter(|watched| !watched.life.is_empty())
        .collect();
    if lives.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["Buffer life", "At", "What", "Who", "Bytes", "How"]);
    for watched in lives {
        // What came first, and what came last.
        let (rows, skipped) = watched.life_shown();
        for (index, row) in rows.iter().enumerate() {
            if skipped > 0 && index == rows.len() / 2 {
                table.row(vec![String::new(), String::new(), format!("{skipped} more")]);
            }
            table.row(vec![
                code(&watched.name),
                Span::from_ns(row.at_ns).to_string(),
                row.what.to_owned(),
                inline(&row.who),
                row.bytes
                    .map(|(from, to)| format!("\\[{from}, {to})"))
                    .unwrap_or_default(),
                claim(&row.told),
            ]);
        }
    }
    format!("\n{}", table.finish())
}

/// The first claims, and how many more there are.
fn some(claims: &[Claim]) -> Vec<Claim> {
    let mut some: Vec<Claim> = claims.iter().take(MAX_CLAIMS).cloned().collect();
    let rest = claims.get(MAX_CLAIMS..).unwrap_or_default();
    some.extend(joined(
        format!("{} more", rest.len()),
        rest.iter().map(Claim::events),
    ));
    some
}

pub(super) fn verdict(postmortem: &Postmortem) -> String {
    let proof = &postmortem.proof;
    let mut text = format!("## Verdict\n\n**{}.** ", verdict_word(postmortem.verdict));
    let by: Vec<&str> = proof.by.iter().map(|observer| observer.name()).collect();
    text += &match (proof.proven, proof.missing.is_empty() && proof.seen.is_empty()) {
        (true, _) => format!("The injection is proven, by what {} saw:\n\n", by.join(" and ")),
        (false, false) => "The injection is not proven, so this run says nothing about the store, whatever the tables below show:\n\n".to_owned(),
        (false, true) => "Nothing is proven: there is no evidence.\n".to_owned(),
    };
    for missing in &proof.missing {
        text += &format!("- **missing:** {}\n", claim(missing));
    }
    for seen in &proof.seen {
        text += &item(seen);
    }
    text += "\n";
    let file = &postmortem.claim;
    text += &match file.is {
        None => "The scenario claims nothing for this engine and profile".to_owned(),
        Some(is) if file.violates.is_empty() => format!("The scenario claims {is}"),
        Some(is) => {
            let names: Vec<String> = file.violates.iter().map(|name| code(name)).collect();
            format!("The scenario claims {is}, by {}", names.join(", "))
        }
    };
    text += match (file.is, file.met) {
        (None, _) => ".",
        (Some(_), true) => ": met.",
        (Some(_), false) => ": **not met**.",
    };
    if let Some(because) = file.because.as_deref().filter(|text| !text.trim().is_empty()) {
        text += &format!(" Its reason: {}", prose(because));
    }
    text += "\n";
    let mut surprises = |what: &str, names: &[String]| {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| code(name)).collect();
            text += &format!("\n{what}: {}.\n", names.join(", "));
        }
    };
    surprises("Failed, and the scenario does not say so", &file.failed_unclaimed);
    surprises("Claimed to fail, and did not", &file.claimed_unfailed);
    text
}

fn mark(status: Status) -> String {
    if status.is_fine() {
        status.to_string()
    } else {
        format!("**{status}**")
    }
}

pub(super) fn expectations(postmortem: &Postmortem) -> String {
    let rows = &postmortem.expectations;
    let mut table = Table::new(&["Step", "Instant", "Expected", "Actual", "Result", "Events"]);
    for row in rows {
        let at = row.at_ns.map(|at| Span::from_ns(at).to_string());
        let instant = match (&row.instant, at) {
            (Some(instant), Some(at)) => format!("{} = {at}", code(instant)),
            (Some(instant), None) => code(instant),
            (None, Some(at)) => at,
            (None, None) => String::new(),
        };
        let repetitions = match row.repetitions {
            (1, 1) => String::new(),
            (first, last) if first == last => format!(", repetition {first}"),
            (first, last) => format!(", repetitions {first} to {last}"),
        };
        table.row(vec![
            format!("{}: {}{repetitions}", code(&row.step), inline(&row.text)),
            instant,
            inline(&row.expected),
            sentence(row.actual.text()),
            mark(row.status),
            links(row.actual.events()),
        ]);
    }
    if rows.is_empty() {
        return "### Expectations\n\nNone was judged.\n".to_owned();
    }
    format!("### Expectations\n\n{}", table.finish())
}

pub(super) fn invariants(postmortem: &Postmortem) -> String {
    let rows = &postmortem.invariants;
    let mut table = Table::new(&["Invariant", "Demands", "Finding", "Result", "Events"]);
    for row in rows {
        table.row(vec![
            code(&row.name),
            inline(&row.expected),
            sentence(row.actual.text()),
            mark(row.status),
            links(row.actual.events()),
        ]);
    }
    if rows.is_empty() {
        return "### Invariants\n\nNone was judged.\n".to_owned();
    }
    format!("### Invariants\n\n{}", table.finish())
}

pub(super) fn replay(postmortem: &Postmortem) -> String {
    let longest = postmortem
        .replay
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "## Replay\n\n{fence}sh\n{}\n{fence}\n",
        postmortem.replay.trim_end()
    )
}
