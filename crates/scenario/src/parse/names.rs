//! Who and what a file names, collected before anything refers to it.

use super::problems::{Problems, nearest, one_of, shown};
use super::tree::{Table, Value};
use super::values::{is_name, name, reserved};
use crate::error::ProblemKind;
use crate::{Do, Verb};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::de::DeValue;

/// How many names, keys or repetitions a file may come to in all.
pub(super) const MOST: u32 = 100_000;

/// The bytes that all keys of all batches of a file may come to.
pub(super) const MOST_KEY_BYTES: usize = 16 << 20;

/// What is known about a step before it is read in full.
#[derive(Clone, Debug)]
pub(super) struct Brief<'a> {
    pub(super) table: Table<'a>,
    pub(super) id: Option<&'a str>,
    pub(super) verb: Option<Verb>,
    pub(super) who: Option<&'a str>,
    pub(super) is_async: bool,
    pub(super) times: u32,
}

/// The kind of a named thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Node,
    Client,
    Step,
    Range,
    Buffer,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::Node => "node",
            Kind::Client => "client",
            Kind::Step => "step",
            Kind::Range => "range",
            Kind::Buffer => "buffer",
        }
    }
}

/// A named thing.
#[derive(Clone, Debug)]
pub(super) struct Named<'a> {
    pub(super) kind: Kind,
    /// Where it got its name.
    pub(super) span: Range<usize>,
    /// The first step that names it, for steps, ranges and buffers.
    pub(super) step: usize,
    /// Whose buffer it is.
    pub(super) owner: Option<&'a str>,
}

/// Everything that has a name.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    pub(super) all: BTreeMap<String, Named<'a>>,
    pub(super) steps: Vec<Brief<'a>>,
    /// The patterns that some step writes.
    pub(super) patterns: BTreeSet<String>,
    expanded: u32,
    /// Keys and their bytes that the batches so far came to.
    keys_spent: Cell<(usize, usize)>,
}

