//! Whether a folder can be written to, before anything is done whose outcome goes there.

use crate::error::CliError;
use std::fs;
use std::io;
use std::path::Path;

/// A file name of the length that the longest of ours have, with a temporary ending.
const NAME_BYTES: usize = 240;

/// Whether files can be written there once there is something to write, which may be hours later. Nothing is left behind.
/// `flag` is the one that names the folder.
pub(crate) fn try_folder(flag: &'static str, folder: &Path) -> Result<(), CliError> {
    let is_missing = |above: &&Path| !above.as_os_str().is_empty() && fs::symlink_metadata(above).is_err();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    let tried = fs::create_dir_all(folder).and_then(|()| try_file(folder));
    for made in missing {
        // Somebody else may have put something there by now.
        let _ = fs::remove_dir(made);
    }
    tried.map_err(|source| CliError::Unwritable {
        flag,
        folder: folder.to_owned(),
        why: why(folder, &source),
        source,
    })
}

/// A file there with a name as long as any.
fn try_file(folder: &Path) -> io::Result<()> {
    let prefix = "x".repeat(NAME_BYTES);
    tempfile::Builder::new().prefix(&prefix).tempfile_in(folder)?;
    Ok(())
}

/// What the system's own words leave open.
fn why(folder: &Path, error: &io::Error) -> String {
    let leads_nowhere = |above: &&Path| fs::symlink_metadata(above).is_ok() && fs::metadata(above).is_err();
    if let Some(link) = folder.ancestors().find(leads_nowhere) {
        return format!(": the link {} leads nowhere", link.display());
    }
    match error.kind() {
        io::ErrorKind::InvalidFilename => ": it, or the name of a file in it, is too long".to_owned(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            ": a file is in its place or above it".to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(folder: &Path) -> String {
        try_folder("--out", folder).expect_err("a refusal").to_string()
    }

    #[test]
    fn a_folder_is_made_to_try_it_and_taken_away_again() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a").join("b");
        try_folder("--out", &folder).unwrap();
        assert!(!place.path().join("a").exists());
        // What was there stays.
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        try_folder("--out", &folder).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_and_a_name_that_is_too_long_are_told() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::os::unix::fs::symlink(at("nowhere"), at("link")).unwrap();
        for folder in [at("link"), at("link").join("below")] {
            let told = refusal(&folder);
            assert!(told.contains("link leads nowhere"), "{told}");
        }
        let told = refusal(&at(&"x".repeat(300)));
        assert!(told.contains("too long"), "{told}");
        // The folder itself may be had, and no file in it.
        let mut deep = place.path().to_owned();
        while deep.as_os_str().len() < 3_900 {
            deep.push("y".repeat(150));
        }
        let told = refusal(&deep);
        assert!(told.contains("too long"), "{told}");
        fs::write(at("file"), "").unwrap();
        let told = refusal(&at("file").join("below"));
        assert!(told.contains("a file is in its place"), "{told}");
        let left: Vec<_> = fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}
