//! Steps that `do` something.

use super::keys::expand;
use super::names::{Kind, MOST};
use super::problems::{Problems, did_you_mean, shown};
use super::steps::Reader;
use super::tree::{Value, boolean, text, texts, whole};
use super::values::{name_value, parse_size, size};
use super::verbs::{ArgKind, keys};
use crate::error::ProblemKind;
use crate::{ArgValue, ByteRange, Do, Verb};
use moonquake_protocol::Rpc;
use std::collections::BTreeMap;

/// Reads a step with `do`.
pub(super) fn read(reader: &Reader<'_, '_>, problems: &mut Problems) -> Option<Do> {
    let table = &reader.brief.table;
    let value = table.get("do")?;
    let word = text(value, "`do = \"put\"`", problems)?;
    let Some(verb) = Verb::from_name(word) else {
        let all = Verb::all();
        problems.add(
            ProblemKind::Step,
            format!("no verb is called `{}`", shown(word)),
            value.span(),
            "unknown verb",
            did_you_mean(word, all.iter().map(|verb| verb.name())),
        );
        return None;
    };
    let own = keys(verb);
    let mut known = vec!["id", "at", "do"];
    if verb != Verb::Resume {
        known.extend(["who", "expect", "async", "times", "every", "until"]);
    }
    known.extend(own.needs.iter().chain(&own.may));
    known.extend(own.args.iter().map(|(name, _)| *name));
    known.dedup();
    let listed: Vec<&str> = own.needs.iter().chain(&own.may).copied().collect();
    reader.only(&known, &format!("`{word}`"), &listed, problems);
    for key in &own.needs {
        table.demand(key, example(key), problems);
    }
    let who = who(reader, verb, problems);
    let get = |key: &str| table.get(key).filter(|_| known.contains(&key));
    let action = Do {
        verb,
        key: get("key").and_then(|value| single_key(value, problems)),
        keys: get("keys").map_or_else(Vec::new, |value| batch_keys(reader, value, problems)),
        size_bytes: get("size").and_then(|value| size(value, example("size"), problems)),
        pattern: get("pattern")
            .and_then(|value| name_value(value, example("pattern"), problems))
            .map(str::to_owned),
        from: get("from").and_then(|value| buffer(value, problems)),
        bind: get("bind").map_or_else(Vec::new, |value| {
            texts(value, example("bind"), problems)
                .into_iter()
                .map(|(found, _)| found.to_owned())
                .collect()
        }),
        into: get("into").and_then(|value| buffer(value, problems)),
        ranges: get("ranges").map_or_else(Vec::new, |value| byte_ranges(value, problems)),
        payload: get("payload").and_then(|value| reader.payload(value, problems)),
        use_step: use_step(reader, verb, get("use"), problems),
        count: get("count").and_then(|value| result_count(value, problems)),
        args: args(&own.args, reader, problems),
        who: who?,
    };
    if table.has("bind") && table.has("until") {
        problems.add(
            ProblemKind::Name,
            "`bind` would name new ranges in every round",
            table.key_span("bind"),
            "one name for many ranges",
            "leave `until` out, or do not bind",
        );
    }
    Some(action)
}

fn example(key: &str) -> &'static str {
    match key {
        "key" => "`key = \"k\"`",
        "keys" => "`keys = [\"k{1..15}\"]`",
        "size" => "`size = \"4MiB\"`",
        "pattern" => "`pattern = \"one\"`",
        "from" => "`from = \"src\"`",
        "into" => "`into = \"b1\"`",
        "bind" => "`bind = \"a1\"`",
        "ranges" => "`ranges = [\"0B+64KiB\", \"1MiB+64KiB\"]`",
        "count" => "`count = 3`",
        "regex" => "`regex = \"^k\"`",
        "use" => "`use = \"s1\"`",
        _ => "it",
    }
}

