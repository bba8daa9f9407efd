//! Expectations: what the steps said would come out, against what the timeline wrote down.

use crate::check;
use crate::judgement::{Finding, Status};
use crate::outcome;
use crate::view::{Ended, Pos, Run, View};
use moonquake_evidence::{Change, Kind, Op};
use moonquake_scenario::{AwaitFor, Do, Step, What, entry_results};

/// What became of an expectation: its status, what was seen, and where.
pub(crate) struct Seen {
    pub(crate) status: Status,
    pub(crate) text: String,
    pub(crate) places: Vec<Pos>,
}

impl Seen {
    pub(crate) fn new(
        status: Status,
        text: impl Into<String>,
        places: impl IntoIterator<Item = Pos>,
    ) -> Seen {
        Seen {
            status,
            text: text.into(),
            places: places.into_iter().collect(),
        }
    }
}

/// One finding for each step, and each of its repetitions, that expects, awaits or checks something.
pub(crate) fn findings(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for step in &view.plan.steps {
        let Some(expected) = expected(view, step) else {
            continue;
        };
        let runs = view.repetitions(step.index);
        if runs.is_empty() {
            let seen = Seen::new(Status::CouldNotSee, "it was not seen to run", None);
            findings.push(finding(view, step, None, &expected, seen));
        }
        for (op, run) in runs {
            let seen = judged(view, step, op, run);
            findings.push(finding(view, step, Some(op), &expected, seen));
        }
    }
    findings
}

fn finding(view: &View<'_>, step: &Step, op: Option<Op>, expected: &str, seen: Seen) -> Finding {
    Finding {
        name: view.name(step.index),
        op,
        status: seen.status,
        expected: expected.to_owned(),
        actual: view.cited(seen.text, seen.places),
    }
}

/// What a step expects, in words; nothing if it expects nothing, or if an `await` speaks for it.
fn expected(view: &View<'_>, step: &Step) -> Option<String> {
    let words = match &step.what {
        What::Check(check) => vec![check::expected(check)],
        What::Await { until, within } => {
            let mut words = vec![format!("{} within {within}", await_words(view, until))];
            if let AwaitFor::Step(of) = until
                && let Some(awaited) = view.plan.steps.get(*of)
            {
                words.extend(result_words(&step.expect, awaited));
            }
            words
        }
        What::Tick(_) => result_words(&step.expect, step),
        What::Do(_) if step.is_async && is_awaited(view, step.index) => Vec::new(),
        What::Do(_) => result_words(&step.expect, step),
    };
    (!words.is_empty()).then(|| words.join(", "))
}

fn await_words(view: &View<'_>, until: &AwaitFor) -> String {
    match until {
        AwaitFor::Step(step) => format!("{} ends", view.name(*step)),
        AwaitFor::Quiet => "nothing moves any more".to_owned(),
        AwaitFor::Mounted(node) => format!("{node} is mounted"),
    }
}

fn is_awaited(view: &View<'_>, step: usize) -> bool {
    view.plan
        .steps
        .iter()
        .any(|other| matches!(&other.what, What::Await { until: AwaitFor::Step(of), .. } if *of == step))
}

/// The allowed results, the payload and the count that a step demands, in words.
fn result_words(expect: &[String], step: &Step) -> Vec<String> {
    let mut words = Vec::new();
    if !expect.is_empty() {
        words.push(expect.join(" or "));
    }
    if let What::Do(action) = &step.what {
        words.extend(
            action
                .payload
                .iter()
                .map(|pattern| format!("every byte {pattern}")),
        );
        words.extend(action.count.map(|count| format!("count {count}")));
    }
    words
}

fn judged(view: &View<'_>, step: &Step, op: Op, run: Run) -> Seen {
    match &step.what {
        What::Check(check) => check::judged(view, check, op, run),
        What::Await { until, within } => awaited(view, step, op, run, until, *within),
        What::Tick(_) => result(view, &step.expect, None, op),
        What::Do(action) => result(view, &step.expect, Some(action), op),
    }
}

/// The result of one operation against what is allowed.
fn result(view: &View<'_>, expect: &[String], action: Option<&Do>, op: Op) -> Seen {
    let Some(ended) = view.ended(op) else {
        return Seen::new(
            Status::CouldNotSee,
            "no result was seen",
            view.runs.get(&op).and_then(|run| run.began),
        );
    };
    let place = [ended.pos];
    let told = told(&ended);
    if !allowed(expect, &ended) {
        return Seen::new(Status::Failed, told, place);
    }
    let Some(action) = action else {
        return Seen::new(Status::Held, told, place);
    };
    if let Some(count) = action.count
        && ended.count != Some(count)
    {
        let counted = ended
            .count
            .map_or("no count".to_owned(), |count| format!("count {count}"));
        return Seen::new(Status::Failed, format!("{told}, {counted}"), place);
    }
    match (&action.payload, ended.content) {
        (Some(pattern), Some(content)) if ended.outcome == "ok" => {
            let right = content.is_all(pattern);
            let status = if right { Status::Held } else { Status::Failed };
            Seen::new(status, format!("{told}; {content}"), place)
        }
        // A batch of which no entry went well has brought nothing.
        (Some(_), None) if !ended.entries.is_empty() && !ended.entries.iter().any(|entry| entry == "ok") => {
            Seen::new(Status::Held, told, place)
        }
        (Some(_), None) if ended.outcome == "ok" => Seen::new(
            Status::CouldNotSee,
            format!("{told}; its bytes were not seen"),
            place,
        ),
        _ => Seen::new(Status::Held, told, place),
    }
}

