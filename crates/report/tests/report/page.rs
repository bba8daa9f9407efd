//! The HTML form: the same to the byte, every claim a link that leads somewhere, and text of others stays text.

use crate::support::{cases, postmortem};
use moonquake_report::html::{html, page};
use std::collections::BTreeSet;

/// The body without style and script, one element a line, so that people can review it.
fn body(page: &str) -> String {
    let start = page.find("<main").unwrap_or(0);
    let end = page.find("<footer").unwrap_or(page.len());
    page[start..end].replace("><", ">\n<")
}

#[test]
fn a_violation() {
    insta::assert_snapshot!("violated.html", body(&html(&postmortem(&cases::violated()))));
}

#[test]
fn a_late_access() {
    insta::assert_snapshot!("touched.html", body(&html(&postmortem(&cases::touched()))));
}

#[test]
fn nothing_reproduced() {
    insta::assert_snapshot!(
        "not_reproduced.html",
        body(&html(&postmortem(&cases::not_reproduced())))
    );
}

/// A late access by an operation that had not failed is no reason for a green answer, in either form.
#[test]
fn a_late_access_by_others_is_named_in_every_answer() {
    let mut case = cases::touched();
    let name = &mut case.2.buffer.names[0];
    let moonquake_judge::Touched::Yes { touches } = name.answer.clone() else {
        panic!("the case is about a late access")
    };
    name.late_by_others = touches;
    name.answer = moonquake_judge::Touched::No {
        witness: name.since.clone(),
    };
    let postmortem = postmortem(&case);
    let page = html(&postmortem);
    assert!(!page.contains("✓ no<") && !page.contains("it was not touched"));
    assert_eq!(
        page.matches("✗ late, by others").count(),
        2,
        "the headline and the answer"
    );
    assert!(page.contains("late, by others</span> w1 writes bytes"));
    let text = moonquake_report::markdown(&postmortem);
    assert!(text.contains("**late, by others**: w1 writes"), "{text}");
    assert!(
        text.contains("no failed operation touched it, but others did so late"),
        "{text}"
    );
    let line = moonquake_report::json_run(&postmortem);
    assert!(line.contains(r#":"late-by-others"}"#), "{line}");
}

fn all<'a>(page: &'a str, before: &str) -> BTreeSet<&'a str> {
    page.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

#[test]
fn every_link_within_the_page_has_a_target_and_every_event_is_one() {
    for case in cases::all() {
        let page = html(&postmortem(&case));
        let targets = all(&page, " id=\"");
        let links = all(&page, "href=\"#");
        assert!(
            links.len() > 3 && links.is_subset(&targets),
            "{:?}",
            links.difference(&targets)
        );
        for event in &case.1.events {
            assert!(targets.contains(event.id.to_string().as_str()), "{}", event.id);
        }
    }
}

#[test]
fn the_page_is_a_function_of_the_postmortem() {
    for case in cases::all() {
        assert_eq!(html(&postmortem(&case)), html(&postmortem(&case)));
    }
}

#[test]
fn a_title_cannot_leave_its_place() {
    let page = page("</title><script>x</script>", &maud::html! { main id="main" {} });
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</title>").count(), 1);
}
