//! `[fault]`: the one fault.

use super::action;
use super::instants::{Sight, instant};
use super::names::{Kind, Names};
use super::problems::{Problems, did_you_mean, nearest, shown};
use super::tree::{Table, counting, text, texts};
use crate::error::ProblemKind;
use crate::reach::reaches;
use crate::{Fault, Trigger};
use moonquake_clock::Span;
use moonquake_faults::{ActionKind, DIMENSIONS, Dimension, DimensionRow, PHASES, PhaseId, TriggerKind};

const KEYS: [&str; 8] = [
    "dimension",
    "target",
    "at",
    "of",
    "hit",
    "after",
    "deadline",
    "step",
];
const TRIGGERS: [TriggerKind; 4] = [
    TriggerKind::At,
    TriggerKind::After,
    TriggerKind::Deadline,
    TriggerKind::Step,
];

/// Reads `[fault]`.
pub(super) fn read(fault: &Table<'_>, names: &Names<'_>, problems: &mut Problems) -> Option<Fault> {
    let mut known = KEYS.to_vec();
    known.push("action");
    fault.only(&known, problems);
    let dimension = dimension(fault, problems);
    let target = target(fault, names, problems);
    let kind = trigger_kind(fault, problems);
    let trigger = kind.and_then(|kind| trigger(kind, fault, names, problems));
    if kind.is_some_and(|kind| kind != TriggerKind::At) {
        refuse_phase_keys(fault, problems);
    }
    let action = fault
        .get("action")
        .and_then(|value| action::read(value, problems));
    if let (Some(dimension), Some(kind)) = (dimension, kind) {
        combination(
            dimension,
            kind,
            action.as_ref().map(crate::Action::kind),
            fault,
            problems,
        );
    }
    Some(Fault {
        dimension: dimension?,
        target: target?,
        trigger: trigger?,
        action,
    })
}

fn dimension(fault: &Table<'_>, problems: &mut Problems) -> Option<Dimension> {
    let example = "`dimension = \"crash\"`";
    let value = fault.demand("dimension", example, problems)?;
    let found = text(value, example, problems)?;
    let dimension = Dimension::from_name(found);
    if dimension.is_none() {
        problems.add(
            ProblemKind::Fault,
            format!("no dimension is called `{}`", shown(found)),
            value.span(),
            "unknown dimension",
            did_you_mean(found, DIMENSIONS.iter().map(|row| row.name)),
        );
    }
    dimension
}

fn target(fault: &Table<'_>, names: &Names<'_>, problems: &mut Problems) -> Option<String> {
    let example = "`target = \"w1\"`";
    let value = fault.demand("target", example, problems)?;
    let found = text(value, example, problems)?;
    if found != "master" && names.find(found, &[Kind::Node, Kind::Client]).is_none() {
        names.unbound(
            found,
            value.span(),
            &[Kind::Client, Kind::Node],
            ("", &["master"]),
            problems,
        );
        return None;
    }
    Some(found.to_owned())
}

/// The one trigger that is given.
fn trigger_kind(fault: &Table<'_>, problems: &mut Problems) -> Option<TriggerKind> {
    let given: Vec<TriggerKind> = TRIGGERS
        .into_iter()
        .filter(|kind| fault.has(kind.key()))
        .collect();
    match given.as_slice() {
        [only] => Some(*only),
        [] => {
            problems.add(
                ProblemKind::Fault,
                "the fault has no trigger",
                fault.span.clone(),
                "nothing says when it strikes",
                "add one of `at` (a phase), `after` (a step), `deadline` (an instant) or `step` (the stimulus)",
            );
            None
        }
        many => {
            let labels = many
                .iter()
                .map(|kind| (fault.key_span(kind.key()), "a trigger".to_owned()))
                .collect();
            problems.add_at(
                ProblemKind::Fault,
                "the fault has more than one trigger",
                labels,
                "keep exactly one of `at`, `after`, `deadline` and `step`",
            );
            None
        }
    }
}

