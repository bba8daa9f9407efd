//! Collects problems while a file is read, and gives them their usual forms.

use crate::error::{Problem, ProblemKind, SHOWN};
use std::ops::Range;

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) found: Vec<Problem>,
}

impl Problems {
    /// Whether none was found.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether so many were found that reading on helps nobody. Loops over what a file repeats stop here, which also
    /// bounds the time that a hostile file takes.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= SHOWN
    }

    /// Adds a problem with one place.
    pub(super) fn add(
        &mut self,
        kind: ProblemKind,
        message: impl Into<String>,
        at: Range<usize>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add_at(kind, message, vec![(at, label.into())], help);
    }

    /// Adds a problem with several places, the first being the place itself.
    pub(super) fn add_at(
        &mut self,
        kind: ProblemKind,
        message: impl Into<String>,
        labels: Vec<(Range<usize>, String)>,
        help: impl Into<String>,
    ) {
        if !self.is_full() {
            self.found.push(Problem {
                kind,
                message: message.into(),
                labels,
                help: help.into(),
            });
        }
    }
}

/// Text of the file as it is shown in a message: escaped, and cut if it is long.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push_str("...");
    }
    short
}

/// The name of the list that is near enough to be what was meant.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 64 {
        return None;
    }
    let allowed = 1 + name.chars().count() / 3;
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The help for a word that is not in a list: the nearest one, or all of them.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => one_of(known),
    }
}

/// `use a, b or c`, cut if the list is long.
pub(super) fn one_of<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    const LONGEST: usize = 24;
    let words: Vec<String> = known.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [] => "there is none to choose from".to_owned(),
        [only] => format!("use {only}"),
        many if many.len() > LONGEST => format!("use one of {}, ...", many[..LONGEST].join(", ")),
        [firsts @ .., last] => format!("use {} or {last}", firsts.join(", ")),
    }
}
