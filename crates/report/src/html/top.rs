//! What a reader must know in five seconds: verdict, what was injected, what came of it, and whether memory was touched.

use super::text::{claim, inline, plain, prose, readable, sentence, time};
use super::trim::{Trim, more};
use crate::markdown::tally;
use crate::{Postmortem, Touched, Watched};
use maud::{Markup, html};
use moonquake_scenario::Verdict;

/// The look, the sign and the word of a verdict.
pub(crate) fn verdict_look(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Holds => ("ok", "✓", "Holds"),
        Verdict::Violated => ("bad", "✗", "Violated"),
        Verdict::NotReproduced => ("unk", "?", "Not reproduced"),
    }
}

pub(crate) fn badge(verdict: Verdict) -> Markup {
    let (look, sign, word) = verdict_look(verdict);
    html! { span class={ "badge s-" (look) } { (sign) " " (word) } }
}

/// The look, the sign and the word of the answer about a buffer.
fn touched_look(touched: Touched) -> (&'static str, &'static str) {
    match touched {
        Touched::No => ("ok", "✓ no"),
        Touched::Yes => ("bad", "✗ yes"),
        Touched::CouldNotSee => ("unk", "? could not see"),
    }
}

/// The same for one buffer. Late accesses by others are no answer of `no`, and a run that proves nothing answers nothing.
pub(super) fn answer_look(watched: &Watched, unknown: bool) -> (&'static str, &'static str) {
    match watched.touched {
        Touched::No | Touched::CouldNotSee if !watched.late_by_others.is_empty() => {
            ("bad", "✗ late, by others")
        }
        Touched::No if unknown => ("na", "unknown"),
        touched => touched_look(touched),
    }
}

pub(super) fn top(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let (look, ..) = verdict_look(postmortem.verdict);
    let run = &postmortem.run;
    html! {
        p class="id" { (plain(&postmortem.scenario.id)) }
        h1 { (prose(&postmortem.scenario.title)) }
        section class={ "answer " (look) } aria-label="The answer" {
            div class="meta" {
                (badge(postmortem.verdict))
                span { "engine " b { (plain(&run.engine)) } }
                span { "profile " b { (plain(&run.profile)) } }
                @if let Some(seed) = run.seed { span { "seed " b { (seed) } } }
                (as_claimed(postmortem))
            }
            p class="lead" { (lead(postmortem)) }
            dl class="facts" {
                dt { "Injected" }
                dd { (injected(postmortem)) }
                dt { "When" }
                dd { (when(postmortem)) }
                dt { "What came of it" }
                dd { (outcome(postmortem)) }
                dt { "Buffer touched after the failure?" }
                dd { (buffer(postmortem, trim.list)) }
                dt { "What to do" }
                dd { (repair(postmortem)) }
            }
        }
    }
}

fn as_claimed(postmortem: &Postmortem) -> Markup {
    let file = &postmortem.claim;
    let (look, text) = match (file.is, file.met) {
        (None, _) => (
            "s-na",
            "the scenario claims nothing for this engine and profile".to_owned(),
        ),
        (Some(_), true) => ("s-na", "as the scenario claims".to_owned()),
        (Some(is), false) if is == postmortem.verdict => {
            ("s-bad", "✗ not in the way the scenario claims".to_owned())
        }
        (Some(is), false) => ("s-bad", format!("✗ the scenario claims {is}")),
    };
    html! { span class={ "tag " (look) } { (text) } }
}

/// The story of the run in two sentences.
fn lead(postmortem: &Postmortem) -> Markup {
    let story = sentence(&postmortem.injected.story);
    let at = postmortem.fault_at_ns.map(time);
    html! {
        @if postmortem.verdict == Verdict::NotReproduced { "Asked for: " }
        (story)
        @match (&at, postmortem.proof.proven) {
            (Some(at), true) => { ", " (at) " after the start. " }
            (Some(at), false) => { ", told for " (at) " after the start. " }
            (None, _) => { ". " }
        }
        @match postmortem.verdict {
            Verdict::Holds => { b { "The store kept its promises." } }
            Verdict::Violated => { b { "The store broke its contract" (broken(postmortem)) "." } }
            Verdict::NotReproduced => { b { "That was not seen to happen, so this run says nothing about the store." } }
        }
    }
}

