//! The run as a picture: actors above, bytes below, time across (wide) or down (narrow, for phones).
//!
//! Time is not to scale: 30 s and 1 ns must both be legible. What happens at one instant is one shaded column, in which
//! events stand in their order; between two columns time passes. All coordinates are whole numbers, all widths those of a
//! monospaced font, so a label either fits where it stands or is not drawn: its text is in the tip and in the table.

mod axis;
mod bytes;
mod labels;
mod legend;
mod narrow;
mod scene;
mod thin;
mod wide;
mod words;

use super::trim::{Picture, Trim};
use crate::html::text::plain;
use crate::markdown::counted;
use crate::{ActorLane, Lanes, Postmortem};
use maud::{Markup, html};
use scene::Scene;

/// Width of a character of the font of labels, in thousandths of a pixel at 11 px, rounded up.
pub(super) const CHAR_MILLI: i32 = 6_700;

/// The width of a text in a label.
pub(super) fn width_of(text: &str) -> i32 {
    let milli: i32 = text
        .chars()
        .map(|c| if c.is_ascii() { CHAR_MILLI } else { wide_char(c) })
        .sum();
    (milli + 999) / 1_000
}

/// What is not ASCII may come from another font: signs of ours are as wide as letters, anything else may be twice as wide.
fn wide_char(c: char) -> i32 {
    if "−–…→←µ×✓✗⚡⏎".contains(c) {
        CHAR_MILLI * 13 / 10
    } else {
        CHAR_MILLI * 2
    }
}

/// A label: visible characters only, and none whose width nobody can know.
pub(super) fn label(text: &str) -> String {
    let known = |c: char| {
        c.is_ascii() || "−–…→←µ×✓✗⚡⏎".contains(c) || (c.is_alphanumeric() && u32::from(c) < 0xac00)
    };
    plain(text)
        .chars()
        .map(|c| if known(c) { c } else { '�' })
        .collect::<String>()
        .replace('�', "?")
}

/// At most that many pixels of a text, with `…` where it is cut; nothing where not even three characters fit.
pub(super) fn fit(text: &str, width: i32) -> Option<String> {
    if width_of(text) <= width {
        return Some(text.to_owned());
    }
    let mut short = String::new();
    for c in text.chars() {
        let mut longer = short.clone();
        longer.push(c);
        if width_of(&longer) + width_of("…") > width {
            break;
        }
        short = longer;
    }
    (short.chars().count() >= 3).then(|| format!("{}…", short.trim_end()))
}

/// Both lanes of time with their legend.
pub(super) fn section(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let lanes = &postmortem.lanes;
    let planned = postmortem.injected.planned.as_str();
    match trim.picture {
        Picture::Whole => {
            let at = if trim.rows.is_some() {
                "the JSON next to this page has them"
            } else {
                "the tables have them"
            };
            drawn(lanes, planned, at, &html! {})
        }
        Picture::Near(most) => {
            let thin = thin::thin(lanes, most);
            let (left_out, all) = (thin.all - thin.shown, thin.all);
            let note = html! {
                @if left_out > 0 {
                    " The run is long: " b { (left_out) " of " (all) " operations, messages, transfers, owners and accesses are \
                     not drawn" } ", only those that failed and those nearest to the fault are. The JSON next to this page has all of them."
                }
            };
            drawn(&thin.lanes, planned, "the JSON next to this page has them", &note)
        }
        Picture::Nothing => left_out(lanes),
    }
}

/// `at`: where marks are that have no room. `note`: what else is not drawn.
fn drawn(lanes: &Lanes, planned: &str, at: &str, note: &Markup) -> Markup {
    let scene = Scene::new(lanes);
    html! {
        @if !scene.slots.is_empty() {
            section class="lanes" aria-labelledby="lanes-h" {
                h2 id="lanes-h" { "Two lanes of time" }
                p class="soft small" {
                    "Actors above, bytes below. A shaded column is one instant, and inside it events stand in their order; the \
                     distance between columns is not to scale. Every mark leads to its event"
                    @if scene.left_out > 0 { " (" (scene.left_out) " small marks are left out; " (at) ")" }
                    "." (note)
                }
                figure class="chart" {
                    div class="wide" tabindex="0" role="group" aria-label="Actors and bytes over time; the tables below say the same in words" {
                        (wide::draw(lanes, planned, &scene))
                    }
                    div class="narrow" role="group" aria-label="Actors and bytes over time; the tables below say the same in words" {
                        (narrow::draw(lanes, planned, &scene))
                    }
                    figcaption { (legend::legend()) }
                }
            }
        }
    }
}

/// What the picture would show, where there is no room for it.
fn left_out(lanes: &Lanes) -> Markup {
    let count = |of: fn(&ActorLane) -> usize| lanes.actors.iter().map(of).sum();
    let owners = lanes.places.iter().map(|place| place.epochs.len()).sum();
    html! {
        section class="lanes" aria-labelledby="lanes-h" {
            h2 id="lanes-h" { "Two lanes of time" }
            p class="soft small" {
                "The picture is left out, so that the page stays small enough to forward. It would show "
                (counted(count(|lane| lane.operations.len()), "operation")) ", "
                (counted(count(|lane| lane.messages.len()), "message")) ", "
                (counted(count(|lane| lane.transfers.len()), "transfer")) " and "
                (counted(owners, "owner")) " of bytes; the JSON next to this page has them."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_cut_to_fit() {
        assert_eq!(fit("p1 put k", 60).as_deref(), Some("p1 put k"));
        assert_eq!(fit("p1 put k 4 MiB", 60).as_deref(), Some("p1 put…"));
        assert_eq!(fit("p1 put k", 12), None);
        assert_eq!(label("a\u{fdfd}\nb"), "a?⏎b");
    }
}
