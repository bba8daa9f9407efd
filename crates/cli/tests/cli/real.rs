//! The command line on the unmodified master.

use crate::leaving::signal;
use crate::support::{Place, Said, good};
use std::process::Stdio;

pub(crate) fn opted_out() -> bool {
    std::env::var_os("MOONQUAKE_NO_REAL").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Runs on both engines. Where the real ones are left out, that is what must come out, and there is no more to see.
fn on_both(place: &Place) -> Option<Said> {
    let mut command = place.command(&["run", "--engine", "model,master"]);
    if opted_out() {
        command.env("MOONQUAKE_NO_REAL", "1");
    }
    let said = Said::of(command.output().unwrap()).exits(0);
    if opted_out() {
        said.says("left out by MOONQUAKE_NO_REAL");
        return None;
    }
    Some(said)
}

#[test]
fn cli_real_two_engines_agree_and_two_runs_write_the_same_bytes() {
    let place = Place::new();
    place.file("scenarios/a.scenario.toml", good("one/a"));
    let Some(first) = on_both(&place) else { return };
    let files = place.contents("moonquake-runs");
    assert_eq!(files.len(), 2 * 4 + 2);
    let first = first
        .says("ok    holds           one/a  master  upstream  as the file says\n")
        .says("1 scenario, 2 runs: 2 as the file says\n");
    let second = on_both(&place).unwrap();
    assert_eq!(first.out, second.out);
    assert_eq!(files, place.contents("moonquake-runs"));
}

#[test]
fn cli_real_the_strict_profile_is_skipped_on_the_real_master() {
    let place = Place::new();
    place.file("a.scenario.toml", good("one/a"));
    let arguments = [
        "run",
        "a.scenario.toml",
        "--engine",
        "model,master",
        "--profile",
        "upstream,strict",
    ];
    let mut command = place.command(&arguments);
    if opted_out() {
        command.env("MOONQUAKE_NO_REAL", "1");
    }
    Said::of(command.output().unwrap())
        .exits(0)
        .says("ok    holds           one/a  model   strict    as the file says\n")
        .says("skip  -               one/a  master  strict    a real master has one profile, upstream\n");
}

#[test]
fn cli_real_diff_of_model_and_master_finds_none() {
    if opted_out() {
        return;
    }
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    place
        .moonquake(&["diff", "a.scenario.toml", "model", "master"])
        .exits(0)
        .says("model   profile upstream, holds")
        .says("master  profile upstream, holds")
        .says("The same in all ");
}

/// The four pairings of a client with a master.
#[test]
fn cli_real_diff_on_all_four_finds_none() {
    if opted_out() {
        return;
    }
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    place
        .moonquake(&["diff", "a.scenario.toml"])
        .exits(0)
        .says("Rust client  model   holds, as the file says  master  holds, as the file says\n")
        .says("real client  hosted  holds, as the file says  native  holds, as the file says\n")
        .says("model and master: the same in all ")
        .says("model and hosted: the same in all ")
        .says("model and native: the same in all ")
        .says("All four do the same.\n");
}

/// An engine without words for a scenario says so, and the others are compared.
#[test]
fn cli_real_diff_goes_on_without_an_engine_that_has_no_words() {
    if opted_out() {
        return;
    }
    let place = Place::new();
    place.file("a.scenario.toml", good("a").replace("16MiB", "8MiB"));
    let json = place
        .moonquake(&["diff", "a.scenario.toml", "--format", "json"])
        .exits(0)
        .json();
    let states: Vec<&str> = json["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["ran", "ran", "no-words", "no-words"]);
    assert_eq!(json["same"], true);
    assert_eq!(json["pairs"][0]["sides"][1]["name"], "master");
    assert!(
        json["cells"][2]["why"]
            .as_str()
            .unwrap()
            .contains("16 MiB at least")
    );
}

/// Random histories need no file; what is asked for on the command line comes out in words and as JSON.
#[test]
fn cli_real_random_histories_agree() {
    let place = Place::new();
    let mut command = place.command(&[
        "diff", "--random", "--ops", "2000", "--seed", "3", "--setup", "defaults",
    ]);
    if opted_out() {
        command.env("MOONQUAKE_NO_REAL", "1");
        Said::of(command.output().unwrap()).exits(69);
        return;
    }
    Said::of(command.output().unwrap())
        .exits(0)
        .says("seed 3: 2000 operations in ")
        .says(" 0 differences")
        .says("PutStart ");
    let json = place
        .moonquake(&[
            "diff", "--random", "--ops", "500", "--setup", "no-ttl", "--setup", "no-ttl", "--format", "json",
        ])
        .exits(0)
        .json();
    assert_eq!(json["same"], true);
    assert_eq!(json["operations"], 500);
    assert_eq!(json["setups"][0]["flags"]["client_ttl"], "0");
    assert_eq!(
        json["setups"].as_array().unwrap().len(),
        1,
        "named twice, run once"
    );
    assert!(!place.path().join("moonquake-diffs").exists(), "nothing parted");
}

/// The same history on both masters, from a file.
#[test]
fn cli_real_a_history_is_replayed() {
    let place = Place::new();
    let history = r#"{"setup":{"name":"defaults","flags":{}},"seed":null,"operations":[
        {"call":{"ExistKey":{"key":"k","tenant_id":"default"}}},{"tick":"eviction"},
        {"clock":{"realtime_ns":5,"monotonic_ns":5}}]}"#;
    place.file("a.history.json", history);
    let mut command = place.command(&["diff", "--replay", "a.history.json"]);
    if opted_out() {
        command.env("MOONQUAKE_NO_REAL", "1");
        Said::of(command.output().unwrap()).exits(69);
        return;
    }
    Said::of(command.output().unwrap())
        .exits(0)
        .says("3 operations, and both masters say the same");
    place.file("b.history.json", "{}");
    place
        .moonquake(&["diff", "--replay", "b.history.json"])
        .exits(64)
        .complains("b.history.json is no history");
    let flags = r#"{"setup":{"name":"mine","flags":{"client_tll":"1"}},"seed":null,"operations":[]}"#;
    place.file("c.history.json", flags);
    place
        .moonquake(&["diff", "--replay", "c.history.json"])
        .exits(64)
        .complains("c.history.json")
        .complains("setup.flags.client_tll: no flag")
        .complains("client_ttl");
    let flags = flags.replace(
        r#""client_tll":"1""#,
        r#""default_kv_lease_ttl":"18446744073709551615""#,
    );
    place.file("d.history.json", flags);
    let said = place
        .moonquake(&["diff", "--replay", "d.history.json"])
        .exits(64)
        .complains("d.history.json")
        .complains("setup.flags.default_kv_lease_ttl")
        .complains("too long a time");
    assert!(
        !said.err.contains("--out") && !said.err.contains("seed"),
        "{}",
        said.err
    );
}

