//! Plans in words.

use crate::{ArgValue, AwaitFor, ByteRange, Check, Do, Step, What};

/// A size as a person writes it: `4MiB`, `1536B`.
pub fn size(bytes: u64) -> String {
    for (unit, factor) in [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{}{unit}", bytes / factor);
        }
    }
    format!("{bytes}B")
}

/// A step in one line, for evidence and reports. `id_of` knows the ids of all steps.
pub(crate) fn step<'a>(step: &Step, id_of: impl Fn(usize) -> Option<&'a str>) -> String {
    let mut text = match &step.what {
        What::Do(action) => operation(action, id_of),
        What::Tick(thread) => format!("tick {}", thread.name()),
        What::Await { until, within } => {
            let what = match until {
                AwaitFor::Step(index) => name_of(*index, id_of),
                AwaitFor::Quiet => "quiet".to_owned(),
                AwaitFor::Mounted(node) => format!("{node} mounted"),
            };
            format!("await {what} within {within}")
        }
        What::Check(found) => check(found),
    };
    if step.times > 1 {
        text.push_str(&format!(", {} times", step.times));
    }
    if let Some(every) = step.every {
        text.push_str(&format!(", every {every}"));
    }
    if let Some(until) = &step.until {
        text.push_str(&format!(", until {}", until.text));
    }
    if step.is_async {
        text.push_str(", async");
    }
    text
}

fn name_of<'a>(index: usize, id_of: impl Fn(usize) -> Option<&'a str>) -> String {
    match id_of(index) {
        Some(id) => id.to_owned(),
        None => format!("step {}", index + 1),
    }
}

fn operation<'a>(action: &Do, id_of: impl Fn(usize) -> Option<&'a str>) -> String {
    let mut text = match &action.who {
        Some(who) => format!("{who} {}", action.verb.name()),
        None => action.verb.name().to_owned(),
    };
    if let Some(key) = &action.key {
        text.push_str(&format!(" {key}"));
    }
    match action.keys.as_slice() {
        [] => {}
        [one] => text.push_str(&format!(" {one}")),
        [first, .., last] => text.push_str(&format!(" {} keys {first} .. {last}", action.keys.len())),
    }
    if let Some(bytes) = action.size_bytes {
        text.push_str(&format!(", {}", size(bytes)));
    }
    let parts = [
        ("pattern", action.pattern.clone()),
        (
            "ranges",
            (!action.ranges.is_empty()).then(|| ranges(&action.ranges)),
        ),
        ("from", action.from.clone()),
        ("into", action.into.clone()),
        ("payload", action.payload.clone()),
        ("use", action.use_step.map(|index| name_of(index, &id_of))),
        ("bind", (!action.bind.is_empty()).then(|| action.bind.join(" "))),
        ("count", action.count.map(|count| count.to_string())),
    ];
    for (word, value) in parts {
        if let Some(value) = value {
            text.push_str(&format!(", {word} {value}"));
        }
    }
    for (name, value) in &action.args {
        text.push_str(&format!(", {name} {}", argument(value)));
    }
    text
}

/// Ranges as they are written in a file.
pub(crate) fn ranges(ranges: &[ByteRange]) -> String {
    let written = ranges
        .iter()
        .map(|range| format!("{}+{}", size(range.from), size(range.size_bytes)));
    written.collect::<Vec<_>>().join(" ")
}

/// An argument as it is written in a line.
pub(crate) fn argument(value: &ArgValue) -> String {
    match value {
        ArgValue::Bool(found) => found.to_string(),
        ArgValue::Int(found) => found.to_string(),
        ArgValue::Text(found) => found.clone(),
        ArgValue::List(found) => found.join(" "),
    }
}

fn check(check: &Check) -> String {
    let mut text = format!("check {}", check.kind.name());
    if !check.of.is_empty() {
        text.push_str(&format!(" {}", check.of.join(" ")));
    }
    if let Some(bytes) = check.size_bytes {
        text.push_str(&format!(" {}", size(bytes)));
    }
    if let Some(payload) = &check.payload {
        text.push_str(&format!(", payload {payload}"));
    }
    if let Some(since) = &check.since {
        text.push_str(&format!(", since {}", since.text));
    }
    text
}
