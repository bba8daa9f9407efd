//! `check`, `explain`, `catalog`, `doctor`, and what the program says about itself.

use crate::support::{Place, Said, good};
use moonquake_faults::{PHASES, QUIRKS};
use moonquake_scenario::EngineKind;
use std::process::Stdio;

#[test]
fn cli_help_and_version_are_there() {
    let place = Place::new();
    place.moonquake(&["--version"]).exits(0).says("moonquake ");
    place
        .moonquake(&["--help"])
        .exits(0)
        .says("Exit codes: 0 as the files say");
    for command in ["run", "check", "diff", "explain", "fmt", "new", "policy", "serve"] {
        place.moonquake(&[command, "--help"]).exits(0).says("Examples:");
    }
    for command in ["catalog", "doctor"] {
        place.moonquake(&[command, "--help"]).exits(0).says("Usage: ");
    }
}

#[test]
fn cli_check_prints_the_schema() {
    let said = Place::new().moonquake(&["check", "--schema"]).exits(0);
    let schema = said.json();
    for table in ["world", "fault", "timeline", "verdict"] {
        assert!(schema["properties"].get(table).is_some(), "no {table}");
    }
}

#[test]
fn cli_explain_tells_a_scenario() {
    let place = Place::new();
    place.file("a.scenario.toml", good("one/a"));
    place
        .moonquake(&["explain", "a.scenario.toml"])
        .exits(0)
        .says("A writer dies")
        .says("client.put.start_response");
}

/// The catalogue's entries of a kind that no scenario reaches.
fn unreached(catalog: &serde_json::Value, kind: &str) -> Vec<String> {
    let entries = catalog[kind].as_array().unwrap().iter();
    let missing = entries.filter(|entry| entry["scenarios"].as_array().unwrap().is_empty());
    missing
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn cli_the_catalogue_says_what_no_scenario_reaches() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("one/a"));
    let catalog = place.moonquake(&["catalog", "--format", "json"]).exits(0).json();
    let names = PHASES.iter().map(|phase| phase.name);
    let others: Vec<_> = names
        .filter(|name| *name != "client.put.start_response")
        .collect();
    assert_eq!(unreached(&catalog, "phases"), others);
    assert_eq!(unreached(&catalog, "quirks").len(), QUIRKS.len());
    // Without a folder: the built-in ones, among which there is one for a stale PutEnd.
    let all = Place::new()
        .moonquake(&["catalog", "--format", "json"])
        .exits(0)
        .json();
    let missing = unreached(&all, "quirks");
    assert!(!missing.contains(&"stale-put-end".to_owned()), "{missing:?}");
    place
        .moonquake(&["catalog"])
        .exits(0)
        .says("   1  client.put.start_response")
        .says("Reached by no scenario");
}

#[test]
fn cli_the_doctor_lists_every_engine_with_a_cure() {
    let place = Place::new();
    let mut command = place.command(&["doctor"]);
    command.env("MOONQUAKE_RELEASE_DIR", place.path().join("nowhere"));
    let mut said = Said::of(command.output().unwrap())
        .exits(0)
        .says("  model   available      works: a small scenario holds")
        .says("  master  not installed")
        .says("python3 .config/fetch-release.py")
        .says("is blind to nothing")
        .says("  model regions                      seen/seen               seen/seen")
        .says("  socket log                         blind?/blind?           seen?/seen?")
        .says("  epoch canary                       tells the end state");
    for kind in EngineKind::ALL {
        said = said.says(&format!("  {:<7} ", kind.name()));
    }
    let mut command = place.command(&["doctor"]);
    command.env("MOONQUAKE_NO_REAL", "1");
    Said::of(command.output().unwrap())
        .exits(0)
        .says("  master  not here       left out by MOONQUAKE_NO_REAL");
}

#[test]
fn cli_a_reader_that_goes_away_is_no_fault() {
    let place = Place::new();
    for command in ["catalog", "doctor", "check"] {
        let mut command = place.command(&[command]);
        command.env("MOONQUAKE_NO_REAL", "1");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let said = Said::of(child.wait_with_output().unwrap()).exits(0);
        assert_eq!(said.err, "");
    }
}
