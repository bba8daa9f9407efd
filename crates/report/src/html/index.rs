//! The page above the postmortems of one invocation.

use super::shell::page;
use super::text::{inline, plain};
use super::top::{badge, verdict_look};
use maud::{Markup, html};
use moonquake_scenario::Verdict;
use std::collections::BTreeSet;

/// One run in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRun {
    /// The scenario's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The fault dimension.
    pub dimension: String,
    /// The engine.
    pub engine: String,
    /// The profile.
    pub profile: String,
    /// What became of it.
    pub outcome: IndexOutcome,
    /// The name of its HTML postmortem beside the index; none if it could not be written.
    pub file: Option<String>,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexOutcome {
    /// It has a verdict, and the file claims one or not.
    Judged {
        /// The verdict.
        verdict: Verdict,
        /// Whether everything came out as the file claims.
        is_met: bool,
    },
    /// The engine cannot do it; why.
    Skipped(String),
    /// Something failed that must not; what.
    Failed(String),
}

impl IndexOutcome {
    fn word(&self) -> &'static str {
        match self {
            IndexOutcome::Judged { verdict, .. } => verdict_look(*verdict).2,
            IndexOutcome::Skipped(_) => "Skipped",
            IndexOutcome::Failed(_) => "Failed",
        }
    }
}

/// The index of the runs of one invocation.
pub fn index(runs: &[IndexRun]) -> String {
    page("Moonquake runs", &body(runs))
}

fn body(runs: &[IndexRun]) -> Markup {
    let count = |test: fn(&IndexOutcome) -> bool| runs.iter().filter(|run| test(&run.outcome)).count();
    let verdict = |wanted: Verdict| {
        runs.iter()
            .filter(|run| matches!(run.outcome, IndexOutcome::Judged { verdict, .. } if verdict == wanted))
            .count()
    };
    let met = count(|outcome| matches!(outcome, IndexOutcome::Judged { is_met: true, .. }));
    let unmet = count(|outcome| matches!(outcome, IndexOutcome::Judged { is_met: false, .. }));
    let totals = [
        ("", "runs", runs.len()),
        ("", "as their files claim", met),
        ("late", "not as claimed", unmet),
        ("", "hold", verdict(Verdict::Holds)),
        ("", "violated", verdict(Verdict::Violated)),
        ("", "not reproduced", verdict(Verdict::NotReproduced)),
        (
            "",
            "skipped",
            count(|outcome| matches!(outcome, IndexOutcome::Skipped(_))),
        ),
        (
            "late",
            "failed",
            count(|outcome| matches!(outcome, IndexOutcome::Failed(_))),
        ),
    ];
    html! {
        main id="main" {
            h1 { "Runs" }
            div class="card totals" {
                @for (class, what, count) in totals {
                    div { b class=[(count > 0 && !class.is_empty()).then_some(class)] { (count) } (what) }
                }
            }
            div class="filter js noprint" hidden {
                input id="filter" type="search" placeholder="Filter by text" aria-label="Filter by text";
                (pick("verdict", "any verdict", runs.iter().map(|run| run.outcome.word())))
                (pick("dimension", "any dimension", runs.iter().map(|run| run.dimension.as_str())))
                (pick("engine", "any engine", runs.iter().map(|run| run.engine.as_str())))
                (pick("profile", "any profile", runs.iter().map(|run| run.profile.as_str())))
                span id="shown" class="soft small" role="status" {}
            }
            @if runs.is_empty() { p { "Nothing was run." } }
            @else {
                div class="box" {
                    table class="stack" {
                        thead { tr {
                            th scope="col" { "Verdict" } th scope="col" { "Claim" } th scope="col" { "Scenario" }
                            th scope="col" { "Dimension" } th scope="col" { "Engine" } th scope="col" { "Profile" }
                        } }
                        tbody { @for run in runs { (row(run)) } }
                    }
                }
            }
        }
        footer { "Written by Moonquake " (env!("CARGO_PKG_VERSION")) "." }
    }
}

fn pick<'a>(name: &str, any: &str, values: impl Iterator<Item = &'a str>) -> Markup {
    let values: BTreeSet<&str> = values.collect();
    html! {
        select data-pick=(name) aria-label={ "Filter by " (name) } {
            option value="" { (any) }
            @for value in values { option value=(value) { (plain(value)) } }
        }
    }
}

fn row(run: &IndexRun) -> Markup {
    html! {
        tr data-run="1" data-verdict=(run.outcome.word()) data-dimension=(run.dimension) data-engine=(run.engine) data-profile=(run.profile) {
            td class="nw" {
                @match &run.outcome {
                    IndexOutcome::Judged { verdict, .. } => (badge(*verdict)),
                    IndexOutcome::Skipped(_) => span class="badge s-na" { "– Skipped" },
                    IndexOutcome::Failed(_) => span class="badge s-bad" { "✗ Failed" },
                }
            }
            td data-h="Claim" {
                @match &run.outcome {
                    IndexOutcome::Judged { is_met: true, .. } => span class="nw" { "as claimed" },
                    IndexOutcome::Judged { is_met: false, .. } => span class="late nw" { "✗ not as claimed" },
                    IndexOutcome::Skipped(why) | IndexOutcome::Failed(why) => (inline(why)),
                }
            }
            td data-h="Scenario" {
                @match &run.file {
                    Some(file) => a href=(address(file)) { (inline(&run.id)) },
                    None => (inline(&run.id)),
                }
                br;
                (inline(&run.title))
            }
            td data-h="Dimension" class="nw" { (inline(&run.dimension)) }
            td data-h="Engine" class="nw" { (inline(&run.engine)) }
            td data-h="Profile" class="nw" { (inline(&run.profile)) }
        }
    }
}

/// The name of a file as an address: what means something there is written in hexadecimal.
fn address(file: &str) -> String {
    let mut out = String::from("./");
    for byte in file.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_title_stays_text_and_a_name_stays_a_name() {
        let run = IndexRun {
            id: "a/b".into(),
            title: "<script>alert(1)</script>\u{202e}".into(),
            dimension: "\"x".into(),
            engine: "model".into(),
            profile: "upstream".into(),
            outcome: IndexOutcome::Skipped("<b>".into()),
            file: Some("javascript:x #?.html".into()),
        };
        let page = index(&[run]);
        assert_eq!(page.matches("<script").count(), 1);
        assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<b>&lt;b"));
        assert!(page.contains("href=\"./javascript%3Ax%20%23%3F.html\""), "{page}");
        assert!(page.contains("data-dimension=\"&quot;x\"") && page.contains("\\u{202e}"));
    }
}
