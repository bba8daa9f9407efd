//! `[report]`, `[watch]` and `[[verdict]]`.

use super::names::{Kind, Names};
use super::problems::{Problems, did_you_mean, shown};
use super::tree::{Table, Value, array, table, text, texts};
use crate::error::ProblemKind;
use crate::{EngineKind, INVARIANTS, ReportText, Step, Verdict, VerdictLine, What};
use moonquake_faults::Profile;
use std::ops::Range;
use toml::de::DeValue;

/// Reads `[report]`.
pub(super) fn report(report: &Table<'_>, problems: &mut Problems) -> ReportText {
    report.only(&["expected", "repair"], problems);
    let mut column = |key: &str, example: &str| {
        report
            .demand(key, example, problems)
            .and_then(|value| text(value, example, problems).map(str::to_owned))
            .unwrap_or_default()
    };
    ReportText {
        expected: column("expected", "`expected = \"No reader sees k before PutEnd.\"`"),
        repair: column("repair", "`repair = \"Degrade: k is unavailable for 30 s.\"`"),
    }
}

/// Reads `[watch]`.
pub(super) fn watch(watch: &Table<'_>, names: &Names<'_>, problems: &mut Problems) -> Vec<String> {
    watch.only(&["buffer"], problems);
    let example = "`buffer = [\"a1\", \"b1\"]`";
    let Some(value) = watch.demand("buffer", example, problems) else {
        return Vec::new();
    };
    let mut watched = Vec::new();
    for (found, span) in texts(value, example, problems) {
        if names.find(found, &[Kind::Range, Kind::Buffer]).is_none() {
            names.unbound(found, span, &[Kind::Range, Kind::Buffer], ("", &[]), problems);
            continue;
        }
        watched.push(found.to_owned());
    }
    watched
}

/// A verdict line with its places.
struct Claim<'a> {
    line: VerdictLine,
    table: Table<'a>,
}

/// Reads the verdict lines.
pub(super) fn verdicts(
    value: Value<'_>,
    names: &Names<'_>,
    steps: &[Option<Step>],
    problems: &mut Problems,
) -> Vec<VerdictLine> {
    let example = "`[[verdict]]` and `is = \"holds\"`";
    if value.get_ref().is_table() {
        problems.add(
            ProblemKind::Verdict,
            "verdicts are a list, of which the first line that fits counts",
            value.span(),
            "a single table",
            "write `[[verdict]]` with two brackets",
        );
        return Vec::new();
    }
    let items = array(value, example, problems).unwrap_or_default();
    if items.is_empty() {
        problems.add(
            ProblemKind::Verdict,
            "the file claims nothing",
            value.span(),
            "no verdict line",
            format!("add {example}"),
        );
    }
    let mut claims: Vec<Claim<'_>> = Vec::new();
    for item in items {
        let Some(found) = table(item, "a [[verdict]]", example, problems) else {
            continue;
        };
        if let Some(line) = verdict(&found, names, steps, problems) {
            claims.push(Claim { line, table: found });
        }
    }
    refuse_unreachable(&claims, problems);
    claims.into_iter().map(|claim| claim.line).collect()
}

fn verdict(
    found: &Table<'_>,
    names: &Names<'_>,
    steps: &[Option<Step>],
    problems: &mut Problems,
) -> Option<VerdictLine> {
    found.only(&["profile", "engine", "is", "because", "violates"], problems);
    let profiles = words(
        found,
        "profile",
        Profile::from_name,
        &["upstream", "strict"],
        problems,
    );
    let engines = words(
        found,
        "engine",
        EngineKind::from_name,
        &EngineKind::ALL.map(EngineKind::name),
        problems,
    );
    let value = found.demand("is", "`is = \"holds\"`", problems)?;
    let word = text(value, "`is = \"holds\"`", problems)?;
    let is = match word {
        "holds" => Verdict::Holds,
        "violated" => Verdict::Violated,
        "not-reproduced" => Verdict::NotReproduced,
        other => {
            problems.add(
                ProblemKind::Verdict,
                format!("no verdict is called `{}`", shown(other)),
                value.span(),
                "unknown verdict",
                did_you_mean(other, ["holds", "violated", "not-reproduced"]),
            );
            return None;
        }
    };
    let because = found
        .get("because")
        .and_then(|value| text(value, "`because = \"...\"`", problems))
        .map(str::to_owned);
    let empty = because.as_deref().is_none_or(|text| text.trim().is_empty());
    if is != Verdict::Holds && empty {
        problems.add(
            ProblemKind::Verdict,
            format!("a claim that is `{is}` says why"),
            value.span(),
            "no `because`",
            "add `because = \"...\"`: what the store does, in a sentence",
        );
    }
    Some(VerdictLine {
        profiles,
        engines,
        is,
        because,
        violates: violates(found, is, names, steps, problems),
    })
}

