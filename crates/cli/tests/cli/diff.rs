//! `moonquake diff`.

use crate::support::{Place, Said, bad, good, workspace};

/// The scenario in which strict and upstream part.
fn parting() -> (Place, &'static str) {
    let place = Place::new();
    let text = std::fs::read(workspace(
        "scenarios/clock/master-steps-forward-in-a-lease.scenario.toml",
    ))
    .unwrap();
    place.file("part.scenario.toml", text);
    (place, "part.scenario.toml")
}

#[test]
fn cli_diff_of_equal_runs_exits_0_with_their_hash() {
    let place = Place::new();
    place.file("a.scenario.toml", good("a"));
    let said = place
        .moonquake(&["diff", "a.scenario.toml", "model", "model", "--html", "a.html"])
        .exits(0)
        .says("model (1)  profile upstream, holds (as the file says)")
        .says("The same in all ")
        .says("projection sha256: ");
    let hash = said.out.trim_end().rsplit(' ').next().unwrap();
    assert_eq!(hash.len(), 64);
    let page = std::fs::read_to_string(place.path().join("a.html")).unwrap();
    assert!(page.contains(hash));
    assert!(!page.contains("id=\"first\""));
}

#[test]
fn cli_diff_of_runs_that_part_exits_3_and_shows_where() {
    let (place, file) = parting();
    let said = place
        .moonquake(&["diff", file, "model:strict", "model:upstream", "--html", "d.html"])
        .exits(3)
        .says("model:strict    profile strict, holds (as the file says)")
        .says("They part at line 8 of 15 of what must be the same, at x1: w2 remove k")
        .says("step 3 (1): OBJECT_HAS_LEASE")
        .says("Remove(k) is handled: ok")
        .says("5 more lines differ behind it.");
    assert!(!said.out.contains('\u{1b}'), "colours belong on a terminal");
    let page = std::fs::read_to_string(place.path().join("d.html")).unwrap();
    assert_eq!(page.matches("id=\"first\"").count(), 1);
    // Every link within the page leads somewhere.
    for link in page.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap();
        assert!(
            page.contains(&format!("id=\"{target}\"")),
            "#{target} leads nowhere"
        );
    }
    let by_flag = ["diff", file, "model", "model", "--profile", "strict,upstream"];
    assert_eq!(place.moonquake(&by_flag).exits(3).out, said.out);
    let json = place
        .moonquake(&["diff", file, "model:strict", "model:upstream", "--format", "json"])
        .exits(3)
        .json();
    assert_eq!(json["same"], false);
    assert_eq!(json["first"], 7);
    assert_eq!(json["rows"][7]["lines"][0]["line"], 8);
    assert_eq!(json["sides"][1]["verdict"], "violated");
}

#[test]
fn cli_diff_refuses_what_it_cannot_compare() {
    let (place, file) = parting();
    let wrong: &[(&[&str], i32, &str)] = &[
        (&["diff", file, "model"], 64, "ENGINE"),
        (&["diff", file, "--html", "d.html"], 64, "name the two engines"),
        (&["diff", file, "--profile", "strict"], 64, "name two engines"),
        (&["diff", "crash/put"], 64, "selects several"),
        (&["diff", file, "modle", "model"], 64, "did you mean model?"),
        (
            &["diff", file, "model:stric", "model"],
            64,
            "did you mean strict?",
        ),
        (&["diff", file, "model", "master:strict"], 64, "upstream only"),
        (&["diff", "crash/put", "model", "model"], 64, "selects several"),
        (
            &["diff", "nothing-like-it", "model", "model"],
            64,
            "no scenario is called",
        ),
        (&["diff", file, "model", "rdma"], 69, "does not have it yet"),
        (
            &["diff", file, "model", "model", "--html", "no/such/folder.html"],
            70,
            "cannot be written",
        ),
    ];
    for (arguments, code, part) in wrong {
        place.moonquake(arguments).exits(*code).complains(part);
    }
    let mut command = place.command(&["diff", file, "model", "master"]);
    command.env("MOONQUAKE_NO_REAL", "1");
    Said::of(command.output().unwrap())
        .exits(69)
        .complains("MOONQUAKE_NO_REAL");
}

/// The four pairings of a client with a master where the real programs are left out.
fn square_without_real(place: &Place, arguments: &[&str]) -> Said {
    let mut command = place.command(&[&["diff"][..], arguments].concat());
    command.env("MOONQUAKE_NO_REAL", "1");
    Said::of(command.output().unwrap())
}

#[test]
fn cli_diff_without_engines_tells_each_of_the_four_in_its_place() {
    let place = Place::new();
    place.file("a.scenario.toml", good("one/a"));
    // Nothing was compared, so it does not end as if all were the same.
    let said = square_without_real(&place, &["a.scenario.toml"])
        .exits(69)
        .says("one/a: A writer dies\n")
        .says("model   holds, as the file says")
        .says("  native  left out by MOONQUAKE_NO_REAL\n")
        .says("Only one engine ran, so nothing was compared.\n");
    assert_eq!(said.err, "");
    let json = square_without_real(&place, &["a.scenario.toml", "--format", "json"])
        .exits(69)
        .json();
    assert!(json["same"].is_null());
    let cells = json["cells"].as_array().unwrap();
    let told: Vec<[&str; 4]> = cells
        .iter()
        .map(|cell| ["engine", "client", "master", "state"].map(|field| cell[field].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ["model", "rust", "rust", "ran"],
            ["master", "rust", "real", "not-here"],
            ["hosted", "real", "rust", "not-here"],
            ["native", "real", "real", "not-here"],
        ]
    );
    assert_eq!(cells[0]["run"]["verdict"], "holds");
    assert_eq!(cells[0]["run"]["claim_met"], true);
    assert!(cells[1]["run"].is_null());
    assert_eq!(json["pairs"].as_array().unwrap().len(), 0);
}

#[test]
fn cli_diff_without_engines_says_what_fails() {
    let place = Place::new();
    place.file("a.scenario.toml", bad("one/a"));
    square_without_real(&place, &["a.scenario.toml", "--seed", "7"])
        .exits(69)
        .says("model   violated, NOT as the file says")
        .says("  model   what fails: g1\n")
        .says("replay: moonquake run a.scenario.toml --engine model --profile upstream --seed 7\n");
}

/// What is missing is told in its place with its cure, and does not stop the others.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn cli_diff_without_engines_goes_on_where_one_is_not_installed() {
    let place = Place::new();
    place.file("a.scenario.toml", good("one/a"));
    let mut command = place.command(&["diff", "a.scenario.toml"]);
    command.env("MOONQUAKE_RELEASE_DIR", place.path().join("nowhere"));
    Said::of(command.output().unwrap())
        .exits(69)
        .says("model   holds, as the file says")
        .says("native  not installed")
        .says("fetch-release.py");
}
