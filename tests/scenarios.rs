//! Scenario x engine x profile = one test. The file says what comes out; a run that says something else fails with its
//! deviations. On the model and on the real master the postmortem is a snapshot that people review; with real clients the projection is
//! held to that of the model.

mod readme;

use libtest_mimic::{Arguments, Failed, Trial};
use moonquake_evidence::{Evidence, projection};
use moonquake_faults::{DIMENSIONS, Dimension, Profile};
use moonquake_judge::judge;
use moonquake_native::{HostedEngine, MasterEngine, NativeEngine};
use moonquake_report::{Postmortem, markdown};
use moonquake_scenario::{Action, Engine, EngineKind, Plan, RunOptions, Verdict};
use moonquake_tests::{plan_of, plans, run, scenario_files, short_name};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for file in scenario_files() {
        let name = short_name(&file);
        for profile in [Profile::Upstream, Profile::Strict] {
            trials.push(on_model(&name, file.clone(), profile));
        }
        trials.push(on_master(&name, file.clone()));
        trials.push(with_real_clients(&name, file.clone(), &NativeEngine));
        trials.push(with_real_clients(&name, file, &HostedEngine));
    }
    for dimension in DIMENSIONS.iter().map(|row| row.id) {
        trials.push(claimed_only::<MasterEngine>(dimension, false));
        trials.push(claimed_only::<NativeEngine>(dimension, true));
        trials.push(claimed_only::<HostedEngine>(dimension, true));
    }
    trials.push(real(
        "real_readme::its_report_is_what_the_master_gives",
        readme::report,
    ));
    trials.push(Trial::test("readme::both_languages_say_the_same", readme::both).with_kind("text"));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn on_model(name: &str, file: PathBuf, profile: Profile) -> Trial {
    Trial::test(format!("model::{}::{name}", profile.name()), move || {
        let plan = plan_of(&file);
        let evidence = held(&plan, EngineKind::Model, profile)?;
        snapshot(&plan, &evidence, EngineKind::Model, profile)
    })
    .with_kind("model")
}

/// On the real master the verdict must be as the file says, and every result, place and byte count that of the model.
fn on_master(name: &str, file: PathBuf) -> Trial {
    // Static: whether this platform has the engine, and whether it has words for the plan. Nothing installed counts.
    let why = moonquake_native::unavailable()
        .or_else(|| parsed(&file).and_then(|plan| MasterEngine.unsupported(&plan)));
    let kind = why.clone().unwrap_or_else(|| "master".to_owned());
    Trial::test(format!("master::upstream::{name}"), move || {
        let plan = plan_of(&file);
        let real = held(&plan, EngineKind::Master, Profile::Upstream)?;
        let model = held(&plan, EngineKind::Model, Profile::Upstream)?;
        same(&model, &real)?;
        snapshot(&plan, &real, EngineKind::Master, Profile::Upstream)
    })
    .with_ignored_flag(why.is_some())
    .with_kind(kind)
}

/// With real clients the verdict must be as the file says, and every result, place and byte count that of the model. Where a file
/// claims something of its own for that engine, the two part there, and the file says why.
fn with_real_clients(name: &str, file: PathBuf, engine: &dyn Engine) -> Trial {
    let kind = engine.kind();
    let why = parsed(&file).and_then(|plan| engine.unsupported(&plan));
    let shown = why.clone().unwrap_or_else(|| kind.name().to_owned());
    Trial::test(format!("{kind}::upstream::{name}"), move || {
        let plan = plan_of(&file);
        let real = held(&plan, kind, Profile::Upstream)?;
        if parts_by_its_file(&plan, kind) {
            return Ok(());
        }
        let model = held(&plan, EngineKind::Model, Profile::Upstream)?;
        same(&model, &real)
    })
    .with_ignored_flag(why.is_some())
    .with_kind(shown)
}

/// Whether a file has a claim for that engine alone.
fn parts_by_its_file(plan: &Plan, engine: EngineKind) -> bool {
    plan.verdicts.iter().any(|line| line.engines.contains(&engine))
}

