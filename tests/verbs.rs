//! Every verb of the grammar has words: a step of it reaches the master and comes back with the master's own answer.

use moonquake_evidence::Kind;
use moonquake_faults::Profile;
use moonquake_protocol::Rpc;
use moonquake_scenario::{Engine, EngineKind, Plan, RunOptions, Verb, parse};
use moonquake_tests::run;

/// The keys that a verb must have, beside `who` and `do`.
fn needs(verb: Verb) -> Vec<String> {
    let (key, keys, size) = ("key = \"k\"", "keys = [\"k\", \"m\"]", "size = \"1MiB\"");
    let own: &[&str] = match verb {
        Verb::Put | Verb::Upsert => &[key, size],
        Verb::BatchPut | Verb::BatchUpsert => &[keys, size],
        Verb::BatchGet | Verb::BatchExist | Verb::BatchRemove => &[keys],
        Verb::Get | Verb::Exist | Verb::Size | Verb::Remove | Verb::GetStart => &[key],
        Verb::RemoveByRegex => &["regex = \"^k\""],
        Verb::Fill => &["into = \"b1\"", "size = \"1MiB\""],
        Verb::RegisterBuffer | Verb::UnregisterBuffer => &["into = \"b1\""],
        Verb::Rpc(rpc) => return fields(rpc),
        _ => &[],
    };
    own.iter().map(|need| (*need).to_owned()).collect()
}

fn fields(rpc: Rpc) -> Vec<String> {
    let field = |(name, kind): &(&str, &str)| {
        Some(match (*name, *kind) {
            ("client_id", _) | (_, "ReplicateConfig" | "ReplicaType" | "bool" | "i64") => return None,
            ("key" | "object_meta", _) => "key = \"k\"".to_owned(),
            ("keys" | "object_keys" | "object_metas", _) => "keys = [\"k\"]".to_owned(),
            ("slice_length" | "slice_lengths" | "size", _) => "size = \"1MiB\"".to_owned(),
            (name, "u64") => format!("{name} = 1"),
            (name @ ("task_id" | "dynamic_replication_lease_id"), _) => format!("{name} = \"1-2\""),
            ("request", _) => "request = [\"1-2\", \"SUCCESS\"]".to_owned(),
            ("tenant_id", _) => "tenant_id = \"default\"".to_owned(),
            (name, "String" | "Uuid" | "Segment" | "NoFSegment") => format!("{name} = \"n1\""),
            (name, _) => format!("{name} = [\"n2\"]"),
        })
    };
    rpc.fields().iter().filter_map(field).collect()
}

fn plan(verb: Verb) -> Plan {
    let step = needs(verb).join(", ");
    let comma = if step.is_empty() { "" } else { ", " };
    let text = format!(
        r#"
schema = 1
id = "misuse/every-verb"
title = "A verb"
why = "Whether it has words."
[world]
segments = {{ n1 = "16MiB", n2 = "16MiB" }}
clients = ["w1"]
[fault]
dimension = "misuse"
target = "master"
step = "x"
[timeline]
steps = [
  {{ who = "n1", do = "put_start", key = "s", size = "1MiB" }},
  {{ who = "n1", do = "get_start", key = "s" }},
  {{ who = "n1", do = "put", key = "r", size = "1MiB", preferred_segments = ["n1"] }},
  {{ who = "n1", do = "get_start", key = "r" }},
  {{ who = "n1", do = "create_copy_task", key = "r", targets = ["n2"] }},
  {{ who = "n1", do = "poll_tasks" }},
  {{ id = "x", who = "n1", do = "{}"{comma}{step} }},
]
[report]
expected = "An answer."
repair = "None needed."
[[verdict]]
is = "holds"
"#,
        verb.name()
    );
    parse::from_str("verb.scenario.toml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{}: {}", verb.name(), errors.plain()))
}

#[test]
fn model_every_verb_has_words() {
    for verb in Verb::all().into_iter().filter(|verb| *verb != Verb::Resume) {
        let plan = plan(verb);
        assert_eq!(
            moonquake_model::ModelEngine.unsupported(&plan),
            None,
            "{}",
            verb.name()
        );
        let evidence = run(EngineKind::Model, &plan, &RunOptions::new(Profile::Upstream)).unwrap();
        let ended = evidence.events.iter().rev().find_map(|event| match &event.kind {
            Kind::StepEnded { outcome, note, .. } => Some((outcome.clone(), note.clone())),
            _ => None,
        });
        let (outcome, note) = ended.unwrap();
        assert!(
            !matches!(outcome.as_str(), "not run" | "no result" | "NOT_SUPPORTED"),
            "{}: {outcome} {note:?}",
            verb.name()
        );
        let asked = evidence
            .events
            .iter()
            .any(|event| event.op.is_some_and(|op| op.step == 6) && matches!(event.kind, Kind::Frame { .. }));
        assert_eq!(asked, verb.sends_request(), "{}", verb.name());
    }
}
