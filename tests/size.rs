//! The page of a long run on the model stays small enough to forward, says what it leaves out, and none of its links is dead.

use moonquake_faults::Profile;
use moonquake_report::{Postmortem, html::html};
use moonquake_scenario::RunOptions;
use moonquake_tests::judged;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const LIMIT: usize = 300_000;
const WHOLE: &str = "The Markdown and the JSON next to this page have";

/// A run of that many steps after the put. Each of `failing` expects what does not happen.
fn long(steps: usize, failing: &[usize]) -> Postmortem {
    let mut text = String::from(
        "schema = 1\nid = \"q/long\"\ntitle = \"long\"\nwhy = \"long\"\n[world]\nsegments = { n1 = \"16MiB\" }\n\
         clients = [\"w1\"]\n[fault]\ndimension = \"misuse\"\ntarget = \"w1\"\nstep = \"x\"\n[timeline]\nsteps = [\n\
         { id = \"x\", who = \"w1\", do = \"put\", key = \"k\", size = \"1MiB\", expect = \"ok\" },\n",
    );
    for step in 2..=steps {
        let expect = !failing.contains(&step);
        let _ = writeln!(text, "{{who=\"w1\",do=\"exist\",key=\"k\",expect=\"{expect}\"}},");
    }
    text += "]\n[report]\nexpected = \"e\"\nrepair = \"r\"\n[[verdict]]\nis = \"holds\"\n";
    let plan = moonquake_scenario::parse::from_str("long.scenario.toml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{}", errors.plain()));
    let (evidence, judgement) = judged(&plan, &RunOptions::new(Profile::Upstream));
    Postmortem::new(&plan, &evidence, &judgement, "moonquake run").expect("a postmortem")
}

fn all<'a>(page: &'a str, before: &str) -> BTreeSet<&'a str> {
    page.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

/// The page, after what every page must be.
fn checked(postmortem: &Postmortem) -> String {
    let page = html(postmortem);
    assert!(page.len() < LIMIT, "{} bytes", page.len());
    let (targets, links) = (all(&page, " id=\""), all(&page, "href=\"#"));
    let dead: Vec<_> = links.difference(&targets).collect();
    assert!(links.len() > 3 && dead.is_empty(), "{dead:?}");
    page
}

#[test]
fn model_a_short_run_leaves_nothing_out() {
    let page = checked(&long(100, &[]));
    assert!(!page.contains("The Markdown and the JSON") && !page.contains("The run is long"));
}

#[test]
fn model_rows_go_first_and_the_picture_stays() {
    let page = checked(&long(300, &[]));
    assert!(page.contains(WHOLE) && page.contains(" rows left out"));
    assert!(page.contains("<div class=\"wide\"") && page.contains(">step 100<"));
    assert!(!page.contains("The picture is left out"));
}

#[test]
fn model_a_failure_in_the_middle_of_a_long_run_is_shown() {
    for steps in [300, 4_000] {
        let postmortem = long(steps, &[steps / 2]);
        let page = checked(&postmortem);
        let name = format!("step {}", steps / 2);
        assert!(page.contains(WHOLE), "{steps}");
        assert!(page.contains(&format!("of {} rows</b>", postmortem.timeline.len())));
        assert!(page.contains(&format!("✗ {name}</span>")), "{steps}: no row");
        assert!(page.contains("✗ failed</span>"), "{steps}: no expectation");
        let failed = postmortem.timeline.iter().find(|row| !row.fails.is_empty());
        let id = failed.and_then(|row| row.events.first()).expect("a failure");
        assert!(page.contains(&format!("<td class=\"ids\"><i id=\"{id}\"></i>{id}</td>")));
    }
}
