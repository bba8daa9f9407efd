//! Text of users and peers stays what it is, where it is.

use crate::reader::{Page, read};
use crate::support::cases::{self, Case};
use moonquake_evidence::{Evidence, Kind};
use moonquake_judge::{Cited, Touched};
use moonquake_report::html::html;
use moonquake_report::{Postmortem, json, json_run, markdown, summary_line};
use proptest::prelude::*;

const HOSTILE: [&str; 16] = [
    "a|b",
    "a\nb\n\n# c\n| d | e |",
    "<script>alert(1)</script>",
    "<!-- x",
    "</a><img src=x onerror=y>",
    "`|`",
    "``` x",
    "[x](https://example.org)",
    "![x](y)",
    "**b** _i_ ~~s~~ *x",
    "\\|\\",
    "&lt;b&gt; &#124;",
    "---",
    "1. x",
    "\u{202e}\0\u{7}",
    "@everyone $x$ <https://example.org>",
];

/// The case `touched` with `text` in the place of everything that somebody else words.
fn worded(text: &str) -> Case {
    let (mut plan, mut evidence, mut judgement) = cases::touched();
    plan.title = text.into();
    plan.why = text.into();
    plan.see = vec![text.into()];
    plan.report.expected = text.into();
    plan.report.repair = text.into();
    for step in &mut plan.steps {
        step.text = text.into();
    }
    evidence.baseline.versions.insert("x".into(), text.into());
    evidence.baseline.configuration.insert("x".into(), text.into());
    for event in &mut evidence.events {
        reword(&mut event.kind, text);
    }
    for finding in judgement.expectations.iter_mut().chain(&mut judgement.invariants) {
        finding.expected = text.into();
        finding.actual = again(&finding.actual, text);
    }
    for seen in &mut judgement.proof.seen {
        *seen = again(seen, text);
    }
    for name in &mut judgement.buffer.names {
        name.since = again(&name.since, text);
        name.answer = Touched::CouldNotSee {
            kinds: vec![text.into()],
            witness: again(&name.since, text),
        };
    }
    for failure in &mut judgement.buffer.failures {
        *failure = again(failure, text);
    }
    if let Some(claim) = &mut judgement.claim {
        claim.because = Some(text.into());
    }
    (plan, evidence, judgement)
}

fn again(cited: &Cited, text: &str) -> Cited {
    Cited::new(text, cited.ids()[0]).and_all(cited.ids().iter().copied())
}

fn reword(kind: &mut Kind, text: &str) {
    match kind {
        Kind::StepBegan { text: words } | Kind::Note { text: words } => *words = text.into(),
        Kind::StepEnded { outcome, note, .. } => {
            *outcome = text.into();
            *note = Some(text.into());
        }
        Kind::Frame { key: Some(key), .. } => *key = text.into(),
        Kind::TransferClosed { how, .. } => *how = text.into(),
        Kind::Actor { detail, .. } => *detail = text.into(),
        Kind::Bound { name, .. } => *name = text.into(),
        _ => {}
    }
}

fn pages(text: &str) -> (Page, Page) {
    let (plan, evidence, judgement) = worded(text);
    let full = Postmortem::new(&plan, &evidence, &judgement, text).unwrap();
    let projected = Postmortem::projected(&plan, &evidence, &judgement, text).unwrap();
    let page = html(&full);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img") && !page.contains("javascript:\""));
    // The page has bold words of its own, and any text may follow there.
    assert!(!text.contains("<b>b") || !page.contains("<b>b"));
    let terminal = summary_line(&full);
    assert!(!terminal.chars().any(char::is_control), "{terminal:?}");
    assert!(serde_json::from_str::<serde_json::Value>(&json(&full)).is_ok());
    assert!(!json_run(&full).contains('\n'));
    (read(&markdown(&full)), read(&markdown(&projected)))
}

