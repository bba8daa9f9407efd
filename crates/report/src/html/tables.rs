//! Expectations, invariants, and who owned which bytes.

use super::text::{inline, link, links, range, sentence, time};
use super::trim::{MAX_ROWS, Trim};
use crate::markdown::counted;
use crate::{Epoch, PlaceLane, Postmortem};
use maud::{Markup, html};
use moonquake_judge::Status;

fn status(status: Status) -> Markup {
    let (look, word) = match status {
        Status::Held => ("ok", "✓ held"),
        Status::Failed => ("bad", "✗ failed"),
        Status::CouldNotSee => ("unk", "? could not see"),
        Status::NotApplicable => ("na", "– not applicable"),
    };
    html! { span class={ "tag s-" (look) } { (word) } }
}

fn left_out(all: usize, most: usize) -> Markup {
    html! {
        @if all > most { p class="soft small" { (all - most) " more rows are in the JSON form." } }
    }
}

/// How many expectations that are fine have no row.
fn held_out(fine: usize, of: usize) -> Markup {
    html! {
        p class="soft small" {
            "Left out, because they held or do not apply: " b { (fine) " of " (counted(of, "expectation")) } ". So the page stays \
             small enough to forward; the Markdown and the JSON next to it have them."
        }
    }
}

pub(super) fn expectations(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let all = &postmortem.expectations;
    let wanted = |row: &&crate::Expectation| trim.held || !row.status.is_fine();
    let rows: Vec<&crate::Expectation> = all.iter().filter(wanted).collect();
    let most = MAX_ROWS.min(trim.list);
    html! {
        section aria-labelledby="exp-h" {
            h2 id="exp-h" { "Expectations" }
            @if all.is_empty() { p { "None was judged." } }
            @if all.len() > rows.len() { (held_out(all.len() - rows.len(), all.len())) }
            @if !rows.is_empty() {
                div class="box" {
                    table class="stack" {
                        thead { tr {
                            th scope="col" { "Result" } th scope="col" { "Step" } th scope="col" { "When" }
                            th scope="col" { "Expected" } th scope="col" { "Actual" } th scope="col" { "Events" }
                        } }
                        tbody { @for row in rows.iter().take(most) { (expectation(row)) } }
                    }
                }
                (left_out(rows.len(), most))
            }
        }
    }
}

fn expectation(row: &crate::Expectation) -> Markup {
    let repetitions = match row.repetitions {
        (1, 1) => String::new(),
        (first, last) if first == last => format!(", repetition {first}"),
        (first, last) => format!(", repetitions {first} to {last}"),
    };
    html! {
        tr class=[(!row.status.is_fine()).then_some("bad")] {
            td { (status(row.status)) }
            td data-h="Step" { code { (inline(&row.step)) } " " (inline(&row.text)) (repetitions) }
            td data-h="When" {
                @if let Some(at) = row.at_ns { span class="nw" { (time(at)) } }
                @if let Some(instant) = &row.instant { br; span class="soft small" { "= " (inline(instant)) } }
            }
            td data-h="Expected" { (inline(&row.expected)) }
            td data-h="Actual" { (sentence(row.actual.text())) }
            td data-h="Events" { (links(row.actual.events())) }
        }
    }
}

pub(super) fn invariants(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let rows = &postmortem.invariants;
    let most = MAX_ROWS.min(trim.list);
    html! {
        section aria-labelledby="inv-h" {
            h2 id="inv-h" { "Invariants" }
            p class="soft small" { "Judged on every run, asked for or not." }
            @if rows.is_empty() { p { "None was judged." } }
            @else {
                div class="box" {
                    table class="stack" {
                        thead { tr {
                            th scope="col" { "Result" } th scope="col" { "Invariant" } th scope="col" { "Demands" }
                            th scope="col" { "Finding" } th scope="col" { "Events" }
                        } }
                        tbody {
                            @for row in rows.iter().take(most) {
                                tr class=[(!row.status.is_fine()).then_some("bad")] {
                                    td { (status(row.status)) }
                                    td data-h="Invariant" { code { (inline(&row.name)) } }
                                    td data-h="Demands" { (inline(&row.expected)) }
                                    td data-h="Finding" { (sentence(row.actual.text())) }
                                    td data-h="Events" { (links(row.actual.events())) }
                                }
                            }
                        }
                    }
                }
                @if trim.rows.is_some() { (left_out(rows.len(), most)) }
            }
        }
    }
}

