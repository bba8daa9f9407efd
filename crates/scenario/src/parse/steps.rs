//! The steps of the timeline.

use super::instants::{Sight, instant};
use super::names::{Brief, Kind, MOST, Names};
use super::operation;
use super::problems::{Problems, did_you_mean, shown};
use super::tree::{Table, Value, counting, text};
use super::values::duration;
use super::verbs::keys;
use crate::error::ProblemKind;
use crate::{AwaitFor, Step, Verb, What};
use moonquake_clock::{Span, Thread};
use moonquake_faults::ACTIONS;

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
    pub(super) fn table(&self) -> &Table<'_> {
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
}