/// A master that cannot be had is told, and nothing that would look like a comparison.
#[test]
fn cli_real_a_campaign_without_a_master_tells_the_error_alone() {
    if opted_out() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.path().join("empty")).unwrap();
    for (release, format) in [("nowhere", "human"), ("empty", "human"), ("nowhere", "json")] {
        let mut command = place.command(&["diff", "--random", "--ops", "10", "--format", format]);
        command.env("MOONQUAKE_RELEASE_DIR", place.path().join(release));
        let said = Said::of(command.output().unwrap())
            .exits(69)
            .complains("the engine master is not installed");
        assert_eq!(said.out, "");
    }
    assert!(!place.path().join("moonquake-diffs").exists());
}

/// A replay that is asked to end says how far it was and leaves no process and no folder behind.
#[test]
fn cli_real_a_replay_ends_on_request() {
    if opted_out() {
        return;
    }
    let place = Place::new();
    let read = r#"{"call":{"ExistKey":{"key":"k","tenant_id":"default"}}}"#;
    let reads = vec![read; 50_000].join(",");
    let history =
        format!(r#"{{"setup":{{"name":"defaults","flags":{{}}}},"seed":null,"operations":[{reads}]}}"#);
    place.file("a.history.json", history);
    let folders = place.path().join("temporary");
    std::fs::create_dir(&folders).unwrap();
    let count = || std::fs::read_dir(&folders).unwrap().count();
    let mut child = place
        .command(&["diff", "--replay", "a.history.json"])
        .env("TMPDIR", &folders)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who has made the folder of a master listens to signals already.
    while count() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    signal(&child, "-INT");
    Said::of(child.wait_with_output().unwrap())
        .exits(130)
        .says("stopped after ")
        .says("of 50000 operations; both masters say the same so far");
    assert_eq!(count(), 0, "the folder of the master is gone");
}

/// A comparison that is ended leaves no process and no folder of one.
#[test]
fn cli_real_a_diff_that_is_ended_leaves_nothing() {
    if opted_out() {
        return;
    }
    // So many calls that the end cannot come first.
    let calls = r#"{ who = "r1", do = "exist", key = "none", times = 90000, every = "1ms" },"#;
    let text = good("a").replacen("steps = [", &format!("steps = [\n  {calls}"), 1);
    let [two, all]: [&[&str]; 2] = [&["master", "model"], &[]];
    for (engines, name, code) in [(two, "-INT", 130), (two, "-TERM", 143), (all, "-INT", 130)] {
        let place = Place::new();
        place.file("a.scenario.toml", &text);
        let temporary = place.path().join("temporary");
        std::fs::create_dir(&temporary).unwrap();
        let mut child = place
            .command(&[&["diff", "a.scenario.toml"][..], engines].concat())
            .env("TMPDIR", &temporary)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let entries = || std::fs::read_dir(&temporary).unwrap().count();
        while entries() == 0 {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended before a master came: {ended:?}");
            std::thread::yield_now();
        }
        signal(&child, name);
        Said::of(child.wait_with_output().unwrap()).exits(code);
        assert_eq!(entries(), 0, "what the master had is gone");
    }
}
