//! `scenarios/ENGINES.md`: every scenario on every engine.

use moonquake_faults::Profile;
use moonquake_model::ModelEngine;
use moonquake_native::{HostedEngine, MasterEngine, NativeEngine};
use moonquake_scenario::{Engine, EngineKind, Plan, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A column: an engine with a profile.
struct Column {
    head: &'static str,
    engine: EngineKind,
    profile: Profile,
    /// Why the engine has no words for a plan, on whatever platform.
    wordless: fn(&Plan) -> Option<String>,
}

fn on_model(plan: &Plan) -> Option<String> {
    ModelEngine.unsupported(plan)
}

const COLUMNS: [Column; 5] = [
    Column {
        head: "`model`, strict",
        engine: EngineKind::Model,
        profile: Profile::Strict,
        wordless: on_model,
    },
    Column {
        head: "`model`",
        engine: EngineKind::Model,
        profile: Profile::Upstream,
        wordless: on_model,
    },
    Column {
        head: "`master`",
        engine: EngineKind::Master,
        profile: Profile::Upstream,
        wordless: MasterEngine::wordless,
    },
    Column {
        head: "`hosted`",
        engine: EngineKind::Hosted,
        profile: Profile::Upstream,
        wordless: HostedEngine::wordless,
    },
    Column {
        head: "`native`",
        engine: EngineKind::Native,
        profile: Profile::Upstream,
        wordless: NativeEngine::wordless,
    },
];

/// What stands in a cell.
enum Cell {
    Claims(Verdict),
    NoWords(String),
    Nothing,
}

impl Column {
    fn cell(&self, plan: &Plan) -> Cell {
        match (self.wordless)(plan) {
            Some(why) => Cell::NoWords(why),
            None => plan
                .claim(self.profile, self.engine)
                .map_or(Cell::Nothing, |line| Cell::Claims(line.is)),
        }
    }
}

/// Scenarios that an engine has words for and that say nothing about what comes out there.
pub fn problems(plans: &BTreeMap<String, Plan>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, plan) in plans {
        for column in &COLUMNS {
            if matches!(column.cell(plan), Cell::Nothing) {
                let (engine, profile) = (column.engine, column.profile.name());
                problems.push(format!("{name} claims nothing for {engine} and {profile}"));
            }
        }
    }
    problems
}

/// The reasons in the order in which they are met, each with a number.
#[derive(Default)]
struct Reasons(Vec<String>);

impl Reasons {
    fn number(&mut self, why: String) -> usize {
        let index = self.0.iter().position(|one| *one == why).unwrap_or_else(|| {
            self.0.push(why);
            self.0.len() - 1
        });
        index + 1
    }
}

fn intro(count: usize) -> String {
    format!(
        "# Scenarios and engines\n\n\
         What comes out of each of the {count} scenarios on each engine: `holds`, **violated** or *not reproduced*.\n\n\
         | Engine | Client | Master |\n|---|---|---|\n\
         | `model` | Rust | Rust |\n\
         | `master` | Rust | unmodified |\n\
         | `hosted` | unmodified | Rust |\n\
         | `native` | unmodified | unmodified |\n\n\
         A verdict here is what the scenario file claims for that engine: the first of its `[[verdict]]` lines that fits. The\n\
         scenario tests (`tests/scenarios.rs`; scenario x engine = one test) run it there and hold what comes out to that\n\
         claim. `-` with a number: the engine has no words for the scenario, and the reason stands below. The profile is\n\
         `upstream`, which is the only one that an unmodified process has, but for the first column. One scenario on all four\n\
         engines, and where they part first: `moonquake diff FILE`.\n\n\
         Made by `tests/tables.rs`; renew with `{}`.\n",
        crate::kept::RENEW
    )
}

fn totals(plans: &BTreeMap<String, Plan>) -> String {
    let mut text =
        "\n## In numbers\n\n| | Holds | Violated | Not reproduced | No words |\n|---|--:|--:|--:|--:|\n"
            .to_owned();
    for column in &COLUMNS {
        let mut counts = [0; 4];
        for plan in plans.values() {
            match column.cell(plan) {
                Cell::Claims(Verdict::Holds) => counts[0] += 1,
                Cell::Claims(Verdict::Violated) => counts[1] += 1,
                Cell::Claims(Verdict::NotReproduced) => counts[2] += 1,
                Cell::NoWords(_) => counts[3] += 1,
                Cell::Nothing => {}
            }
        }
        let [holds, violated, not_reproduced, wordless] = counts;
        let _ = writeln!(
            text,
            "| {} | {holds} | {violated} | {not_reproduced} | {wordless} |",
            column.head
        );
    }
    text
}

/// The file. It is the same on every platform, whatever engines can be had there.
pub fn render(plans: &BTreeMap<String, Plan>) -> String {
    let mut text = intro(plans.len()) + &totals(plans) + "\n## Scenario by scenario\n\n| Scenario |";
    for column in &COLUMNS {
        let _ = write!(text, " {} |", column.head);
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(COLUMNS.len()));
    let mut reasons = Reasons::default();
    for (name, plan) in plans {
        let _ = write!(text, "| [{name}]({name}.scenario.toml) |");
        for column in &COLUMNS {
            let words = match column.cell(plan) {
                Cell::Claims(Verdict::Holds) => "holds".to_owned(),
                Cell::Claims(Verdict::Violated) => "**violated**".to_owned(),
                Cell::Claims(Verdict::NotReproduced) => "*not reproduced*".to_owned(),
                Cell::NoWords(why) => format!("- ({})", reasons.number(why)),
                Cell::Nothing => "claims nothing".to_owned(),
            };
            let _ = write!(text, " {words} |");
        }
        text.push('\n');
    }
    text += "\n## No words\n\n";
    for (index, why) in reasons.0.iter().enumerate() {
        let _ = writeln!(text, "{}. {why}", index + 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Reasons;

    #[test]
    fn a_reason_has_one_number() {
        let mut reasons = Reasons::default();
        let numbers = ["a", "b", "a"].map(|why| reasons.number(why.to_owned()));
        assert_eq!(numbers, [1, 2, 1]);
    }
}