/// Who does it: `None` inside for `resume`, which nobody does.
fn who(reader: &Reader<'_, '_>, verb: Verb, problems: &mut Problems) -> Option<Option<String>> {
    let table = &reader.brief.table;
    if verb == Verb::Resume {
        return Some(None);
    }
    let value = table.demand("who", "`who = \"w1\"`", problems)?;
    let found = text(value, "`who = \"w1\"`", problems)?;
    if reader.names.find(found, &[Kind::Client, Kind::Node]).is_none() {
        if found == "master" {
            problems.add(
                ProblemKind::Step,
                "the master does nothing by itself",
                value.span(),
                "not a client or node",
                "a round of one of its threads is `tick = \"eviction\"`",
            );
            return None;
        }
        reader.names.unbound(
            found,
            value.span(),
            &[Kind::Client, Kind::Node],
            ("", &[]),
            problems,
        );
        return None;
    }
    Some(Some(found.to_owned()))
}

fn buffer(value: Value<'_>, problems: &mut Problems) -> Option<String> {
    // Its name was checked when names were collected.
    text(value, "`into = \"b1\"`", problems).map(str::to_owned)
}

fn single_key(value: Value<'_>, problems: &mut Problems) -> Option<String> {
    let found = text(value, example("key"), problems)?;
    if super::keys::has_range(found) {
        problems.add(
            ProblemKind::Step,
            "one key does not expand",
            value.span(),
            "a range in one key",
            "use `times` and `{i}`, or a batch verb with `keys`",
        );
    }
    Some(found.to_owned())
}

fn batch_keys(reader: &Reader<'_, '_>, value: Value<'_>, problems: &mut Problems) -> Vec<String> {
    if reader.names.are_keys_spent() {
        // Reported at the batch that spent them.
        return Vec::new();
    }
    let found = texts(value, example("keys"), problems);
    if found.is_empty() && value.get_ref().is_array() {
        problems.add(
            ProblemKind::Step,
            "the batch has no keys",
            value.span(),
            "an empty list",
            format!("name them: {}", example("keys")),
        );
    }
    let mut keys = Vec::new();
    for (text, span) in found {
        if let Err((message, help)) = expand(text, &mut keys) {
            problems.add(
                ProblemKind::Value,
                message,
                span,
                "does not expand",
                help.to_owned(),
            );
            return Vec::new();
        }
    }
    reader.names.spend_keys(&keys);
    if !reader.names.are_keys_spent() {
        return keys;
    }
    problems.add(
        ProblemKind::Value,
        format!("the batches of this file come to more than {MOST} keys or 16 MiB"),
        value.span(),
        format!("{} keys more here", keys.len()),
        "name fewer keys",
    );
    Vec::new()
}

/// Ranges of an object: where each begins and how long it is.
/// How many an operation is to answer: results are signed numbers of 64 bits.
fn result_count(value: Value<'_>, problems: &mut Problems) -> Option<i64> {
    let count = i64::try_from(whole(value, example("count"), problems)?).ok();
    if count.is_none() {
        problems.add(
            ProblemKind::Value,
            "no operation answers so many",
            value.span(),
            format!("at most {}", i64::MAX),
            format!("write {}", example("count")),
        );
    }
    count
}

fn byte_ranges(value: Value<'_>, problems: &mut Problems) -> Vec<ByteRange> {
    let found = texts(value, example("ranges"), problems);
    if found.is_empty() && value.get_ref().is_array() {
        problems.add(
            ProblemKind::Step,
            "no range is named",
            value.span(),
            "an empty list",
            "leave `ranges` out for the whole object",
        );
    }
    let mut ranges = Vec::new();
    for (text, span) in found {
        match byte_range(text) {
            Ok(range) => ranges.push(range),
            Err(help) => problems.add(
                ProblemKind::Value,
                format!("`{}` is no range of bytes", shown(text)),
                span,
                "write where it begins, `+` and how long it is",
                help,
            ),
        }
    }
    ranges
}

/// Bytes from `1MiB+64KiB`, or what is wrong with it.
fn byte_range(found: &str) -> Result<ByteRange, String> {
    let (from, size) = found
        .split_once('+')
        .ok_or_else(|| "such as `1MiB+64KiB` for 64 KiB behind the first MiB".to_owned())?;
    Ok(ByteRange {
        from: parse_size(from.strip_suffix(' ').unwrap_or(from))?,
        size_bytes: parse_size(size.strip_prefix(' ').unwrap_or(size))?,
    })
}

