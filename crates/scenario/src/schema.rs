//! The JSON Schema of the scenario language, for editors. The parser knows more than a schema can say.
//!
//! The types here are read by `schemars` alone: nothing is ever made of them.

use crate::parse::arguments;
use crate::{EngineKind, INVARIANTS, Timeouts, Verb};
use moonquake_clock::Thread;
use moonquake_faults::{ACTIONS, DIMENSIONS, PHASES};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

const NAME: &str = "^[a-z][a-z0-9_]*$";
const TEMPLATE: &str = "^[a-z]([a-z0-9_]|\\{i\\})*$";

/// The schema as it is kept in the repository, with a newline at its end.
pub fn json() -> String {
    let generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let mut schema = generator.into_root_schema_for::<Scenario>().to_value();
    without_null(&mut schema);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// TOML has no null: a key that may be left out is left out.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(rules) => {
            rules.retain(|key, value| key != "default" || !value.is_null());
            if let Some(Value::Array(types)) = rules.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    rules.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = rules.get_mut("anyOf") {
                choices.retain(|choice| choice != &json!({ "type": "null" }));
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    rules.shift_remove("anyOf");
                    for (key, value) in only {
                        rules.entry(key).or_insert(value);
                    }
                }
            }
            rules.values_mut().for_each(without_null);
        }
        _ => {}
    }
}

fn made(value: Value) -> Schema {
    Schema::try_from(value).unwrap_or_default()
}

fn text_of(pattern: &str, description: &str) -> Schema {
    made(json!({ "type": "string", "pattern": pattern, "description": description }))
}

fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "enum": words.into_iter().collect::<Vec<_>>() })
}

/// A kind of text with its pattern.
macro_rules! texts {
    ($($name:ident $pattern:expr, $description:literal;)*) => {
        $(struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                text_of($pattern, $description)
            }
        })*
    };
}

texts! {
    Id "^[a-z0-9]+([-/][a-z0-9]+)*$", "words with `-` and `/`";
    Reference "^(https?://\\S+|[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+#[0-9]+)$", "`owner/repo#n` or a URL";
    Name NAME, "a name";
    Template TEMPLATE, "a name in which `{i}` is the repetition";
    Size "^[0-9]+(B|KiB|MiB|GiB)$", "a size, such as `4MiB`";
    Bytes "^[0-9]+(B|KiB|MiB|GiB) ?\\+ ?[0-9]+(B|KiB|MiB|GiB)$", "where a range begins and how long it is, such as `1MiB+64KiB`";
    Duration "^[0-9]+(ns|us|ms|s|min|h)$", "a duration, such as `30s`";
    Rate "^[0-9]+(B|KiB|MiB|GiB)/s$", "a rate, such as `1MiB/s`";
    SignedDuration "^[+-][0-9]+(ns|us|ms|s|min|h)$", "a step of a clock, such as `+61s`";
    Moment
        "^\\s*[a-z][a-z0-9_]*(\\.(sent|done))?\\s*([+-]\\s*([0-9]+\\s*\\*\\s*[a-z_]+|[0-9]+[a-z]+|[a-z_]+)\\s*)*$",
        "an instant: `start`, `fault` or a step's id, then terms, such as `p1 + discard - 1ns`";
    Await "^(quiet|[a-z][a-z0-9_]*|[a-z][a-z0-9_]* mounted)$", "a step's id, `quiet`, or `n1 mounted`";
    Results "^(ok|true|false|NEED_REMOUNT|[A-Z0-9_]+)( x[0-9]+)?(, ?(ok|true|false|[A-Z0-9_]+)( x[0-9]+)?)*$",
        "`ok`, an error name of the store, `true` or `false`; of a batch entry by entry: `ok x3, OBJECT_NOT_FOUND`";
    ResultWord "^(ok|true|false|NEED_REMOUNT|[A-Z0-9_]+)$", "`ok`, an error name of the store, `true` or `false`";
}

/// A text or a list of texts.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[allow(dead_code, reason = "only its schema is used")]
enum List<T> {
    One(T),
    Many(Vec<T>),
}

/// A Moonquake scenario: a world, one fault, a timeline, and what the file claims.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct Scenario {
    /// The version of this language.
    #[schemars(schema_with = "one")]
    schema: u8,
    /// Words with `-` and `/`.
    id: Id,
    /// One line.
    title: String,
    /// Why the scenario exists.
    why: String,
    /// Where the case is told.
    #[schemars(default)]
    see: Option<List<Reference>>,
    world: World,
    fault: Fault,
    #[schemars(default)]
    watch: Option<Watch>,
    timeline: Timeline,
    report: Report,
    /// The first line that fits profile and engine counts.
    #[schemars(length(min = 1))]
    verdict: Vec<VerdictLine>,
}

fn one(_: &mut SchemaGenerator) -> Schema {
    made(json!({ "const": 1 }))
}

