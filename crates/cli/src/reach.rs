//! What the scenarios reach of the catalogue.
//!
//! Phases, dimensions, actions and threads are read off the files: exact, but they say what is aimed at, not what was
//! hit. Deadlines are read off the names in instants: several deadlines share the length of one timeout, and an instant
//! may write a length as a number, so this is neither a proof nor a refutation. Quirks stand in no file: every scenario
//! runs on the model, strict and with one quirk alone, and reaches the quirk if the judge notices.

use moonquake_clock::{Deadline, Length as Lasts, Thread};
use moonquake_faults::{ActionKind, Dimension, PhaseId, Profile, QUIRKS, QuirkRow, Quirks};
use moonquake_judge::judge;
use moonquake_model::ModelEngine;
use moonquake_scenario::{
    Check, Engine, EngineKind, Instant, Length, Plan, RunOptions, Trigger, Verdict, What,
};

/// The ids of those plans for which the test holds.
fn ids(plans: &[Plan], test: impl Fn(&Plan) -> bool) -> Vec<&str> {
    let found = plans.iter().filter(|plan| test(plan));
    found.map(|plan| plan.id.as_str()).collect()
}

/// Scenarios whose fault strikes at the phase. One that says itself that it does not get there is left out.
pub(crate) fn phase(plans: &[Plan], phase: PhaseId) -> Vec<&str> {
    let gets_there = |plan: &Plan| plan.verdicts.iter().any(|line| line.is != Verdict::NotReproduced);
    ids(plans, |plan| {
        plan.fault_phase() == Some(phase) && gets_there(plan)
    })
}

/// Scenarios of the dimension.
pub(crate) fn dimension(plans: &[Plan], dimension: Dimension) -> Vec<&str> {
    ids(plans, |plan| plan.fault.dimension == dimension)
}

/// Scenarios whose fault does this.
pub(crate) fn action(plans: &[Plan], kind: ActionKind) -> Vec<&str> {
    ids(plans, |plan| {
        plan.fault
            .action
            .as_ref()
            .is_some_and(|action| action.kind() == kind)
    })
}

/// Scenarios that tick the thread.
pub(crate) fn thread(plans: &[Plan], thread: Thread) -> Vec<&str> {
    ids(plans, |plan| {
        plan.steps.iter().any(|step| step.what == What::Tick(thread))
    })
}

/// Scenarios in which an instant names the timeout that gives the deadline its length, or a step gives the argument.
pub(crate) fn deadline<'a>(plans: &'a [Plan], row: &Deadline) -> Vec<&'a str> {
    let timeout = match row.length {
        Lasts::Timeout(timeout) | Lasts::Half(timeout) => timeout,
        Lasts::Asked(arg) => return ids(plans, |plan| plan.gives(arg)),
        Lasts::FixedNs(_) => return Vec::new(),
    };
    let names = |instant: &Instant| {
        let mut terms = instant.terms.iter();
        terms.any(|term| matches!(&term.length, Length::Deadline(name, _) if name == timeout))
    };
    ids(plans, |plan| instants(plan).into_iter().any(names))
}

fn instants(plan: &Plan) -> Vec<&Instant> {
    let mut found = Vec::new();
    if let Trigger::Deadline(instant) = &plan.fault.trigger {
        found.push(instant);
    }
    for step in &plan.steps {
        found.extend(step.at.iter().chain(&step.until));
        if let What::Check(Check {
            since: Some(since), ..
        }) = &step.what
        {
            found.push(since);
        }
    }
    found
}

/// For each quirk of the table the scenarios that come out differently when it alone is switched on in the strict model.
/// A run that never asked for a quirk is not made again with it.
pub(crate) fn quirks(plans: &[Plan]) -> Vec<Vec<&str>> {
    let noticed = in_parallel(plans, |plan| {
        let strict = RunOptions::new(Profile::Strict);
        let plain = outcome(plan, &strict);
        let differs = |row: &QuirkRow| {
            let options = RunOptions {
                quirks: Quirks::only(row.id),
                ..RunOptions::new(Profile::Strict)
            };
            strict.quirks.mattered(row.id, &strict.rules) && outcome(plan, &options) != plain
        };
        QUIRKS.iter().map(differs).collect::<Vec<bool>>()
    });
    let of_quirk = |index: usize| {
        let pairs = noticed.iter().zip(plans);
        pairs
            .filter(|(noticed, _)| noticed[index])
            .map(|(_, plan)| plan.id.as_str())
            .collect()
    };
    (0..QUIRKS.len()).map(of_quirk).collect()
}

/// The answer for each plan, in their order, with as many threads as there are processors.
fn in_parallel<T: Send>(plans: &[Plan], answer: impl Fn(&Plan) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = plans.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let work = |plans: &[Plan]| plans.iter().map(&answer).collect::<Vec<T>>();
        let threads: Vec<_> = plans
            .chunks(share)
            .map(|plans| scope.spawn(move || work(plans)))
            .collect();
        let answers = threads.into_iter().map(|thread| match thread.join() {
            Ok(answers) => answers,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        answers.flatten().collect()
    })
}

/// What the judge says of a run: the verdict and the names of what failed.
type Outcome = (Verdict, Vec<String>);

/// The outcome of a plan on the model; none where there is no verdict.
fn outcome(plan: &Plan, options: &RunOptions) -> Option<Outcome> {
    let evidence = ModelEngine.run(plan, options).ok()?;
    let judgement = judge(plan, &evidence, Profile::Strict, EngineKind::Model);
    let findings = judgement.expectations.iter().chain(&judgement.invariants);
    let failed = findings.filter(|finding| !finding.status.is_fine());
    Some((
        judgement.verdict,
        failed.map(|finding| finding.name.clone()).collect(),
    ))
}
