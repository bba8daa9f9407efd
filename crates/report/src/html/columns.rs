//! The four columns, the proof, and the answer about the buffer.

use super::text::{claim, inline, link, links, prose, sentence, time};
use super::top::answer_look;
use super::trim::{Trim, more};
use crate::markdown::buffer_says;
use crate::{Claim, Epoch, PlaceLane, Postmortem, RegionAccess, Touched, Watched};
use maud::{Markup, html};
use moonquake_scenario::Verdict;

/// The most claims that a list spells out; the JSON form has all of them.
const MAX_CLAIMS: usize = 8;

/// Injected, expected, actual evidence, repair or degradation.
pub(super) fn four(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let (look, ..) = super::top::verdict_look(postmortem.verdict);
    html! {
        section aria-labelledby="four-h" {
            h2 id="four-h" { "What happened" }
            div class="four" {
                article class="card inj" { h3 { "Injected" } (injected(postmortem)) }
                article class="card" { h3 { "Expected" } p { (column(&postmortem.expected)) } }
                article class={ "card act " (look) } {
                    h3 { "Actual evidence" }
                    (list(&postmortem.actual, trim))
                }
                article class="card rep" { h3 { "Repair or degradation" } p { (column(&postmortem.repair)) } }
            }
        }
    }
}

fn injected(postmortem: &Postmortem) -> Markup {
    html! {
        p { (sentence(&postmortem.injected.planned)) }
        p class="soft small" {
            @match (&postmortem.injected.told, postmortem.fault_at_ns) {
                (Some(told), Some(at)) => { "Told by the injector at " (time(at)) ", " (links(told.events())) }
                (Some(told), None) => (claim(told)),
                (None, _) => "No injection took place.",
            }
        }
    }
}

/// A human column, or that the scenario leaves it empty.
fn column(text: &str) -> Markup {
    html! {
        @if text.trim().is_empty() { span class="soft" { "The scenario does not say." } }
        @else { (prose(text)) }
    }
}

/// Claims as a list, the first of them at once and the rest on demand.
fn list(claims: &[Claim], trim: &Trim) -> Markup {
    let (first, rest) = claims.split_at(claims.len().min(MAX_CLAIMS).min(trim.list));
    let most = trim.list.min(200);
    html! {
        @if claims.is_empty() { p class="soft" { "Nothing was seen." } }
        @else {
            ul { @for one in first { li { (claim(one)) } } }
            @if !rest.is_empty() {
                details {
                    summary { (rest.len()) " more" }
                    ul { @for one in rest.iter().take(most) { li { (claim(one)) } } }
                    @if rest.len() > most { p class="soft" { "The JSON form has all " (claims.len()) "." } }
                }
            }
        }
    }
}

/// What was proven, how, and by whom.
pub(super) fn proof(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let proof = &postmortem.proof;
    let by: Vec<&str> = proof.by.iter().map(|observer| observer.name()).collect();
    html! {
        section id="proof" class="card" aria-labelledby="proof-h" {
            h3 id="proof-h" {
                "Proof of the injection "
                @if proof.proven { span class="tag s-ok" { "✓ proven" } }
                @else { span class="tag s-unk" { "? not proven" } }
            }
            p {
                @match (proof.proven, proof.missing.is_empty() && proof.seen.is_empty()) {
                    (true, _) => { "Seen by " b { (by.join(" and ")) } ", not by the code that injects:" }
                    (false, false) => "So this run says nothing about the store, whatever the tables below show:",
                    (false, true) => "Nothing is proven: there is no evidence.",
                }
            }
            ul {
                @for missing in proof.missing.iter().take(trim.list) { li { b class="late" { "missing: " } (claim(missing)) } }
                @for seen in proof.seen.iter().take(trim.list) { li { (claim(seen)) } }
            }
            (more(proof.missing.len(), trim.list))
            (more(proof.seen.len(), trim.list))
            (file_claim(postmortem, trim.names()))
        }
    }
}

fn file_claim(postmortem: &Postmortem, most: usize) -> Markup {
    let file = &postmortem.claim;
    html! {
        p {
            @match file.is {
                None => "The scenario claims nothing for this engine and profile.",
                Some(is) => {
                    "The scenario claims " b { (is.to_string()) }
                    @if !file.violates.is_empty() { ", by " (codes(&file.violates, most)) }
                    @if file.met { ": met." } @else { ": " b class="late" { "not met" } "." }
                }
            }
            @if let Some(because) = file.because.as_deref().filter(|text| !text.trim().is_empty()) {
                " Its reason: " (prose(because))
            }
        }
        @if !file.failed_unclaimed.is_empty() {
            p { "Failed, and the scenario does not say so: " (codes(&file.failed_unclaimed, most)) }
        }
        @if !file.claimed_unfailed.is_empty() {
            p { "Claimed to fail, and did not: " (codes(&file.claimed_unfailed, most)) }
        }
    }
}

fn codes(names: &[String], most: usize) -> Markup {
    html! {
        @for (index, name) in names.iter().take(most).enumerate() {
            @if index > 0 { ", " }
            code { (inline(name)) }
        }
        @if names.len() > most { " " (more(names.len(), most)) }
    }
}

