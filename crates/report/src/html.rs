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

pub use diff::diff;
pub use index::{IndexOutcome, IndexRun, index};
pub use shell::page;
pub use text::{bytes, time};

use crate::Postmortem;
use maud::{Markup, html as markup};

/// The postmortem as one self-contained page.
pub fn html(postmortem: &Postmortem) -> String {
    let (_, _, word) = top::verdict_look(postmortem.verdict);
    let title = format!(
        "{word}: {} on {}, {}",
        postmortem.scenario.id, postmortem.run.engine, postmortem.run.profile
    );
    page(&title, &body(postmortem))
}

fn body(postmortem: &Postmortem) -> Markup {
    markup! {
        main id="main" {
            (top::top(postmortem))
            (columns::four(postmortem))
            h2 { "Proof, and the buffer" }
            div class="two" {
                (columns::proof(postmortem))
                (columns::buffer(postmortem))
            }
            (chart::section(postmortem))
            (tables::owners(postmortem))
            (tables::expectations(postmortem))
            (tables::invariants(postmortem))
            h2 { "Before the fault" }
            div class="two" {
                (baseline::why(postmortem))
                (baseline::baseline(postmortem))
            }
            (evidence::evidence(postmortem))
            (baseline::replay(postmortem))
        }
        footer {
            "Written by Moonquake " (env!("CARGO_PKG_VERSION")) ". Every claim on this page cites the events that show it; simulated times are never measured ones."
        }
    }
}
