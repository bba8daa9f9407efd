//! The HTML form: one file that people forward to others.
//!
//! Nothing is fetched and nothing depends on a script. [`page()`] is the frame that every page of Moonquake shares, its
//! palette and the look of its tables included; [`html()`] is the postmortem in it.

mod baseline;
mod chart;
mod columns;
mod diff;
mod evidence;
mod index;
mod shell;
mod tables;
mod text;
mod top;
mod trim;

pub use diff::diff;
pub use index::{IndexOutcome, IndexRun, index};
pub use shell::page;
pub use text::{bytes, time};

use crate::Postmortem;
use evidence::Linked;
use maud::{Markup, html as markup};
use trim::{LIMIT, MAX_OWNERS_DRAWN, Picture, ROOM, Trim, linked};

/// The postmortem as one self-contained page of less than 300,000 bytes. Of a long run it leaves out what is looked for
/// least, and says so in its place.
pub fn html(postmortem: &Postmortem) -> String {
    let (_, _, word) = top::verdict_look(postmortem.verdict);
    let title = format!(
        "{word}: {} on {}, {}",
        postmortem.scenario.id, postmortem.run.engine, postmortem.run.profile
    );
    let owners: usize = postmortem
        .lanes
        .places
        .iter()
        .map(|place| place.epochs.len())
        .sum();
    let may_fit = |trim: &Trim| trim.picture != Picture::Whole || owners <= MAX_OWNERS_DRAWN;
    let steps = Trim::steps().map(|trim| (trim, ROOM));
    let all = std::iter::once((Trim::NOTHING, LIMIT - 1)).chain(steps);
    let mut made = String::new();
    for (trim, room) in all.filter(|(trim, _)| may_fit(trim)) {
        made = page(&title, &body(postmortem, &trim));
        if made.len() <= room {
            break;
        }
    }
    made
}

fn body(postmortem: &Postmortem, trim: &Trim) -> Markup {
    let answer = markup! {
        (top::top(postmortem, trim))
        (columns::four(postmortem, trim))
        h2 { "Proof, and the buffer" }
        div class="two" {
            (columns::proof(postmortem, trim))
            (columns::buffer(postmortem, trim))
        }
    };
    let picture = markup! {
        (chart::section(postmortem, trim))
        (tables::owners(postmortem, trim))
    };
    let expectations = tables::expectations(postmortem, trim);
    let before = markup! {
        (tables::invariants(postmortem, trim))
        h2 { "Before the fault" }
        div class="two" {
            (baseline::why(postmortem))
            (baseline::baseline(postmortem, trim))
        }
    };
    let cited = Linked {
        claims: [&answer, &before].into_iter().flat_map(linked).collect(),
        others: [&picture, &expectations].into_iter().flat_map(linked).collect(),
    };
    markup! {
        main id="main" {
            (answer)
            (picture)
            (expectations)
            (before)
            (evidence::evidence(postmortem, trim, &cited))
            (baseline::replay(postmortem))
        }
        footer {
            "Written by Moonquake " (env!("CARGO_PKG_VERSION")) ". Every claim on this page cites the events that show it; simulated times are never measured ones."
        }
    }
}
