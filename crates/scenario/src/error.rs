//! What is wrong with a scenario file: where, what, and how to mend it.

use miette::{
    Diagnostic, LabeledSpan, MietteError, MietteSpanContents, Severity, SourceCode, SourceSpan, SpanContents,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The kind of a problem, for machines; people read the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// The file cannot be read, is too large, or is no text.
    File,
    /// The text is no TOML.
    Syntax,
    /// A key that does not belong where it stands.
    UnknownKey,
    /// A key that must be there is not.
    MissingKey,
    /// A value of the wrong type, or one that does not parse.
    Value,
    /// A name that is malformed, reserved or given twice.
    Name,
    /// A reference to something that does not exist.
    Unbound,
    /// The one fault is none, more than one, or a combination that does not exist.
    Fault,
    /// A step that makes no sense.
    Step,
    /// An instant that cannot be, or time going back.
    Time,
    /// A claim that cannot come true.
    Verdict,
}

impl ProblemKind {
    /// The word for it, as in the error's code.
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::File => "file",
            ProblemKind::Syntax => "syntax",
            ProblemKind::UnknownKey => "unknown-key",
            ProblemKind::MissingKey => "missing-key",
            ProblemKind::Value => "value",
            ProblemKind::Name => "name",
            ProblemKind::Unbound => "unbound",
            ProblemKind::Fault => "fault",
            ProblemKind::Step => "step",
            ProblemKind::Time => "time",
            ProblemKind::Verdict => "verdict",
        }
    }
}

/// How many problems of one file are looked for.
pub(crate) const SHOWN: usize = 12;

/// One problem of a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where, as byte ranges of the file with a few words each; the first is the place itself.
    pub labels: Vec<(Range<usize>, String)>,
    /// How to mend it.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!("scenario::{}", self.kind.name())))
    }

    fn severity(&self) -> Option<Severity> {
        Some(Severity::Error)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.help))
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() {
            return None;
        }
        Some(Box::new(self.labels.iter().map(|(range, text)| {
            LabeledSpan::new(Some(text.clone()), range.start, range.len())
        })))
    }
}

/// Everything that is wrong with one scenario file. Shown by miette as one report with a part for each problem.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{path} is no scenario: {}", count(.problems.len()))]
pub struct ScenarioErrors {
    /// The file, as given by the caller.
    pub path: String,
    /// The problems in the order of the file; not all if there are very many.
    pub problems: Vec<Problem>,
    text: Arc<Source>,
}

fn count(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        SHOWN => format!("{SHOWN} problems and more"),
        many => format!("{many} problems"),
    }
}

impl ScenarioErrors {
    /// The problems of a text, sorted by place. Labels are cut to what a screen can show.
    pub(crate) fn new(path: &str, text: &str, mut problems: Vec<Problem>) -> ScenarioErrors {
        for problem in &mut problems {
            for (range, _) in &mut problem.labels {
                *range = clip(text, range.clone());
            }
            if spans_long_lines(text, &problem.labels) {
                problem.labels.truncate(1);
            }
        }
        problems.sort_by_key(|problem| problem.labels.first().map_or(0, |(range, _)| range.start));
        ScenarioErrors {
            path: path.to_owned(),
            problems,
            text: Arc::new(Source {
                path: path.to_owned(),
                text: text.to_owned(),
            }),
        }
    }

    /// A problem of the file as a whole, without a place in its text.
    pub(crate) fn of_file(path: &str, message: String, help: &str) -> ScenarioErrors {
        let problem = Problem {
            kind: ProblemKind::File,
            message,
            labels: Vec::new(),
            help: help.to_owned(),
        };
        ScenarioErrors::new(path, "", vec![problem])
    }

    /// One line for each problem, `path:line:column: message; mend`, for machines and logs.
    pub fn plain(&self) -> String {
        let mut lines = String::new();
        for problem in &self.problems {
            let place = match problem.labels.first() {
                Some((range, _)) => {
                    let (line, column) = line_and_column(&self.text.text, range.start);
                    format!("{}:{line}:{column}", self.path)
                }
                None => self.path.clone(),
            };
            lines.push_str(&format!("{place}: {}; {}\n", problem.message, problem.help));
        }
        lines
    }
}

impl Diagnostic for ScenarioErrors {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&*self.text)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let is_cut = self.problems.len() >= SHOWN;
        is_cut.then(|| Box::new("there may be more; mend these first") as Box<_>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems.iter().map(|problem| problem as &dyn Diagnostic),
        ))
    }
}

/// Line and column from 1 of a byte offset.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}

/// The longest label, in bytes, that is underlined in whole.
const LABEL_BYTES: usize = 120;
/// How much of a long line is shown around a label, in bytes.
const MARGIN_BYTES: usize = 60;
/// A line longer than this is shown in part.
const LINE_BYTES: usize = 400;

/// A range inside the text, on character boundaries, of its first line only and no longer than a screen can show.
fn clip(text: &str, range: Range<usize>) -> Range<usize> {
    let start = floor_boundary(text, range.start.min(text.len()));
    let end = range.end.clamp(start, text.len());
    let end = floor_boundary(text, end.min(start.saturating_add(LABEL_BYTES)));
    let line_end = text[start..end].find('\n').map_or(end, |at| start + at);
    start..line_end.max(start)
}

/// Whether a screen could not hold what lies between the labels.
fn spans_long_lines(text: &str, labels: &[(Range<usize>, String)]) -> bool {
    let starts = labels.iter().map(|(range, _)| range.start);
    let ends = labels.iter().map(|(range, _)| range.end);
    let (Some(start), Some(end)) = (starts.min(), ends.max()) else {
        return false;
    };
    labels.len() > 1 && text[start..end].split('\n').any(|line| line.len() > LINE_BYTES)
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The text of a scenario, which shows only a part of lines that no screen could hold.
#[derive(Debug)]
struct Source {
    path: String,
    text: String,
}

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.text.read_span(span, before, after)?;
        let longest = contents
            .data()
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::len)
            .max();
        if longest.unwrap_or(0) <= LINE_BYTES {
            return Ok(Box::new(MietteSpanContents::new_named(
                self.path.clone(),
                contents.data(),
                *contents.span(),
                contents.line(),
                contents.column(),
                contents.line_count(),
            )));
        }
        let bytes = self.text.as_bytes();
        let line_start = bytes[..span.offset().min(bytes.len())]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let start = floor_boundary(&self.text, span.offset().saturating_sub(MARGIN_BYTES)).max(line_start);
        let wanted = (span.offset() + span.len() + MARGIN_BYTES).min(bytes.len());
        let end = floor_boundary(&self.text, wanted);
        let (line, _) = line_and_column(&self.text, start);
        Ok(Box::new(MietteSpanContents::new_named(
            self.path.clone(),
            &bytes[start..end],
            (start, end - start).into(),
            line - 1,
            0,
            1,
        )))
    }
}
