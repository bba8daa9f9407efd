//! Where the pinned release is unpacked.

use super::error::ProcessError;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The release of `mooncake-transfer-engine-non-cuda` that everything here is measured on.
pub const VERSION: &str = "0.3.13.post1";
/// Folder of the unpacked release inside a target folder.
pub const FOLDER: &str = "mooncake-0.3.13.post1";
/// Folder inside it with the libraries that the release brings along.
const LIBRARIES: &str = "mooncake_transfer_engine_non_cuda.libs";
/// Variable that names the folder of the unpacked release.
pub const VARIABLE: &str = "MOONQUAKE_RELEASE_DIR";
/// Variable in which the setup script of a test run tells why it could not fetch the release.
pub const PROBLEM_VARIABLE: &str = "MOONQUAKE_RELEASE_PROBLEM";
/// Command that unpacks it.
pub const CURE: &str = "python3 .config/fetch-release.py";
/// Hash of the master's binary in that release.
pub const MASTER_SHA256: &str = "23da0d0894238bb5ac669c11bcd932d4634c9c23c982615863471e74ebd82656";

/// An unpacked release whose master is the pinned one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    root: PathBuf,
    master: PathBuf,
    system: Option<PathBuf>,
}

impl Release {
    /// Finds the release: in the folder named by [`VARIABLE`], else in the target folder of cargo, of this executable or of the
    /// workspace around the current folder.
    pub fn locate() -> Result<Release, ProcessError> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            return Release::at(Path::new(&named));
        }
        let candidates = candidates();
        for root in &candidates {
            if root.is_dir() {
                return Release::at(root);
            }
        }
        Err(missing(candidates))
    }

    /// The release unpacked in `root`.
    pub fn at(root: &Path) -> Result<Release, ProcessError> {
        let master = root.join("mooncake").join("mooncake_master");
        let libraries = root.join(LIBRARIES);
        if !root.is_dir() {
            return Err(missing(vec![root.to_owned()]));
        }
        let incomplete = |missing: PathBuf| ProcessError::ReleaseIncomplete {
            root: root.to_owned(),
            missing,
            cure: CURE,
        };
        if !master.is_file() {
            return Err(incomplete(master));
        }
        let found = sha256_of(&master)?;
        if found != MASTER_SHA256 {
            return Err(ProcessError::WrongBinary {
                path: master,
                version: VERSION,
                found,
                expected: MASTER_SHA256,
                cure: CURE,
            });
        }
        if !libraries.is_dir() {
            return Err(incomplete(libraries));
        }
        let system = Some(root.join("system")).filter(|folder| folder.is_dir());
        Ok(Release {
            root: root.to_owned(),
            master,
            system,
        })
    }

    /// Folder of the release.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The master's binary. It finds the libraries of the wheel by itself.
    pub fn master(&self) -> &Path {
        &self.master
    }

    /// Folder with the system libraries that this machine lacks; none if it has them all.
    pub fn system_libraries(&self) -> Option<&Path> {
        self.system.as_deref()
    }
}

fn missing(looked_in: Vec<PathBuf>) -> ProcessError {
    ProcessError::ReleaseMissing {
        version: VERSION,
        looked_in,
        problem: std::env::var(PROBLEM_VARIABLE).ok(),
        cure: CURE,
        variable: VARIABLE,
    }
}

fn candidates() -> Vec<PathBuf> {
    let mut targets: Vec<PathBuf> = Vec::new();
    targets.extend(std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from));
    if let Ok(executable) = std::env::current_exe() {
        // target/debug/moonquake, target/debug/deps/test-1234, target/x86_64-unknown-linux-gnu/debug/deps/test-1234
        targets.extend(executable.ancestors().skip(2).take(4).map(Path::to_owned));
    }
    if let Ok(here) = std::env::current_dir() {
        targets.extend(
            here.ancestors()
                .map(|folder| folder.join("target"))
                .filter(|target| target.is_dir()),
        );
    }
    let mut candidates: Vec<PathBuf> = Vec::new();
    for target in targets {
        let folder = target.join(FOLDER);
        if !candidates.contains(&folder) {
            candidates.push(folder);
        }
    }
    candidates
}

/// Hash of a file in hexadecimal, computed once per process and path: every start of a master asks.
pub(super) fn sha256_of(path: &Path) -> Result<String, ProcessError> {
    static KNOWN: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let known = KNOWN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .get(path)
        .cloned();
    if let Some(hash) = known {
        return Ok(hash);
    }
    let bytes = std::fs::read(path).map_err(ProcessError::io(format!("read {}", path.display())))?;
    let mut hash = String::new();
    for byte in Sha256::digest(&bytes) {
        let _ = write!(hash, "{byte:02x}");
    }
    KNOWN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .insert(path.to_owned(), hash.clone());
    Ok(hash)
}