/// A list of words of a small table.
fn words<T>(
    found: &Table<'_>,
    key: &str,
    from_name: impl Fn(&str) -> Option<T>,
    known: &[&str],
    problems: &mut Problems,
) -> Vec<T> {
    let Some(value) = found.get(key) else {
        return Vec::new();
    };
    let example = format!("`{key} = \"{}\"`", known[0]);
    let mut list = Vec::new();
    for (word, span) in texts(value, &example, problems) {
        match from_name(word) {
            Some(item) => list.push(item),
            None => problems.add(
                ProblemKind::Verdict,
                format!("no {key} is called `{}`", shown(word)),
                span,
                format!("unknown {key}"),
                did_you_mean(word, known.iter().copied()),
            ),
        }
    }
    if list.is_empty() && matches!(value.get_ref(), DeValue::Array(items) if items.is_empty()) {
        problems.add(
            ProblemKind::Verdict,
            format!("this line is about no {key}"),
            value.span(),
            "an empty list",
            format!("leave `{key}` out to mean any"),
        );
    }
    list
}

fn violates(
    found: &Table<'_>,
    is: Verdict,
    names: &Names<'_>,
    steps: &[Option<Step>],
    problems: &mut Problems,
) -> Vec<String> {
    let value = match (found.get("violates"), is) {
        (None, Verdict::Violated) => {
            problems.add(
                ProblemKind::Verdict,
                "a violation names what fails",
                found.value_span("is"),
                "no `violates`",
                "add `violates`, a list of step ids and invariants: these fail, and nothing else does",
            );
            return Vec::new();
        }
        (None, _) => return Vec::new(),
        (Some(_), Verdict::Holds | Verdict::NotReproduced) => {
            problems.add(
                ProblemKind::Verdict,
                "`violates` goes with `is = \"violated\"` only",
                found.key_span("violates"),
                format!("this line says `{is}`"),
                "leave it out, or claim a violation",
            );
            return Vec::new();
        }
        (Some(value), Verdict::Violated) => value,
    };
    let mut list: Vec<String> = Vec::new();
    for (name, span) in texts(value, "`violates = [\"x1\", \"no-foreign-bytes\"]`", problems) {
        if list.iter().any(|other| other == name) {
            problems.add(
                ProblemKind::Verdict,
                format!("`{name}` is named twice"),
                span,
                "again",
                "name it once",
            );
        } else if INVARIANTS.contains(&name) {
            list.push(name.to_owned());
        } else if let Some(step) = names.find(name, &[Kind::Step]) {
            refuse_unfailing(name, step.step, span, names, steps, problems);
            list.push(name.to_owned());
        } else {
            names.unbound(name, span, &[Kind::Step], ("invariant", &INVARIANTS), problems);
        }
    }
    if list.is_empty() && matches!(value.get_ref(), DeValue::Array(items) if items.is_empty()) {
        problems.add(
            ProblemKind::Verdict,
            "a violation names what fails",
            value.span(),
            "an empty list",
            "name step ids and invariants",
        );
    }
    list
}

/// Refuses a step that cannot fail as one that fails.
fn refuse_unfailing(
    name: &str,
    index: usize,
    at: Range<usize>,
    names: &Names<'_>,
    steps: &[Option<Step>],
    problems: &mut Problems,
) {
    let Some(Some(step)) = steps.get(index) else {
        return;
    };
    let can_fail = match &step.what {
        What::Tick(_) => false,
        What::Await { .. } | What::Check(_) => true,
        What::Do(action) => {
            step.is_async || !step.expect.is_empty() || action.payload.is_some() || action.count.is_some()
        }
    };
    if !can_fail {
        problems.add_at(
            ProblemKind::Verdict,
            format!("step `{name}` expects nothing, so it cannot fail"),
            vec![
                (at, "claimed to fail".to_owned()),
                (
                    names.steps[index].table.span.clone(),
                    "no expectation here".to_owned(),
                ),
            ],
            "add `expect` to the step, or do not name it",
        );
    }
}

/// The pairs of profile and engine that a line is about, as bits. Real engines know one profile, `upstream`.
fn pairs(line: &VerdictLine) -> u32 {
    let mut bits = 0;
    for (number, (profile, engine)) in [Profile::Upstream, Profile::Strict]
        .into_iter()
        .flat_map(|profile| EngineKind::ALL.map(|engine| (profile, engine)))
        .enumerate()
    {
        let real = !matches!(engine, EngineKind::Model | EngineKind::Hosted);
        let fits = (line.profiles.is_empty() || line.profiles.contains(&profile))
            && (line.engines.is_empty() || line.engines.contains(&engine))
            && !(profile == Profile::Strict && real);
        bits |= u32::from(fits) << number;
    }
    bits
}

fn refuse_unreachable(claims: &[Claim<'_>], problems: &mut Problems) {
    let mut covered = 0;
    for (index, claim) in claims.iter().enumerate() {
        let own = pairs(&claim.line);
        if own == 0 {
            problems.add(
                ProblemKind::Verdict,
                "this verdict can never count",
                claim.table.span.clone(),
                "real engines know one profile, `upstream`",
                "name an engine that can run the profile `strict`, such as `model`",
            );
        } else if own & !covered == 0 {
            let earlier = claims[..index]
                .iter()
                .filter(|other| pairs(&other.line) & own != 0)
                .map(|other| (other.table.span.clone(), "counts before it".to_owned()));
            let mut labels = vec![(claim.table.span.clone(), "never reached".to_owned())];
            labels.extend(earlier);
            problems.add_at(
                ProblemKind::Verdict,
                "this verdict can never count",
                labels,
                "the first line that fits counts: put the special line first, or leave one out",
            );
        }
        covered |= own;
    }
}
