//! Whatever a file holds, reading it ends with a plan or with errors that can be shown, never with a panic.

use miette::{GraphicalReportHandler, GraphicalTheme};
use moonquake_scenario::{ScenarioErrors, explain, parse};
use proptest::prelude::*;
use std::sync::LazyLock;

static EXAMPLES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/examples");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect()
});

/// Shows the errors in both forms; a plan is told as a story.
fn read(text: &[u8]) -> Option<ScenarioErrors> {
    let errors = match parse::from_str("x.scenario.toml", text) {
        Ok(plan) => {
            assert!(!explain(&plan).is_empty());
            return None;
        }
        Err(errors) => errors,
    };
    assert!(!errors.problems.is_empty());
    let mut shown = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::none())
        .render_report(&mut shown, &errors)
        .unwrap();
    let longest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(longest < 2_000, "a line of {longest} characters");
    assert!(errors.plain().ends_with('\n'));
    Some(errors)
}

fn message(text: &[u8]) -> String {
    read(text).expect("this is no scenario").problems[0]
        .message
        .clone()
}

/// Editors on Windows put EF BB BF in front of UTF-8, or write UTF-16.
#[test]
fn a_mark_of_the_encoding_in_front_is_read_over_or_told() {
    let text = &EXAMPLES[0];
    let marked = format!("\u{feff}{text}");
    let plan = |text: &str| parse::from_str("x", text.as_bytes()).map_err(|errors| errors.plain());
    assert_eq!(plan(&marked), plan(text));
    assert!(plan(&marked).is_ok());
    // A place in the file is what an editor shows.
    let place = |text: &str| read(text.as_bytes()).expect("this is no scenario").plain();
    assert_eq!(place("\u{feff}schema = 2"), place("schema = 2"));
    let wide = |to: fn(u16) -> [u8; 2]| marked.encode_utf16().flat_map(to).collect::<Vec<u8>>();
    for bytes in [wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
        let errors = read(&bytes).expect("this is no scenario");
        assert_eq!(
            errors.problems[0].message,
            "the file is UTF-16 text, as its first two bytes say"
        );
        assert!(errors.plain().contains("save it as UTF-8"), "{}", errors.plain());
    }
}

#[test]
fn files_that_are_no_text_are_named() {
    assert_eq!(message(b""), "the file is empty");
    assert_eq!(message(b" \n\n"), "the file holds nothing but 3 blank bytes");
    assert_eq!(
        message(b"schema = 1\n\0\0"),
        "the file is binary: a zero byte at offset 11, line 2"
    );
    assert_eq!(
        message(b"schema = 1\nid = \"\xff\""),
        "the file is no UTF-8 text: byte 0xff at offset 17, line 2"
    );
    assert_eq!(
        message(&vec![b'x'; 10_000_000]),
        "the file has 10000000 bytes, at most 1048576 are read"
    );
}

#[test]
fn nesting_of_any_depth_is_refused_where_it_gets_too_deep() {
    let deep = |open: &str, close: &str| format!("x = {}{}", open.repeat(20_000), close.repeat(20_000));
    let nested = [
        deep("[", "]"),
        deep("[", ""),
        deep("{a=", "}"),
        deep("[{a=", "}]"),
        "[".repeat(20_000),
        "]".repeat(20_000),
        format!("[{}]", "a.".repeat(20_000)),
        format!("{} = 1", vec!["a"; 20_000].join(".")),
        format!("[{0}]\n{0} = {{ {0} = 1 }}", vec!["a"; 70].join(".")),
    ];
    for text in &nested {
        assert!(read(text.as_bytes()).is_some());
    }
    assert_eq!(message(nested[0].as_bytes()), "brackets nest too deeply");
    let problem = &read(nested[0].as_bytes()).unwrap().problems[0];
    assert!(
        problem.labels[0].0.start < 200,
        "the place is where it gets too deep"
    );
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let missing = parse::from_path(&folder.path().join("missing.scenario.toml")).unwrap_err();
    assert!(
        missing.problems[0]
            .message
            .starts_with("the file cannot be read: ")
    );
    let directory = parse::from_path(folder.path()).unwrap_err();
    assert_eq!(directory.problems[0].message, "this is a directory");
    let large = folder.path().join("large.scenario.toml");
    std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let large = parse::from_path(&large).unwrap_err();
    assert_eq!(
        large.problems[0].message,
        "the file has 1099511627776 bytes, at most 1048576 are read"
    );
    assert!(large.problems[0].help.contains("split the story"));
}

#[cfg(unix)]
#[test]
fn devices_and_unreadable_files_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let device = parse::from_path(std::path::Path::new("/dev/zero")).unwrap_err();
    assert_eq!(device.problems[0].message, "this is no regular file");
    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("locked.scenario.toml");
    std::fs::write(&locked, "schema = 1\n").unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    let errors = parse::from_path(&locked).unwrap_err();
    // Root reads it all the same, and then finds that most of it is missing.
    let message = &errors.problems[0].message;
    assert!(
        message.starts_with("the file cannot be read: ") || message == "the file needs the key `id`",
        "{message}"
    );
}

/// A scenario around a timeline of these steps.
fn around(steps: &str) -> String {
    let text = &EXAMPLES[0];
    let start = text.find("steps = [").unwrap();
    let end = text.find("[report]").unwrap();
    format!("{}steps = [\n{steps}]\n\n{}", &text[..start], &text[end..])
}