fn allowed(expect: &[String], ended: &Ended<'_>) -> bool {
    let one = |outcome: &str| expect.iter().any(|allowed| allowed == outcome);
    let whole = |allowed: &String| entry_results(allowed).is_some_and(|results| ended.entries == results);
    if expect.iter().any(whole) {
        return true;
    }
    match (expect.is_empty(), ended.entries) {
        (true, _) => !outcome::is_not_run(ended.outcome),
        (false, []) => one(ended.outcome),
        (false, entries) => entries.iter().all(|entry| one(entry)),
    }
}

fn told(ended: &Ended<'_>) -> String {
    let mut text = ended.outcome.to_owned();
    if !ended.entries.is_empty() {
        text += &format!(" [{}]", ended.entries.join(", "));
    }
    if let Some(note) = ended.note {
        text += &format!(" ({note})");
    }
    text
}

fn awaited(
    view: &View<'_>,
    step: &Step,
    op: Op,
    run: Run,
    until: &AwaitFor,
    within: moonquake_clock::Span,
) -> Seen {
    let Some(ended) = view.ended(op) else {
        return Seen::new(Status::CouldNotSee, "the end of the wait was not seen", run.began);
    };
    if outcome::is_not_run(ended.outcome) {
        return Seen::new(Status::Failed, told(&ended), [ended.pos]);
    }
    let waited = run
        .began
        .map(|began| view.at(ended.pos) - view.at(began))
        .unwrap_or_default();
    match until {
        AwaitFor::Step(of) => awaited_result(view, step, ended.pos, *of),
        AwaitFor::Quiet | AwaitFor::Mounted(_) if ended.outcome != "ok" || waited > within => Seen::new(
            Status::Failed,
            format!("not within {waited}: {}", told(&ended)),
            [ended.pos],
        ),
        AwaitFor::Quiet => Seen::new(Status::Held, format!("after {waited}"), [ended.pos]),
        AwaitFor::Mounted(node) => mounted(view, ended.pos, node, &format!("after {waited}")),
    }
}

/// The results of the awaited operation, which must have come before the wait was over.
fn awaited_result(view: &View<'_>, step: &Step, over: Pos, of: usize) -> Seen {
    let runs = view.repetitions(of);
    let name = view.name(of);
    let late = |run: &Run| run.ended.is_none_or(|ended| ended > over);
    if runs.is_empty() || runs.iter().any(|(_, run)| late(run)) {
        return Seen::new(
            Status::Failed,
            format!("{name} had no result when the wait was over"),
            [over],
        );
    }
    let action = runs.first().and_then(|(op, _)| view.action(*op));
    let mut all = runs
        .into_iter()
        .map(|(op, _)| result(view, &step.expect, action, op));
    let Some(first) = all.next() else {
        return Seen::new(Status::Failed, format!("{name} never ran"), [over]);
    };
    all.fold(first, |worst, next| {
        if severity(next.status) > severity(worst.status) {
            next
        } else {
            worst
        }
    })
}

fn severity(status: Status) -> u8 {
    match status {
        Status::Failed => 2,
        Status::CouldNotSee => 1,
        Status::Held | Status::NotApplicable => 0,
    }
}

/// The segment of a node as it is at a place: each instance after the first has one of its own.
fn home(view: &View<'_>, node: &str, to: Pos) -> String {
    let starts = view.events[..to.min(view.end())].iter().filter(|event| {
        let starts = matches!(
            event.kind,
            Kind::Actor {
                change: Change::Started,
                ..
            }
        );
        starts && event.actor == node
    });
    match starts.count() {
        0 | 1 => node.to_owned(),
        instance => format!("{node}.{instance}"),
    }
}

/// The observer must agree that the segment is mounted.
fn mounted(view: &View<'_>, over: Pos, node: &str, after: &str) -> Seen {
    let next = view.states.iter().find(|(pos, _)| *pos > over).copied();
    let home = home(view, node, over);
    match next.or_else(|| view.state_before(over)) {
        Some((pos, state)) if state.segments.contains_key(&home) => {
            Seen::new(Status::Held, format!("{node} is mounted {after}"), [over, pos])
        }
        Some((pos, _)) => Seen::new(
            Status::Failed,
            format!("the master does not list {home}"),
            [over, pos],
        ),
        None => Seen::new(Status::CouldNotSee, "the master's state was not read", [over]),
    }
}
