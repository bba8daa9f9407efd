//! A private folder for each process, and the removal of folders whose owner has died without cleaning up.

use super::error::ProcessError;
use std::fs;
use std::path::Path;
use std::sync::Once;
use tempfile::TempDir;

const PREFIX: &str = "moonquake-master-";

/// A new folder whose name tells the owner: process id and start time, since ids are used again.
pub(crate) fn create() -> Result<TempDir, ProcessError> {
    static CLEANED: Once = Once::new();
    let parent = std::env::temp_dir();
    CLEANED.call_once(|| remove_orphans(&parent));
    let pid = std::process::id();
    let started = start_time(pid).unwrap_or(0);
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{pid}-{started}-"))
        .tempdir_in(&parent)
        .map_err(ProcessError::io(format!(
            "create a folder in {}",
            parent.display()
        )))
}

/// Removes folders of owners that are gone. Their processes are gone too: the kernel killed them with the owner.
pub(crate) fn remove_orphans(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if owner(&path).is_some_and(|(pid, started)| start_time(pid) != Some(started)) {
            // Another user's folder cannot be removed, which is as it should be.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn owner(path: &Path) -> Option<(u32, u64)> {
    let rest = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let mut parts = rest.splitn(3, '-');
    let pid = parts.next()?.parse().ok()?;
    let started = parts.next()?.parse().ok()?;
    parts.next().map(|_| (pid, started))
}

/// When a process started, in kernel ticks since boot; none if it does not exist.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the fields after it are plain. The 22nd of all is wanted, the 20th from there.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
