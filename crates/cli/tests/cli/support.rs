//! Starting the binary in a folder of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Exit code and texts of one call.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Said {
        let text = |bytes| String::from_utf8(bytes).expect("the output is text");
        let said = Said {
            code: output.status.code().expect("it was not killed"),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        assert!(!said.err.contains("panicked"), "{said:?}");
        said
    }

    /// The code is this one, or the whole output is shown.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Said {
        assert_eq!(self.code, code, "\n{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Said {
        assert!(self.out.contains(part), "no {part:?} in\n{}", self.out);
        self
    }

    #[track_caller]
    pub(crate) fn complains(self, part: &str) -> Said {
        assert!(self.err.contains(part), "no {part:?} in\n{}", self.err);
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).expect("the output is JSON")
    }
}

/// A folder to run in.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The binary with these arguments, in this folder, not affected by variables of whoever runs the tests.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_moonquake"));
        command.args(arguments).current_dir(self.path());
        for variable in ["FAILPOINTS", "MOONQUAKE_NO_REAL", "MOONQUAKE_LOG"] {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn moonquake<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// Names and contents of all files below a folder of this one.
    pub(crate) fn contents(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.path().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, bytes));
        }
        found.sort();
        found
    }
}

/// A file of the workspace.
pub(crate) fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A small story: a writer that dies at `phase` of its put, and what a reader then gets. It holds if the phase is one
/// between the answer to PutStart and PutEnd, and `expect` is REPLICA_IS_NOT_READY.
pub(crate) fn story(id: &str, phase: &str, expect: &str, verdict: &str) -> String {
    format!(
        r#"
schema = 1
id     = "{id}"
title  = "A writer dies"
why    = "A small story."

[world]
segments = {{ n1 = "16MiB" }}
clients  = ["w1", "r1"]

[fault]
dimension = "crash"
target    = "w1"
at        = "{phase}"
action    = "kill"

[timeline]
steps = [
  {{ id = "p1", who = "w1", do = "put", key = "k", size = "64KiB", bind = "a1" }},
  {{ id = "g1", who = "r1", do = "get", key = "k", expect = "{expect}" }},
]

[report]
expected = "Nobody sees k."
repair   = "None."

[[verdict]]
{verdict}
"#
    )
}

pub(crate) const RESPONSE: &str = "client.put.start_response";

/// A story that holds and says so.
pub(crate) fn good(id: &str) -> String {
    story(id, RESPONSE, "REPLICA_IS_NOT_READY", "is = \"holds\"")
}

/// A story that says it holds, with an expectation that fails.
pub(crate) fn bad(id: &str) -> String {
    story(id, RESPONSE, "OBJECT_NOT_FOUND", "is = \"holds\"")
}

/// A story that says it holds, whose put never revokes.
pub(crate) fn unreached(id: &str) -> String {
    story(id, "client.revoke.sent", "ok", "is = \"holds\"")
}
