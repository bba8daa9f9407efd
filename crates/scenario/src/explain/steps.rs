//! Steps in words.

use super::instants::relative;
use super::layout::list;
use crate::words::{argument, ranges, size};
use crate::{Action, AwaitFor, Check, CheckKind, Do, Plan, Step, Verb, What};
use moonquake_clock::Span;

/// A step as a sentence, with its instant in front.
pub(super) fn sentence(plan: &Plan, step: &Step, when: Option<String>) -> String {
    let mut text = String::new();
    if let Some(id) = &step.id {
        text.push_str(&format!("[{id}] "));
    }
    if let Some(when) = when {
        text.push_str(&format!("{when}: "));
    }
    match &step.what {
        What::Do(action) => text.push_str(&operation(plan, action)),
        What::Tick(thread) => text.push_str(&format!("the master's {} thread has a round", thread.name())),
        What::Await { until, within } => text.push_str(&wait(plan, until, *within)),
        What::Check(found) => text.push_str(&check(found)),
    }
    text.push_str(&repetition(plan, step));
    if step.is_async {
        text.push_str("; the timeline goes on beside it");
    }
    text.push_str(&expectation(step));
    text.push('.');
    text
}

fn repetition(plan: &Plan, step: &Step) -> String {
    let mut text = String::new();
    if step.times > 1 {
        text.push_str(&format!(", {} times ({{i}} counts from 1)", step.times));
    }
    match (&step.every, &step.until) {
        (Some(every), Some(until)) => {
            text.push_str(&format!(", again every {every}, last {}", relative(plan, until)));
        }
        (Some(every), None) => text.push_str(&format!(", {every} apart")),
        _ => {}
    }
    text
}

fn expectation(step: &Step) -> String {
    let mut musts = Vec::new();
    if !step.expect.is_empty() {
        musts.push(format!("must return {}", list(&step.expect, "or")));
    }
    if let Some(action) = step.operation() {
        if let Some(count) = action.count {
            musts.push(format!("must count {count}"));
        }
        if let Some(payload) = &action.payload {
            musts.push(format!("if ok, every byte must have the pattern {payload}"));
        }
    }
    if musts.is_empty() {
        return String::new();
    }
    format!(" -- {}", musts.join("; "))
}

fn operation(plan: &Plan, action: &Do) -> String {
    if action.verb == Verb::Resume {
        let what = match plan.fault.action {
            Some(Action::Freeze) => "the freeze",
            _ => "the hold",
        };
        return format!("{what} ends");
    }
    let who = action.who.as_deref().unwrap_or("somebody");
    let mut text = format!("{who} {}", deed(plan, action));
    let mut details: Vec<String> = Vec::new();
    if let Some(bytes) = action.size_bytes {
        details.push(size(bytes));
    }
    if !action.ranges.is_empty() {
        let each = if action.keys.len() > 1 { " of each" } else { "" };
        details.push(format!("only the bytes {}{each}", ranges(&action.ranges)));
    }
    if action.verb != Verb::Fill && !action.verb.registers() {
        details.extend(action.pattern.iter().map(|pattern| format!("pattern {pattern}")));
        details.extend(
            action
                .into
                .iter()
                .map(|buffer| format!("into its buffer {buffer}")),
        );
    }
    details.extend(
        action
            .from
            .iter()
            .map(|buffer| format!("out of its buffer {buffer}")),
    );
    if !action.bind.is_empty() {
        let each = if action.keys.len() > 1 { ", key by key" } else { "" };
        details.push(format!("range {}{each}", list(&action.bind, "and")));
    }
    details.extend(
        action
            .args
            .iter()
            .filter(|(name, _)| name.as_str() != "regex")
            .map(|(name, value)| format!("{name} = {}", argument(value))),
    );
    if !details.is_empty() {
        text.push_str(&format!(" ({})", details.join(", ")));
    }
    text
}

