//! The client of the unpacked release, and the interpreter that serves it.

use super::error::ProcessError;
use super::release::{CURE, Release, VERSION, sha256_of};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// File in the folder of the release that says which interpreter the client is for, or why there is none.
pub const CLIENT_FILE: &str = "client.json";
/// Variable that names the interpreter to the setup script.
pub const PYTHON_VARIABLE: &str = "MOONQUAKE_PYTHON";
/// Variable in which the setup script of a test run tells why there is no client.
pub const CLIENT_PROBLEM_VARIABLE: &str = "MOONQUAKE_CLIENT_PROBLEM";
/// Hash of `mooncake/store.so` by version of CPython: the release has a build for each, and they differ in nothing else.
pub const STORE_SHA256: &[(&str, &str)] = &[
    (
        "3.10",
        "e5516210da7d71789c7971c2c61255e45bef3edb1e9cd9062d85d495b6bc5f53",
    ),
    (
        "3.11",
        "e4c382918769c9055b14fe10984c765bf651cbab84f3696ef570403226a667db",
    ),
    (
        "3.12",
        "ec8c21b9a1e86b3a0fefae5af5ded8381f1ed3201c5ae3028586518d97eb0270",
    ),
    (
        "3.13",
        "474f2d268f3c4b7375c3009250dbf8443b11eb4091aa90f51324870313aa9f7f",
    ),
];

/// The unmodified C++ client and its interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    root: PathBuf,
    interpreter: PathBuf,
    python: String,
    system: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Written {
    interpreter: Option<PathBuf>,
    version: Option<String>,
    problem: Option<String>,
}

impl Release {
    /// The client of this release, if it is installed and the pinned one.
    ///
    /// # Errors
    /// [`ProcessError::ClientMissing`] with its cure, [`ProcessError::WrongClient`].
    pub fn client(&self) -> Result<Client, ProcessError> {
        let told = std::env::var(CLIENT_PROBLEM_VARIABLE).ok();
        let missing = |why: String| ProcessError::ClientMissing {
            root: self.root().to_owned(),
            why: told.clone().unwrap_or(why),
            variable: PYTHON_VARIABLE,
            cure: CURE,
        };
        let path = self.root().join(CLIENT_FILE);
        let Ok(text) = std::fs::read_to_string(&path) else {
            return Err(missing("the folder was filled without a client".to_owned()));
        };
        let written: Written = serde_json::from_str(&text)
            .map_err(|error| missing(format!("{} is damaged ({error})", path.display())))?;
        let (Some(interpreter), Some(python)) = (written.interpreter, written.version) else {
            let why = written.problem;
            return Err(missing(
                why.unwrap_or_else(|| format!("{} says nothing", path.display())),
            ));
        };
        if !interpreter.is_file() {
            return Err(missing(format!(
                "its interpreter {} is gone",
                interpreter.display()
            )));
        }
        let client = Client {
            root: self.root().to_owned(),
            interpreter,
            python,
            system: self.system_libraries().map(Path::to_owned),
        };
        client.check(&missing)?;
        Ok(client)
    }
}

impl Client {
    fn check(&self, missing: &impl Fn(String) -> ProcessError) -> Result<(), ProcessError> {
        let store = self.store();
        let expected = STORE_SHA256.iter().find(|(version, _)| *version == self.python);
        let Some((_, expected)) = expected else {
            return Err(missing(format!(
                "the release has none for Python {}",
                self.python
            )));
        };
        if !store.is_file() {
            return Err(missing(format!("{} is not there", store.display())));
        }
        let found = sha256_of(&store)?;
        if found != *expected {
            return Err(ProcessError::WrongClient {
                path: store,
                version: VERSION,
                python: self.python.clone(),
                found,
                expected,
                cure: CURE,
            });
        }
        Ok(())
    }

    /// Folder that holds the package `mooncake`.
    pub fn packages(&self) -> &Path {
        &self.root
    }

    /// The client itself.
    pub fn store(&self) -> PathBuf {
        self.root.join("mooncake").join("store.so")
    }

    /// Hash of the client, which was compared when it was found.
    pub fn store_sha256(&self) -> Option<&'static str> {
        let known = STORE_SHA256.iter().find(|(version, _)| *version == self.python);
        known.map(|(_, hash)| *hash)
    }

    /// The CPython that it was built for.
    pub fn interpreter(&self) -> &Path {
        &self.interpreter
    }

    /// Version of that CPython, such as `3.11`.
    pub fn python(&self) -> &str {
        &self.python
    }

    /// Folder with the system libraries that this machine lacks; none if it has them all.
    pub fn system_libraries(&self) -> Option<&Path> {
        self.system.as_deref()
    }
}
