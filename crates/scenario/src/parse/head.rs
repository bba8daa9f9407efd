//! The top of a file, and the order in which its parts are read.

use super::*;
use crate::Step;
use std::ops::Range;

const KEYS: [&str; 11] = [
    "schema", "id", "title", "why", "see", "world", "fault", "watch", "timeline", "report", "verdict",
];

/// Reads the whole document.
pub(super) fn read<'a>(
    document: &'a DeTable<'a>,
    path: &str,
    source: &str,
    problems: &mut Problems,
) -> Option<Plan> {
    let top = Table::new(document, 0..source.len().min(1), "the file");
    only_known(&top, problems);
    schema(&top, problems);
    let id = id(&top, problems);
    let title = line(
        &top,
        "title",
        "`title = \"Writer dies after PutStart\"`",
        problems,
    );
    let why = line(
        &top,
        "why",
        "`why = \"...\"`, the reason for the scenario",
        problems,
    );
    let see = see(&top, problems);

    let mut names = Names::default();
    let world =
        part(&top, "world", "[world]", problems).map(|table| world::read(&table, &mut names, problems));
    name_steps(&top, source, &mut names, problems)?;
    let fault_table = the_fault(&top, problems);
    let fault = fault_table
        .as_ref()
        .and_then(|table| fault::read(table, &names, problems));
    let read = read_steps(&names, problems)?;
    let watch = top
        .get("watch")
        .and_then(|value| tree::table(value, "[watch]", "`[watch]`", problems))
        .map_or_else(Vec::new, |table| claims::watch(&table, &names, problems));
    let report = part(&top, "report", "[report]", problems)
        .map_or_else(ReportText::default, |table| claims::report(&table, problems));
    let verdicts = top
        .demand("verdict", "`[[verdict]]` with `is = \"holds\"`", problems)
        .map_or_else(Vec::new, |value| claims::verdicts(value, &names, &read, problems));
    let steps: Vec<_> = read.into_iter().collect::<Option<_>>()?;
    let plan = Plan {
        id: id?,
        title: title?,
        why: why?,
        see,
        world: world?,
        fault: fault?,
        watch,
        steps,
        report,
        verdicts,
        path: path.to_owned(),
        sha256: hex(source),
    };
    if problems.is_empty() {
        rules::check(&plan, &fault_table?, &names, problems);
    }
    Some(plan)
}

/// Names the steps of the timeline, so that other parts can speak of them. Nothing if there are too many problems to go on.
fn name_steps<'a>(
    top: &Table<'a>,
    source: &str,
    names: &mut Names<'a>,
    problems: &mut Problems,
) -> Option<()> {
    let Some(timeline) = part(top, "timeline", "[timeline]", problems) else {
        return Some(());
    };
    for step in world::timeline_steps(&timeline, source, problems) {
        names.add_step(step, problems);
        if problems.is_full() {
            return None;
        }
    }
    Some(())
}

/// Reads each step, as far as it can be read. Nothing if there are too many problems to go on.
fn read_steps(names: &Names<'_>, problems: &mut Problems) -> Option<Vec<Option<Step>>> {
    let mut read = Vec::new();
    for index in 0..names.steps.len() {
        read.push(steps::read(index, names, problems));
        if problems.is_full() {
            return None;
        }
    }
    Some(read)
}

