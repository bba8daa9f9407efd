//! `fixtures/parted.toml`: where a scenario does not come out on an engine as its file says, and nobody has settled yet why.
//!
//! Such a test is listed as ignored, with the reason as its kind, and stands in `scenarios/ENGINES.md` as open. It is never counted as one
//! that passes; `moonquake run` runs it like any other.

use moonquake_scenario::EngineKind;
use serde::Deserialize;

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    scenario: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    engines: Vec<String>,
    why: String,
}

/// Why a scenario is open on an engine, if it is.
///
/// # Panics
/// When the list does not parse, or names an engine that there is not.
pub fn why(name: &str, engine: EngineKind) -> Option<String> {
    let list: List = crate::fixtures::read("parted.toml");
    let mut rows = list.scenario.into_iter().filter(|row| row.name == name);
    rows.find_map(|row| {
        let named = |word: &String| {
            let known = EngineKind::from_name(word);
            known.unwrap_or_else(|| panic!("fixtures/parted.toml: there is no engine {word}")) == engine
        };
        row.engines.iter().any(named).then_some(row.why)
    })
}

/// The scenarios of the list.
pub fn names() -> Vec<String> {
    let list: List = crate::fixtures::read("parted.toml");
    list.scenario.into_iter().map(|row| row.name).collect()
}
