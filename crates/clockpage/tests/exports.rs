//! The library is found where a program looks for it and exports what it stands in for, and nothing else.
//!
//! That this test exists also makes cargo build the library before any test runs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

fn library() -> PathBuf {
    let executable = std::env::current_exe().expect("the path of this test");
    executable.with_file_name("libmoonquake_clockpage.so")
}

#[test]
fn the_library_lies_beside_the_tests() {
    assert!(library().is_file(), "{} is missing", library().display());
}

#[test]
fn a_process_without_a_page_says_so_and_ends() {
    let output = Command::new("/bin/true")
        .env("LD_PRELOAD", library())
        .env_remove("MOONQUAKE_CLOCKPAGE_FILE")
        .output();
    let output = output.expect("start /bin/true");
    assert_eq!(output.status.code(), Some(78));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("MOONQUAKE_CLOCKPAGE_FILE is not set"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_page_that_does_not_fit_is_refused() {
    let folder = std::env::temp_dir().join(format!("moonquake-exports-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut refusals = BTreeSet::new();
    for (name, bytes) in [
        ("short", vec![0; 100]),
        ("foreign", vec![7; LONG]),
        ("old", old_page()),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        let output = Command::new("/bin/true")
            .env("LD_PRELOAD", library())
            .env("MOONQUAKE_CLOCKPAGE_FILE", &path)
            .output()
            .expect("start /bin/true");
        assert_eq!(output.status.code(), Some(78), "{name}");
        refusals.insert(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    std::fs::remove_dir_all(&folder).expect("remove the folder");
    assert_eq!(refusals.len(), 3, "each has its own reason: {refusals:?}");
}

/// More bytes than a page has.
const LONG: usize = 4 << 20;

/// The right magic and no version.
fn old_page() -> Vec<u8> {
    let mut page = vec![0; LONG];
    page[..8].copy_from_slice(b"MQCLOCKP");
    page
}
