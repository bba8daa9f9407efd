//! Law 4: for each kind of access and each engine a planted late access turns the report to `yes`, with the memory that
//! was hit and the epoch of its owner. On the model the same plan without the fault of the store says `no`.

use libtest_mimic::{Arguments, Failed, Trial};
use moonquake_faults::Profile;
use moonquake_judge::judge;
use moonquake_report::{Postmortem, Touched};
use moonquake_scenario::{EngineKind, RunOptions};
use moonquake_tests::{plan_of, run, scenarios_folder};
use std::process::ExitCode;

/// A kind of access, with the file that plants it and the memory whose answer must be `yes`.
struct Planted {
    kind: &'static str,
    file: &'static str,
    place: &'static str,
    /// What the first late access is called in the report.
    verb: &'static str,
    /// Whose memory it hits, and in which place.
    owner: &'static str,
}

const PLANTED: &[Planted] = &[
    Planted {
        kind: "late_write_into_a_callers_buffer",
        file: "buffer/late-bytes-after-a-failed-get",
        place: "b1",
        verb: "writes bytes [2097152, 3145728)",
        owner: "b1[2097152, 3145728) belongs to r1 since 60001ms",
    },
    Planted {
        kind: "late_read_of_a_puts_source",
        file: "buffer/source-read-after-a-failed-put",
        place: "src",
        verb: "reads bytes [3145728, 4194304)",
        owner: "src[3145728, 4194304) belongs to w1 since 60001ms",
    },
    Planted {
        kind: "late_write_into_an_owners_range",
        file: "buffer/late-write-into-a-revoked-range",
        place: "a1",
        verb: "writes bytes [5242880, 6291456)",
        owner: "n1[5242880, 6291456) belongs to v by w2 (p2) since 60001ms",
    },
    Planted {
        kind: "late_read_of_an_owners_range",
        file: "buffer/late-bytes-after-a-failed-get",
        place: "a1",
        verb: "reads bytes [2097152, 3145728)",
        owner: "n1[2097152, 3145728) belongs to k by w1 (p1) since 0s",
    },
    Planted {
        kind: "late_write_into_staging_memory",
        file: "buffer/staging-reused-by-the-next-put",
        place: "r1 staging",
        verb: "writes bytes [1048576, 2097152)",
        owner: "r1 staging[1048576, 2097152) belongs to p2 since 60001ms",
    },
    Planted {
        kind: "late_read_of_staging_memory",
        file: "buffer/staged-put-sends-the-next-value",
        place: "w1 staging",
        verb: "reads bytes [2097152, 3145728)",
        owner: "w1 staging[2097152, 3145728) belongs to nobody since 60001ms",
    },
];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for planted in PLANTED {
        trials.push(
            Trial::test(format!("model::planted::{}", planted.kind), || {
                is_told(planted, EngineKind::Model)?;
                is_clean(planted)
            })
            .with_kind("model"),
        );
        let why = moonquake_native::unavailable();
        let kind = why.clone().unwrap_or_else(|| "master".to_owned());
        trials.push(
            Trial::test(format!("master::planted::{}", planted.kind), || {
                is_told(planted, EngineKind::Master)
            })
            .with_ignored_flag(why.is_some())
            .with_kind(kind),
        );
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn report(planted: &Planted, engine: EngineKind, profile: Profile) -> Result<Postmortem, Failed> {
    let plan = plan_of(&scenarios_folder().join(format!("{}.scenario.toml", planted.file)));
    let evidence = run(engine, &plan, &RunOptions::new(profile))?;
    let judgement = judge(&plan, &evidence, profile, engine);
    Ok(Postmortem::new(&plan, &evidence, &judgement, "").map_err(|error| error.to_string())?)
}

/// The report says `yes`, who did it, to which bytes, and to whom they belonged.
fn is_told(planted: &Planted, engine: EngineKind) -> Result<(), Failed> {
    let report = report(planted, engine, Profile::Upstream)?;
    let found = report
        .buffer
        .watched
        .iter()
        .find(|watched| watched.name == planted.place);
    let Some(answer) = found else {
        return Err(format!("there is no answer for {}", planted.place).into());
    };
    if answer.touched != Touched::Yes {
        return Err(format!("{} is said to be {:?}", planted.place, answer.touched).into());
    }
    let texts: Vec<&str> = answer.shown_by.iter().map(|claim| claim.text()).collect();
    let first = texts.first().copied().unwrap_or_default();
    if first.contains(planted.verb) && first.contains(planted.owner) {
        return Ok(());
    }
    Err(format!(
        "not told as {:?} and {:?}:\n  {}",
        planted.verb,
        planted.owner,
        texts.join("\n  ")
    )
    .into())
}

fn is_clean(planted: &Planted) -> Result<(), Failed> {
    let report = report(planted, EngineKind::Model, Profile::Strict)?;
    let found = report
        .buffer
        .watched
        .iter()
        .find(|watched| watched.name == planted.place);
    match found {
        Some(answer) if answer.touched != Touched::No => {
            Err(format!("strict: {} is said to be {:?}", planted.place, answer.touched).into())
        }
        Some(_) => Ok(()),
        None => Err(format!("strict: there is no answer for {}", planted.place).into()),
    }
}
