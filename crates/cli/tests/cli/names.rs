//! Names on the command line, and where scenarios are found.

use crate::support::{Place, good, workspace};
use std::path::Path;

fn three() -> Place {
    let place = Place::new();
    place.file("scenarios/one/a.scenario.toml", good("first/alpha"));
    place.file("scenarios/one/b.scenario.toml", good("first/alpha-two"));
    place.file("scenarios/two/c.scenario.toml", good("second/gamma"));
    place
}

/// The ids that `check` lists for these names.
fn ids(place: &Place, names: &[&str]) -> Vec<String> {
    let arguments: Vec<&str> = ["check"].iter().chain(names).copied().collect();
    let said = place.moonquake(&arguments).exits(0);
    let lines = said.out.lines().filter(|line| line.starts_with("ok  "));
    lines
        .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
        .collect()
}

#[test]
fn cli_names_select_by_id_part_pattern_path_folder_and_file() {
    let place = three();
    let all = ["first/alpha", "first/alpha-two", "second/gamma"];
    assert_eq!(ids(&place, &[]), all);
    assert_eq!(ids(&place, &["a"]), all);
    // An id is itself, although it is a part of another.
    assert_eq!(ids(&place, &["first/alpha"]), ["first/alpha"]);
    assert_eq!(ids(&place, &["alpha"]), ["first/alpha", "first/alpha-two"]);
    assert_eq!(ids(&place, &["*/alpha-*"]), ["first/alpha-two"]);
    assert_eq!(ids(&place, &["two/c"]), ["second/gamma"]);
    assert_eq!(
        ids(&place, &["scenarios/one"]),
        ["first/alpha", "first/alpha-two"]
    );
    assert_eq!(ids(&place, &["scenarios/two/c.scenario.toml"]), ["second/gamma"]);
    // Each scenario once, however often it is named.
    let twice = ["gamma", "./scenarios/two/c.scenario.toml", "first"];
    assert_eq!(
        ids(&place, &twice),
        ["second/gamma", "first/alpha", "first/alpha-two"]
    );
}

#[test]
fn cli_a_name_that_selects_nothing_exits_64_with_the_nearest() {
    let place = three();
    place
        .moonquake(&["run", "alpha", "gama"])
        .exits(64)
        .complains("no scenario is called \"gama\"")
        .complains("the nearest are second/gamma");
    place
        .moonquake(&["run", "missing.scenario.toml"])
        .exits(64)
        .complains("there is no such file either");
    place.moonquake(&["run", ""]).exits(64);
    assert!(!place.path().join("moonquake-runs").exists());
}

#[test]
fn cli_two_files_with_one_id_are_refused() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("same"));
    place.file("scenarios/b.scenario.toml", good("same"));
    place
        .moonquake(&["run"])
        .exits(64)
        .complains("scenarios/a.scenario.toml and scenarios/b.scenario.toml have the same id");
    place.moonquake(&["run", "a.scenario"]).exits(0);
}

#[test]
fn cli_the_folder_is_named_or_found_upwards_or_built_in() {
    let place = three();
    let below = place.path().join("deep/down");
    std::fs::create_dir_all(&below).unwrap();
    let mut command = place.command(&["check", "gamma"]);
    let output = command.current_dir(&below).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("../../scenarios/two/c.scenario.toml"), "{text}");

    place.file("elsewhere/d.scenario.toml", good("third/delta"));
    assert_eq!(ids(&place, &["--scenarios", "elsewhere"]), ["third/delta"]);
    std::fs::create_dir(place.path().join("empty")).unwrap();
    for folder in ["empty", "nowhere", "elsewhere/d.scenario.toml"] {
        place
            .moonquake(&["run", "--scenarios", folder])
            .exits(64)
            .complains(folder);
    }
}

#[test]
fn cli_the_built_in_scenarios_are_those_of_the_repository() {
    let mut kept = Vec::new();
    files(&workspace("scenarios"), "built-in:", &mut kept);
    kept.sort();
    assert!(!kept.is_empty());
    let said = Place::new().moonquake(&["check"]).exits(0);
    let lines = said.out.lines().filter(|line| line.starts_with("ok  "));
    let built_in: Vec<_> = lines
        .map(|line| line.split_whitespace().nth(2).unwrap().to_owned())
        .collect();
    assert_eq!(built_in, kept);
}

fn files(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), &format!("{prefix}{name}/"), found);
        } else if name.ends_with(".scenario.toml") {
            found.push(format!("{prefix}{name}"));
        }
    }
}

#[test]
fn cli_a_built_in_scenario_is_replayed_by_its_id() {
    let place = Place::new();
    let said = place
        .moonquake(&["run", "lease/remove-at-the-boundary", "--format", "json"])
        .exits(0);
    let json = said.json();
    let replay = json["runs"][0]["replay"].as_str().unwrap().to_owned();
    let arguments: Vec<&str> = replay.split(' ').skip(1).collect();
    place
        .moonquake(&arguments)
        .exits(0)
        .says("lease/remove-at-the-boundary");
}
