//! From names on the command line to plans.

use crate::error::CliError;
use crate::library::{Library, Source};
use moonquake_scenario::{Plan, ScenarioErrors};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How many near names are shown for one that matches nothing.
const SUGGESTIONS: usize = 3;

/// A scenario to run.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    /// What its file means.
    pub(crate) plan: Plan,
    /// What names it on a command line: its file, or its id where it has no file.
    pub(crate) name: String,
}

/// What a file turned out to be.
pub(crate) type Parsed = Result<Plan, Box<ScenarioErrors>>;

/// What the names select, each scenario once, in the order of the names and then of the paths. Without names: all.
///
/// A name is a file, a folder with scenario files, an id, a pattern or a part of an id or path.
pub(crate) fn select(library: &Library, names: &[OsString]) -> Result<Vec<Selected>, CliError> {
    plans(choose(library, names)?)
}

/// The files that the names select, scenarios or not.
pub(crate) fn choose(library: &Library, names: &[OsString]) -> Result<Vec<(Source, Parsed)>, CliError> {
    let mut chosen: Vec<(Source, Parsed)> = Vec::new();
    if names.is_empty() {
        chosen = library.sources.iter().map(parsed).collect();
    }
    let mut known: Option<Vec<(Source, Parsed)>> = None;
    for name in names {
        if let Some(files) = files(Path::new(name))? {
            chosen.extend(files.iter().map(parsed));
            continue;
        }
        let known = known.get_or_insert_with(|| library.sources.iter().map(parsed).collect());
        let found = matching(known, &name.to_string_lossy());
        if found.is_empty() {
            return Err(no_such(library, known, &name.to_string_lossy()));
        }
        chosen.extend(found.into_iter().cloned());
    }
    once_each(&mut chosen);
    Ok(chosen)
}

fn parsed(source: &Source) -> (Source, Parsed) {
    (source.clone(), source.parse())
}

/// The files that a name means as a path; none if it is to be understood as a filter.
fn files(path: &Path) -> Result<Option<Vec<Source>>, CliError> {
    if path.is_dir() {
        // Such as a folder that happens to be called like a part of an id.
        let below = Library::below(path)?;
        return Ok(Some(below).filter(|files| !files.is_empty()));
    }
    Ok(path.exists().then(|| vec![Source::disk(path)]))
}

/// The scenarios with that id, or else those whose id or path fits the pattern or contains the text.
fn matching<'a>(known: &'a [(Source, Parsed)], name: &str) -> Vec<&'a (Source, Parsed)> {
    let id = |parsed: &'a Parsed| parsed.as_ref().ok().map(|plan| plan.id.as_str());
    let exact: Vec<_> = known
        .iter()
        .filter(|(_, parsed)| id(parsed) == Some(name))
        .collect();
    if !exact.is_empty() || name.is_empty() {
        return exact;
    }
    let pattern = name
        .contains(['*', '?', '['])
        .then(|| glob::Pattern::new(name).ok())
        .flatten();
    let fits = |text: &str| match &pattern {
        Some(pattern) => pattern.matches(text),
        None => text.contains(name),
    };
    known
        .iter()
        .filter(|(source, parsed)| fits(&source.path) || id(parsed).is_some_and(fits))
        .collect()
}

fn no_such(library: &Library, known: &[(Source, Parsed)], name: &str) -> CliError {
    let ids = known
        .iter()
        .filter_map(|(_, parsed)| parsed.as_ref().ok().map(|plan| plan.id.as_str()));
    let near = nearest(name, ids);
    let mut help = if near.is_empty() {
        "there is no scenario at all: name a file, or a folder with `--scenarios DIR`".to_owned()
    } else {
        format!("the nearest are {}; `moonquake check` lists all", near.join(", "))
    };
    if name.ends_with(".toml") {
        help = format!("there is no such file either; {help}");
    }
    let broken = known.iter().filter(|(_, parsed)| parsed.is_err()).count();
    if broken > 0 {
        help += &format!("; {broken} files there cannot be understood (`moonquake check` shows why)");
    }
    CliError::NoSuchScenario {
        name: name.to_owned(),
        origin: library.origin.clone(),
        help,
    }
}

/// The ids that look most like the name. An id counts by its likest part: nobody types `crash/` wrong on purpose.
fn nearest<'a>(name: &str, ids: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |id: &str| {
        let parts = id.split('/').chain([id]);
        parts
            .map(|part| strsim::normalized_damerau_levenshtein(part, name))
            .fold(0.0_f64, f64::max)
    };
    let mut ranked: Vec<(f64, &str)> = ids.map(|id| (likeness(id), id)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    ranked.into_iter().take(SUGGESTIONS).map(|(_, id)| id).collect()
}

/// Leaves each file once, however it was named.
fn once_each(chosen: &mut Vec<(Source, Parsed)>) {
    let mut seen: Vec<PathBuf> = Vec::new();
    chosen.retain(|(source, _)| {
        let path = Path::new(&source.path);
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_new = !seen.contains(&real);
        if is_new {
            seen.push(real);
        }
        is_new
    });
}

/// The plans, unless a file is wrong or two have one id.
fn plans(chosen: Vec<(Source, Parsed)>) -> Result<Vec<Selected>, CliError> {
    let of = chosen.len();
    let mut errors = Vec::new();
    let mut selected = Vec::new();
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    for (source, parsed) in chosen {
        let plan = match parsed {
            Ok(plan) => plan,
            Err(wrong) => {
                errors.push(*wrong);
                continue;
            }
        };
        if let Some(first) = paths.insert(plan.id.clone(), source.path.clone()) {
            return Err(CliError::SameId {
                id: plan.id,
                first,
                second: source.path,
            });
        }
        let name = if source.is_on_disk() {
            source.path
        } else {
            plan.id.clone()
        };
        selected.push(Selected { plan, name });
    }
    if errors.is_empty() {
        Ok(selected)
    } else {
        Err(CliError::Scenarios { errors, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_id_is_found_by_one_of_its_parts() {
        let ids = ["crash/put-start-before", "lease/boundary", "race/stale-put-end"];
        let near = |name| nearest(name, ids.iter().copied())[0];
        assert_eq!(near("boundry"), "lease/boundary");
        assert_eq!(near("stale-putend"), "race/stale-put-end");
        assert_eq!(near("crash/put-start-befor"), "crash/put-start-before");
        assert!(nearest("x", std::iter::empty()).is_empty());
    }
}
