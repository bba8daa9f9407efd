//! The public conversation trace, which is no part of the project.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder in which traces lie.
const FOLDER: &str = "MOONQUAKE_TRACES";

/// The trace, if `MOONQUAKE_TRACES` names the folder that it lies in; without that the check is left out.
pub(crate) fn conversation() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(FOLDER) else {
        // The harness shows what a passing test prints only if it does not go through `println`.
        let said = format!("left out: {FOLDER} names no folder with conversation_trace.jsonl\n");
        std::io::stderr().write_all(said.as_bytes()).unwrap();
        return None;
    };
    let path = Path::new(&folder).join("conversation_trace.jsonl");
    assert!(path.exists(), "{} is not there", path.display());
    Some(path)
}