/// Who owned which bytes from when to when: the bytes lane in words.
pub(super) fn owners(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let places = &postmortem.lanes.places;
    let most = trim.owners;
    let mut rows: Vec<(&PlaceLane, &Epoch)> = places
        .iter()
        .flat_map(|place| place.epochs.iter().map(move |epoch| (place, epoch)))
        .collect();
    if trim.rows.is_some() && rows.len() > most {
        // Where rows are cut off, late accesses are not among them.
        rows.sort_by_key(|(_, epoch)| !epoch.accesses.iter().any(|access| access.late));
    }
    html! {
        @if !rows.is_empty() {
            section aria-labelledby="own-h" {
                h2 id="own-h" { "Who owned which bytes" }
                div class="box" {
                    table class="stack" {
                        thead { tr {
                            th scope="col" { "Place" } th scope="col" { "Bytes" } th scope="col" { "Owner" }
                            th scope="col" { "Since" } th scope="col" { "Until" } th scope="col" { "Readable from" }
                            th scope="col" { "Written and read by" }
                        } }
                        tbody { @for (place, epoch) in rows.iter().take(most) { (owner(place, epoch)) } }
                    }
                }
                (left_out(rows.len(), most))
            }
        }
    }
}

fn owner(place: &PlaceLane, epoch: &Epoch) -> Markup {
    let at = |point: crate::Point| html! { (time(point.at_ns)) " " span class="ids" { (link(point.event)) } };
    // What was seen to be so, and may have been so earlier.
    let by = |point: crate::Point, at_the_latest: bool| {
        html! { @if at_the_latest { "by " (at(point)) " at the latest" } @else { (at(point)) } }
    };
    let (late, fine): (Vec<_>, Vec<_>) = epoch.accesses.iter().partition(|access| access.late);
    html! {
        tr class=[(!late.is_empty()).then_some("bad")] {
            td data-h="Place" { code { (inline(&place.name)) } }
            td data-h="Bytes" class="nw" { (range(epoch.from, epoch.to)) }
            td data-h="Owner" { b { (inline(&epoch.owner)) } @if epoch.nobody && !epoch.idle.is_empty() { ", " (epoch.idle) } }
            td data-h="Since" { (by(epoch.since, epoch.since_at_the_latest)) }
            td data-h="Until" {
                @match epoch.until {
                    Some(until) => (by(until, epoch.until_at_the_latest)),
                    None => span class="soft" { "the end" },
                }
            }
            td data-h="Readable from" {
                @match (place.segment, epoch.readable_at) {
                    (true, Some(from)) => (at(from)),
                    (true, None) if !epoch.nobody => span class="soft" { "never" },
                    (true, None) => span class="soft" { "–" },
                    (false, _) => span class="soft" { "–" },
                }
            }
            td data-h="Accesses" {
                @if !late.is_empty() { span class="late" { "✗ late: " } (accesses(&late)) @if !fine.is_empty() { br; } }
                (accesses(&fine))
            }
        }
    }
}

fn accesses(list: &[&crate::RegionAccess]) -> Markup {
    html! {
        @for (index, access) in list.iter().take(4).enumerate() {
            @if index > 0 { "; " }
            (inline(&access.who)) @if access.write { " writes " } @else { " reads " }
            (range(access.from, access.to)) " " span class="ids" { (link(access.at.event)) }
        }
        @if list.len() > 4 { "; " (list.len() - 4) " more" }
    }
}