impl<'a> Names<'a> {
    /// The thing of that name, if it is of one of these kinds.
    pub(super) fn find(&self, name: &str, kinds: &[Kind]) -> Option<&Named<'a>> {
        self.all.get(name).filter(|named| kinds.contains(&named.kind))
    }

    /// The names of these kinds.
    pub(super) fn of(&self, kinds: &'static [Kind]) -> impl Iterator<Item = &str> + Clone {
        self.all
            .iter()
            .filter(move |(_, named)| kinds.contains(&named.kind))
            .map(|(name, _)| name.as_str())
    }

    /// Reports a name that is not there or is something else. `further` are words that would do as well, and their kind.
    pub(super) fn unbound(
        &self,
        found: &str,
        at: Range<usize>,
        kinds: &'static [Kind],
        further: (&str, &[&str]),
        problems: &mut Problems,
    ) {
        if problems.is_full() {
            return;
        }
        let wanted = kinds
            .iter()
            .map(|kind| kind.word())
            .collect::<Vec<_>>()
            .join(" or ");
        let known: Vec<&str> = self.of(kinds).chain(further.1.iter().copied()).collect();
        if let Some(other) = self.all.get(found) {
            problems.add_at(
                ProblemKind::Unbound,
                format!("`{found}` is a {}, not a {wanted}", other.kind.word()),
                vec![
                    (at, format!("a {wanted} is meant here")),
                    (other.span.clone(), "named here".to_owned()),
                ],
                one_of(known),
            );
            return;
        }
        let help = match (nearest(found, known.iter().copied()), kinds.first()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(Kind::Node | Kind::Client)) => {
                format!("{}, or add it to [world]", one_of(known))
            }
            (None, Some(Kind::Range | Kind::Buffer)) if known.is_empty() => {
                "name a range with `bind`, or a buffer with `into` or `from`".to_owned()
            }
            (None, Some(Kind::Step)) if known.is_empty() => "give the step an `id`".to_owned(),
            _ => one_of(known),
        };
        problems.add(
            ProblemKind::Unbound,
            format!("no {wanted} is called `{}`", shown(found)),
            at,
            "nothing has this name",
            help,
        );
    }

    /// Whether the batches so far have used up what a file may have.
    pub(super) fn are_keys_spent(&self) -> bool {
        let (count, bytes) = self.keys_spent.get();
        count > MOST as usize || bytes > MOST_KEY_BYTES
    }

    /// Takes the keys of a batch out of what a file may have in all.
    pub(super) fn spend_keys(&self, keys: &[String]) {
        let (count, bytes) = self.keys_spent.get();
        let own_bytes: usize = keys.iter().map(String::len).sum();
        self.keys_spent.set((count + keys.len(), bytes + own_bytes));
    }

    /// Names a thing, and reports a name that is malformed, reserved or taken.
    pub(super) fn add(&mut self, found: &str, new: Named<'a>, problems: &mut Problems) {
        if name(found, new.span.clone(), problems).is_none() {
            return;
        }
        if let Some(what) = reserved(found) {
            problems.add(
                ProblemKind::Name,
                format!("a {} cannot be called `{found}`", new.kind.word()),
                new.span,
                format!("this is {what}"),
                format!("choose another name, such as `{found}1`"),
            );
            return;
        }
        match self.all.get(found) {
            None => {
                self.all.insert(found.to_owned(), new);
            }
            Some(old) if old.kind == Kind::Buffer && new.kind == Kind::Buffer => {
                if old.owner != new.owner {
                    problems.add_at(
                        ProblemKind::Name,
                        format!("buffer `{found}` belongs to two callers"),
                        vec![
                            (
                                new.span,
                                format!("here it is a buffer of {}", new.owner.unwrap_or("nobody")),
                            ),
                            (
                                old.span.clone(),
                                format!("here of {}", old.owner.unwrap_or("nobody")),
                            ),
                        ],
                        "a buffer is memory of one process: give each caller's its own name",
                    );
                }
            }
            Some(old) => problems.add_at(
                ProblemKind::Name,
                format!("the name `{found}` is given twice"),
                vec![
                    (new.span, format!("a {} here", new.kind.word())),
                    (old.span.clone(), format!("a {} here", old.kind.word())),
                ],
                "actors, steps, ranges and buffers of a file have different names: rename one",
            ),
        }
    }

    /// Names what a step names: itself, its ranges, its buffers, its pattern.
    pub(super) fn add_step(&mut self, table: Table<'a>, problems: &mut Problems) {
        let index = self.steps.len();
        let word = |key| {
            table
                .get(key)
                .and_then(|value: Value<'a>| value.get_ref().as_str())
        };
        let brief = Brief {
            id: word("id"),
            verb: word("do").and_then(Verb::from_name),
            who: word("who"),
            is_async: table.get("async").and_then(|value| value.get_ref().as_bool()) == Some(true),
            times: times_of(&table),
            table: table.clone(),
        };
        if let Some(id) = brief.id {
            let named = Named {
                kind: Kind::Step,
                span: table.value_span("id"),
                step: index,
                owner: None,
            };
            self.add(id, named, problems);
        }
        for (key, kind) in [
            ("bind", Kind::Range),
            ("into", Kind::Buffer),
            ("from", Kind::Buffer),
        ] {
            for (found, span) in quiet_texts(table.get(key)) {
                let named = Named {
                    kind,
                    span,
                    step: index,
                    owner: brief.who,
                };
                self.add_repeated(found, named, brief.times, problems);
            }
        }
        if let Some(verb) = brief.verb {
            let action = Do {
                verb,
                who: brief.who.map(str::to_owned),
                pattern: word("pattern").map(str::to_owned),
                ..Do::default()
            };
            self.patterns.extend(action.written_pattern().map(str::to_owned));
        }
        self.steps.push(brief);
    }

    fn add_repeated(&mut self, template: &str, named: Named<'a>, times: u32, problems: &mut Problems) {
        if !template.contains("{i}") {
            if times > 1 && named.kind == Kind::Range {
                problems.add(
                    ProblemKind::Name,
                    format!(
                        "range `{}` would be bound in each of {times} repetitions",
                        shown(template)
                    ),
                    named.span,
                    "one name for many ranges",
                    format!("number them: `{}{{i}}`", shown(template)),
                );
                return;
            }
            self.add(template, named, problems);
            return;
        }
        self.expanded = self.expanded.saturating_add(times);
        if self.expanded > MOST || template.len() > 200 {
            problems.add(
                ProblemKind::Name,
                "the repetitions of this file make too many names",
                named.span,
                format!("{times} names from here"),
                format!("at most {MOST} in all: bind fewer, or repeat less often"),
            );
            return;
        }
        if !is_name(&Do::repeated(template, 1)) {
            name(&Do::repeated(template, 1), named.span, problems);
            return;
        }
        for repetition in 1..=times {
            if problems.is_full() {
                break;
            }
            self.add(&Do::repeated(template, repetition), named.clone(), problems);
        }
    }
}

/// The repetitions of a step, as far as they can be told before it is read.
fn times_of(table: &Table<'_>) -> u32 {
    let number = table.get("times").and_then(|value| value.get_ref().as_integer());
    number
        .and_then(|found| u32::from_str_radix(found.as_str(), found.radix()).ok())
        .map_or(1, |times| times.clamp(1, MOST))
}

/// A text or the texts of an array; whatever else is there is reported when the step is read.
fn quiet_texts<'a>(value: Option<Value<'a>>) -> Vec<(&'a str, Range<usize>)> {
    match value.map(|value| (value.get_ref(), value.span())) {
        Some((DeValue::String(one), span)) => vec![(one.as_ref(), span)],
        Some((DeValue::Array(many), _)) => many
            .iter()
            .filter_map(|item| item.get_ref().as_str().map(|found| (found, item.span())))
            .collect(),
        _ => Vec::new(),
    }
}
