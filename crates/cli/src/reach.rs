//! What the scenarios reach of the catalogue.
//!
//! Phases, dimensions, actions and threads are read off the files: exact, but they say what is aimed at, not what was
//! hit. Deadlines are read off the names in instants: several deadlines share the length of one timeout, and an instant
//! may write a length as a number, so this is neither a proof nor a refutation. Quirks stand in no file: every scenario
//! runs on the model, strict and with one quirk alone, and reaches the quirk if the judge notices.

use moonquake_clock::{Deadline, Length as Lasts, Thread};
use moonquake_faults::{ActionKind, Dimension, PhaseId, Profile, Quirk, Quirks};
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

/// Scenarios in which an instant names the timeout that gives the deadline its length.
pub(crate) fn deadline<'a>(plans: &'a [Plan], row: &Deadline) -> Vec<&'a str> {
    let Lasts::Timeout(timeout) = row.length else {
        return Vec::new();
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

/// Scenarios that come out differently when this quirk alone is switched on in the strict model. `strict` is what comes
/// out without any.
pub(crate) fn quirk<'a>(plans: &'a [Plan], strict: &[Option<Outcome>], quirk: Quirk) -> Vec<&'a str> {
    let with = outcomes(plans, &Quirks::only(quirk));
    let pairs = strict.iter().zip(&with).zip(plans);
    let noticed = pairs.filter(|((without, with), _)| without != with);
    noticed.map(|(_, plan)| plan.id.as_str()).collect()
}

/// What the judge says of a run: the verdict and the names of what failed.
pub(crate) type Outcome = (Verdict, Vec<String>);

/// The outcome of each plan on the model with these quirks; none where there is no verdict.
pub(crate) fn outcomes(plans: &[Plan], quirks: &Quirks) -> Vec<Option<Outcome>> {
    plans.iter().map(|plan| outcome(plan, quirks)).collect()
}

fn outcome(plan: &Plan, quirks: &Quirks) -> Option<Outcome> {
    let mut options = RunOptions::new(Profile::Strict);
    options.quirks = quirks.clone();
    let evidence = ModelEngine.run(plan, &options).ok()?;
    let judgement = judge(plan, &evidence, Profile::Strict, EngineKind::Model);
    let findings = judgement.expectations.iter().chain(&judgement.invariants);
    let failed = findings.filter(|finding| !finding.status.is_fine());
    Some((
        judgement.verdict,
        failed.map(|finding| finding.name.clone()).collect(),
    ))
}
