//! The frame of every page: one file, nothing fetched, light and dark, readable with scripts off.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// What a page may do: show itself. It fetches nothing, sends nothing, and runs no script but its own, so text that came
/// in from a scenario or a peer stays text even where an escape would be forgotten.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    script-src 'sha256-z8MT0i4KM6z0FfzoPJPbTVTRrVJQiOBq4jhxKmtu8tI='; base-uri 'none'; form-action 'none'";

/// A whole page: head, style, the bar on top, `body`, and the small script that nothing depends on.
///
/// `body` brings its own `main` landmark (with the id `main`) and headings; the classes of `style.css` give it its look:
/// `box` around a `table`, `stack` on a table whose rows become cards on a phone (cells carry `data-h`), `card`, `badge`
/// and `tag` with `s-ok`, `s-bad`, `s-unk` or `s-na`.
pub fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                meta name="generator" content="Moonquake";
                title { (super::text::plain(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#main" { "To the content" }
                div class="wrap" {
                    header class="bar" {
                        span { b { "Moonquake" } " fault injection for Mooncake Store" }
                        button type="button" class="js noprint" data-theme-toggle="1" hidden { "Light / dark" }
                    }
                    (body)
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}
