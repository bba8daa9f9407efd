//! The reference scenarios parse.

use moonquake_scenario::parse;
use std::path::PathBuf;

fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/examples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 13);
    files
}

#[test]
fn every_reference_scenario_parses() {
    for path in examples() {
        if let Err(errors) = parse::from_path(&path) {
            panic!("{}", errors.plain());
        }
    }
}

#[test]
fn every_reference_scenario_is_told_as_a_story() {
    for path in examples() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let plan = parse::from_str(&name, &std::fs::read(&path).unwrap()).unwrap();
        let short = name.strip_suffix(".scenario.toml").unwrap();
        insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "snapshots/explain"}, {
            insta::assert_snapshot!(short, moonquake_scenario::explain(&plan));
        });
    }
}
