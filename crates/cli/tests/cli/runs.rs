//! `moonquake run`: verdicts, exit codes, output and postmortems.

use crate::support::{Place, RESPONSE, Said, bad, good, story, unreached};
use std::process::Stdio;

fn last_line(said: &Said) -> &str {
    said.out.lines().last().unwrap()
}

#[test]
fn cli_a_verdict_as_its_file_says_exits_0_and_leaves_a_postmortem() {
    let place = Place::new();
    place.file("good.scenario.toml", good("one/good"));
    place
        .moonquake(&["run", "good.scenario.toml"])
        .exits(0)
        .says("ok    holds           one/good  model   upstream  as the file says\n")
        .says("1 scenario, 1 run: 1 as the file says\n");
    let names: Vec<_> = place
        .contents("moonquake-runs")
        .into_iter()
        .map(|(path, _)| path.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "index.html",
            "one.good.model.upstream.html",
            "one.good.model.upstream.json",
            "one.good.model.upstream.md",
            "one.good.model.upstream.record.json",
            "record.md"
        ]
    );
}

#[test]
fn cli_a_violation_that_the_file_names_exits_0() {
    let place = Place::new();
    let verdict = "is = \"violated\"\nbecause = \"a wrong expectation\"\nviolates = [\"g1\"]";
    let text = story("violated", RESPONSE, "OBJECT_NOT_FOUND", verdict);
    place.file("a.scenario.toml", text);
    place
        .moonquake(&["run", "a.scenario.toml"])
        .exits(0)
        .says("violated")
        .says("as the file says: g1");
}

#[test]
fn cli_a_violation_exits_1_and_ends_in_a_command_that_brings_it_back() {
    let place = Place::new();
    place.file("it is bad.scenario.toml", bad("bad"));
    let said = place
        .moonquake(&["run", "it is bad.scenario.toml", "--seed", "7", "--report", "out"])
        .exits(1)
        .says("BAD   violated")
        .says("- the file says holds, and the verdict is violated")
        .says("postmortem: out/bad.model.upstream.seed-7.md")
        .says("to look at: out/bad.model.upstream.seed-7.html")
        .says("to look at: out/index.html")
        .says("REPLICA_IS_NOT_READY");
    let replay = last_line(&said).trim();
    assert_eq!(
        replay,
        "moonquake run 'it is bad.scenario.toml' --engine model --profile upstream --seed 7"
    );
    let first = place.contents("out");
    // The command is for a shell, so a shell runs it.
    let shell = format!("{} --report again", replay.replace("moonquake run", "\"$0\" run"));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &shell, env!("CARGO_BIN_EXE_moonquake")]);
    Said::of(command.current_dir(place.path()).output().unwrap()).exits(1);
    let bytes = |files: Vec<(_, Vec<u8>)>| files.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>();
    assert_eq!(bytes(first), bytes(place.contents("again")));
}

#[test]
fn cli_an_injection_that_did_not_happen_exits_2() {
    let place = Place::new();
    place.file("a.scenario.toml", unreached("unreached"));
    let said = place
        .moonquake(&["run", "a.scenario.toml"])
        .exits(2)
        .says("BAD   not-reproduced");
    assert!(last_line(&said).contains("moonquake run a.scenario.toml"));
    // A violation says more than a missing injection.
    place.file("b.scenario.toml", bad("bad"));
    place
        .moonquake(&["run", "a.scenario.toml", "b.scenario.toml"])
        .exits(1);
}

#[test]
fn cli_a_profile_that_the_file_does_not_speak_of_is_no_success() {
    let place = Place::new();
    let verdict = "profile = \"upstream\"\nis = \"holds\"";
    place.file(
        "a.scenario.toml",
        story("a", RESPONSE, "REPLICA_IS_NOT_READY", verdict),
    );
    place.moonquake(&["run", "a.scenario.toml"]).exits(0);
    place
        .moonquake(&["run", "a.scenario.toml", "--profile", "strict"])
        .exits(1)
        .says("the file says nothing about this");
}

