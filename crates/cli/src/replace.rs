//! Replacing a file whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Puts a text at a path so that a reader sees the old file or the whole new one. Nothing is left of a failed attempt. A link
/// stays a link; what is no file, as a device or a pipe, is left alone.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        let path = path.canonicalize()?;
        if !path.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is there and no regular file",
            ));
        }
        return put(&path, text);
    }
    put(path, text)
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, path))
        .inspect_err(|_| {
            // It may not even have come to be.
            let _ = fs::remove_file(&temporary);
        })
}

/// The same for a file of somebody else: a link stays a link, its permissions stay, and what is read-only is left alone.
pub(crate) fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    let permissions = fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the file is read-only",
        ));
    }
    replace(&path, text)?;
    fs::set_permissions(&path, permissions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_replacement_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("taken");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("file"), "").unwrap();
        assert!(replace(&target, "text").is_err());
        let names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["taken"]);
    }

    #[cfg(unix)]
    #[test]
    fn only_a_file_is_replaced_and_a_link_stays_a_link() {
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert!(replace(&at("socket"), "text").is_err());
        assert!(!at("socket").is_file());
        fs::write(at("file"), "old").unwrap();
        symlink(at("file"), at("link")).unwrap();
        replace(&at("link"), "new").unwrap();
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "new");
        symlink(at("nowhere"), at("dangling")).unwrap();
        assert!(replace(&at("dangling"), "text").is_err());
        assert!(fs::symlink_metadata(at("dangling")).unwrap().is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_rewritten_file_keeps_its_link_and_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        rewrite(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
        let refused = rewrite(&link, "newer").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}
