//! From a history to a scenario file.
//!
//! The language knows nodes that mount one segment each, clients, and one timeline for both clocks. What a history does beyond that is
//! left out and said in the head of the file; the exact history is then in the JSON file beside it.

use crate::compare::{Difference, Parted};
use crate::operation::{History, Operation};
use crate::sides::Outcome;
use crate::words::{Words, quoted};
use moonquake_clock::Span;
use moonquake_protocol::{Request, Response};
use std::fmt::Write as _;

/// A scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its text.
    pub text: String,
    /// What could not be said, one line each.
    pub left_out: Vec<String>,
}

/// Writes a history that parts as a scenario called `id`.
pub fn scenario(history: &History, difference: &Difference, id: &str) -> Scenario {
    let mut words = Words::new(&history.operations);
    let mut steps: Vec<(String, bool)> = Vec::new();
    let mut left_out = Vec::new();
    let (mut passed, mut moved) = (Span::ZERO, false);
    for (index, operation) in history.operations.iter().enumerate() {
        if let Operation::Clock {
            realtime_ns,
            monotonic_ns,
        } = operation
        {
            match u64::try_from(*realtime_ns) {
                Ok(ns) if realtime_ns == monotonic_ns => {
                    passed = passed + Span::from_ns(ns);
                    moved = true;
                }
                _ => left_out.push(format!(
                    "operation {index}: the wall clock moves by {realtime_ns} ns and the monotonic one by {monotonic_ns} ns"
                )),
            }
            continue;
        }
        match words.steps(operation) {
            Ok(said) => {
                for step in said {
                    let at = if moved {
                        format!("at = \"start + {passed}\", ")
                    } else {
                        String::new()
                    };
                    moved = false;
                    steps.push((format!("{at}{step}"), matches!(operation, Operation::Call(_))));
                }
            }
            Err(why) => left_out.push(format!("operation {index}: {why}")),
        }
    }
    if moved {
        // Time that passes at the end is seen by a look at the state.
        steps.push((
            format!("at = \"start + {passed}\", who = \"w0\", do = \"service_ready\""),
            true,
        ));
    }
    let text = text(history, difference, id, &words, &mut steps, &left_out);
    Scenario { text, left_out }
}

fn text(
    history: &History,
    difference: &Difference,
    id: &str,
    words: &Words,
    steps: &mut Vec<(String, bool)>,
    left_out: &[String],
) -> String {
    if !steps.iter().any(|(_, is_call)| *is_call) {
        steps.push(("who = \"w0\", do = \"service_ready\"".to_owned(), true));
    }
    let last_call = steps.iter().rposition(|(_, is_call)| *is_call).unwrap_or(0);
    let mut text = String::new();
    for line in left_out {
        let _ = writeln!(text, "# Left out: {line}");
    }
    let _ = writeln!(
        text,
        "schema = 1\nid     = {}\ntitle  = {}\nwhy    = {}\n",
        quoted(id),
        quoted("Two masters part in a random history"),
        quoted(&why(history, difference)),
    );
    let _ = writeln!(text, "[world]\nsegments = {{ {} }}", words.nodes());
    let _ = writeln!(text, "clients  = [{}]", words.clients());
    let (timeouts, flags) = settings(history);
    if !timeouts.is_empty() {
        let _ = writeln!(text, "timeouts = {{ {} }}", timeouts.join(", "));
    }
    if !flags.is_empty() {
        let _ = writeln!(text, "flags    = {{ {} }}", flags.join(", "));
    }
    let _ = writeln!(
        text,
        "\n[fault]\ndimension = \"misuse\"\ntarget    = \"master\"\nstep      = \"last\"\n\n[timeline]\nsteps = ["
    );
    for (index, (step, _)) in steps.iter().enumerate() {
        let name = if index == last_call { "id = \"last\", " } else { "" };
        let _ = writeln!(text, "  {{ {name}{step} }},");
    }
    text.push_str("]\n\n[report]\nexpected = \"Both masters do the same.\"\nrepair   = \"None known.\"\n\n");
    text.push_str("[[verdict]]\nis = \"holds\"\n");
    text
}

/// What parts, in a line.
fn why(history: &History, difference: &Difference) -> String {
    let seed = match history.seed {
        Some(seed) => format!(" of seed {seed}"),
        None => String::new(),
    };
    let place = match &difference.operation {
        Operation::Clock { .. } => "the clocks have moved".to_owned(),
        Operation::Tick(thread) => format!("a tick of {}", thread.name()),
        operation => operation.name(),
    };
    let what = match &difference.parted {
        Parted::Outcome { rust, real } => format!(
            "the Rust master answers {}, the real one {}",
            outcome(rust),
            outcome(real)
        ),
        Parted::State { rust, real } => format!(
            "the state differs: {} bytes are allocated in the Rust master, {} in the real one",
            rust.allocated_bytes, real.allocated_bytes
        ),
        Parted::Draws => {
            "or before it, one master has drawn random numbers that the other has not".to_owned()
        }
    };
    format!(
        "A random history{seed}, configuration {}. After {place} {what}.",
        history.setup.name
    )
}

fn outcome(outcome: &Outcome) -> String {
    let text = match outcome {
        Outcome::Answer(response) => match response.error() {
            Some(code) => code.to_string(),
            None => answer(response),
        },
        other => format!("{other:?}"),
    };
    text.chars().take(400).collect()
}

fn answer(response: &Response) -> String {
    serde_json::to_string(response).unwrap_or_else(|_| "something".to_owned())
}

/// Time-outs and flags of the configuration, as the language calls them.
fn settings(history: &History) -> (Vec<String>, Vec<String>) {
    let (mut timeouts, mut flags) = (Vec::new(), Vec::new());
    for (flag, value) in &history.setup.flags {
        let timeout = match flag.as_str() {
            "default_kv_lease_ttl" => Some(("lease", "ms")),
            "default_kv_soft_pin_ttl" => Some(("soft_pin", "ms")),
            "put_start_discard_timeout_sec" => Some(("discard", "s")),
            "put_start_release_timeout_sec" => Some(("release", "s")),
            "client_ttl" => Some(("client_ttl", "s")),
            _ => None,
        };
        match timeout {
            Some((name, unit)) => timeouts.push(format!("{name} = \"{value}{unit}\"")),
            None => flags.push(format!("{flag} = {}", quoted(value))),
        }
    }
    (timeouts, flags)
}

/// Whether a request is a mount that the world of a scenario makes by itself.
pub(crate) fn is_plain_mount(request: &Request) -> bool {
    matches!(request, Request::MountSegment { segment, .. } if segment.base != 0 && segment.size != 0 && !segment.name.is_empty())
}