/// The same page with a harmless word everywhere.
fn assert_same_shape(page: &Page, harmless: &Page) {
    assert_eq!(page.shape, harmless.shape);
    assert_eq!(page.headings, harmless.headings);
    let columns = |page: &Page| -> Vec<Vec<usize>> {
        let rows = |table: &Vec<Vec<String>>| table.iter().map(Vec::len).collect();
        page.tables.iter().map(rows).collect()
    };
    assert_eq!(columns(page), columns(harmless));
    let internal = |page: &Page| -> Vec<String> {
        page.links
            .iter()
            .filter(|link| link.starts_with('#'))
            .cloned()
            .collect()
    };
    assert_eq!(internal(page), internal(harmless));
    assert_eq!(page.links.len(), harmless.links.len());
    for html in &page.html {
        let ours = ["<br>", "</a>", "<code>", "</code>"].contains(&html.as_str())
            || (html.starts_with("<a id=\"e") && html.ends_with("\">"));
        assert!(ours, "{html:?}");
    }
}

#[test]
fn hostile_text_stays_in_its_cell() {
    let (harmless, harmless_projected) = pages("word");
    for text in HOSTILE
        .iter()
        .map(|text| (*text).to_owned())
        .chain(["k".repeat(100_000)])
    {
        let (full, projected) = pages(&text);
        assert_same_shape(&full, &harmless);
        assert_same_shape(&projected, &harmless_projected);
    }
}

#[test]
fn hostile_text_is_shown_as_it_is() {
    for text in [
        "a|b",
        "<script>alert(1)</script>",
        "`|`",
        "[x](y) **b** _i_ ~~s~~",
        "\\|\\",
        "&lt; &#124;",
        "$x$ @you",
    ] {
        let (page, _) = pages(text);
        let what_happened = &page.tables[1][1];
        assert_eq!(what_happened[1], text);
        assert_eq!(what_happened[3], text);
        let expectations = &page.tables[2][1];
        assert_eq!((expectations[2].as_str(), expectations[3].as_str()), (text, text));
    }
}

#[test]
fn a_very_long_key_is_cut_and_says_so() {
    let (page, _) = pages(&"k".repeat(100_000));
    let longest = page.tables.iter().flatten().flatten().map(String::len).max();
    assert!(longest < Some(10_000), "{longest:?}");
    assert!(page.tables[2][1][2].ends_with("… (+99760 characters)"));
}

#[test]
fn links_go_where_the_scenario_points_and_nowhere_else() {
    let mut case = cases::holds();
    case.0.see = [
        "kvcache-ai/Mooncake#1",
        "https://example.org/a?b=1&c=2#d",
        "javascript:alert(1)",
        "a/b#c",
        "https://a\"b",
    ]
    .map(Into::into)
    .to_vec();
    let page = read(&markdown(&crate::support::postmortem(&case)));
    let outward: Vec<&str> = page
        .links
        .iter()
        .map(String::as_str)
        .filter(|link| !link.starts_with('#'))
        .collect();
    assert_eq!(
        outward,
        [
            "https://github.com/kvcache-ai/Mooncake/issues/1",
            "https://example.org/a?b=1&c=2#d"
        ]
    );
}

#[test]
fn an_empty_record_has_a_postmortem_too() {
    let (plan, _, mut judgement) = cases::not_reproduced();
    judgement.proof.missing.clear();
    judgement.invariants.clear();
    let postmortem = Postmortem::new(&plan, &Evidence::default(), &judgement, "").unwrap();
    assert!(markdown(&postmortem).contains("Nothing is proven: there is no evidence."));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_safe(text in "\\PC*|[ -~\\n\\t]{0,60}|[|`<>\\\\\\[\\]()*_~#&!-]{0,12}|.{0,40}") {
        let (harmless, harmless_projected) = pages("word");
        // Without a letter or digit there is no word, and an empty column says so.
        prop_assume!(text.chars().any(|c| !c.is_whitespace()));
        let (full, projected) = pages(&text);
        assert_same_shape(&full, &harmless);
        assert_same_shape(&projected, &harmless_projected);
    }
}
