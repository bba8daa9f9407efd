//! The steps of the timeline.

use super::instants::{Sight, instant};
use super::names::{Brief, Kind, MOST, Names};
use super::operation;
use super::problems::{Problems, did_you_mean, one_of, shown};
use super::tree::{Table, Value, counting, text, texts};
use super::values::{duration, size};
use super::verbs::keys;
use crate::error::ProblemKind;
use crate::{AwaitFor, Check, CheckKind, Do, Step, Verb, What};
use moonquake_clock::{Span, Thread};
use moonquake_faults::ACTIONS;
use moonquake_protocol::ErrorCode;

const KINDS: [&str; 4] = ["do", "tick", "await", "check"];
/// Words that only a fault has; a step with one of them wants to inject.
const FAULT_WORDS: [&str; 6] = ["fault", "action", "dimension", "target", "hit", "inject"];
/// Keys of one kind of step or another, for the message about a key in the wrong place.
const STEP_KEYS: [&str; 27] = [
    "id", "at", "do", "who", "key", "keys", "size", "pattern", "from", "bind", "into", "payload", "use",
    "expect", "count", "async", "times", "every", "until", "tick", "await", "within", "check", "of", "since",
    "force", "regex",
];

/// What the readers of a step share.
pub(super) struct Reader<'a, 'r> {
    pub(super) index: usize,
    pub(super) brief: &'r Brief<'a>,
    pub(super) names: &'r Names<'a>,
}

/// Reads the step at `index`.
pub(super) fn read(index: usize, names: &Names<'_>, problems: &mut Problems) -> Option<Step> {
    let reader = Reader {
        index,
        brief: &names.steps[index],
        names,
    };
    let table = &reader.brief.table;
    if injects(table, problems) {
        return None;
    }
    let given: Vec<&str> = KINDS.into_iter().filter(|kind| table.has(kind)).collect();
    let [kind] = given.as_slice() else {
        wrong_kinds(table, &given, problems);
        return None;
    };
    let at = table
        .get("at")
        .map(|value| instant(value, Sight::Before(index), names, problems));
    let what = match *kind {
        "do" => operation::read(&reader, problems).map(What::Do),
        "tick" => reader.tick(problems).map(What::Tick),
        "await" => reader.wait(problems),
        _ => reader.check(problems).map(What::Check),
    };
    let repeat = reader.repeat(problems);
    let expect = reader.expect(what.as_ref(), problems);
    let what = what?;
    let mut step = Step {
        index,
        id: reader.brief.id.map(str::to_owned),
        at: match at {
            Some(found) => Some(found?),
            None => None,
        },
        what,
        expect,
        is_async: reader.is_async(problems),
        times: repeat.times,
        every: repeat.every,
        until: repeat.until,
        text: String::new(),
    };
    step.text = crate::words::step(&step, |index| names.steps[index].id);
    Some(step)
}

/// Reports a step that would inject a fault.
fn injects(table: &Table<'_>, problems: &mut Problems) -> bool {
    let help =
        "only [fault] injects, once, and a scenario has one: move it there, or make it another scenario";
    let verb = table.get("do").and_then(|value| value.get_ref().as_str());
    // `create_move_task` has an argument `target` of its own.
    let args = verb
        .and_then(Verb::from_name)
        .map_or_else(Vec::new, |verb| keys(verb).args);
    let is_arg = |word: &str| args.iter().any(|(name, _)| *name == word);
    let key = FAULT_WORDS
        .into_iter()
        .find(|word| table.has(word) && !is_arg(word));
    let acts = verb.filter(|verb| ACTIONS.iter().any(|row| row.kind.word() == *verb));
    let place = match (key, acts) {
        (Some(key), _) => table.key_span(key),
        (None, Some(_)) => table.value_span("do"),
        (None, None) => return false,
    };
    problems.add(
        ProblemKind::Step,
        "no step injects",
        place,
        "this is a fault",
        help,
    );
    true
}

fn wrong_kinds(table: &Table<'_>, given: &[&str], problems: &mut Problems) {
    if given.is_empty() {
        let similar = table
            .entries
            .iter()
            .filter(|(key, _, _)| !STEP_KEYS.contains(key))
            .find_map(|(key, _, _)| super::problems::nearest(key, KINDS));
        let help = match similar {
            Some(near) => format!("did you mean `{near}`?"),
            None => "say what it does, such as `do = \"get\"` or `tick = \"eviction\"`".to_owned(),
        };
        problems.add(
            ProblemKind::Step,
            "a step holds one of `do`, `tick`, `await`, `check`",
            table.span.clone(),
            "this one holds none",
            help,
        );
        return;
    }
    let labels = given
        .iter()
        .map(|kind| (table.key_span(kind), format!("`{kind}` here")))
        .collect();
    problems.add_at(
        ProblemKind::Step,
        "a step holds exactly one of `do`, `tick`, `await`, `check`",
        labels,
        "make a step of each",
    );
}