fn hex(source: &str) -> String {
    let digest = Sha256::digest(source.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reports top-level keys that do not exist; whatever begins with `fault` wants to be a second one.
fn only_known(top: &Table<'_>, problems: &mut Problems) {
    for (key, span, _) in &top.entries {
        if KEYS.contains(key) {
            continue;
        }
        if key.starts_with("fault") && top.has("fault") {
            second_fault(problems, span.clone());
            continue;
        }
        problems.add(
            ProblemKind::UnknownKey,
            format!("the file has no key `{}`", shown(key)),
            span.clone(),
            "unknown key",
            did_you_mean(key, KEYS),
        );
    }
}

/// The message about a second fault.
pub(super) fn second_fault(problems: &mut Problems, at: Range<usize>) {
    problems.add(
        ProblemKind::Fault,
        "one fault only",
        at,
        "a second fault",
        "a scenario selects exactly one fault, in one table `[fault]`: make a file of each",
    );
}

/// A table that must be there.
fn part<'a>(top: &Table<'a>, key: &str, name: &'static str, problems: &mut Problems) -> Option<Table<'a>> {
    let value = top.demand(key, &format!("the table `{name}`"), problems)?;
    tree::table(value, name, &format!("`{name}`"), problems)
}

fn the_fault<'a>(top: &Table<'a>, problems: &mut Problems) -> Option<Table<'a>> {
    let value = top.demand("fault", "the table `[fault]`", problems)?;
    if let DeValue::Array(faults) = value.get_ref() {
        let second = faults.get(1).map(Spanned::span);
        let count = faults.len();
        problems.add(
            ProblemKind::Fault,
            "one fault only",
            second
                .or(faults.first().map(Spanned::span))
                .unwrap_or(value.span()),
            match count {
                0 | 1 => "a list of faults".to_owned(),
                _ => format!("one of {count} faults"),
            },
            "a scenario selects exactly one fault: write `[fault]` with one bracket, and make a file of each",
        );
        return None;
    }
    tree::table(value, "[fault]", "`[fault]`", problems)
}

fn schema(top: &Table<'_>, problems: &mut Problems) {
    let Some(value) = top.demand("schema", "`schema = 1` at the top", problems) else {
        return;
    };
    let number = tree::whole(value, "`schema = 1`", problems);
    if let Some(number) = number.filter(|number| *number != 1) {
        problems.add(
            ProblemKind::Value,
            format!("schema {number} is unknown"),
            value.span(),
            "only 1 is known",
            "write `schema = 1`, or use a Moonquake that reads this file",
        );
    }
}

/// A text that is not empty.
fn line(top: &Table<'_>, key: &str, example: &str, problems: &mut Problems) -> Option<String> {
    let value = top.demand(key, example, problems)?;
    let found = tree::text(value, example, problems)?;
    if found.trim().is_empty() {
        problems.add(
            ProblemKind::Value,
            format!("`{key}` says nothing"),
            value.span(),
            "an empty text",
            format!("write {example}"),
        );
        return None;
    }
    if key == "title" && found.contains('\n') {
        problems.add(
            ProblemKind::Value,
            "a title is one line",
            value.span(),
            "more than one line",
            "move the rest into `why`",
        );
        return None;
    }
    Some(found.to_owned())
}

fn id(top: &Table<'_>, problems: &mut Problems) -> Option<String> {
    let example = "`id = \"put-start/writer-dies-before-payload\"`";
    let value = top.demand("id", example, problems)?;
    let found = tree::text(value, example, problems)?;
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if !found.split('/').all(|part| part.split('-').all(word)) {
        problems.add(
            ProblemKind::Value,
            format!("`{}` is no id", shown(found)),
            value.span(),
            "expected words with `-` and `/`",
            format!("use small letters and digits: {example}"),
        );
        return None;
    }
    Some(found.to_owned())
}

fn see(top: &Table<'_>, problems: &mut Problems) -> Vec<String> {
    let Some(value) = top.get("see") else {
        return Vec::new();
    };
    let example = "`see = [\"kvcache-ai/Mooncake#975\"]`";
    let mut list = Vec::new();
    for (found, span) in tree::texts(value, example, problems) {
        let is_url = ["https://", "http://"].iter().any(|scheme| {
            found
                .strip_prefix(scheme)
                .is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
        });
        let is_issue = found.split_once('#').is_some_and(|(place, number)| {
            let parts: Vec<&str> = place.split('/').collect();
            parts.len() == 2
                && parts.iter().all(|part| {
                    !part.is_empty()
                        && part
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
                })
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if !is_url && !is_issue {
            problems.add(
                ProblemKind::Value,
                format!("`{}` is no reference", shown(found)),
                span,
                "expected owner/repo#n or a URL",
                format!("write {example}"),
            );
            continue;
        }
        list.push(found.to_owned());
    }
    list
}