/// A test of the real master that belongs to no scenario.
fn real(name: &str, test: fn() -> Result<(), Failed>) -> Trial {
    let why = moonquake_native::unavailable();
    let kind = why.clone().unwrap_or_else(|| "master".to_owned());
    Trial::test(name, test)
        .with_ignored_flag(why.is_some())
        .with_kind(kind)
}

/// The first law on real processes: what is claimed and not made is not reproduced. With real clients a run takes a second, so there it
/// is one scenario of each action and trigger; what proves an injection is the same as on the master.
fn claimed_only<E: Engine + Default + 'static>(dimension: Dimension, one_of_a_sort: bool) -> Trial {
    let engine = E::default().kind();
    let name = format!("{engine}_law::{}", dimension.row().name);
    let why = moonquake_native::unavailable();
    let kind = why.clone().unwrap_or_else(|| engine.to_string());
    let test = move || {
        let mut seen = Vec::new();
        for plan in plans() {
            let fault = &plan.fault;
            let sort = (fault.action.as_ref().map(Action::kind), fault.trigger.kind());
            let is_meant = fault.dimension == dimension && E::default().unsupported(&plan).is_none();
            if !is_meant || (one_of_a_sort && seen.contains(&sort)) {
                continue;
            }
            seen.push(sort);
            claimed(&mut E::default(), &plan)?;
        }
        Ok(())
    };
    Trial::test(name, test)
        .with_ignored_flag(why.is_some())
        .with_kind(kind)
}

fn claimed(engine: &mut dyn Engine, plan: &Plan) -> Result<(), Failed> {
    let options = RunOptions {
        claim_only: true,
        ..RunOptions::new(Profile::Upstream)
    };
    let evidence = engine
        .run(plan, &options)
        .map_err(|error| format!("{}: {error}", plan.id))?;
    let judgement = judge(plan, &evidence, Profile::Upstream, engine.kind());
    if judgement.verdict == Verdict::NotReproduced {
        return Ok(());
    }
    Err(format!("{} came out as {}", plan.id, judgement.verdict).into())
}

/// At listing a file that does not parse is no reason to stop: its test fails and tells why.
fn parsed(file: &Path) -> Option<Plan> {
    moonquake_scenario::parse::from_path(file).ok()
}

/// The evidence of a run that came out as its file says.
pub(crate) fn held(plan: &Plan, engine: EngineKind, profile: Profile) -> Result<Evidence, Failed> {
    let evidence = run(engine, plan, &RunOptions::new(profile))?;
    let judgement = judge(plan, &evidence, profile, engine);
    let Some(claim) = &judgement.claim else {
        return Err(format!("{} claims nothing for {engine} and {}", plan.id, profile.name()).into());
    };
    if claim.met {
        return Ok(evidence);
    }
    Err(format!(
        "{} came out as {}:\n  {}",
        plan.id,
        judgement.verdict,
        judgement.deviations.join("\n  ")
    )
    .into())
}

fn same(model: &Evidence, real: &Evidence) -> Result<(), Failed> {
    let (model, real) = (projection(model), projection(real));
    let differs = model.iter().zip(&real).find(|(one, other)| one != other);
    if let Some((model, real)) = differs {
        return Err(format!("the engines part:\n  model: {model}\n  real:  {real}").into());
    }
    if model.len() != real.len() {
        return Err(format!("the model saw {} lines, the real one {}", model.len(), real.len()).into());
    }
    Ok(())
}

fn snapshot(plan: &Plan, evidence: &Evidence, engine: EngineKind, profile: Profile) -> Result<(), Failed> {
    let judgement = judge(plan, evidence, profile, engine);
    let replay = format!(
        "moonquake run {} --engine {engine} --profile {}",
        plan.path,
        profile.name()
    );
    let shown = match engine {
        EngineKind::Model => Postmortem::new(plan, evidence, &judgement, &replay),
        _ => Postmortem::projected(plan, evidence, &judgement, &replay),
    };
    let shown = shown.map_err(|error| error.to_string())?;
    let name = format!(
        "{}.{engine}.{}",
        plan.path.replace("scenarios/", "").replace(['/', '.'], "_"),
        profile.name()
    );
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, markdown(&shown)));
    Ok(())
}
