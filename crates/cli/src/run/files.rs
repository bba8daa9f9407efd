//! Writing postmortems: whole or not at all, under names that tell the run.

use super::one::hex_sha256;
use crate::error::CliError;
use crate::replace::replace;
use moonquake_faults::Profile;
use moonquake_report::html::{IndexRun, html, index};
use moonquake_report::{Postmortem, json, markdown};
use moonquake_scenario::EngineKind;
use std::fs;
use std::path::{Path, PathBuf};

/// The longest stem as it is; with its ending, a temporary name still fits what file systems allow.
const STEM_BYTES: usize = 200;

/// The name of the page that lists the runs of a folder's last invocation.
const INDEX: &str = "index.html";

/// The forms of one postmortem.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// One page to look at and to forward.
    pub(crate) html: PathBuf,
    /// Markdown.
    pub(crate) markdown: PathBuf,
    /// JSON.
    pub(crate) json: PathBuf,
}

/// The name without its ending: `crash.put-start-sent.model.upstream`. Two runs that differ never share one.
pub(crate) fn stem(id: &str, kind: EngineKind, profile: Profile, seed: Option<u64>) -> String {
    let seed = seed.map(|seed| format!(".seed-{seed}")).unwrap_or_default();
    // An id has no dots.
    let mut name = id.replace('/', ".");
    if name.len() > STEM_BYTES {
        name = format!("{}.{}", &name[..STEM_BYTES - 20], &hex_sha256(id)[..16]);
    }
    format!("{name}.{kind}.{}{seed}", profile.name())
}

/// The text of each form.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    html: String,
    markdown: String,
    json: String,
}

impl Forms {
    pub(crate) fn of(postmortem: &Postmortem) -> Forms {
        Forms {
            html: html(postmortem),
            markdown: markdown(postmortem),
            json: json(postmortem),
        }
    }
}

/// Writes all forms into the folder, which is made if it is not there.
pub(crate) fn write(folder: &Path, stem: &str, forms: &Forms) -> Result<Files, CliError> {
    Ok(Files {
        html: put(folder, &format!("{stem}.html"), &forms.html)?,
        markdown: put(folder, &format!("{stem}.md"), &forms.markdown)?,
        json: put(folder, &format!("{stem}.json"), &forms.json)?,
    })
}

/// Writes the list of an invocation's runs.
pub(crate) fn write_index(folder: &Path, runs: &[IndexRun]) -> Result<PathBuf, CliError> {
    put(folder, INDEX, &index(runs))
}

/// Writes a file into the folder, which is made if it is not there.
pub(crate) fn put(folder: &Path, name: &str, text: &str) -> Result<PathBuf, CliError> {
    let path = folder.join(name);
    let done = fs::create_dir_all(folder).and_then(|()| replace(&path, text));
    match done {
        Ok(()) => Ok(path),
        Err(source) => Err(CliError::Report { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_and_fit() {
        let name = |id: &str, seed| stem(id, EngineKind::Model, Profile::Strict, seed);
        assert_eq!(
            name("crash/put-end-sent", None),
            "crash.put-end-sent.model.strict"
        );
        assert_eq!(name("a", Some(7)), "a.model.strict.seed-7");
        let long = "x".repeat(1_000);
        assert!(name(&long, Some(u64::MAX)).len() < 250);
        assert_ne!(name(&long, None), name(&format!("{long}y"), None));
    }
}