/// Who is there, and how long things take.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct World {
    /// Nodes with the capacity of the one segment that each mounts.
    segments: BTreeMap<String, Capacity>,
    /// Clients without a segment.
    clients: List<Name>,
    /// The lengths of the deadlines.
    #[schemars(default, schema_with = "timeouts")]
    timeouts: Option<()>,
    /// Time that passes after each `do`.
    step: Option<Duration>,
    /// Size of a payload part.
    chunk: Option<Size>,
    /// The largest slice in which a write is submitted.
    slice: Option<Size>,
    /// The staging memory of each client, out of which operations without `from` or `into` take blocks.
    local_buffer: Option<Size>,
    /// Whether clients give their objects checksums and compare whole objects that they read with theirs.
    checksums: Option<bool>,
    /// Other flags of the master by upstream's name.
    #[schemars(default, schema_with = "flags")]
    flags: Option<()>,
}

/// Of a segment: a size, or room for that many tokens of a model.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum Capacity {
    Size(Size),
    Tokens(ModelTokens),
}

/// The KV cache of tokens of a model.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct ModelTokens {
    /// A model of `moonquake budget`.
    #[schemars(schema_with = "models")]
    model: String,
    /// Tokens of one request.
    #[schemars(range(min = 1))]
    tokens: u64,
}

fn models(_: &mut SchemaGenerator) -> Schema {
    made(words(
        moonquake_capacity::models()
            .iter()
            .map(|model| model.name.as_str()),
    ))
}

fn timeouts(generator: &mut SchemaGenerator) -> Schema {
    let duration = generator.subschema_for::<Duration>();
    let keys: serde_json::Map<String, Value> = Timeouts::NAMES
        .iter()
        .map(|name| ((*name).to_owned(), duration.clone().to_value()))
        .collect();
    made(json!({ "type": "object", "properties": keys, "additionalProperties": false }))
}

fn flags(_: &mut SchemaGenerator) -> Schema {
    made(json!({
        "type": "object",
        "propertyNames": { "pattern": NAME },
        "additionalProperties": { "type": ["string", "number", "boolean"] },
    }))
}

/// The one fault: one dimension, one target, one trigger, at most one action.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = one_trigger)]
#[allow(dead_code, reason = "only its schema is used")]
struct Fault {
    #[schemars(schema_with = "dimensions")]
    dimension: String,
    /// A client, a node or `master`.
    target: Name,
    /// A phase of the catalogue.
    #[schemars(default, schema_with = "phases")]
    at: Option<String>,
    /// The step whose operation is meant; with `at`.
    of: Option<Name>,
    /// The n-th time, from 1; with `at`.
    #[schemars(range(min = 1))]
    hit: Option<u32>,
    /// A step: once its result is reported.
    after: Option<Name>,
    /// An instant; the boundary itself is the fault.
    deadline: Option<Moment>,
    /// The steps that are the stimulus.
    step: Option<List<Name>>,
    #[schemars(default, schema_with = "actions")]
    action: Option<()>,
}

fn one_trigger(schema: &mut Schema) {
    let triggers: Vec<Value> = ["at", "after", "deadline", "step"]
        .iter()
        .map(|key| json!({ "required": [key] }))
        .collect();
    schema.insert("oneOf".to_owned(), json!(triggers));
    schema.insert(
        "dependentRequired".to_owned(),
        json!({ "of": ["at"], "hit": ["at"] }),
    );
}

fn dimensions(_: &mut SchemaGenerator) -> Schema {
    made(words(DIMENSIONS.iter().map(|row| row.name)))
}

fn phases(_: &mut SchemaGenerator) -> Schema {
    made(words(PHASES.iter().map(|row| row.name)))
}

/// What the fault does.
fn actions(generator: &mut SchemaGenerator) -> Schema {
    let with_argument = ["delay", "error", "rate", "step"];
    let plain = ACTIONS
        .iter()
        .map(|row| row.kind.word())
        .filter(|word| !with_argument.contains(word));
    let table = |properties: Value| {
        let required: Vec<String> = properties
            .as_object()
            .map(|keys| keys.keys().cloned().collect())
            .unwrap_or_default();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    let duration = generator.subschema_for::<Duration>();
    made(json!({ "oneOf": [
        words(plain),
        table(json!({ "restart": duration })),
        table(json!({ "delay": duration })),
        table(json!({ "error": generator.subschema_for::<ResultWord>() })),
        table(json!({ "rate": generator.subschema_for::<Rate>() })),
        table(json!({
            "step": generator.subschema_for::<SignedDuration>(),
            "clock": { "enum": ["realtime", "monotonic"] },
        })),
    ] }))
}

/// What is watched from the fault to the end.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct Watch {
    /// Ranges and buffers.
    buffer: List<Name>,
}

/// What happens when.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct Timeline {
    /// One inline table a line.
    #[schemars(length(min = 1))]
    steps: Vec<Step>,
}

