//! The results that a step may have.

use super::problems::{Problems, one_of, shown};
use super::steps::Reader;
use super::tree::texts;
use crate::error::ProblemKind;
use crate::{AwaitFor, Do, Verb, What, entry_results};
use moonquake_protocol::ErrorCode;

impl Reader<'_, '_> {
    /// Reads `expect`.
    pub(super) fn expect(&self, what: Option<&What>, problems: &mut Problems) -> Vec<String> {
        let Some(value) = self.table().get("expect") else {
            return Vec::new();
        };
        let verb = match what {
            None | Some(What::Tick(_) | What::Check(_)) => return Vec::new(),
            Some(What::Do(_)) if self.brief.is_async => {
                problems.add(
                    ProblemKind::Step,
                    "what an async step is expected to return stands at its `await`",
                    self.table().key_span("expect"),
                    "the result is not known yet",
                    format!(
                        "move it: `{{ await = \"{}\", within = \"31s\", expect = ... }}`",
                        self.brief.id.unwrap_or("p1")
                    ),
                );
                return Vec::new();
            }
            Some(What::Do(Do { verb, .. })) => Some(*verb),
            Some(What::Await { until, .. }) => match until {
                AwaitFor::Step(step) => self.names.steps[*step].verb,
                _ => {
                    problems.add(
                        ProblemKind::Step,
                        "only the await of a step has a result",
                        self.table().key_span("expect"),
                        "nothing is returned here",
                        "leave it out: the await fails if it does not hold within its time",
                    );
                    return Vec::new();
                }
            },
        };
        let entries = self.entries(what);
        let mut allowed = Vec::new();
        for (found, span) in texts(value, "`expect = \"ok\"`", problems) {
            if problems.is_full() {
                break;
            }
            match verb.map(|verb| wrong_results(found, verb, entries)) {
                Some(Some((message, help))) => {
                    problems.add(ProblemKind::Step, message, span, "cannot be returned", help);
                }
                _ => allowed.push(found.to_owned()),
            }
        }
        if allowed.is_empty() && problems.is_empty() {
            problems.add(
                ProblemKind::Step,
                "no result is allowed",
                value.span(),
                "an empty list",
                "leave `expect` out to allow any result",
            );
        }
        allowed
    }
}

impl Reader<'_, '_> {
    /// How many results the step has, if it has one for each of something; 0 if that many is not known here.
    fn entries(&self, what: Option<&What>) -> Option<usize> {
        match what? {
            What::Do(action) => action.entries(),
            What::Await {
                until: AwaitFor::Step(step),
                ..
            } => {
                let brief = &self.names.steps[*step];
                let ranged = brief.verb == Some(Verb::Get) && brief.table.has("ranges");
                (ranged || brief.verb.is_some_and(Verb::answers_each)).then_some(0)
            }
            _ => None,
        }
    }
}

/// Why a verb cannot return this, be it one result or those of a batch entry by entry, and the mend.
fn wrong_results(found: &str, verb: Verb, wanted: Option<usize>) -> Option<(String, String)> {
    let is_one = !found.contains([',', ' ']);
    let Some(wanted) = wanted.filter(|_| !is_one) else {
        return wrong_result(found, verb);
    };
    let Some(entries) = entry_results(found) else {
        let message = format!("`{}` is no list of results", shown(found));
        return Some((message, "write `ok x3, OBJECT_NOT_FOUND`".to_owned()));
    };
    if wanted != 0 && entries.len() != wanted {
        let what = if verb == Verb::Get { "range" } else { "key" };
        let message = format!("{} results for {wanted} {what}s", entries.len());
        return Some((message, format!("give one for each {what}, or one word for all")));
    }
    entries.into_iter().find_map(|entry| wrong_result(entry, verb))
}

/// Why a verb cannot return this result, and the mend.
fn wrong_result(found: &str, verb: Verb) -> Option<(String, String)> {
    let is_ping = verb.name() == "ping";
    let known = ErrorCode::from_name(found).is_some_and(|code| code != ErrorCode::Ok);
    let message = format!("`{}` is no result of `{}`", shown(found), verb.name());
    match found {
        "ok" if verb.answers_bool() => Some((message, one_of(["true", "false"]))),
        "ok" => None,
        "true" | "false" if verb.answers_bool() => None,
        "NEED_REMOUNT" if is_ping => None,
        "OK" | "Ok" => Some((message, "write `ok`".to_owned())),
        _ if known => None,
        _ => {
            let mut words: Vec<&str> = if verb.answers_bool() {
                vec!["true", "false"]
            } else {
                vec!["ok"]
            };
            if is_ping {
                words.push("NEED_REMOUNT");
            }
            let errors = ErrorCode::ALL.iter().filter_map(|code| code.name());
            let help = match super::problems::nearest(
                found,
                words
                    .iter()
                    .copied()
                    .chain(errors.clone().filter(|name| *name != "OK")),
            ) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("{}, or an error name of the store", one_of(words)),
            };
            Some((message, help))
        }
    }
}