#[test]
fn cli_two_runs_write_the_same_bytes() {
    let place = Place::new();
    for (name, text) in [("a", good("x/a")), ("b", bad("x/b")), ("c", unreached("x/c"))] {
        place.file(&format!("scenarios/{name}.scenario.toml"), text);
    }
    let run = || {
        place
            .moonquake(&["run", "--profile", "upstream,strict", "--report", "out"])
            .exits(1)
    };
    let first = (run(), place.contents("out"));
    let second = (run(), place.contents("out"));
    assert_eq!(first.0.out, second.0.out);
    assert_eq!(first.0.err, second.0.err);
    assert_eq!(first.1, second.1);
    assert_eq!(first.1.len(), 6 * 4 + 2);
}

#[test]
fn cli_the_hash_of_the_suite_depends_on_what_happened() {
    let place = Place::new();
    let hash = |text: String| {
        place.file("a.scenario.toml", text);
        let said = place.moonquake(&["run", "a.scenario.toml"]);
        let line = said
            .out
            .lines()
            .find(|line| line.starts_with("evidence sha256: "));
        line.unwrap().to_owned()
    };
    let one = hash(good("a"));
    assert_eq!(hash(good("a")), one);
    assert_ne!(hash(good("a").replace("64KiB", "128KiB")), one);
}

#[test]
fn cli_json_is_one_object_with_everything() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("x/a"));
    place.file("scenarios/b.scenario.toml", bad("x/b"));
    let mut command = place.command(&["run", "--engine", "model,master", "--format", "json"]);
    command.env("MOONQUAKE_NO_REAL", "1");
    let said = Said::of(command.output().unwrap()).exits(1);
    let json = said.json();
    assert_eq!(json["summary"]["exit_code"], 1);
    assert_eq!(json["summary"]["as_claimed"], 1);
    assert_eq!(json["summary"]["violated"], 1);
    assert_eq!(json["runs"][0]["id"], "x/a");
    assert_eq!(json["runs"][0]["verdict"], "holds");
    assert_eq!(json["runs"][1]["claim_met"], false);
    assert_eq!(json["skipped"][0]["engine"], "master");
    assert_eq!(json["skipped"][0]["why"], "left out by MOONQUAKE_NO_REAL");
    let postmortem = json["runs"][1]["postmortem"]["json"].as_str().unwrap();
    let text = std::fs::read_to_string(place.path().join(postmortem)).unwrap();
    let postmortem: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(postmortem["verdict"], "violated");
    assert_eq!(postmortem["replay"], json["runs"][1]["replay"]);
}

#[test]
fn cli_an_engine_that_was_left_out_is_skipped_aloud() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    let mut command = place.command(&["run", "a.scenario.toml", "--engine", "master"]);
    command.env("MOONQUAKE_NO_REAL", "1");
    Said::of(command.output().unwrap())
        .exits(0)
        .says("skip  -               a  master  upstream  left out by MOONQUAKE_NO_REAL")
        .says("0 as the file says, 1 skipped")
        .says("nothing was run, so nothing is known");
}

#[test]
fn cli_a_missing_release_exits_69_with_the_cure_before_anything_is_run() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    let mut command = place.command(&["run", "a.scenario.toml", "--engine", "model,master"]);
    command.env("MOONQUAKE_RELEASE_DIR", place.path().join("nowhere"));
    let said = Said::of(command.output().unwrap())
        .exits(69)
        .complains("the engine master is not installed")
        .complains("python3 .config/fetch-release.py");
    assert_eq!(said.out, "");
    assert!(!place.path().join("moonquake-runs").exists());
    place
        .moonquake(&["run", "a.scenario.toml", "--engine", "rdma"])
        .exits(69)
        .complains("does not have it yet");
}

#[test]
fn cli_a_folder_that_cannot_be_written_exits_64_before_anything_is_run() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    place.file("taken", "a file");
    std::os::unix::fs::symlink("nowhere", place.path().join("dangling")).unwrap();
    let long = "x".repeat(300);
    for report in ["taken", "taken/below", "dangling", &long] {
        let said = place
            .moonquake(&["run", "a.scenario.toml", "--report", report])
            .exits(64)
            .complains("nothing was run")
            .complains("`--report DIR`");
        assert_eq!(said.out, "");
    }
    assert_eq!(std::fs::read(place.path().join("taken")).unwrap(), b"a file");
    assert!(!place.path().join("nowhere").exists());
}