/// Whether the buffers of the failed operations were still touched: who, when, which bytes, whose they were then.
pub(super) fn buffer(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let answer = &postmortem.buffer;
    html! {
        section id="buffer" class="card" aria-labelledby="buffer-h" {
            h3 id="buffer-h" { "Buffer after failure" }
            @if answer.watched.is_empty() { p { "Nobody looked: no buffer is watched." } }
            @for watched in answer.watched.iter().take(trim.list) { (of_one(postmortem, watched)) }
            (more(answer.watched.len(), trim.list))
            @if !answer.failures.is_empty() {
                p class="small" {
                    "Operations that failed or lost their actor: "
                    @for (index, failure) in answer.failures.iter().take(MAX_CLAIMS).enumerate() {
                        @if index > 0 { "; " }
                        (claim(failure))
                    }
                    @if answer.failures.len() > MAX_CLAIMS { "; " (answer.failures.len() - MAX_CLAIMS) " more" }
                }
            }
        }
    }
}

fn of_one(postmortem: &Postmortem, watched: &Watched) -> Markup {
    let not_reproduced = postmortem.verdict == Verdict::NotReproduced;
    let (look, word) = answer_look(watched, not_reproduced);
    let says = buffer_says(watched, not_reproduced);
    html! {
        p {
            code { (inline(&watched.name)) } " "
            span class={ "tag s-" (look) } { (word) } " " (says)
            span class="soft" { ", counted from: " } (claim(&watched.since))
        }
        @if !watched.blind.is_empty() { p { "Nobody could see: " (inline(&watched.blind.join(", "))) } }
        ul {
            @for shown in watched.shown_by.iter().take(MAX_CLAIMS) {
                li {
                    @if watched.touched == Touched::Yes { span class="late" { "late: " } }
                    (claim(shown))
                    (owner_then(postmortem, shown))
                }
            }
            @if watched.shown_by.len() > MAX_CLAIMS { li { (watched.shown_by.len() - MAX_CLAIMS) " more" } }
        }
        @if !watched.late_by_others.is_empty() {
            p { "By operations that had not failed, into or out of bytes that were not theirs:" }
            ul {
                @for late in watched.late_by_others.iter().take(MAX_CLAIMS) {
                    li { span class="late" { "late: " } (claim(late)) }
                }
                @if watched.late_by_others.len() > MAX_CLAIMS {
                    li { (watched.late_by_others.len() - MAX_CLAIMS) " more" }
                }
            }
        }
        @if !watched.life.is_empty() { (life(watched)) }
        @if !watched.by_others.is_empty() {
            details {
                summary { (watched.by_others.len()) " not late, by operations that had not failed" }
                ul { @for other in watched.by_others.iter().take(40) { li { (claim(other)) } } }
                @if watched.by_others.len() > 40 { p class="soft" { "The JSON form has all of them." } }
            }
        }
    }
}

/// What became of a caller's buffer.
fn life(watched: &Watched) -> Markup {
    let (rows, skipped) = watched.life_shown();
    html! {
        table {
            tr { th { "Buffer life" } th { "What" } th { "Who" } th { "Bytes" } th { "How" } }
            @for (index, row) in rows.iter().enumerate() {
                @if skipped > 0 && index == rows.len() / 2 { tr { td {} td { (skipped) " more" } } }
                tr {
                    td { (time(row.at_ns)) }
                    td { (row.what) }
                    td { (inline(&row.who)) }
                    td { @if let Some((from, to)) = row.bytes { "[" (from) ", " (to) ")" } }
                    td { (claim(&row.told)) }
                }
            }
        }
    }
}

/// Whose the bytes were that an access touched. The witness of a buffer and the log of a segment's owner may both have seen
/// it: then time, actor and direction tell that the two are one.
fn owner_then(postmortem: &Postmortem, shown: &Claim) -> Markup {
    let ids = shown.events().ids();
    let row = postmortem
        .timeline
        .iter()
        .find(|row| row.events.iter().any(|id| ids.contains(id)));
    let mut found: Option<(&PlaceLane, &Epoch)> = None;
    for place in &postmortem.lanes.places {
        for epoch in &place.epochs {
            let same = |access: &&RegionAccess| {
                let verb = if access.write { " writes " } else { " reads " };
                let at = row.is_some_and(|row| row.at_ns == access.at.at_ns && row.actor == access.who);
                access.late && (ids.contains(&access.at.event) || (at && shown.text().contains(verb)))
            };
            let exact = |access: &RegionAccess| ids.contains(&access.at.event);
            if let Some(access) = epoch.accesses.iter().find(same)
                && (found.is_none() || exact(access))
            {
                found = Some((place, epoch));
            }
        }
    }
    // The judge may have said so already.
    let found = found.filter(|_| !shown.text().contains(" belongs to "));
    html! {
        @if let Some((place, epoch)) = found {
            "; those bytes of " code { (inline(&place.name)) } " then belonged to " b { (inline(&epoch.owner)) }
            " since " (link(epoch.since.event))
        }
    }
}
