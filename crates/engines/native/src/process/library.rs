//! Where the preload library is.

use super::error::ProcessError;
use std::path::{Path, PathBuf};

/// File name of the preload library.
pub const NAME: &str = "libmoonquake_clockpage.so";
/// Variable that names the file.
pub const VARIABLE: &str = "MOONQUAKE_CLOCKPAGE";

/// Finds the preload library: in the `deps` folder of this executable's profile, then beside the executable, then by [`VARIABLE`].
///
/// Cargo builds it into `deps` together with whatever depends on this crate, and puts it beside the executable only when the
/// library itself was asked for: what lies there may be of an older build.
pub fn locate() -> Result<PathBuf, ProcessError> {
    let executable = std::env::current_exe().map_err(ProcessError::io("find this executable"))?;
    locate_for(
        &executable,
        std::env::var_os(VARIABLE).map(PathBuf::from).as_deref(),
    )
}

/// The same for an executable at that path, with the variable's value.
pub fn locate_for(executable: &Path, named: Option<&Path>) -> Result<PathBuf, ProcessError> {
    let mut candidates = Vec::new();
    if let Some(folder) = executable.parent() {
        candidates.push(folder.join("deps").join(NAME));
        candidates.push(folder.join(NAME));
        // Examples lie in a folder of their own beside `deps`.
        if let Some(profile) = folder.parent().filter(|_| folder.ends_with("examples")) {
            candidates.push(profile.join("deps").join(NAME));
            candidates.push(profile.join(NAME));
        }
    }
    candidates.extend(named.map(Path::to_owned));
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(ProcessError::LibraryMissing {
            name: NAME,
            looked_at: candidates,
            variable: VARIABLE,
        }),
    }
}
