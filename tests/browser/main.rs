//! The HTML forms in a real browser: no script error, nothing fetched, no label on another at 1280 and at 400 pixels, in
//! light and dark, every link leads somewhere, and on paper everything is unfolded.

mod browser;

use browser::{Page, Seen, chromium, look};
use libtest_mimic::{Arguments, Failed, Trial};
use moonquake_faults::Profile;
use moonquake_report::Postmortem;
use moonquake_report::html::{IndexOutcome, IndexRun, html, index};
use moonquake_scenario::{Plan, RunOptions, What};
use moonquake_tests::{judged, plan_of, plans, scenarios_folder};
use std::process::ExitCode;

/// What a page may weigh, so that people can forward it.
const MAX_BYTES: usize = 300_000;

/// Short, long, violated, not reproduced, with every kind of place.
const LOOKED_AT: [&str; 7] = [
    "buffer/late-write-into-a-revoked-range",
    "clock/master-steps-forward-in-a-lease",
    "crash/idle-sweep-up-to-1200s",
    "crash/phase-never-reached",
    "crash/put-start-response",
    "liveness/owner-freezes-past-its-ttl",
    "race/stale-put-end-completes-the-retry",
];

fn main() -> ExitCode {
    let why = browser::opted_out(std::env::var_os("MOONQUAKE_NO_BROWSER").as_deref())
        .then(|| "MOONQUAKE_NO_BROWSER is set".to_owned());
    let browser = |name: &str, test: fn() -> Result<(), Failed>| {
        Trial::test(name, test)
            .with_ignored_flag(why.is_some())
            .with_kind(why.clone().unwrap_or_else(|| "browser".to_owned()))
    };
    let trials = vec![
        Trial::test("html::every_page_is_small_and_the_same_each_time", small).with_kind("model"),
        Trial::test("browser::what_is_wrong_with_a_browser_is_said", told).with_kind("model"),
        browser("browser::reports_are_in_order", in_order),
        browser("browser::what_is_planted_is_found", planted),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn postmortem(plan: &Plan, profile: Profile) -> Result<Postmortem, Failed> {
    let (evidence, judgement) = judged(plan, &RunOptions::new(profile));
    let replay = format!(
        "moonquake run {} --engine model --profile {}",
        plan.path,
        profile.name()
    );
    Ok(Postmortem::new(plan, &evidence, &judgement, &replay).map_err(|error| error.to_string())?)
}

/// Every scenario under both profiles; nothing depends on anything but plan and evidence.
fn small() -> Result<(), Failed> {
    let mut longest = (0, String::new());
    for plan in plans() {
        for profile in moonquake_tests::PROFILES {
            let postmortem = postmortem(&plan, profile)?;
            let page = html(&postmortem);
            if page.len() > MAX_BYTES {
                return Err(format!("{} under {} has {} bytes", plan.id, profile.name(), page.len()).into());
            }
            if page != html(&postmortem) {
                return Err(format!("{} under {} differs from itself", plan.id, profile.name()).into());
            }
            longest = longest.max((page.len(), plan.id.clone()));
        }
    }
    println!("the longest page has {} bytes: {}", longest.0, longest.1);
    Ok(())
}

/// The story of a dead writer, worded by somebody who means no good.
fn hostile() -> Plan {
    const TEXT: &str =
        "</title><script>nope()</script><img src=x onerror=nope()>&lt;\"' \u{202e}\u{fdfd}|`\n# x";
    let mut plan = plan_of(&scenarios_folder().join("crash/put-start-response.scenario.toml"));
    plan.title = format!("{TEXT} {}", "w".repeat(400));
    plan.why = TEXT.to_owned();
    plan.see = vec!["javascript:nope()".to_owned(), TEXT.to_owned()];
    plan.report.expected = format!("{} {TEXT}", "unbroken".repeat(60));
    plan.report.repair = TEXT.to_owned();
    for step in &mut plan.steps {
        step.text = format!("{} {TEXT}", step.text);
        if let What::Do(action) = &mut step.what {
            action.key = action.key.as_ref().map(|_| TEXT.to_owned());
        }
    }
    plan
}

fn in_order() -> Result<(), Failed> {
    let mut pages = Vec::new();
    let mut add = |name: &str, body: String| {
        for width in [1280, 400] {
            pages.push(Page {
                name: format!("{name} at {width}"),
                width,
                body: body.clone(),
            });
        }
    };
    for name in LOOKED_AT {
        let plan = plan_of(&scenarios_folder().join(format!("{name}.scenario.toml")));
        add(name, html(&postmortem(&plan, Profile::Upstream)?));
    }
    add("hostile", html(&postmortem(&hostile(), Profile::Upstream)?));
    add("index", index(&runs()));
    let seen = look(&chromium()?, &pages)?;
    if seen.frames != pages.len() || seen.texts < 500 || seen.links < 100 {
        return Err(format!("the browser did not look at everything: {seen:?}").into());
    }
    if seen.faults.is_empty() {
        return Ok(());
    }
    Err(seen.faults.join("\n").into())
}

fn runs() -> Vec<IndexRun> {
    let run = |id: &str, outcome: IndexOutcome| IndexRun {
        id: id.to_owned(),
        title: "A title of ordinary length that says what happens & <b>why</b>".to_owned(),
        dimension: "crash".to_owned(),
        engine: "model".to_owned(),
        profile: "upstream".to_owned(),
        outcome,
        file: Some(format!("{}.html", id.replace('/', "."))),
    };
    let judged = |verdict, is_met| IndexOutcome::Judged { verdict, is_met };
    use moonquake_scenario::Verdict::{Holds, NotReproduced, Violated};
    vec![
        run("crash/put-start-response", judged(Holds, true)),
        run(
            "buffer/late-write-into-a-revoked-range-with-a-very-long-name",
            judged(Violated, true),
        ),
        run("crash/phase-never-reached", judged(NotReproduced, false)),
        run("a/b", IndexOutcome::Skipped("no words for it".to_owned())),
        run(
            "a/c",
            IndexOutcome::Failed("the process did not start".to_owned()),
        ),
    ]
}

/// Only a value that says so leaves the tests out, and a browser that is none is told with a cure.
fn told() -> Result<(), Failed> {
    let out = |value: &str| browser::opted_out(Some(value.as_ref()));
    if browser::opted_out(None) || out("") || out("0") || !out("1") {
        return Err("MOONQUAKE_NO_BROWSER is taken for what it is not".into());
    }
    let pages = [Page {
        name: "a page".to_owned(),
        width: 400,
        body: String::new(),
    }];
    for path in ["/etc/passwd", "/bin/false"] {
        let error = look(path.as_ref(), &pages).err().unwrap_or_default();
        if !error.contains(path) || !error.contains("MOONQUAKE_BROWSER") {
            return Err(format!("{path}: {error}").into());
        }
    }
    Ok(())
}

/// The test of the test: each kind of fault, planted, is found.
fn planted() -> Result<(), Failed> {
    let page = |name: &str, body: &str| Page {
        name: name.to_owned(),
        width: 400,
        body: format!("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>x</title><body>{body}"),
    };
    let svg =
        "<svg width=200 height=40><text x=5 y=20>planted one</text><text x=20 y=24>planted two</text></svg>";
    let long = "<div style='width:900px'>x</div>";
    let pages = [
        page("sound", "<p>all is well <a href='#here'>x</a><i id=here></i></p>"),
        page("overlap", svg),
        page(
            "table",
            "<table><tr><td>one<td><span style='position:relative;left:-14px'>two</table>",
        ),
        page("error", "<p>x</p><script>nope()</script>"),
        page("wide", long),
        page("link", "<a href='#nowhere'>x</a>"),
        page("folded", "<details><summary>x</summary>y</details>"),
        page("foreign", "<img src='data:,' alt=''>"),
    ];
    let seen = look(&chromium()?, &pages)?;
    let found = |what: &str| seen.faults.iter().any(|fault| fault.contains(what));
    let wanted = [
        "overlap: light: overlap: 'planted one' and 'planted two'",
        "table: light: overlap",
        "nope is not defined",
        "wide: the page scrolls sideways",
        "link: link to nothing: #nowhere",
        "folded: on paper something stays folded",
        "foreign: something from outside",
    ];
    let missed: Vec<&str> = wanted.into_iter().filter(|what| !found(what)).collect();
    let Seen { faults, .. } = &seen;
    if !missed.is_empty() || faults.iter().any(|fault| fault.starts_with("sound")) {
        return Err(format!("not found: {missed:?}; found: {faults:#?}").into());
    }
    Ok(())
}
