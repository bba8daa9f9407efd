//! Steps that `check` something, and the patterns that bytes must have.

use super::instants::{Sight, instant};
use super::names::Kind;
use super::problems::{Problems, did_you_mean, shown};
use super::steps::Reader;
use super::tree::{Value, text, texts};
use super::values::size;
use crate::error::ProblemKind;
use crate::{Check, CheckKind};

impl Reader<'_, '_> {
    /// Reads a step with `check`.
    pub(super) fn check(&self, problems: &mut Problems) -> Option<Check> {
        let value = self.table().get("check")?;
        let found = text(value, "`check = \"released\"`", problems)?;
        let Some(kind) = CheckKind::ALL.into_iter().find(|kind| kind.name() == found) else {
            problems.add(
                ProblemKind::Step,
                format!("no check is called `{}`", shown(found)),
                value.span(),
                "unknown check",
                did_you_mean(found, CheckKind::ALL.map(CheckKind::name)),
            );
            return None;
        };
        let own: &[&str] = match kind {
            CheckKind::Allocated => &["size"],
            CheckKind::Bytes => &["of", "payload"],
            CheckKind::Untouched => &["of", "since"],
            _ => &["of"],
        };
        let known: Vec<&str> = ["id", "at", "check"].iter().chain(own).copied().collect();
        self.only(&known, &format!("the check `{}`", kind.name()), own, problems);
        for key in own.iter().filter(|key| **key != "since") {
            let example = match *key {
                "size" => "`size = \"4MiB\"`",
                "payload" => "`payload = \"w1\"`",
                _ => "`of = [\"a1\"]`",
            };
            self.table().demand(key, example, problems);
        }
        let size_bytes = self
            .table()
            .get("size")
            .filter(|_| kind == CheckKind::Allocated)
            .and_then(|value| size(value, "`size = \"4MiB\"`", problems));
        let payload = self
            .table()
            .get("payload")
            .filter(|_| kind == CheckKind::Bytes)
            .and_then(|value| self.payload(value, problems));
        Some(Check {
            kind,
            of: self.of(kind, problems),
            since: self
                .table()
                .get("since")
                .and_then(|value| instant(value, Sight::Before(self.index), self.names, problems)),
            size_bytes,
            payload,
        })
    }

    /// The ranges and buffers that a check looks at.
    fn of(&self, kind: CheckKind, problems: &mut Problems) -> Vec<String> {
        let Some(value) = self.table().get("of").filter(|_| kind != CheckKind::Allocated) else {
            return Vec::new();
        };
        let kinds: &'static [Kind] = match kind {
            CheckKind::Bytes => &[Kind::Buffer],
            CheckKind::Untouched => &[Kind::Buffer, Kind::Range],
            _ => &[Kind::Range],
        };
        let mut of: Vec<String> = Vec::new();
        for (found, span) in texts(value, "`of = [\"a1\"]`", problems) {
            let Some(named) = self.names.find(found, kinds) else {
                self.names.unbound(found, span, kinds, ("", &[]), problems);
                continue;
            };
            if named.step >= self.index {
                problems.add_at(
                    ProblemKind::Time,
                    format!(
                        "the {} `{found}` does not exist when it is looked at",
                        named.kind.word()
                    ),
                    vec![
                        (span, "looked at here".to_owned()),
                        (named.span.clone(), "named only here".to_owned()),
                    ],
                    "move the check below the step that names it",
                );
                continue;
            }
            of.push(found.to_owned());
        }
        let least = if kind == CheckKind::Disjoint { 2 } else { 1 };
        if of.len() < least && problems.is_empty() {
            problems.add(
                ProblemKind::Step,
                format!("the check `{}` needs {least} or more to look at", kind.name()),
                value.span(),
                "too few",
                "name them: `of = [\"a1\", \"a2\"]`",
            );
        }
        of
    }

    /// A pattern that every byte must have: one that some step writes.
    pub(super) fn payload(&self, value: Value<'_>, problems: &mut Problems) -> Option<String> {
        let found = super::values::name_value(value, "`payload = \"w1\"`", problems)?;
        if !self.names.patterns.contains(found) {
            problems.add(
                ProblemKind::Unbound,
                format!("no step writes the pattern `{found}`"),
                value.span(),
                "no byte can have it",
                did_you_mean(found, self.names.patterns.iter().map(String::as_str)),
            );
            return None;
        }
        Some(found.to_owned())
    }
}
