//! The JSON Schema in the repository is the one of this code, and accepts what the parser accepts.

use moonquake_scenario::schema;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const RENEW: &str = "MOONQUAKE_RENEW_SCHEMA=1 cargo test -p moonquake-scenario --test schema";

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/schema/scenario.schema.json")
}

#[test]
fn the_kept_schema_is_up_to_date() {
    let now = schema::json();
    if std::env::var_os("MOONQUAKE_RENEW_SCHEMA").is_some() {
        std::fs::write(kept(), &now).unwrap();
    }
    let found = std::fs::read_to_string(kept()).unwrap_or_default();
    assert!(
        found == now,
        "fixtures/schema/scenario.schema.json differs from the code; renew it with\n  {RENEW}"
    );
}

/// The part of JSON Schema that the kept file uses.
struct Validator {
    root: Value,
}

impl Validator {
    fn accepts(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let Some(rules) = schema.as_object() else {
            return if schema == &Value::Bool(false) {
                Err(format!("{value} may not be here"))
            } else {
                Ok(())
            };
        };
        for (rule, wanted) in rules {
            self.rule(rule, wanted, rules, value)
                .map_err(|error| format!("{error} ({rule})"))?;
        }
        Ok(())
    }

    fn rule(
        &self,
        rule: &str,
        wanted: &Value,
        rules: &Map<String, Value>,
        value: &Value,
    ) -> Result<(), String> {
        let fail = |found: bool| {
            if found {
                Ok(())
            } else {
                Err(format!("{value} does not fit {wanted}"))
            }
        };
        let fits = |schema: &&Value| self.accepts(schema, value).is_ok();
        let list = || wanted.as_array().unwrap().iter();
        match rule {
            "$ref" => self.accepts(self.root.pointer(&wanted.as_str().unwrap()[1..]).unwrap(), value),
            "type" => fail(has_type(wanted, value)),
            "const" => fail(wanted == value),
            "enum" => fail(list().any(|word| word == value)),
            "pattern" => {
                let pattern = regex::Regex::new(wanted.as_str().unwrap()).unwrap();
                fail(value.as_str().is_none_or(|text| pattern.is_match(text)))
            }
            "anyOf" => fail(list().any(|schema| fits(&schema))),
            "allOf" => list().try_for_each(|schema| self.accepts(schema, value)),
            "oneOf" => fail(list().filter(fits).count() == 1),
            "not" => fail(!fits(&wanted)),
            "required" => fail(list().all(|key| value.get(key.as_str().unwrap()).is_some())),
            "minItems" => fail(
                value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
            ),
            "minimum" => fail(
                value
                    .as_f64()
                    .is_none_or(|found| found >= wanted.as_f64().unwrap()),
            ),
            "maximum" => fail(
                value
                    .as_f64()
                    .is_none_or(|found| found <= wanted.as_f64().unwrap()),
            ),
            "items" | "properties" | "additionalProperties" | "propertyNames" => {
                self.inside(rule, wanted, rules, value)
            }
            "dependentRequired" => fail(has_what_it_needs(wanted, value)),
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => Ok(()),
            other => panic!("the validator of this test does not know {other}"),
        }
    }

    /// A rule about what a list or an object holds.
    fn inside(
        &self,
        rule: &str,
        wanted: &Value,
        rules: &Map<String, Value>,
        value: &Value,
    ) -> Result<(), String> {
        let named = |key: &str, schema: &Value, found: &Value| {
            self.accepts(schema, found)
                .map_err(|error| format!("{key}: {error}"))
        };
        let mut entries = value.as_object().into_iter().flatten();
        match rule {
            "items" => value
                .as_array()
                .into_iter()
                .flatten()
                .try_for_each(|item| self.accepts(wanted, item)),
            "properties" => wanted.as_object().unwrap().iter().try_for_each(|(key, schema)| {
                value.get(key).map_or(Ok(()), |found| named(key, schema, found))
            }),
            "additionalProperties" => {
                let known = rules.get("properties").and_then(Value::as_object);
                entries
                    .filter(|(key, _)| known.is_none_or(|known| !known.contains_key(*key)))
                    .try_for_each(|(key, found)| named(key, wanted, found))
            }
            _ => entries.try_for_each(|(key, _)| self.accepts(wanted, &Value::String(key.clone()))),
        }
    }
}

/// Whether a value has, for each key that it has, those that this one needs.
fn has_what_it_needs(wanted: &Value, value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let mut all = wanted.as_object().unwrap().iter();
    all.all(|(key, needs)| {
        let mut needs = needs.as_array().unwrap().iter();
        !has(key) || needs.all(|need| has(need.as_str().unwrap()))
    })
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(many) => many.iter().any(|one| has_type(one, value)),
        _ => match wanted.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "null" => value.is_null(),
            other => panic!("unknown type {other}"),
        },
    }
}

fn files(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if let Ok(table) = text.parse::<toml::Table>() {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            found.push((name, serde_json::to_value(table).unwrap()));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

fn validator() -> Validator {
    Validator {
        root: serde_json::from_str(&schema::json()).unwrap(),
    }
}

#[test]
fn the_schema_accepts_every_reference_scenario() {
    let validator = validator();
    let files = files("tests/data/examples");
    assert_eq!(files.len(), 13);
    for (name, value) in files {
        validator
            .accepts(&validator.root, &value)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_schema_accepts_segments_by_size_and_by_model() {
    let validator = validator();
    let (_, mut value) = files("tests/data/examples").swap_remove(0);
    value["world"]["segments"] =
        serde_json::json!({ "n1": "16MiB", "n2": { "model": "llama-3-8b", "tokens": 64 } });
    assert_eq!(validator.accepts(&validator.root, &value), Ok(()));
    value["world"]["segments"]["n2"]["tokens"] = serde_json::json!(0);
    assert!(validator.accepts(&validator.root, &value).is_err());
}

/// A schema cannot follow names or time, but it must notice what has the wrong shape.
#[test]
fn the_schema_refuses_wrong_shapes() {
    let validator = validator();
    let refused: Vec<String> = files("../../fixtures/wrong")
        .into_iter()
        .filter(|(_, value)| validator.accepts(&validator.root, value).is_err())
        .map(|(name, _)| name.trim_end_matches(".scenario.toml").to_owned())
        .collect();
    for shape in [
        "second-fault-array",
        "second-fault-key",
        "unknown-top-key",
        "unknown-timeout",
        "unit-nonsense",
        "schema-2",
        "bad-id",
        "bad-name",
        "unknown-phase",
        "unknown-dimension",
        "two-triggers",
        "no-trigger",
        "two-kinds",
        "no-kind",
        "unknown-verb",
        "unknown-thread",
        "unknown-check",
        "unknown-action",
        "two-actions",
        "times-zero",
        "violates-with-holds",
        "violation-without-reason",
        "unknown-verdict",
        "no-verdict",
        "fault-in-step-key",
        "hit-without-at",
        "unknown-step-key",
        "rate-nonsense",
        "missing-parts",
        "wrong-types",
        "unknown-model",
        "model-without-tokens",
    ] {
        assert!(
            refused.iter().any(|name| name == shape),
            "the schema accepts {shape}"
        );
    }
}