fn refuse_phase_keys(fault: &Table<'_>, problems: &mut Problems) {
    for key in ["of", "hit"] {
        if fault.has(key) {
            problems.add(
                ProblemKind::Fault,
                format!("`{key}` goes with `at` only"),
                fault.key_span(key),
                "this trigger is no phase",
                format!("leave `{key}` out, or trigger at a phase: `at = \"client.put.start_response\"`"),
            );
        }
    }
}

fn trigger(
    kind: TriggerKind,
    fault: &Table<'_>,
    names: &Names<'_>,
    problems: &mut Problems,
) -> Option<Trigger> {
    let value = fault.get(kind.key())?;
    match kind {
        TriggerKind::At => at_phase(fault, names, problems),
        TriggerKind::Deadline => instant(value, Sight::Whole, names, problems).and_then(|instant| {
            if instant.base == crate::Base::Fault {
                problems.add(
                    ProblemKind::Time,
                    "the fault cannot count from itself",
                    value.span(),
                    "`fault` is this instant",
                    "count from a step's id or from `start`",
                );
                return None;
            }
            Some(Trigger::Deadline(instant))
        }),
        TriggerKind::After => {
            let found = text(value, "`after = \"p1\"`", problems)?;
            step_named(found, value.span(), names, problems).map(Trigger::After)
        }
        TriggerKind::Step => {
            let mut steps = Vec::new();
            let found = texts(value, "`step = [\"x1\", \"x2\"]`", problems);
            if found.is_empty() && value.get_ref().is_array() {
                problems.add(
                    ProblemKind::Fault,
                    "no step is named",
                    value.span(),
                    "an empty list",
                    "name the steps that are the stimulus, such as `step = \"probe\"`",
                );
            }
            for (found, span) in found {
                let Some(step) = step_named(found, span.clone(), names, problems) else {
                    continue;
                };
                if steps.contains(&step) {
                    problems.add(
                        ProblemKind::Fault,
                        format!("step `{found}` is named twice"),
                        span,
                        "again",
                        "name each step once",
                    );
                    continue;
                }
                steps.push(step);
            }
            (!steps.is_empty()).then_some(Trigger::Steps(steps))
        }
    }
}

/// The index of a step by its id.
pub(super) fn step_named(
    found: &str,
    at: std::ops::Range<usize>,
    names: &Names<'_>,
    problems: &mut Problems,
) -> Option<usize> {
    let step = names.find(found, &[Kind::Step]).map(|named| named.step);
    if step.is_none() {
        names.unbound(found, at, &[Kind::Step], ("", &[]), problems);
    }
    step
}

fn at_phase(fault: &Table<'_>, names: &Names<'_>, problems: &mut Problems) -> Option<Trigger> {
    let value = fault.get("at")?;
    let found = text(value, "`at = \"client.put.start_response\"`", problems)?;
    let phase = PhaseId::from_name(found);
    if phase.is_none() {
        let base = found.split(['+', '-', '.']).next().unwrap_or("").trim();
        let is_instant = Span::parse(base).is_ok()
            || ["start", "fault"].contains(&base)
            || names.find(base, &[Kind::Step]).is_some();
        let help = if is_instant {
            format!(
                "an instant as a trigger is `deadline = \"{}\"`; `at` takes a phase",
                shown(found)
            )
        } else {
            match nearest(found, PHASES.iter().map(|row| row.name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "choose a phase of `moonquake catalog`, such as `{}`",
                    PhaseId::nearest(found)
                ),
            }
        };
        problems.add(
            ProblemKind::Fault,
            format!("no phase is called `{}`", shown(found)),
            value.span(),
            "not in the catalogue",
            help,
        );
    }
    let hit = match fault.get("hit") {
        Some(value) => counting(value, u32::MAX, "`hit = 1` for the first time", problems)?,
        None => 1,
    };
    let of = match fault.get("of") {
        None => None,
        Some(value) => {
            let found = text(value, "`of = \"p1\"`", problems)?;
            let step = step_named(found, value.span(), names, problems)?;
            if let Some(phase) = phase {
                check_reach(phase, step, value.span(), names, problems);
            }
            Some(step)
        }
    };
    Some(Trigger::At {
        phase: phase?,
        of,
        hit,
    })
}