#[test]
fn very_many_mistakes_are_not_all_looked_for() {
    let texts = [
        "  { who = \"w11\", do = \"gett\", kee = \"k\" },\n".repeat(20_000),
        (0..12_000)
            .map(|n| format!("  {{ id = \"s{n}\", at = \"t{n} + 1s\", tick = \"eviction\" }},\n"))
            .collect(),
        format!(
            "  {{ check = \"disjoint\", of = [{}] }},\n",
            "\"zz\", ".repeat(100_000)
        ),
        format!(
            "  {{ who = \"w1\", do = \"put\", key = \"k\", size = \"1B\", times = 100000, bind = [{}] }},\n",
            "\"a{i}\", ".repeat(1_000)
        ),
        format!(
            "  {{ who = \"w1\", do = \"get\", key = \"k\", expect = [{}] }},\n",
            "\"OBJECT\", ".repeat(50_000)
        ),
        format!(
            "  {{ {} }},\n",
            (0..50_000).map(|n| format!("k{n} = 1, ")).collect::<String>()
        ),
    ];
    let batches = "  { who = \"w1\", do = \"batch_exist\", keys = [\"k{1..90000}\"] },\n".repeat(3_000);
    let far = format!(
        "  {{ at = \"start{}\", tick = \"eviction\" }},\n  {{ at = \"start\", tick = \"eviction\" }},\n",
        " + discard".repeat(90_000)
    );
    for steps in texts.into_iter().chain([batches, far]) {
        let errors = read(around(&steps).as_bytes()).expect("wrong");
        assert!(errors.problems.len() <= 12);
    }
}

#[test]
fn a_long_timeline_is_still_read() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/examples/crash-writer-dies-before-payload.scenario.toml"
    ))
    .unwrap();
    let start = text.find("  { at = \"fault\"").unwrap();
    let middle: String = (0..5_000)
        .map(|n| format!("  {{ id = \"e{n}\", who = \"r1\", do = \"exist\", key = \"k\" }},\n"))
        .collect();
    let long = format!("{}{middle}{}", &text[..start], &text[start..]);
    let plan = parse::from_str("x", long.as_bytes()).unwrap_or_else(|errors| panic!("{}", errors.plain()));
    assert_eq!(plan.steps.len(), 5_011);
    let too_many = format!("{}{}{}", &text[..start], middle.repeat(4), &text[start..]);
    assert!(parse::from_str("x", too_many.as_bytes()).is_err());
}

/// Pieces from which texts are put together that come close to scenarios.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "schema = 1\n",
        "[world]\n",
        "[fault]\n",
        "[[fault]]\n",
        "[timeline]\n",
        "steps = [\n",
        "{ ",
        " },\n",
        "]\n",
        "id = ",
        "at = ",
        "do = ",
        "who = ",
        "\"p1\"",
        "\"fault\"",
        "\"p1 + 2 * lease - 1ns\"",
        "\"put\"",
        "\"w1\"",
        ", ",
        "times = 3",
        "every = \"1s\"",
        "until = \"start + 9s\"",
        "keys = [\"k{1..9}\"]",
        "[[verdict]]\n",
        "is = \"violated\"\n",
        "violates = [\"x\"]\n",
        "\"",
        "{",
        "}",
        "[",
        "]",
        "\n",
        "= ",
        "-",
        "é",
        "𝄞",
        "\\u0000",
    ];
    prop_oneof![
        3 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[a-z0-9_ .+*\"'={}\\[\\],-]{0,12}",
    ]
}

/// An example with some of its parts cut out, doubled, or replaced.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edit = (0.0_f64..1.0, 0_usize..40, 0_u8..4, piece(), any::<u8>());
    (0_usize..13, prop::collection::vec(edit, 1..6)).prop_map(|(index, edits)| {
        let mut text = EXAMPLES[index].clone().into_bytes();
        for (place, length, kind, piece, byte) in edits {
            let start = ((text.len() as f64) * place) as usize;
            let end = (start + length).min(text.len());
            match kind {
                0 => drop(text.drain(start..end)),
                1 => drop(text.splice(start..start, piece.into_bytes())),
                2 => {
                    let part = text[start..end].to_vec();
                    drop(text.splice(start..start, part));
                }
                _ => {
                    if let Some(slot) = text.get_mut(start) {
                        *slot = byte;
                    }
                }
            }
        }
        text
    })
}

/// An example in which one quoted value stands where another did.
fn swapped() -> impl Strategy<Value = String> {
    (
        0_usize..13,
        0_usize..13,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(into, from, place, source)| {
            let quoted = |text: &str| -> Vec<std::ops::Range<usize>> {
                let marks: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
                marks.chunks_exact(2).map(|pair| pair[0]..pair[1] + 1).collect()
            };
            let (target, other) = (&EXAMPLES[into], &EXAMPLES[from]);
            let (holes, values) = (quoted(target), quoted(other));
            let hole = holes[place.index(holes.len())].clone();
            let value = values[source.index(values.len())].clone();
            format!(
                "{}{}{}",
                &target[..hole.start],
                &other[value],
                &target[hole.end..]
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(read(&text).is_some());
    }

    #[test]
    fn random_pieces_never_panic(pieces in prop::collection::vec(piece(), 0..80)) {
        read(pieces.concat().as_bytes());
    }

    #[test]
    fn mutated_examples_never_panic(text in mutated()) {
        read(&text);
    }

    #[test]
    fn swapped_values_never_panic(text in swapped()) {
        read(text.as_bytes());
    }

    #[test]
    fn random_values_never_panic(at in "\\PC{0,30}", key in "\\PC{0,30}", size in "[0-9]{0,25}[A-Za-z]{0,3}") {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let step = format!(
            "  {{ at = {}, who = \"w1\", do = \"batch_put\", keys = {}, size = {} }},\n",
            quoted(&at), quoted(&key), quoted(&size)
        );
        read(around(&step).as_bytes());
    }
}
