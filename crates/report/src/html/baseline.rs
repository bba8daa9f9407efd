//! Before the fault, what the hashes mean, and how to see it again.

use super::text::{bytes, claim, inline, plain, prose};
use super::trim::{Trim, more};
use crate::Postmortem;
use maud::{Markup, html};
use std::collections::BTreeMap;

pub(super) fn baseline(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let before = &postmortem.baseline;
    let most = trim.list;
    html! {
        section class="card" aria-labelledby="base-h" {
            h3 id="base-h" { "Baseline" }
            dl class="kv" {
                dt { "World" }
                dd {
                    @for (index, (name, capacity)) in before.segments.iter().take(most).enumerate() {
                        @if index > 0 { ", " }
                        "node " code { (inline(name)) } " with " (bytes(*capacity))
                    }
                    @if !before.clients.is_empty() {
                        @if !before.segments.is_empty() { "; " }
                        @if before.clients.len() == 1 { "client" } @else { "clients" }
                        @for name in before.clients.iter().take(most) { " " code { (inline(name)) } }
                    }
                    @if before.segments.len().max(before.clients.len()) > most {
                        " " (more(before.segments.len(), most)) " " (more(before.clients.len(), most))
                    }
                }
                dt { "State before the fault" }
                dd {
                    @match &before.state {
                        Some(state) => (claim(state)),
                        None => "nobody read it",
                    }
                }
                dt { "Order of deliveries" }
                dd {
                    @match postmortem.run.seed {
                        Some(seed) => { "drawn from seed " (seed) }
                        None => "first in, first out",
                    }
                }
                dt { "Versions" }
                dd { (pairs(&before.versions, most)) }
                @if !before.real_time.is_empty() {
                    dt { "In real time" }
                    dd { (pairs(&before.real_time, most)) }
                }
                dt { "Configuration" }
                dd { (pairs(&before.configuration, most)) }
            }
        }
    }
}

fn pairs(map: &BTreeMap<String, String>, most: usize) -> Markup {
    html! {
        @if map.is_empty() { span class="soft" { "not recorded" } }
        @else {
            div class="pairs" {
                @for (name, value) in map.iter().take(most) { div { span class="soft" { (inline(name)) } " " code { (inline(value)) } } }
            }
            (more(map.len(), most))
        }
    }
}

/// Why the scenario exists and where it comes from.
pub(super) fn why(postmortem: &Postmortem) -> Markup {
    let scenario = &postmortem.scenario;
    html! {
        @if !scenario.why.trim().is_empty() || !scenario.see.is_empty() {
            section class="card" aria-labelledby="why-h" {
                h3 id="why-h" { "Why this is tried" }
                @if !scenario.why.trim().is_empty() { p { (prose(&scenario.why)) } }
                @if !scenario.see.is_empty() {
                    p class="small" {
                        "See "
                        @for (index, see) in scenario.see.iter().enumerate() {
                            @if index > 0 { ", " }
                            (reference(see))
                        }
                    }
                }
            }
        }
    }
}

/// A link if it is plainly one, text otherwise.
fn reference(see: &str) -> Markup {
    let target = crate::escape::target(see);
    html! {
        @match target {
            Some(target) => { a href=(target) rel="noreferrer" { (inline(see)) } }
            None => (inline(see)),
        }
    }
}

/// The command that brings the same events back, and what the hashes stand for.
pub(super) fn replay(postmortem: &Postmortem) -> Markup {
    let run = &postmortem.run;
    html! {
        section aria-labelledby="replay-h" {
            h2 id="replay-h" { "See it again" }
            div class="run" {
                pre id="replay" { (plain(postmortem.replay.trim_end())) }
                button type="button" class="js noprint" data-copy="replay" hidden { "Copy" }
            }
            dl class="kv small" style="margin-top:12px" {
                dt { "Scenario" }
                dd {
                    code { (inline(&postmortem.scenario.path)) } br;
                    "SHA-256 " code { (inline(&postmortem.scenario.sha256)) } br;
                    span class="soft" { "The bytes of the file: the same hash is the same experiment." }
                }
                dt { "Evidence" }
                dd {
                    (crate::markdown::counted(run.events, "event")) br;
                    "SHA-256 " code { (inline(&run.evidence_sha256)) } br;
                    span class="soft" {
                        @if run.engine == "model" {
                            "The whole record: the command above gives the same hash on any machine."
                        } @else {
                            "The whole record of this run. On real processes details such as ports differ from run to run; what stays the same is the \
                             projection that moonquake run compares."
                        }
                    }
                }
            }
        }
    }
}
