//! What stands between the words of a file: comments and blank lines.

use toml_edit::{DocumentMut, RawString};

/// The column at which a comment behind a value begins, if the value leaves room.
const COLUMN: usize = 44;
/// Behind longer values, comments begin after this many spaces.
const SPACES: usize = 2;

/// A line without a word of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// One or more blank lines.
    Blank,
    /// A comment that has its line for itself, with its `#`.
    Comment(String),
}

/// The text between two words: the comment that ends the line of the first, and the lines before the second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    /// The comment behind the first word.
    pub(super) tail: Option<String>,
    /// The lines before the second.
    pub(super) lines: Vec<Line>,
}

/// Reads a gap that begins in the line of the first word.
pub(super) fn gap(raw: &str) -> Gap {
    let mut pieces = raw.splitn(2, '\n');
    let first = pieces.next().unwrap_or_default();
    Gap {
        tail: tail(first),
        lines: pieces.next().map(lines).unwrap_or_default(),
    }
}

/// The comment in what follows a value on its line.
pub(super) fn tail(raw: &str) -> Option<String> {
    let text = raw.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The lines of a text that begins a line; what follows the last line break is the white space before a word.
pub(super) fn lines(raw: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let Some((whole, _)) = raw.rsplit_once('\n') else {
        return found;
    };
    for piece in whole.split('\n') {
        let text = piece.trim();
        if !text.is_empty() {
            found.push(Line::Comment(text.to_owned()));
        } else if found.last() != Some(&Line::Blank) {
            found.push(Line::Blank);
        }
    }
    found
}

/// Without the blank lines at the start.
pub(super) fn from_first_comment(lines: Vec<Line>) -> Vec<Line> {
    lines
        .into_iter()
        .skip_while(|line| *line == Line::Blank)
        .collect()
}

/// Without the blank lines at the end.
pub(super) fn to_last_comment(mut lines: Vec<Line>) -> Vec<Line> {
    while lines.last() == Some(&Line::Blank) {
        lines.pop();
    }
    lines
}

/// Adds lines at an indentation.
pub(super) fn put(text: &mut String, indent: &str, lines: &[Line]) {
    for line in lines {
        if let Line::Comment(comment) = line {
            text.push_str(indent);
            text.push_str(comment);
        }
        text.push('\n');
    }
}

/// Ends a line, with a comment in its column if there is one.
pub(super) fn end_line(text: &mut String, tail: Option<&str>) {
    if let Some(tail) = tail {
        let line = text.rsplit('\n').next().unwrap_or_default();
        let width = line.chars().count();
        let column = COLUMN.max(width + SPACES);
        text.extend(std::iter::repeat_n(' ', column - width));
        text.push_str(tail);
    }
    text.push('\n');
}

/// The text of white space and comments.
pub(super) fn raw(found: Option<&RawString>) -> &str {
    found.and_then(RawString::as_str).unwrap_or_default()
}

/// Every comment of a document, in order.
pub(super) fn all(document: &DocumentMut) -> Vec<String> {
    let mut found = Vec::new();
    let mut bare = document.clone();
    // Texts may hold a `#` too, so they are emptied before comments are looked for.
    super::values::empty_texts(bare.as_table_mut());
    for line in bare.to_string().lines() {
        if let Some((_, comment)) = line.split_once('#') {
            found.push(comment.trim_end().to_owned());
        }
    }
    found
}
