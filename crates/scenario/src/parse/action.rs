//! The action of the fault.

use super::problems::{Problems, did_you_mean, one_of, shown};
use super::tree::{Table, Value, table, text};
use super::values::{duration, rate};
use crate::Action;
use crate::error::ProblemKind;
use moonquake_clock::{Domain, Span};
use moonquake_faults::{ACTIONS, ActionKind};
use moonquake_protocol::ErrorCode;
use toml::de::DeValue;

/// The actions that take an argument: the key, and how it is written.
const WITH_ARGUMENT: [(&str, &str); 5] = [
    ("restart", "{ restart = \"5s\" }"),
    ("delay", "{ delay = \"1s\" }"),
    ("error", "{ error = \"RPC_FAIL\" }"),
    ("rate", "{ rate = \"1MiB/s\" }"),
    ("step", "{ step = \"+61s\", clock = \"realtime\" }"),
];

/// Reads the value of `action`.
pub(super) fn read(value: Value<'_>, problems: &mut Problems) -> Option<Action> {
    match value.get_ref() {
        DeValue::String(word) => plain(word, value, problems),
        DeValue::Array(_) => {
            problems.add(
                ProblemKind::Fault,
                "a fault has at most one action",
                value.span(),
                "a list of actions",
                "keep one; a second one belongs into another scenario",
            );
            None
        }
        _ => {
            let found = table(value, "this action", "`action = \"kill\"`", problems)?;
            with_argument(&found, problems)
        }
    }
}

fn plain(word: &str, value: Value<'_>, problems: &mut Problems) -> Option<Action> {
    Some(match word {
        "kill" => Action::Kill,
        "freeze" => Action::Freeze,
        "hold" => Action::Hold,
        "drop" => Action::Drop,
        "duplicate" => Action::Duplicate,
        "cut" => Action::Cut,
        "restart" => Action::Restart(Span::ZERO),
        other => {
            let (message, label, help) = match WITH_ARGUMENT.iter().find(|(key, _)| *key == other) {
                Some((_, written)) => (
                    format!("the action `{other}` needs an argument"),
                    "a word alone",
                    format!("write `action = {written}`"),
                ),
                None => (
                    format!("no action is called `{}`", shown(other)),
                    "unknown action",
                    did_you_mean(other, ACTIONS.iter().map(|row| row.kind.word())),
                ),
            };
            problems.add(ProblemKind::Fault, message, value.span(), label, help);
            return None;
        }
    })
}

fn with_argument(found: &Table<'_>, problems: &mut Problems) -> Option<Action> {
    let known = WITH_ARGUMENT.map(|(key, _)| key);
    let given: Vec<&str> = found
        .entries
        .iter()
        .map(|(key, _, _)| *key)
        .filter(|key| known.contains(key))
        .collect();
    let [kind] = given.as_slice() else {
        let message = if given.is_empty() {
            "this table is no action"
        } else {
            "a fault has at most one action"
        };
        let help = match found.entries.first() {
            Some((key, _, _)) if given.is_empty() => did_you_mean(key, known),
            _ => format!("{}, alone", one_of(WITH_ARGUMENT.map(|(_, written)| written))),
        };
        problems.add(
            ProblemKind::Fault,
            message,
            found.span.clone(),
            "expected one action",
            help,
        );
        return None;
    };
    let keys: &[&str] = if *kind == "step" {
        &["step", "clock"]
    } else {
        &[*kind]
    };
    found.only(keys, problems);
    let value = found.get(kind)?;
    match *kind {
        "restart" => duration(value, "`{ restart = \"5s\" }`", problems).map(Action::Restart),
        "delay" => {
            let by = duration(value, "`{ delay = \"1s\" }`", problems)?;
            if by == Span::ZERO {
                no_fault(value, "a delay of nothing", ActionKind::Delay, problems);
                return None;
            }
            Some(Action::Delay(by))
        }
        "rate" => rate(value, problems).map(Action::Rate),
        "error" => error(value, problems),
        _ => clock_step(found, value, problems),
    }
}

fn no_fault(value: Value<'_>, what: &str, kind: ActionKind, problems: &mut Problems) {
    problems.add(
        ProblemKind::Fault,
        format!("{what} is no fault"),
        value.span(),
        "this changes nothing",
        format!("make `{}` more than zero", kind.word()),
    );
}

fn error(value: Value<'_>, problems: &mut Problems) -> Option<Action> {
    let found = text(value, "`{ error = \"RPC_FAIL\" }`", problems)?;
    match ErrorCode::from_name(found) {
        Some(code) if code != ErrorCode::Ok => Some(Action::Error(code)),
        _ => {
            let known = ErrorCode::ALL.iter().filter_map(|code| code.name());
            problems.add(
                ProblemKind::Fault,
                format!("`{}` is no error of the store", shown(found)),
                value.span(),
                "unknown error",
                did_you_mean(found, known.filter(|name| *name != "OK")),
            );
            None
        }
    }
}

fn clock_step(found: &Table<'_>, value: Value<'_>, problems: &mut Problems) -> Option<Action> {
    let clock = clock(found, problems);
    let by = text(value, "`step = \"+61s\"`", problems)?;
    let (sign, length) = match by.chars().next() {
        Some('+') => (1_i64, &by[1..]),
        Some('-') => (-1, &by[1..]),
        _ => {
            problems.add(
                ProblemKind::Fault,
                "a clock steps forward or back",
                value.span(),
                "no sign",
                format!("write `+{0}` or `-{0}`", shown(by)),
            );
            return None;
        }
    };
    let span = match Span::parse(length) {
        Ok(span) => span,
        Err(error) => {
            let (message, help) = super::values::duration_mend(length, &error);
            problems.add(ProblemKind::Value, message, value.span(), "no duration", help);
            return None;
        }
    };
    if span == Span::ZERO {
        no_fault(value, "a step of nothing", ActionKind::ClockStep, problems);
        return None;
    }
    let Ok(ns) = i64::try_from(span.ns) else {
        problems.add(
            ProblemKind::Value,
            "the step is too long",
            value.span(),
            "more than 292 years",
            "use a shorter duration",
        );
        return None;
    };
    Some(Action::ClockStep {
        by_ns: sign * ns,
        clock: clock?,
    })
}

fn clock(found: &Table<'_>, problems: &mut Problems) -> Option<Domain> {
    let example = "`clock = \"realtime\"` or `clock = \"monotonic\"`";
    let value = found.demand("clock", example, problems)?;
    match text(value, example, problems)? {
        "realtime" => Some(Domain::Realtime),
        "monotonic" => Some(Domain::Monotonic),
        other => {
            problems.add(
                ProblemKind::Fault,
                format!("no clock is called `{}`", shown(other)),
                value.span(),
                "unknown clock",
                did_you_mean(other, ["realtime", "monotonic"]),
            );
            None
        }
    }
}
