//! `fmt` and `new`: what they write, and what they leave alone.

use crate::support::{Place, good};
use moonquake_faults::DIMENSIONS;

/// Out of form, with the same meaning.
fn sloppy(id: &str) -> String {
    good(id)
        .replace("segments = {", "segments={")
        .replace(", who", ",who")
}

#[test]
fn cli_fmt_rewrites_what_is_out_of_form_and_says_so() {
    let place = Place::new();
    let path = place.file("scenarios/a.scenario.toml", sloppy("x/a"));
    place.file("scenarios/b.scenario.toml", good("x/b").trim_start());
    place
        .moonquake(&["fmt", "--check"])
        .exits(1)
        .says("would change  scenarios/a.scenario.toml\n")
        .says("2 files: 1 would change\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), sloppy("x/a"));
    place
        .moonquake(&["fmt"])
        .exits(0)
        .says("formatted  scenarios/a.scenario.toml\n")
        .says("2 files: 1 changed\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), good("x/a").trim_start());
    place
        .moonquake(&["fmt", "--check", "x/a"])
        .exits(0)
        .says("1 file: nothing to change");
    let names: Vec<_> = place
        .contents("scenarios")
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn cli_fmt_leaves_what_is_no_scenario_alone_and_formats_the_rest() {
    let place = Place::new();
    let broken = "schema = 2\n[fault\n";
    let bad = place.file("scenarios/bad.scenario.toml", broken);
    let fine = place.file("scenarios/fine.scenario.toml", sloppy("x/a"));
    place
        .moonquake(&["fmt"])
        .exits(64)
        .says("2 files: 1 changed")
        .complains("scenarios/bad.scenario.toml")
        .complains("1 of 2 files cannot be understood")
        .complains("left as it is");
    assert_eq!(std::fs::read_to_string(&bad).unwrap(), broken);
    assert_eq!(std::fs::read_to_string(&fine).unwrap(), good("x/a").trim_start());
}

#[test]
fn cli_fmt_without_files_says_where_it_looked() {
    let place = Place::new();
    place
        .moonquake(&["fmt"])
        .exits(64)
        .complains("no folder `scenarios`");
    place
        .moonquake(&["fmt", "nowhere.scenario.toml"])
        .exits(64)
        .complains("no such file");
}

#[cfg(unix)]
#[test]
fn cli_fmt_does_not_replace_a_read_only_file() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.file("a.scenario.toml", sloppy("a"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    place
        .moonquake(&["fmt", "a.scenario.toml"])
        .exits(70)
        .complains("read-only");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), sloppy("a"));
}

#[test]
fn cli_new_writes_a_file_of_each_dimension_that_runs_and_is_in_form() {
    let place = Place::new();
    for row in DIMENSIONS {
        let id = format!("mine/{}", row.name);
        place
            .moonquake(&["new", &id, "--dimension", row.name])
            .exits(0)
            .says(&format!(
                "wrote mine-{}.scenario.toml, of dimension {}",
                row.name, row.name
            ));
    }
    place
        .moonquake(&["run", ".", "--profile", "upstream,strict"])
        .exits(0)
        .says("10 scenarios, 20 runs: 20 as the file says");
    place.moonquake(&["fmt", "--check", "."]).exits(0);
}

#[test]
fn cli_new_overwrites_nothing() {
    let place = Place::new();
    let path = place.file("mine.scenario.toml", "precious");
    place
        .moonquake(&["new", "mine"])
        .exits(64)
        .complains("is there already, and nothing was written");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "precious");
    place
        .moonquake(&["new", "mine", "--out", "deep/er/it.scenario.toml"])
        .exits(0);
    assert!(place.path().join("deep/er/it.scenario.toml").exists());
    place
        .moonquake(&["new", "mine", "--out", "-"])
        .exits(0)
        .says("id     = \"mine\"\n");
}

#[test]
fn cli_new_refuses_what_is_no_id() {
    let place = Place::new();
    for id in ["", "A", "a b", "a\"", "a/", "ä", "a\nb"] {
        place.moonquake(&["new", id]).exits(64).complains("is no id");
    }
    assert!(place.contents(".").is_empty());
}
