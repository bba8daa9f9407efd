//! Histories on the disk.

use crate::compare::Difference;
use crate::error::DifferError;
use crate::operation::History;
use crate::write::scenario;
use std::path::{Path, PathBuf};

/// What was written for one difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The scenario, for `moonquake diff FILE model master`.
    pub scenario: PathBuf,
    /// The exact history, for `moonquake diff --replay FILE`.
    pub history: PathBuf,
    /// What the scenario does not say, one line each.
    pub left_out: Vec<String>,
}

/// Writes a history that parts into a folder, under the name of its configuration and a seed.
///
/// # Errors
/// When the folder or a file cannot be written.
pub fn write(
    folder: &Path,
    history: &History,
    difference: &Difference,
    seed: u64,
) -> Result<Files, DifferError> {
    let name = format!("{}-{seed:016x}", history.setup.name);
    let said = scenario(history, difference, &format!("diff/{name}"));
    let files = Files {
        scenario: folder.join(format!("{name}.scenario.toml")),
        history: folder.join(format!("{name}.history.json")),
        left_out: said.left_out,
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    put(&files.scenario, &said.text)?;
    put_history(&files.history, history)?;
    Ok(files)
}

/// Writes a history alone, under the name of its configuration and its seed; where that is.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn write_history(folder: &Path, history: &History) -> Result<PathBuf, DifferError> {
    let seed = history.seed.unwrap_or_default();
    let path = folder.join(format!("{}-{seed:016x}.history.json", history.setup.name));
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    put_history(&path, history)?;
    Ok(path)
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> DifferError {
    let path = path.display().to_string();
    move |source| DifferError::File {
        doing: "write",
        path,
        source,
    }
}

fn put_history(path: &Path, history: &History) -> Result<(), DifferError> {
    let mut json = serde_json::to_string_pretty(history).map_err(|source| DifferError::History {
        path: path.display().to_string(),
        source,
    })?;
    json.push('\n');
    put(path, &json)
}

/// Puts a whole file there or none: a full disk leaves no half of one.
fn put(path: &Path, text: &str) -> Result<(), DifferError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .inspect_err(|_| {
            // It may not even have come to be.
            let _ = std::fs::remove_file(&beside);
        })
        .map_err(failed(path))
}

/// The history that a file holds.
///
/// # Errors
/// When it cannot be read or is none.
pub fn read(path: &Path) -> Result<History, DifferError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| DifferError::File {
        doing: "read",
        path: shown.clone(),
        source,
    })?;
    serde_json::from_str(&text).map_err(|source| DifferError::History { path: shown, source })
}

#[cfg(test)]
mod tests {
    use super::{put, read};

    #[test]
    fn what_cannot_be_written_leaves_nothing_and_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let taken = folder.path().join("taken");
        std::fs::create_dir(&taken).expect("a folder");
        let error = put(&taken, "text").expect_err("a folder is there");
        assert!(
            error.to_string().contains(&taken.display().to_string()),
            "{error}"
        );
        let names = std::fs::read_dir(folder.path()).expect("the folder").count();
        assert_eq!(names, 1, "only the folder is left");
        assert!(read(&taken).is_err());
    }
}