/// One step: exactly one of `do`, `tick`, `await`, `check`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = one_kind)]
#[allow(dead_code, reason = "only its schema is used")]
struct Step {
    id: Option<Name>,
    /// The instant to which both clocks of every actor move first.
    at: Option<Moment>,
    /// What the actor does.
    #[schemars(default, rename = "do", schema_with = "verbs")]
    verb: Option<String>,
    /// The client or node that does it.
    who: Option<Name>,
    key: Option<String>,
    /// The keys of a batch; `{1..15}` expands.
    keys: Option<List<String>>,
    size: Option<Size>,
    /// A name from which the payload is made.
    pattern: Option<Name>,
    /// The caller's source buffer, zero-copy.
    from: Option<Template>,
    /// Names of the replicas' ranges, in the master's order.
    bind: Option<List<Template>>,
    /// The caller's buffer, zero-copy.
    into: Option<Template>,
    /// Where each range of the object begins and how long it is; without them all of it is meant.
    ranges: Option<List<Bytes>>,
    /// The pattern that every byte must have.
    payload: Option<Name>,
    /// The session whose descriptors are meant.
    #[schemars(rename = "use")]
    session: Option<Name>,
    /// Allowed results.
    expect: Option<List<Results>>,
    /// The number that a removal by pattern must return.
    count: Option<u32>,
    /// The timeline goes on beside it.
    #[schemars(default, rename = "async", schema_with = "always")]
    is_async: Option<bool>,
    /// Repetitions.
    #[schemars(range(min = 1, max = 100000))]
    times: Option<u32>,
    /// The distance of repetitions or rounds.
    every: Option<Duration>,
    /// No round starts after this instant.
    until: Option<Moment>,
    /// A round of that thread of the master.
    #[schemars(default, schema_with = "threads")]
    tick: Option<String>,
    #[schemars(rename = "await")]
    waits: Option<Await>,
    /// At most that long.
    within: Option<Duration>,
    #[schemars(default, schema_with = "checks")]
    check: Option<String>,
    /// Ranges and buffers.
    of: Option<List<Name>>,
    /// For `untouched`.
    since: Option<Moment>,
}

/// Adds the arguments that verbs pass on under the request's names, and demands one kind.
fn one_kind(schema: &mut Schema) {
    let kinds: Vec<Value> = ["do", "tick", "await", "check"]
        .iter()
        .map(|key| json!({ "required": [key] }))
        .collect();
    schema.insert("oneOf".to_owned(), json!(kinds));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, value) in arguments() {
            properties.entry(name).or_insert(value);
        }
    }
}

fn always(_: &mut SchemaGenerator) -> Schema {
    made(json!({ "const": true }))
}

fn verbs(_: &mut SchemaGenerator) -> Schema {
    made(words(Verb::all().into_iter().map(Verb::name)))
}

fn threads(_: &mut SchemaGenerator) -> Schema {
    made(words(Thread::ALL.map(Thread::name)))
}

fn checks(_: &mut SchemaGenerator) -> Schema {
    made(words(crate::CheckKind::ALL.map(crate::CheckKind::name)))
}

/// Columns two and four of the report.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct Report {
    /// What should happen.
    expected: String,
    /// What to do about it.
    repair: String,
}

/// What the file claims for profiles and engines.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, transform = reasons)]
#[allow(dead_code, reason = "only its schema is used")]
struct VerdictLine {
    #[schemars(default, schema_with = "profiles")]
    profile: Option<()>,
    #[schemars(default, schema_with = "engines")]
    engine: Option<()>,
    #[schemars(schema_with = "verdicts")]
    is: String,
    /// Why; demanded unless `holds`.
    because: Option<String>,
    /// Step ids and invariants that fail, and nothing else does.
    #[schemars(default, schema_with = "failures")]
    violates: Option<()>,
}

fn reasons(schema: &mut Schema) {
    let is = |word: &str| json!({ "properties": { "is": { "const": word } } });
    schema.insert(
        "oneOf".to_owned(),
        json!([
            { "allOf": [is("holds"), { "not": { "required": ["violates"] } }] },
            { "allOf": [is("violated"), { "required": ["because", "violates"] }] },
            { "allOf": [is("not-reproduced"), { "required": ["because"], "not": { "required": ["violates"] } }] },
        ]),
    );
}

/// One of these words, or a list of them.
fn one_or_more(item: Value) -> Schema {
    made(json!({ "anyOf": [item, { "type": "array", "items": item, "minItems": 1 }] }))
}

fn profiles(_: &mut SchemaGenerator) -> Schema {
    one_or_more(words(["upstream", "strict"]))
}

fn engines(_: &mut SchemaGenerator) -> Schema {
    one_or_more(words(EngineKind::ALL.map(EngineKind::name)))
}

fn verdicts(_: &mut SchemaGenerator) -> Schema {
    made(words(["holds", "violated", "not-reproduced"]))
}

fn failures(generator: &mut SchemaGenerator) -> Schema {
    let step = generator.subschema_for::<Name>();
    one_or_more(json!({ "anyOf": [step, words(INVARIANTS)] }))
}