/// The calls beside PutStart whose answer hands out memory that a `put_write` can write.
const OTHER_STARTS: &[Rpc] = &[
    Rpc::UpsertStart,
    Rpc::BatchPutStart,
    Rpc::BatchUpsertStart,
    Rpc::CopyStart,
    Rpc::MoveStart,
];

/// The step whose descriptors a session's step means.
fn use_step(
    reader: &Reader<'_, '_>,
    verb: Verb,
    value: Option<Value<'_>>,
    problems: &mut Problems,
) -> Option<usize> {
    let (wanted, also) = match verb {
        Verb::GetRead | Verb::GetEnd => (Verb::GetStart, [].as_slice()),
        Verb::PutWrite => (Verb::Rpc(Rpc::PutStart), OTHER_STARTS),
        _ => return None,
    };
    let has_session = |found: Option<Verb>| {
        found == Some(wanted) || matches!(found, Some(Verb::Rpc(rpc)) if also.contains(&rpc))
    };
    let who = reader.brief.who;
    let Some(value) = value else {
        let earlier = &reader.names.steps[..reader.index];
        if !earlier
            .iter()
            .any(|step| has_session(step.verb) && step.who == who)
        {
            problems.add(
                ProblemKind::Unbound,
                format!("{} has no `{}` above", who.unwrap_or("the client"), wanted.name()),
                reader.brief.table.value_span("do"),
                "no descriptors to use",
                format!("add a step `do = \"{}\"` of the same client above", wanted.name()),
            );
        }
        return None;
    };
    let found = text(value, example("use"), problems)?;
    let step = super::fault::step_named(found, value.span(), reader.names, problems)?;
    let brief = &reader.names.steps[step];
    let (message, label) = if step >= reader.index {
        (format!("`{found}` has not run yet"), "this is a later step")
    } else if !has_session(brief.verb) {
        (
            format!("`{found}` is no `{}`", wanted.name()),
            "this step has no such descriptors",
        )
    } else if brief.who != who {
        (
            format!("`{found}` is the session of another client"),
            "descriptors stay with the client that was told them",
        )
    } else {
        return Some(step);
    };
    problems.add_at(
        ProblemKind::Unbound,
        message,
        vec![
            (value.span(), "used here".to_owned()),
            (brief.table.span.clone(), label.to_owned()),
        ],
        format!(
            "name an earlier `{}` of {}",
            wanted.name(),
            who.unwrap_or("the client")
        ),
    );
    None
}

fn args(
    known: &[(&'static str, ArgKind)],
    reader: &Reader<'_, '_>,
    problems: &mut Problems,
) -> BTreeMap<String, ArgValue> {
    let mut args = BTreeMap::new();
    for (name, kind) in known {
        let Some(value) = reader.brief.table.get(name) else {
            continue;
        };
        let read = match kind {
            ArgKind::Bool => boolean(value, &format!("`{name} = true`"), problems).map(ArgValue::Bool),
            ArgKind::Int => whole(value, &format!("`{name} = 1`"), problems).map(ArgValue::Int),
            ArgKind::Text => text(value, &format!("`{name} = \"...\"`"), problems)
                .map(|found| ArgValue::Text(found.to_owned())),
            ArgKind::List => Some(ArgValue::List(
                texts(value, &format!("`{name} = [\"...\"]`"), problems)
                    .into_iter()
                    .map(|(found, _)| found.to_owned())
                    .collect(),
            )),
            ArgKind::Word(words) => word(name, value, words, problems),
        };
        if let Some(read) = read {
            args.insert((*name).to_owned(), read);
        }
    }
    args
}

fn word(name: &str, value: Value<'_>, words: &[&str], problems: &mut Problems) -> Option<ArgValue> {
    let found = text(value, &super::problems::one_of(words.iter().copied()), problems)?;
    if words.contains(&found) {
        return Some(ArgValue::Text(found.to_owned()));
    }
    problems.add(
        ProblemKind::Value,
        format!("`{}` is no value of `{name}`", shown(found)),
        value.span(),
        "unknown value",
        did_you_mean(found, words.iter().copied()),
    );
    None
}
