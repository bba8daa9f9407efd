//! What the READMEs show: the report is the one that the unmodified master gives, and both languages say the same.

use crate::held;
use libtest_mimic::Failed;
use moonquake_faults::Profile;
use moonquake_judge::judge;
use moonquake_report::html::html;
use moonquake_report::{Postmortem, markdown};
use moonquake_scenario::EngineKind;
use moonquake_tests::{plan_of, scenarios_folder};
use std::path::PathBuf;

const SCENARIO: &str = "clock/master-steps-forward-in-a-lease.scenario.toml";
const REPORT: &str = "fixtures/reports/clock-master-steps-forward";
const PAGES: [&str; 2] = ["README.md", "README.zh-CN.md"];
/// Tables that the laws write, and whose presence they check.
const GENERATED: [&str; 2] = ["scenarios/FIELD-CASES.md", "scenarios/MATRIX.md"];
/// Between these lines a README shows the four columns of the report.
const SHOWN: [&str; 2] = ["<!-- report -->\n", "<!-- /report -->"];

fn root() -> PathBuf {
    scenarios_folder().join("..")
}

fn read(name: &str) -> Result<String, Failed> {
    std::fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}").into())
}

/// The file holds this text. With `INSTA_UPDATE=always` it then does.
fn holds(name: &str, text: &str) -> Result<(), Failed> {
    if read(name).is_ok_and(|found| found == text) {
        return Ok(());
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        return Ok(std::fs::write(root().join(name), text)?);
    }
    Err(
        format!("{name} is out of date: renew it with `INSTA_UPDATE=always cargo nextest run real_readme`")
            .into(),
    )
}

/// The committed report is the one that the unmodified master gives, and the READMEs show its four columns.
pub(crate) fn report() -> Result<(), Failed> {
    let plan = plan_of(&scenarios_folder().join(SCENARIO));
    let replay = format!("moonquake run {} --engine master --profile upstream", plan.path);
    let evidence = held(&plan, EngineKind::Master, Profile::Upstream)?;
    let judgement = judge(&plan, &evidence, Profile::Upstream, EngineKind::Master);
    let fresh = Postmortem::new(&plan, &evidence, &judgement, &replay).map_err(|error| error.to_string())?;
    let text = markdown(&fresh);
    holds(&format!("{REPORT}.md"), &text)?;
    holds(&format!("{REPORT}.html"), &html(&fresh))?;
    let start = text
        .find("| Injected |")
        .ok_or("the report has no four columns")?;
    let columns = text[start..].split("\n\n").next().unwrap_or_default();
    let columns = columns.replace("](#", &format!("]({REPORT}.md#"));
    for page in PAGES {
        let found = read(page)?;
        let (before, rest) = found
            .split_once(SHOWN[0])
            .ok_or(format!("{page} shows no report"))?;
        let (_, after) = rest
            .split_once(SHOWN[1])
            .ok_or(format!("{page} does not end its report"))?;
        holds(
            page,
            &format!(
                "{before}{}\n{}\n\n{}{after}",
                SHOWN[0],
                columns.trim_end(),
                SHOWN[1]
            ),
        )?;
    }
    Ok(())
}

/// Both READMEs have the same code, headings, tables and links, and the links to files lead somewhere.
pub(crate) fn both() -> Result<(), Failed> {
    let [english, chinese] = [read(PAGES[0])?, read(PAGES[1])?];
    for (what, of) in [
        ("code blocks", code as fn(&str) -> Vec<String>),
        ("levels of headings", headings),
        ("widths of tables", tables),
        ("links", links),
    ] {
        let (one, other) = (of(&english), of(&chinese));
        if one != other {
            return Err(format!("the READMEs differ in their {what}:\n{one:#?}\n{other:#?}").into());
        }
    }
    for (page, other) in [(&english, PAGES[1]), (&chinese, PAGES[0])] {
        if !page.contains(&format!("]({other})")) {
            return Err(format!("no link to {other}").into());
        }
    }
    for link in links(&english) {
        let file = link.split('#').next().unwrap_or_default();
        let is_checked = !file.starts_with("https://") && !GENERATED.contains(&file);
        if is_checked && !root().join(file).exists() {
            return Err(format!("the link {link} leads nowhere").into());
        }
    }
    Ok(())
}

/// Every other part between fences is code.
fn code(page: &str) -> Vec<String> {
    page.split("```").skip(1).step_by(2).map(str::to_owned).collect()
}

/// The lines that are no code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    page.split("```").step_by(2).flat_map(str::lines)
}

fn headings(page: &str) -> Vec<String> {
    let marks = prose(page).filter(|line| line.starts_with('#'));
    marks
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect()
}

fn tables(page: &str) -> Vec<String> {
    let rows = prose(page).filter(|line| line.starts_with('|'));
    rows.map(|line| line.matches('|').count().to_string()).collect()
}

/// The targets of links in order, but for those to the other language.
fn links(page: &str) -> Vec<String> {
    let targets = prose(page).flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !PAGES.contains(target))
        .map(str::to_owned)
        .collect()
}
