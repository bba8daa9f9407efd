//! `moonquake diff`.

use crate::support::{Place, Said, good, workspace};

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
