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
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| DifferError::File {
            doing: "write",
            path,
            source,
        }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    std::fs::write(&files.scenario, said.text).map_err(failed(&files.scenario))?;
    let mut json = serde_json::to_string_pretty(history).map_err(|source| DifferError::History {
        path: files.history.display().to_string(),
        source,
    })?;
    json.push('\n');
    std::fs::write(&files.history, json).map_err(failed(&files.history))?;
    Ok(files)
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