#[test]
fn cli_a_postmortem_that_cannot_be_written_exits_70_after_the_verdicts() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    std::fs::create_dir_all(place.path().join("out/a.model.upstream.html")).unwrap();
    place
        .moonquake(&["run", "a.scenario.toml", "--report", "out"])
        .exits(70)
        .says("ok    holds")
        .says("1 of 1 could not be written")
        .complains("cannot be written")
        .complains("--report DIR");
}

#[test]
fn cli_a_reader_that_goes_away_stops_neither_the_runs_nor_their_postmortems() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("a"));
    place.file("scenarios/b.scenario.toml", bad("b"));
    for format in ["human", "json"] {
        let mut command = place.command(&["run", "--format", format]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let said = Said::of(child.wait_with_output().unwrap()).exits(1);
        assert_eq!(said.err, "");
        assert_eq!(place.contents("moonquake-runs").len(), 2 * 4 + 2);
        std::fs::remove_dir_all(place.path().join("moonquake-runs")).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn cli_output_to_a_full_disk_exits_70() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    for arguments in [["run", "a.scenario.toml"], ["check", "a.scenario.toml"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = place.command(&arguments);
        let output = command.stdout(full).output().unwrap();
        Said::of(output)
            .exits(70)
            .complains("standard output cannot be written");
    }
}

#[test]
fn cli_a_run_leaves_the_record_of_an_experiment() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("x/a"));
    place.file("scenarios/c.scenario.toml", unreached("x/c"));
    place.moonquake(&["run", "--report", "out"]).exits(2);
    let read = |name: &str| std::fs::read_to_string(place.path().join("out").join(name)).unwrap();
    let record: serde_json::Value = serde_json::from_str(&read("x.a.model.upstream.record.json")).unwrap();
    assert_eq!(record["status"], "complete");
    assert_eq!(record["path"], "scenarios/a.scenario.toml");
    assert_eq!(record["changed"]["dimension"], "crash");
    assert_eq!(record["changed"]["target"], "w1");
    assert_eq!(record["result"]["verdict"], "holds");
    assert_eq!(record["result"]["expected"], "Nobody sees k.");
    assert_eq!(record["result"]["not_reproduced"], serde_json::json!([]));
    assert!(!record["result"]["actual"].as_array().unwrap().is_empty());
    assert_eq!(record["machine"]["os"], std::env::consts::OS);
    let missing: serde_json::Value = serde_json::from_str(&read("x.c.model.upstream.record.json")).unwrap();
    assert!(!missing["result"]["not_reproduced"].as_array().unwrap().is_empty());
    let all = read("record.md");
    let reproduced = all.find("## Not reproduced").unwrap();
    assert!(all[reproduced..].contains("`x/c` on model"), "{all}");
    assert!(all[reproduced..].contains("missing: "), "{all}");
    assert!(!all[reproduced..].contains("`x/a`"), "{all}");
    assert!(all.contains("[x/a](x.a.model.upstream.md)"), "{all}");
    // Where it was run is nobody's business.
    let folder = place.path().display().to_string();
    assert!(!all.contains(&folder) && !record.to_string().contains(&folder));
}

/// Every key of an object and of the objects in it, but for names that come from scenarios.
fn keys(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                found.push(key.clone());
                if key != "buffer" {
                    keys(value, found);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn cli_every_field_of_the_json_is_in_the_help() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("x/a"));
    let mut command = place.command(&["run", "--engine", "model,master", "--format", "json"]);
    command.env("MOONQUAKE_NO_REAL", "1");
    let mut found = Vec::new();
    keys(&Said::of(command.output().unwrap()).exits(0).json(), &mut found);
    let diff = place
        .moonquake(&["diff", "x/a", "model", "model", "--format", "json"])
        .exits(0);
    let mut of_diff = Vec::new();
    keys(&diff.json(), &mut of_diff);
    for (command, keys) in [("run", found), ("diff", of_diff)] {
        let help = place.moonquake(&[command, "--help"]).exits(0).out;
        let words: Vec<&str> = help
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .collect();
        for key in keys {
            assert!(
                words.contains(&key.as_str()),
                "{command} --help does not tell of {key}"
            );
        }
    }
}