/// What the actor does, without details.
fn deed(plan: &Plan, action: &Do) -> String {
    let key = action.key.as_deref().unwrap_or("");
    let keys = match action.keys.as_slice() {
        [] => "no keys".to_owned(),
        [one] => one.clone(),
        [first, .., last] => format!("{} keys {first} .. {last}", action.keys.len()),
    };
    let session = match action.use_step {
        Some(step) => plan.step_name(step),
        None => "its latest session".to_owned(),
    };
    match action.verb {
        Verb::Put => format!("puts {key}"),
        Verb::Get => format!("gets {key}"),
        Verb::Upsert => format!("upserts {key}"),
        Verb::Exist => format!("asks whether {key} exists"),
        Verb::Size => format!("asks for the size of {key}"),
        Verb::Remove => format!("removes {key}"),
        Verb::RemoveByRegex => {
            let regex = action.args.get("regex").map(argument).unwrap_or_default();
            format!("removes every key that matches {regex}")
        }
        Verb::RemoveAll => "removes every key".to_owned(),
        Verb::BatchPut => format!("puts {keys} in a batch"),
        Verb::BatchUpsert => format!("upserts {keys} in a batch"),
        Verb::BatchGet => format!("gets {keys} in a batch"),
        Verb::BatchExist => format!("asks whether {keys} exist"),
        Verb::BatchRemove => format!("removes {keys} in a batch"),
        Verb::PollTasks => "fetches tasks".to_owned(),
        Verb::RunTask => "executes the task that waits longest".to_owned(),
        Verb::RunTasks => "fetches tasks and executes them".to_owned(),
        Verb::Close => "closes".to_owned(),
        Verb::GetStart => format!("asks for the descriptors of {key} and keeps them"),
        Verb::GetRead => format!("reads with the descriptors of {session}"),
        Verb::GetEnd => format!("drops the descriptors of {session}"),
        Verb::PutWrite => format!("writes the payload of {session}"),
        Verb::Fill => format!(
            "fills its own buffer {} with {}",
            action.into.as_deref().unwrap_or(""),
            action.written_pattern().unwrap_or("its pattern")
        ),
        Verb::RegisterBuffer => format!("registers its buffer {}", action.into.as_deref().unwrap_or("")),
        Verb::UnregisterBuffer => format!("unregisters its buffer {}", action.into.as_deref().unwrap_or("")),
        Verb::Resume => "resumes".to_owned(),
        Verb::Rpc(rpc) => {
            let what = match (key, action.keys.is_empty()) {
                ("", true) => String::new(),
                ("", false) => format!(" for {keys}"),
                (key, _) => format!(" for {key}"),
            };
            format!("calls {}{what}", rpc.name())
        }
    }
}

fn wait(plan: &Plan, until: &AwaitFor, within: Span) -> String {
    let what = match until {
        AwaitFor::Step(step) => format!("{} ends", plan.step_name(*step)),
        AwaitFor::Quiet => "no message or transfer moves".to_owned(),
        AwaitFor::Mounted(node) => format!("the segment of {node} is mounted"),
    };
    if within == Span::ZERO {
        format!("without any time passing, {what}")
    } else {
        format!("time runs until {what}, at most {within}")
    }
}

fn check(check: &Check) -> String {
    let of = list(&check.of, "and");
    match check.kind {
        CheckKind::Quarantined => {
            format!(
                "check that {of} stays quarantined: the last step freed no bytes, and nothing overlaps it"
            )
        }
        CheckKind::Released => {
            format!("check that {of} is released: the last step freed exactly its bytes")
        }
        CheckKind::Disjoint => format!("check that {of} do not overlap"),
        CheckKind::Allocated => format!(
            "check that exactly {} are allocated in all",
            size(check.size_bytes.unwrap_or(0))
        ),
        CheckKind::Bytes => format!(
            "check that every byte of {of} has the pattern {}",
            check.payload.as_deref().unwrap_or("nobody")
        ),
        CheckKind::Untouched => {
            let since = match &check.since {
                Some(instant) => format!("since {}", instant.text),
                None => "since the first operation that named it ended".to_owned(),
            };
            format!("check that nothing but its caller's own fill touched {of} {since}")
        }
    }
}