/// Refuses `of` with a step whose operation never passes the phase.
fn check_reach(
    phase: PhaseId,
    step: usize,
    at: std::ops::Range<usize>,
    names: &Names<'_>,
    problems: &mut Problems,
) {
    let brief = &names.steps[step];
    if brief.verb.is_some_and(|verb| reaches(verb, phase)) {
        return;
    }
    let fitting: Vec<&str> = names
        .steps
        .iter()
        .filter(|brief| brief.verb.is_some_and(|verb| reaches(verb, phase)))
        .filter_map(|brief| brief.id)
        .collect();
    let help = if fitting.is_empty() {
        format!(
            "`{phase}` belongs to a {}: name such a step",
            phase.row().operation
        )
    } else {
        super::problems::one_of(fitting)
    };
    problems.add_at(
        ProblemKind::Fault,
        format!(
            "step `{}` never passes `{phase}`",
            brief.id.unwrap_or("without an id")
        ),
        vec![
            (at, "the wrong operation".to_owned()),
            (brief.table.value_span("do"), "its verb".to_owned()),
        ],
        help,
    );
}

/// Checks dimension, trigger and action against the table.
fn combination(
    dimension: Dimension,
    kind: TriggerKind,
    action: Option<ActionKind>,
    fault: &Table<'_>,
    problems: &mut Problems,
) {
    let row = dimension.row();
    let triggers: Vec<&str> = row.allowed.iter().map(|(kind, _)| kind.key()).collect();
    let Some(actions) = dimension.actions(kind) else {
        problems.add_at(
            ProblemKind::Fault,
            format!(
                "a fault of dimension `{}` has no trigger `{}`",
                row.name,
                kind.key()
            ),
            vec![
                (fault.key_span(kind.key()), "this trigger".to_owned()),
                (fault.value_span("dimension"), "with this dimension".to_owned()),
            ],
            super::problems::one_of(triggers),
        );
        return;
    };
    let words: Vec<&str> = actions.iter().map(|action| action.word()).collect();
    match action {
        None if fault.has("action") || actions.is_empty() => {}
        None => problems.add(
            ProblemKind::Fault,
            format!(
                "a fault of dimension `{}` with `{}` needs an action",
                row.name,
                kind.key()
            ),
            fault.span.clone(),
            "no `action` here",
            format!("add `action`: {}", super::problems::one_of(words)),
        ),
        Some(action) if actions.contains(&action) => {}
        Some(action) if actions.is_empty() => problems.add(
            ProblemKind::Fault,
            format!(
                "a fault of dimension `{}` with `{}` has no action",
                row.name,
                kind.key()
            ),
            fault.value_span("action"),
            format!("`{}` would be a second fault", action.word()),
            "leave `action` out: the boundary or the stimulus itself is the fault",
        ),
        Some(action) => foreign_action(dimension, kind, action, fault, problems),
    }
}

/// Reports an action that the dimension does not have, and says which ones have it.
fn foreign_action(
    dimension: Dimension,
    kind: TriggerKind,
    action: ActionKind,
    fault: &Table<'_>,
    problems: &mut Problems,
) {
    let has_it = |other: &&DimensionRow| {
        let mut allowed = other.allowed.iter();
        allowed.any(|(trigger, actions)| *trigger == kind && actions.contains(&action))
    };
    let homes: Vec<&str> = DIMENSIONS.iter().filter(has_it).map(|other| other.name).collect();
    let other = if homes.is_empty() {
        String::new()
    } else {
        format!("; `{}` belongs to {}", action.word(), homes.join(", "))
    };
    let own = dimension.actions(kind).unwrap_or_default();
    let words: Vec<&str> = own.iter().map(|action| action.word()).collect();
    problems.add_at(
        ProblemKind::Fault,
        format!(
            "a fault of dimension `{}` has no action `{}`",
            dimension.row().name,
            action.word()
        ),
        vec![
            (fault.value_span("action"), "this action".to_owned()),
            (fault.value_span("dimension"), "with this dimension".to_owned()),
        ],
        format!("{}{other}", super::problems::one_of(words)),
    );
}
