//! Wrong scenario files: each is refused with its place and a mend, as a reader of the snapshots can judge.

use miette::{GraphicalReportHandler, GraphicalTheme};
use moonquake_scenario::{ScenarioErrors, parse};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/wrong")
}

fn rendered(errors: &ScenarioErrors) -> String {
    let mut text = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme {
        characters: miette::ThemeCharacters::ascii(),
        styles: miette::ThemeStyles::none(),
    })
    .with_width(110)
    .with_links(false)
    .render_report(&mut text, errors)
    .unwrap();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_wrong_file_is_refused_with_place_and_mend() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 40);
    let mut accepted = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read(&file).unwrap();
        match parse::from_str(&format!("fixtures/wrong/{name}"), &text) {
            Ok(_) => accepted.push(name.to_owned()),
            Err(errors) => {
                for problem in &errors.problems {
                    assert!(!problem.labels.is_empty(), "{name}: {problem} has no place");
                    assert!(!problem.help.is_empty(), "{name}: {problem} has no mend");
                }
                let short = name.strip_suffix(".scenario.toml").unwrap();
                insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "snapshots/wrong"}, {
                    insta::assert_snapshot!(short, rendered(&errors));
                });
            }
        }
    }
    assert!(accepted.is_empty(), "these parse: {accepted:?}");
}