/// Which promises were broken, in the words of the invariants or else of the steps.
fn broken(postmortem: &Postmortem) -> String {
    let failed = |count: usize, what: &str| match count {
        0 => String::new(),
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let is_failed = |status: moonquake_judge::Status| status == moonquake_judge::Status::Failed;
    let expectations = postmortem
        .expectations
        .iter()
        .filter(|row| is_failed(row.status))
        .count();
    let invariants = postmortem
        .invariants
        .iter()
        .filter(|row| is_failed(row.status))
        .count();
    let parts: Vec<String> = [
        failed(expectations, "expectation"),
        failed(invariants, "invariant"),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!(": {} failed", parts.join(" and ")),
    }
}

fn injected(postmortem: &Postmortem) -> Markup {
    html! {
        (sentence(&postmortem.injected.planned))
        @if let Some(told) = &postmortem.injected.told { " " (super::text::links(told.events())) }
    }
}

fn when(postmortem: &Postmortem) -> Markup {
    let by: Vec<&str> = postmortem
        .proof
        .by
        .iter()
        .map(|observer| observer.name())
        .collect();
    html! {
        @match postmortem.fault_at_ns {
            Some(at) => { (time(at)) " after the start" }
            None => { "never" }
        }
        @if postmortem.proof.proven {
            ", " a href="#proof" { "proven" } ", seen by " (by.join(" and "))
        } @else {
            ", " a href="#proof" class="late" { "not proven" }
        }
    }
}

fn outcome(postmortem: &Postmortem) -> Markup {
    let expectations = tally(
        "expectation",
        postmortem.expectations.iter().map(|row| row.status),
    );
    let invariants = tally("invariant", postmortem.invariants.iter().map(|row| row.status));
    html! {
        @match postmortem.verdict {
            Verdict::NotReproduced => {
                @match postmortem.proof.missing.first() {
                    Some(missing) => (claim(missing)),
                    None => "there is no evidence",
                }
            }
            verdict => {
                (expectations) "; " (invariants)
                @if verdict == Verdict::Violated && let Some(first) = postmortem.actual.first() {
                    br;
                    span class="late" { "✗ " } (claim(first))
                }
            }
        }
    }
}

fn buffer(postmortem: &Postmortem, most: usize) -> Markup {
    let watched = &postmortem.buffer.watched;
    html! {
        @if watched.is_empty() { "nobody looked, no buffer is watched" }
        @for (index, watched) in watched.iter().take(most).enumerate() {
            @if index > 0 { br; }
            @let unknown = watched.touched == Touched::No && postmortem.verdict == Verdict::NotReproduced;
            @let (look, word) = answer_look(watched, unknown);
            code { (inline(&watched.name)) } " "
            span class={ "tag s-" (look) } { (word) } " "
            @match (watched.touched, watched.shown_by.first()) {
                (Touched::Yes, Some(first)) => {
                    (claim(first))
                    @if watched.shown_by.len() > 1 { " and " (watched.shown_by.len() - 1) " more" }
                }
                (Touched::CouldNotSee, Some(_)) => { "blind to " (inline(&watched.blind.join(", "))) }
                _ => {}
            }
            @if let Some(first) = watched.late_by_others.first() {
                @if watched.touched != Touched::No { "; " span class="late" { "late, by others: " } }
                (claim(first))
                @if watched.late_by_others.len() > 1 { " and " (watched.late_by_others.len() - 1) " more" }
            } @else if watched.touched == Touched::No && !unknown && !watched.by_others.is_empty() {
                "by no failed operation; " (watched.by_others.len()) " accesses by others, none of them late"
            }
        }
        @if watched.len() > most { " " (more(watched.len(), most)) }
        @if !watched.is_empty() { " " a href="#buffer" class="small" { "details" } }
    }
}

fn repair(postmortem: &Postmortem) -> Markup {
    let text = &postmortem.repair;
    html! {
        @if text.trim().is_empty() { "the scenario does not say" } @else { (plain(&readable(&prose(text)))) }
    }
}
