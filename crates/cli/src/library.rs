//! Where scenario files come from: a folder that was named, one found nearby, or the copies in the binary.

use crate::embedded;
use crate::error::CliError;
use moonquake_scenario::{Plan, ScenarioErrors, parse};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a scenario file's name ends in.
const SUFFIX: &str = ".scenario.toml";
/// The folder that is looked for from the current one upwards.
const FOLDER: &str = "scenarios";
/// Folders are followed down to here, so that no loop of mounts can catch us.
const DEPTH_LIMIT: u32 = 32;

/// One scenario file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its path as it is shown, and as names on the command line are compared with it.
    pub(crate) path: String,
    bytes: Option<&'static [u8]>,
}

impl Source {
    /// A file on disk.
    pub(crate) fn disk(path: &Path) -> Source {
        Source {
            path: path.display().to_string(),
            bytes: None,
        }
    }

    /// Whether it is a file on disk, which can be named on a command line.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.bytes.is_none()
    }

    /// Reads and checks it.
    pub(crate) fn parse(&self) -> Result<Plan, Box<ScenarioErrors>> {
        match self.bytes {
            Some(bytes) => parse::from_str(&self.path, bytes),
            None => parse::from_path(Path::new(&self.path)),
        }
        .map_err(Box::new)
    }
}

/// All scenario files of one place, in the order of their paths.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    /// The place, in words.
    pub(crate) origin: String,
    /// The files.
    pub(crate) sources: Vec<Source>,
}

impl Library {
    /// The scenarios of the folder, if one is named; else of a folder `scenarios` here or further up; else of the binary.
    pub(crate) fn find(named: Option<&Path>) -> Result<Library, CliError> {
        if let Some(folder) = named {
            let sources = Library::below(folder)?;
            if sources.is_empty() {
                return Err(CliError::NoScenarios {
                    folder: folder.to_owned(),
                });
            }
            return Ok(Library::on_disk(folder, sources));
        }
        let here = std::env::current_dir().unwrap_or_default();
        let mut up = PathBuf::new();
        for ancestor in here.ancestors() {
            if ancestor.join(FOLDER).is_dir() {
                let folder = up.join(FOLDER);
                let sources = Library::below(&folder)?;
                if !sources.is_empty() {
                    return Ok(Library::on_disk(&folder, sources));
                }
            }
            up.push("..");
        }
        Ok(Library::built_in())
    }

    fn on_disk(folder: &Path, sources: Vec<Source>) -> Library {
        Library {
            origin: folder.display().to_string(),
            sources,
        }
    }

    fn built_in() -> Library {
        let sources = embedded::FILES.iter().map(|(path, bytes)| Source {
            path: format!("built-in:{path}"),
            bytes: Some(bytes),
        });
        Library {
            origin: "built in".to_owned(),
            sources: sources.collect(),
        }
    }

    /// Every scenario file below a folder, in the order of their paths. None is no error.
    pub(crate) fn below(folder: &Path) -> Result<Vec<Source>, CliError> {
        let mut paths = Vec::new();
        walk(folder, 0, &mut paths).map_err(|source| CliError::Folder {
            folder: folder.to_owned(),
            source,
        })?;
        paths.sort();
        Ok(paths.iter().map(|path| Source::disk(path)).collect())
    }
}

fn walk(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // Links to folders are not followed: they can lead in circles.
        if entry.file_type()?.is_dir() {
            if depth < DEPTH_LIMIT {
                walk(&path, depth + 1, found)?;
            }
        } else if entry.file_name().to_string_lossy().ends_with(SUFFIX) {
            found.push(path);
        }
    }
    Ok(())
}
