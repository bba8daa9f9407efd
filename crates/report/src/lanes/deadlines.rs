//! The deadlines that the instants of the scenario name, and the leases that readers were told.

use super::DeadlineLine;
use super::build::Source;
use moonquake_clock::Span;
use moonquake_evidence::{Kind, Leg};
use moonquake_scenario::{Instant, Length, Timeouts, Trigger};
use std::collections::BTreeMap;

/// The most leases that are drawn; with more, the picture says nothing any longer.
const MAX_LEASES: usize = 8;

/// In order of time; one line an instant.
pub(super) fn deadlines(source: &Source<'_>) -> Vec<DeadlineLine> {
    let mut lines: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut add = |at_ns: u64, text: String| {
        let texts = lines.entry(at_ns).or_default();
        if !texts.contains(&text) {
            texts.push(text);
        }
    };
    let timeouts = &source.plan.world.timeouts;
    for (index, step) in source.plan.steps.iter().enumerate() {
        let Some(at) = step.at.as_ref() else { continue };
        let Some((text, beyond)) = named(at, timeouts) else {
            continue;
        };
        let began = source.evidence.events.iter().find(|event| {
            matches!(event.kind, Kind::StepBegan { .. })
                && event.op.is_some_and(|op| usize::try_from(op.step) == Ok(index))
        });
        let Some(began) = began else { continue };
        let at = i128::from(began.at.ns) - beyond;
        if let Ok(at) = u64::try_from(at) {
            add(at, text);
        }
    }
    if let (Trigger::Deadline(instant), Some(injected)) = (&source.plan.fault.trigger, injected_at(source))
        && let Some((text, beyond)) = named(instant, timeouts)
        && let Ok(at) = u64::try_from(i128::from(injected) - beyond)
    {
        add(at, text);
    }
    let last = source.evidence.events.last().map_or(0, |event| event.at.ns);
    for (at, text) in leases(source).into_iter().filter(|(at, _)| *at <= last) {
        add(at, text);
    }
    lines
        .into_iter()
        .map(|(at_ns, texts)| DeadlineLine {
            at_ns,
            text: texts.join(", "),
        })
        .collect()
}

fn injected_at(source: &Source<'_>) -> Option<u64> {
    let mut events = source.evidence.events.iter();
    let injected = events.find(|event| matches!(event.kind, Kind::Injected { .. }));
    injected.map(|event| event.at.ns)
}

/// The instant without its plain durations, and how many nanoseconds those add; none if it names no deadline.
fn named(instant: &Instant, timeouts: &Timeouts) -> Option<(String, i128)> {
    let mut text = instant.text.split_whitespace().next()?.to_owned();
    let (mut beyond, mut names) = (0_i128, false);
    for term in &instant.terms {
        let sign = if term.minus { -1 } else { 1 };
        match &term.length {
            Length::Span(span) => beyond += sign * i128::from(span.ns),
            Length::Deadline(name, factor) => {
                names = true;
                let times = if *factor == 1 {
                    String::new()
                } else {
                    format!("{factor} * ")
                };
                text += &format!(" {} {times}{name}", if term.minus { '-' } else { '+' });
                timeouts.get(name)?;
            }
        }
    }
    names.then_some((text, beyond))
}

/// The ends of the leases that the master granted, where nobody renewed them.
fn leases(source: &Source<'_>) -> Vec<(u64, String)> {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for event in &source.evidence.events {
        if let Kind::Frame {
            leg: Leg::RequestHandled,
            key: Some(key),
            lease_ms: Some(ms),
            ..
        } = &event.kind
        {
            let ends = event.at + Span::from_ms(*ms);
            let known = last.entry(key).or_default();
            *known = (*known).max(ends.ns);
        }
    }
    let mut leases: Vec<(u64, String)> = last
        .into_iter()
        .map(|(key, at)| (at, format!("lease of {key} ends")))
        .collect();
    leases.sort();
    leases.truncate(MAX_LEASES);
    leases
}
