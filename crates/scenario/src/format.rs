//! The house form of a scenario file: keys and comments in columns, one step a line, every word and comment kept.
//!
//! The form depends on nothing but the words of the file: however its white space was, it comes out the same, and what
//! came out does not change again.

mod comments;
mod steps;
mod tables;
mod values;

use crate::error::ScenarioErrors;
use crate::{Plan, parse};
use toml_edit::DocumentMut;

/// Why a file was not formatted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FormatError {
    /// It is no scenario.
    #[error("{0}")]
    Scenario(Box<ScenarioErrors>),
    /// It would have come out as another scenario, or without some comment.
    #[error("{path} cannot be formatted without a change of {what}")]
    Unsafe {
        /// The file.
        path: String,
        /// `its meaning` or `its comments`.
        what: &'static str,
    },
}

/// The text of a scenario file in the house form. `path` is what messages call it.
///
/// The result is read back: it means the same and holds the same comments, or it is an error.
///
/// # Errors
/// If the text is no scenario, or cannot be formatted without changing what it says.
pub fn format(path: &str, text: &[u8]) -> Result<String, FormatError> {
    let before = plan(path, text)?;
    let wrong = |what| FormatError::Unsafe {
        path: path.to_owned(),
        what,
    };
    let text = std::str::from_utf8(text).map_err(|_| wrong("its meaning"))?;
    let line_feeds = text.matches('\n').count();
    let is_crlf = line_feeds > 0 && text.matches("\r\n").count() == line_feeds;
    let unix = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let document: DocumentMut = unix.parse().map_err(|_| wrong("its meaning"))?;
    let formatted = tables::document(&document);
    let again: DocumentMut = formatted.parse().map_err(|_| wrong("its meaning"))?;
    if comments::all(&document) != comments::all(&again) {
        return Err(wrong("its comments"));
    }
    let formatted = if is_crlf {
        formatted.replace('\n', "\r\n")
    } else {
        formatted
    };
    let after = plan(path, formatted.as_bytes())?;
    if same(before, after) {
        Ok(formatted)
    } else {
        Err(wrong("its meaning"))
    }
}

fn plan(path: &str, text: &[u8]) -> Result<Plan, FormatError> {
    parse::from_str(path, text).map_err(|wrong| FormatError::Scenario(Box::new(wrong)))
}

/// Whether two plans differ in nothing but the bytes of their files.
fn same(mut one: Plan, other: Plan) -> bool {
    one.sha256.clone_from(&other.sha256);
    one == other
}
