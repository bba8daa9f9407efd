//! Puts the scenario files of the repository into the binary, so that it can be used away from the repository.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".scenario.toml";

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = manifest.join("../../scenarios");
    // Cargo looks at everything in the folder, new files included.
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut found = Vec::new();
    if folder.is_dir() {
        find(&folder, "", &mut found)?;
    }
    found.sort();
    let mut code = String::from("&[\n");
    for (name, path) in &found {
        let _infallible = writeln!(code, "    ({name:?}, include_bytes!({path:?})),");
    }
    code.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("scenarios.rs"), code)
}

/// Every scenario file below `folder`, with its path inside it.
fn find(folder: &Path, prefix: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            find(&path, &format!("{prefix}{name}/"), found)?;
        } else if name.ends_with(SUFFIX) {
            found.push((format!("{prefix}{name}"), path.canonicalize()?));
        }
    }
    Ok(())
}
