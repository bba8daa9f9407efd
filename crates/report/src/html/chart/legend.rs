//! What the signs of the picture mean.

use super::wide::hatch;
use maud::{Markup, html};

pub(super) fn legend() -> Markup {
    let sign = |mark: Markup| html! { svg viewBox="0 0 26 14" aria-hidden="true" { (mark) } };
    html! {
        ul class="legend" aria-label="Legend" {
            li { (sign(html! { path class="fl" d="M13 0V14" {} path class="ff" d="M8 0h10l-5 8z" {} })) "the fault" }
            li { (sign(html! { path class="dl" d="M13 0V14" {} })) "a deadline" }
            li { (sign(html! { rect class="band" x="3" y="0" width="20" height="14" {} })) "one instant" }
            li { (sign(html! { rect class="op" x="2" y="2" width="22" height="10" rx="3" {} })) "an operation" }
            li { (sign(html! { rect class="op x" x="2" y="2" width="22" height="10" rx="3" {} })) "an expectation failed" }
            li { (sign(html! { path class="msg" d="M4 13L13 3" {} path class="tip" d="M13 2l-5 4l6 2z" {} })) "request or answer" }
            li { (sign(html! { path class="tr" d="M3 2V10H23" {} circle class="pt" cx="15" cy="10" r="3" {} })) "transfer, a part landed" }
            li { (sign(html! { path class="xx" d="M8 2l10 10m0 -10l-10 10" {} })) "killed or lost" }
            li { (sign(html! { path class="xx" d="M10 1v12m6 0v-12" {} })) "frozen" }
            li { (sign(html! { circle class="ff" cx="13" cy="7" r="4" {} })) "back, or its clock stepped" }
            li { (sign(html! { path class="ping" d="M2 7H24" {} })) "pings, nothing new" }
            li { (sign(html! { g class="o0" { rect class="ep u" x="2" y="2" width="22" height="10" {} } })) "owned, not readable" }
            li { (sign(html! { g class="o0" { rect class="ep" x="2" y="2" width="22" height="10" {} path class="ro" d="M3 1V13" {} } })) "readable from here" }
            li { (sign(html! { (hatch("hatch-l")) rect class="hq" fill="url(#hatch-l)" x="2" y="2" width="22" height="10" {} })) "nobody's, in quarantine" }
            li { (sign(html! { rect class="hf" fill="none" x="2" y="2" width="22" height="10" {} })) "nobody's, free" }
            li { (sign(html! { g class="o0" { rect class="w" x="10" y="1" width="6" height="12" {} } })) "write" }
            li { (sign(html! { g class="o0" { rect class="r" x="10" y="1" width="6" height="12" {} } })) "read" }
            li { (sign(html! { rect class="lw" x="10" y="6" width="6" height="8" {} path class="lw" d="M8 0h10l-5 5z" {} })) "late access" }
        }
    }
}
