//! A thin view on the spanned TOML tree: typed reads that say what is wrong and where.

use super::problems::{Problems, did_you_mean, nearest, shown};
use crate::error::ProblemKind;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its place.
pub(super) type Value<'a> = &'a Spanned<DeValue<'a>>;

/// A table of the file in the file's order.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    /// Name of the key, place of the key, value.
    pub(super) entries: Vec<(&'a str, Range<usize>, Value<'a>)>,
    /// The whole table, or its header.
    pub(super) span: Range<usize>,
    /// How messages call it: `[fault]`, `this step`.
    pub(super) name: &'static str,
}

impl<'a> Table<'a> {
    /// A view on a table of the tree.
    pub(super) fn new(table: &'a DeTable<'a>, span: Range<usize>, name: &'static str) -> Table<'a> {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
            .collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        Table { entries, span, name }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.entries
            .iter()
            .find(|(name, _, _)| *name == key)
            .map(|(_, _, value)| *value)
    }

    /// Whether the key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The place of a key's name; the table's place if the key is not there.
    pub(super) fn key_span(&self, key: &str) -> Range<usize> {
        self.entries
            .iter()
            .find(|(name, _, _)| *name == key)
            .map_or_else(|| self.span.clone(), |(_, span, _)| span.clone())
    }

    /// The place of a key's value; the table's place if the key is not there.
    pub(super) fn value_span(&self, key: &str) -> Range<usize> {
        self.get(key).map_or_else(|| self.span.clone(), Spanned::span)
    }

    /// Reports every key that is not in the list.
    pub(super) fn only(&self, known: &[&str], problems: &mut Problems) {
        for (key, span, _) in &self.entries {
            if !known.contains(key) && !problems.is_full() {
                problems.add(
                    ProblemKind::UnknownKey,
                    format!("{} has no key `{}`", self.name, shown(key)),
                    span.clone(),
                    "unknown key",
                    did_you_mean(key, known.iter().copied()),
                );
            }
        }
    }

    /// The value of a key that must be there.
    pub(super) fn demand(&self, key: &str, example: &str, problems: &mut Problems) -> Option<Value<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let similar = nearest(key, self.entries.iter().map(|(name, _, _)| *name));
            let help = match similar {
                Some(near) => format!("is `{}` meant to be it? add {example}", shown(near)),
                None => format!("add {example}"),
            };
            problems.add(
                ProblemKind::MissingKey,
                format!("{} needs the key `{key}`", self.name),
                self.span.clone(),
                format!("no `{key}` here"),
                help,
            );
        }
        found
    }
}

fn wrong_type(value: Value<'_>, wanted: &str, example: &str, problems: &mut Problems) {
    problems.add(
        ProblemKind::Value,
        format!("expected {wanted}, found {}", article(value.get_ref().type_str())),
        value.span(),
        format!("this must be {wanted}"),
        format!("write {example}"),
    );
}

fn article(kind: &str) -> String {
    match kind {
        "integer" | "array" => format!("an {kind}"),
        other => format!("a {other}"),
    }
}

/// A text.
pub(super) fn text<'a>(value: Value<'a>, example: &str, problems: &mut Problems) -> Option<&'a str> {
    let found = value.get_ref().as_str();
    if found.is_none() {
        wrong_type(value, "a text in quotes", example, problems);
    }
    found
}

/// A table.
pub(super) fn table<'a>(
    value: Value<'a>,
    name: &'static str,
    example: &str,
    problems: &mut Problems,
) -> Option<Table<'a>> {
    match value.get_ref().as_table() {
        Some(found) => Some(Table::new(found, value.span(), name)),
        None => {
            wrong_type(value, "a table", example, problems);
            None
        }
    }
}

/// An array.
pub(super) fn array<'a>(
    value: Value<'a>,
    example: &str,
    problems: &mut Problems,
) -> Option<&'a [Spanned<DeValue<'a>>]> {
    match value.get_ref() {
        DeValue::Array(found) => Some(&**found),
        _ => {
            wrong_type(value, "an array", example, problems);
            None
        }
    }
}

/// A list of texts; a single text stands for a list of one.
pub(super) fn texts<'a>(
    value: Value<'a>,
    example: &str,
    problems: &mut Problems,
) -> Vec<(&'a str, Range<usize>)> {
    match value.get_ref() {
        DeValue::String(one) => vec![(one.as_ref(), value.span())],
        DeValue::Array(many) => many
            .iter()
            .filter_map(|item| text(item, example, problems).map(|found| (found, item.span())))
            .collect(),
        _ => {
            wrong_type(value, "a text or a list of texts", example, problems);
            Vec::new()
        }
    }
}

/// A whole number that is not negative.
pub(super) fn whole(value: Value<'_>, example: &str, problems: &mut Problems) -> Option<u64> {
    let number = value.get_ref().as_integer();
    let parsed = number.and_then(|found| u64::from_str_radix(found.as_str(), found.radix()).ok());
    if parsed.is_none() {
        match number {
            Some(_) => problems.add(
                ProblemKind::Value,
                "the number is negative or too large",
                value.span(),
                "expected a whole number from 0",
                format!("write {example}"),
            ),
            None => wrong_type(value, "a whole number", example, problems),
        }
    }
    parsed
}

/// A whole number from 1 that fits the limit.
pub(super) fn counting(value: Value<'_>, most: u32, example: &str, problems: &mut Problems) -> Option<u32> {
    let number = whole(value, example, problems)?;
    let fits = u32::try_from(number)
        .ok()
        .filter(|found| (1..=most).contains(found));
    if fits.is_none() {
        problems.add(
            ProblemKind::Value,
            match most {
                u32::MAX if number < 1 => format!("{number} is not 1 or more"),
                _ => format!("{number} is not between 1 and {most}"),
            },
            value.span(),
            "out of range",
            format!("write {example}"),
        );
    }
    fits
}

/// `true` or `false`.
pub(super) fn boolean(value: Value<'_>, example: &str, problems: &mut Problems) -> Option<bool> {
    let found = value.get_ref().as_bool();
    if found.is_none() {
        wrong_type(value, "true or false", example, problems);
    }
    found
}
