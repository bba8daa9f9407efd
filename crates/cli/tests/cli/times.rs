//! A scenario run several times, and the long suite where it can be looked at without a real process.

use crate::support::{Place, RESPONSE, bad, good, story};

#[test]
fn cli_every_run_is_counted_and_one_postmortem_is_kept() {
    let place = Place::new();
    place.file("a.scenario.toml", good("one/a"));
    place
        .moonquake(&["run", "a.scenario.toml", "--times", "3"])
        .exits(0)
        .says("as the file says, 3 of 3\n")
        .says("each 3 times: 3 of 3 runs as the files say, with the same events\n");
    let names = place.contents("moonquake-runs");
    assert!(
        names
            .iter()
            .all(|(path, _)| !path.to_string_lossy().contains("run-")),
        "{names:?}"
    );
    assert_eq!(names.len(), 4 + 2);
}

#[test]
fn cli_runs_that_are_not_as_the_file_says_are_counted_and_kept() {
    let place = Place::new();
    place.file("a.scenario.toml", good("one/a"));
    place.file("b.scenario.toml", bad("one/b"));
    let said = place
        .moonquake(&["run", ".", "--times", "3", "--format", "json"])
        .exits(1);
    let json = said.json();
    assert_eq!(json["times"], 3);
    let runs = json["runs"].as_array().unwrap();
    let of = |number: usize, field: &str| runs[number][field].clone();
    assert_eq!(
        (of(0, "times"), of(0, "done"), of(0, "as_said")),
        (3.into(), 3.into(), 3.into())
    );
    assert_eq!(of(0, "differing"), serde_json::json!([]));
    assert_eq!(
        (of(1, "times"), of(1, "done"), of(1, "as_said")),
        (3.into(), 3.into(), 0.into())
    );
    assert_eq!(of(1, "differing"), serde_json::json!([1, 2, 3]));
    let summary = &json["summary"];
    assert_eq!((&summary["done"], &summary["as_said"]), (&6.into(), &3.into()));
    assert_eq!(summary["exit_code"], 1);
    let files = place.contents("moonquake-runs");
    let kept = |number: u32| {
        let part = format!("one.b.model.upstream.run-{number}.md");
        files.iter().any(|(path, _)| path.ends_with(&part))
    };
    assert!(kept(2) && kept(3));
}

#[test]
fn cli_one_run_is_told_as_ever_and_its_json_has_the_counts() {
    let place = Place::new();
    place.file(
        "a.scenario.toml",
        story("a", RESPONSE, "REPLICA_IS_NOT_READY", "is = \"holds\""),
    );
    let said = place
        .moonquake(&["run", "a.scenario.toml"])
        .exits(0)
        .says("as the file says\n");
    assert!(!said.out.contains(" of "), "{}", said.out);
    let json = place
        .moonquake(&["run", "a.scenario.toml", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(json["runs"][0]["as_said"], 1);
    assert_eq!(json["summary"]["as_said"], 1);
    assert_eq!(json["natural"], serde_json::json!([]));
    place
        .moonquake(&["run", "a.scenario.toml", "--times", "0"])
        .exits(64);
}

#[test]
fn cli_the_long_suite_takes_the_engines_and_times_that_are_named() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    // A filter that names no natural form leaves them out.
    place
        .moonquake(&[
            "run",
            "a.scenario.toml",
            "--long",
            "--engine",
            "model",
            "--times",
            "2",
        ])
        .exits(0)
        .says("as the file says, 2 of 2\n");
    place
        .moonquake(&["run", "a.scenario.toml", "--long", "--engine", "model"])
        .exits(0)
        .says("as the file says, 20 of 20\n");
    place.file("scenarios/a.scenario.toml", good("a"));
    place
        .moonquake(&["run", "natural/nothing", "--long", "--engine", "model"])
        .exits(64)
        .complains("natural/nothing");
}
