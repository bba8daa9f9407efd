//! The comparison for a terminal.

use super::{Comparison, DiffEvent, DiffLine, DiffSide};
use moonquake_clock::Span;

/// How many equal lines are shown before the first difference.
const CONTEXT: usize = 4;
/// How many events on the way to it are shown for each side.
const LEAD: usize = 8;

/// A line, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffText {
    /// Whose.
    pub mark: DiffMark,
    /// The line.
    pub text: String,
}

/// Whose a line is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffMark {
    /// Of both.
    Both,
    /// Of the first side alone.
    One,
    /// Of the second side alone.
    Two,
}

/// The comparison as lines: who ran, and where they part.
pub fn diff_text(comparison: &Comparison) -> Vec<DiffText> {
    let mut lines = Lines::default();
    lines.both(format!("{}: {}", comparison.id, comparison.title));
    let width = width(comparison);
    for side in &comparison.sides {
        lines.both(format!("  {:<width$}  {}", side.name, outcome(side)));
    }
    lines.both(String::new());
    match comparison.first {
        None => {
            let side = &comparison.sides[0];
            lines.both(format!(
                "The same in all {} lines of what must be the same.",
                side.lines
            ));
            lines.both(format!("projection sha256: {}", side.projection_sha256));
        }
        Some(first) => parted(comparison, "They", first, &mut lines),
    }
    lines.0
}

/// Where two runs of a square part, or that they do not.
pub(super) fn pair_text(comparison: &Comparison) -> Vec<DiffText> {
    let mut lines = Lines::default();
    let [one, two] = &comparison.sides;
    let who = format!("{} and {}", one.name, two.name);
    match comparison.first {
        None => {
            let equal = format!("the same in all {} lines of what must be the same", one.lines);
            lines.both(format!("{who}: {equal}{}.", but(comparison)));
        }
        Some(first) => parted(comparison, &who, first, &mut lines),
    }
    lines.0
}

/// What is to add to equal projections, if the runs come out differently.
fn but(comparison: &Comparison) -> String {
    if comparison.same_outcome() {
        return String::new();
    }
    let [one, two] = comparison.sides.each_ref().map(|side| {
        let failed = match side.failed.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join(", ")),
        };
        format!("{} on {}{failed}", side.verdict, side.name)
    });
    format!(", and yet it comes out as {one} and as {two}")
}

/// As wide as the longer of the two names.
fn width(comparison: &Comparison) -> usize {
    let names = comparison.sides.iter().map(|side| side.name.chars().count());
    names.max().unwrap_or(0)
}

fn outcome(side: &DiffSide) -> String {
    let claim = if side.claim_met {
        "as the file says"
    } else {
        "NOT as the file says"
    };
    let failed = match side.failed.as_slice() {
        [] => String::new(),
        some => format!(": {}", some.join(", ")),
    };
    format!("profile {}, {}{failed} ({claim})", side.profile, side.verdict)
}

fn parted(comparison: &Comparison, who: &str, first: usize, lines: &mut Lines) {
    let width = width(comparison);
    let row = &comparison.rows[first];
    let there = row.lines.iter().flatten().next();
    let (line, step) = there.map_or((0, None), |line| (line.line, line.step.as_deref()));
    let step = step.map(|step| format!(", at {step}")).unwrap_or_default();
    let all = comparison.sides.iter().map(|side| side.lines).max().unwrap_or(0);
    lines.both(format!(
        "{who} part at line {line} of {all} of what must be the same{step}"
    ));
    lines.both(String::new());
    for same in &comparison.rows[first.saturating_sub(CONTEXT)..first] {
        if let Some(line) = &same.lines[0] {
            lines.both(shown("both", width, Some(line)));
        }
    }
    let marks = [DiffMark::One, DiffMark::Two];
    for (side, mark) in marks.into_iter().enumerate() {
        let text = shown(&comparison.sides[side].name, width, row.lines[side].as_ref());
        lines.0.push(DiffText { mark, text });
    }
    for (side, mark) in marks.into_iter().enumerate() {
        let lead = &comparison.lead[side];
        lines.both(String::new());
        lines.both(format!(
            "What {} saw on the way there:",
            comparison.sides[side].name
        ));
        for event in &lead[lead.len().saturating_sub(LEAD)..] {
            let text = seen(event);
            lines.0.push(DiffText { mark, text });
        }
    }
    let more = comparison.differing() - 1;
    lines.both(String::new());
    lines.both(match more {
        0 => "Nothing else differs.".to_owned(),
        1 => "One more line differs behind it.".to_owned(),
        many => format!("{many} more lines differ behind it."),
    });
}

fn shown(name: &str, width: usize, line: Option<&DiffLine>) -> String {
    match line {
        Some(line) => format!(
            "  {name:<width$}  {:>5}  {:<6}  {}",
            line.line,
            line.event.to_string(),
            line.text
        ),
        None => format!("  {name:<width$}  {:>5}  {:<6}  (nothing)", "-", "-"),
    }
}

fn seen(event: &DiffEvent) -> String {
    let at = Span::from_ns(event.at_ns).to_string();
    format!(
        "  {:<6}  {at}  {} ({}): {}",
        event.event.to_string(),
        event.actor,
        event.observer,
        event.text
    )
}

#[derive(Default)]
struct Lines(Vec<DiffText>);

impl Lines {
    fn both(&mut self, text: String) {
        self.0.push(DiffText {
            mark: DiffMark::Both,
            text,
        });
    }
}