/// The repetition of a step.
pub(super) struct Repeat {
    times: u32,
    every: Option<Span>,
    until: Option<crate::Instant>,
}

impl Reader<'_, '_> {
    fn table(&self) -> &Table<'_> {
        &self.brief.table
    }

    /// Reports keys that this kind of step, or this verb, has no use for. `own` are its keys beside those of all.
    pub(super) fn only(&self, known: &[&str], what: &str, own: &[&str], problems: &mut Problems) {
        for (key, span, _) in &self.brief.table.entries {
            if known.contains(key) || problems.is_full() {
                continue;
            }
            let message = if STEP_KEYS.contains(key) {
                format!("`{key}` makes no sense with {what}")
            } else {
                format!("{what} has no key `{}`", shown(key))
            };
            problems.add(
                ProblemKind::UnknownKey,
                message,
                span.clone(),
                "not here",
                match super::problems::nearest(key, known.iter().copied()) {
                    Some(near) if near != *key => format!("did you mean `{near}`?"),
                    _ if own.is_empty() => format!("leave it out; {what} has no further keys"),
                    _ => format!("leave it out; {what} has {}", own.join(", ")),
                },
            );
        }
    }

    fn tick(&self, problems: &mut Problems) -> Option<Thread> {
        self.only(
            &["id", "at", "tick", "times", "every", "until"],
            "a tick",
            &["times", "every", "until"],
            problems,
        );
        let value = self.table().get("tick")?;
        let found = text(value, "`tick = \"eviction\"`", problems)?;
        let thread = Thread::from_name(found);
        if thread.is_none() {
            problems.add(
                ProblemKind::Step,
                format!("no thread of the master is called `{}`", shown(found)),
                value.span(),
                "unknown thread",
                did_you_mean(found, Thread::ALL.map(Thread::name)),
            );
        }
        thread
    }

    fn wait(&self, problems: &mut Problems) -> Option<What> {
        self.only(
            &["id", "at", "await", "within", "expect"],
            "an await",
            &["within", "expect"],
            problems,
        );
        let value = self.table().get("await")?;
        let within = match self.table().get("within") {
            Some(value) => duration(value, "`within = \"31s\"`", problems)?,
            None => Span::ZERO,
        };
        let found = text(value, "`await = \"p1\"`", problems)?;
        let until = match found.strip_suffix(" mounted") {
            _ if found == "quiet" => AwaitFor::Quiet,
            Some(node) => {
                if self.names.find(node, &[Kind::Node]).is_none() {
                    self.names
                        .unbound(node, value.span(), &[Kind::Node], ("", &[]), problems);
                    return None;
                }
                AwaitFor::Mounted(node.to_owned())
            }
            None => AwaitFor::Step(self.awaited(found, value, problems)?),
        };
        Some(What::Await { until, within })
    }

    fn awaited(&self, found: &str, value: Value<'_>, problems: &mut Problems) -> Option<usize> {
        let Some(named) = self.names.find(found, &[Kind::Step]) else {
            if self.names.find(found, &[Kind::Node]).is_some() {
                problems.add(
                    ProblemKind::Step,
                    format!("`{found}` is a node, and a node does not end"),
                    value.span(),
                    "not a step",
                    format!("to wait for its segment write `await = \"{found} mounted\"`"),
                );
                return None;
            }
            self.names
                .unbound(found, value.span(), &[Kind::Step], ("", &["quiet"]), problems);
            return None;
        };
        let brief = &self.names.steps[named.step];
        if named.step >= self.index {
            problems.add_at(
                ProblemKind::Time,
                format!("`{found}` has not begun when it is awaited"),
                vec![
                    (value.span(), "awaited here".to_owned()),
                    (named.span.clone(), "and begun only here".to_owned()),
                ],
                "move the await below the step",
            );
            return None;
        }
        if !brief.is_async {
            problems.add_at(
                ProblemKind::Step,
                format!("`{found}` has ended before it is awaited"),
                vec![
                    (value.span(), "nothing to wait for".to_owned()),
                    (brief.table.span.clone(), "this step is not async".to_owned()),
                ],
                "add `async = true` to the step, or leave the await out",
            );
            return None;
        }
        Some(named.step)
    }

    fn check(&self, problems: &mut Problems) -> Option<Check> {
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

    fn is_async(&self, problems: &mut Problems) -> bool {
        let Some(value) = self.table().get("async") else {
            return false;
        };
        if super::tree::boolean(value, "`async = true`", problems) == Some(false) {
            problems.add(
                ProblemKind::Value,
                "`async` is true or not there",
                value.span(),
                "says nothing",
                "leave it out: a step waits for its result",
            );
        }
        self.brief.is_async
    }

    fn repeat(&self, problems: &mut Problems) -> Repeat {
        let table = self.table();
        let times = table
            .get("times")
            .and_then(|value| counting(value, MOST, "`times = 15`", problems))
            .unwrap_or(1);
        let every = table
            .get("every")
            .and_then(|value| duration(value, "`every = \"300ms\"`", problems));
        let until = table
            .get("until")
            .and_then(|value| instant(value, Sight::UpTo(self.index), self.names, problems));
        if table.has("until") && !table.has("every") {
            problems.add(
                ProblemKind::Step,
                "`until` needs `every`",
                table.key_span("until"),
                "no distance between the rounds",
                "add the distance, such as `every = \"300ms\"`",
            );
        }
        if table.has("every") && !table.has("until") && times == 1 {
            problems.add(
                ProblemKind::Step,
                "`every` needs `times` or `until`",
                table.key_span("every"),
                "nothing is repeated",
                "say how often: `times = 15`, or how long: `until = \"p1 + 10s\"`",
            );
        }
        if table.has("until") && every == Some(Span::ZERO) {
            problems.add(
                ProblemKind::Step,
                "the rounds never end",
                table.value_span("every"),
                "no time passes from round to round",
                "make `every` more than zero",
            );
        }
        Repeat { times, every, until }
    }

    fn expect(&self, what: Option<&What>, problems: &mut Problems) -> Vec<String> {
        let Some(value) = self.table().get("expect") else {
            return Vec::new();
        };
        let verb = match what {
            None | Some(What::Tick(_) | What::Check(_)) => return Vec::new(),
            Some(What::Do(_)) if self.brief.is_async => {
                problems.add(
                    ProblemKind::Step,
                    "what an async step is expected to return stands at its `await`",
                    self.table().key_span("expect"),
                    "the result is not known yet",
                    format!(
                        "move it: `{{ await = \"{}\", within = \"31s\", expect = ... }}`",
                        self.brief.id.unwrap_or("p1")
                    ),
                );
                return Vec::new();
            }
            Some(What::Do(Do { verb, .. })) => Some(*verb),
            Some(What::Await { until, .. }) => match until {
                AwaitFor::Step(step) => self.names.steps[*step].verb,
                _ => {
                    problems.add(
                        ProblemKind::Step,
                        "only the await of a step has a result",
                        self.table().key_span("expect"),
                        "nothing is returned here",
                        "leave it out: the await fails if it does not hold within its time",
                    );
                    return Vec::new();
                }
            },
        };
        let mut allowed = Vec::new();
        for (found, span) in texts(value, "`expect = \"ok\"`", problems) {
            if problems.is_full() {
                break;
            }
            match verb.map(|verb| wrong_result(found, verb)) {
                Some(Some((message, help))) => {
                    problems.add(ProblemKind::Step, message, span, "cannot be returned", help);
                }
                _ => allowed.push(found.to_owned()),
            }
        }
        if allowed.is_empty() && problems.is_empty() {
            problems.add(
                ProblemKind::Step,
                "no result is allowed",
                value.span(),
                "an empty list",
                "leave `expect` out to allow any result",
            );
        }
        allowed
    }
}

/// Why a verb cannot return this result, and the mend.
fn wrong_result(found: &str, verb: Verb) -> Option<(String, String)> {
    let is_ping = verb.name() == "ping";
    let known = ErrorCode::from_name(found).is_some_and(|code| code != ErrorCode::Ok);
    let message = format!("`{}` is no result of `{}`", shown(found), verb.name());
    match found {
        "ok" if verb.answers_bool() => Some((message, one_of(["true", "false"]))),
        "ok" => None,
        "true" | "false" if verb.answers_bool() => None,
        "NEED_REMOUNT" if is_ping => None,
        "OK" | "Ok" => Some((message, "write `ok`".to_owned())),
        _ if known => None,
        _ => {
            let mut words: Vec<&str> = if verb.answers_bool() {
                vec!["true", "false"]
            } else {
                vec!["ok"]
            };
            if is_ping {
                words.push("NEED_REMOUNT");
            }
            let errors = ErrorCode::ALL.iter().filter_map(|code| code.name());
            let help = match super::problems::nearest(
                found,
                words
                    .iter()
                    .copied()
                    .chain(errors.clone().filter(|name| *name != "OK")),
            ) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("{}, or an error name of the store", one_of(words)),
            };
            Some((message, help))
        }
    }
}
