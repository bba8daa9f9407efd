//! Files that are made of the code and of the scenarios, kept for review, and checked for drift.

use std::path::{Path, PathBuf};

/// What renews them.
pub const RENEW: &str = "MOONQUAKE_RENEW_TABLES=1 cargo test -p moonquake-tests --test tables";

fn kept(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Holds a kept file against what it should be now; writes it first if the variable asks for that.
///
/// # Errors
/// When it differs; the message has the first line that does.
///
/// # Panics
/// When it cannot be written.
pub fn compare(path: &str, now: &str) -> Result<(), String> {
    if std::env::var_os("MOONQUAKE_RENEW_TABLES").is_some() {
        std::fs::write(kept(path), now).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let found = std::fs::read_to_string(kept(path)).unwrap_or_default();
    if found == now {
        return Ok(());
    }
    let differs = found.lines().zip(now.lines()).find(|(kept, now)| kept != now);
    let (kept, now) = differs.unwrap_or(("(the file ends)", "(more lines)"));
    Err(format!(
        "{path} is not up to date; the first line that differs:\n  kept: {kept}\n  now:  {now}\nRenew it with\n  {RENEW}"
    ))
}
