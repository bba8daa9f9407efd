//! The house form changes no meaning, keeps every comment, and does not care how the white space was.

use moonquake_scenario::{FormatError, Plan, format, parse};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Every scenario of the repository, and the reference examples.
static FILES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    find(&package.join("../../scenarios"), &mut paths);
    find(&package.join("tests/data/examples"), &mut paths);
    paths.sort();
    assert!(paths.len() > 60, "only {} files", paths.len());
    let read = |path: &PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    paths.iter().map(read).collect()
});

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, found);
        } else if path.to_string_lossy().ends_with(".scenario.toml") {
            found.push(path);
        }
    }
}

/// What a text means, without the hash of its bytes.
fn meaning(text: &str) -> Plan {
    let mut plan = parse::from_str("x", text.as_bytes()).unwrap_or_else(|wrong| panic!("{}", wrong.plain()));
    plan.sha256 = String::new();
    plan
}

fn formatted(text: &str) -> String {
    format("x", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_scenarios_of_the_repository_are_in_the_house_form() {
    let mut wrong = Vec::new();
    for (path, text) in FILES.iter().filter(|(path, _)| path.contains("/scenarios/")) {
        if formatted(text) != *text {
            wrong.push(path.as_str());
        }
    }
    assert!(wrong.is_empty(), "run `moonquake fmt`: {wrong:#?}");
}

#[test]
fn every_file_means_the_same_afterwards_and_does_not_change_again() {
    for (path, text) in FILES.iter() {
        let once = formatted(text);
        assert_eq!(meaning(&once), meaning(text), "{path}");
        assert_eq!(formatted(&once), once, "{path}");
    }
}

/// A scenario with a timeline of these steps, and with what else there is to try.
fn around(top: &str, steps: &str) -> String {
    format!(
        r#"schema = 1
id = "a"
title = "t"
why = """
  One # no comment

two
"""
{top}
[world]
segments = {{ n1 = "16MiB" }}
clients = ["w1", "w2", "r1"]
[fault]
dimension = "crash"
target = "w1"
at = "client.put.start_response"
action = "kill"
[timeline]
steps = [{steps}]
[report]
expected = "e"
repair = "r"
[[verdict]]
is = "holds"
"#
    )
}

const P1: &str = r#"{ id = "p1", who = "w1", do = "put", key = "k", size = "4MiB", bind = "a1" }"#;

#[test]
fn comments_stay_where_they_were() {
    let text = around(
        "# above\n\n\n   # see\nsee=['https://example.com/#x']#behind",
        &format!(
            "# first\n\n # own\n{P1} # before the comma\n, # behind the comma\n\n\n#last\n{{at='fault',who='r1',do='get',key='k#'}}\n# end\n"
        ),
    );
    let text = format!("# head\n\n{text}# foot")
        .replace("[world]", "# of the world\n[ world ] # here")
        .replace(
            "[fault]",
            "# of the world, too\n\n# alone\n\n\n# of the fault\n[fault]",
        );
    insta::assert_snapshot!(formatted(&text));
}

#[test]
fn steps_stand_in_columns_down_their_instants() {
    let steps = [
        P1,
        r#"{ at = "fault", who = "r1", do = "get", key = "k" }"#,
        r#"{ check = "allocated", size = "4MiB" }"#,
        r#"{ at = "p1 + discard - 1ns", who = "w2", do = "put_start", key = "k", size = "1MiB" }"#,
        r#"{ at = "p1 + release", tick = "eviction" }"#,
        r#"{ who = "r1", do = "get", key = "k" }"#,
        r#"{ at = "p1 + release + 1ns", tick = "eviction" }"#,
        r#"{ id = "g1", at = "p1 + release + 2ns", who = "w2", do = "exist", key = "k" }"#,
    ];
    insta::assert_snapshot!(formatted(&around("", &steps.join(","))));
}

#[test]
fn tables_and_lists_of_every_kind_come_out() {
    let text = around("", P1)
        .replace(
            "segments = { n1 = \"16MiB\" }\n",
            "segments.n1 = '16MiB'\n\nchunk = \"1MiB\"\n",
        )
        .replace(
            "clients = [\"w1\", \"w2\", \"r1\"]",
            "clients = [\n  \"w1\",\n  \"w2\", # the other\n  \"r1\",\n]",
        )
        .replace("[fault]", "  [world . timeouts]\n\"discard\" = \"30s\"\n[fault]")
        .replace(
            "is = \"holds\"",
            "engine = [\"model\", \"master\", \"native\", \"hosted\", \"ffi\", \"rdma\", \"model\", \"model\", \"master\", \"master\", \"ffi\"]\nis='holds'",
        );
    insta::assert_snapshot!(formatted(&text));
}

#[test]
fn line_ends_of_other_systems_are_kept() {
    let text = FILES[0].1.replace('\n', "\r\n");
    let once = formatted(&text.replace(" = ", "="));
    assert_eq!(once, formatted(&FILES[0].1).replace('\n', "\r\n"));
    assert_eq!(meaning(&once), meaning(&text));
}

#[test]
fn what_is_no_scenario_is_refused_as_the_parser_does() {
    for text in ["", "schema = 2", "a = [", "[fault]\n[fault]"] {
        let Err(FormatError::Scenario(wrong)) = format("x", text.as_bytes()) else {
            panic!("{text:?} was formatted");
        };
        let parser = parse::from_str("x", text.as_bytes()).unwrap_err();
        assert_eq!(wrong.plain(), parser.plain());
    }
}

/// Where white space of a text may grow, shrink or hold a comment without a change of meaning: outside of texts.
fn respaced(text: &str, choices: &[u8]) -> String {
    let mut choice = choices.iter().cycle();
    let mut next = || *choice.next().unwrap_or(&0);
    let (mut out, mut quote, mut in_comment, mut depth) = (String::new(), None, false, 0_i32);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let long = ["\"\"\"", "'''"].into_iter().find(|mark| rest.starts_with(mark));
        let mark = long.unwrap_or(&rest[..c.len_utf8()]);
        rest = &rest[mark.len()..];
        out.push_str(mark);
        match (quote, in_comment) {
            (Some(open), _) => {
                if mark == "\\" {
                    let escaped = rest.chars().next().unwrap();
                    out.push(escaped);
                    rest = &rest[escaped.len_utf8()..];
                } else if mark == open {
                    quote = None;
                }
            }
            (None, true) => in_comment = c != '\n',
            (None, false) => match c {
                '"' | '\'' => quote = Some(mark),
                '#' => in_comment = true,
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                _ => {}
            },
        }
        if quote.is_none() && !in_comment {
            match (c, next() % 16) {
                (',' | '=', 0..=3) => out.push_str("   "),
                (' ', 0..=2) => out.push('\t'),
                ('\n', 0) => out.push('\n'),
                ('\n', 1) if depth == 0 => out.push_str("  "),
                ('\n', 2) => out.push_str("\t # a comment\n"),
                (',', 4) if depth == 1 => out.push_str(" # behind\n"),
                _ => {}
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn white_space_and_comments_change_no_meaning(index in 0..60_usize, choices in prop::collection::vec(any::<u8>(), 1..80)) {
        let (path, text) = &FILES[index % FILES.len()];
        let other = respaced(text, &choices);
        let once = formatted(&other);
        prop_assert_eq!(meaning(&once), meaning(text), "{}", path);
        prop_assert_eq!(formatted(&once), once);
    }

    /// Spaces within a line leave no trace at all.
    #[test]
    fn spaces_leave_no_trace(index in 0..60_usize, choices in prop::collection::vec(0..2_u8, 1..80)) {
        let (path, text) = &FILES[index % FILES.len()];
        // 3 adds spaces behind commas and equals signs, 15 changes nothing.
        let spaces: Vec<u8> = choices.iter().map(|choice| 3 + 12 * choice).collect();
        prop_assert_eq!(formatted(&respaced(text, &spaces)), formatted(text), "{}", path);
    }
}
