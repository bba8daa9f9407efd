//! `moonquake doctor`.

mod witnesses;

use crate::engines::{Availability, availability, engine};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use moonquake_evidence::{Evidence, Kind};
use moonquake_faults::Profile;
use moonquake_judge::judge;
use moonquake_native::process::release;
use moonquake_scenario::{EngineKind, RunOptions, Verdict, parse};

/// Say which engines can be had here, and what to do about the others.
///
/// Every engine that can be had runs a small scenario, so that `works` is a fact and no guess. Every witness of accesses to
/// memory is shown one of each kind, and must tell of those that it claims to see.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub(crate) struct Args {}

const NOTES: &str = "\
`not installed` can be mended, and `moonquake run` with such an engine exits 69. `not here` depends on the platform or on a
variable; its scenarios are listed as skipped. `not built yet` is no part of this version.

The exit status is 70 if a witness missed what it claims to see: no answer about buffers can be relied on then.";

/// The story that every engine has to tell.
const SELF_CHECK: &[u8] = include_bytes!("../self_check.scenario.toml");

/// What one engine declares that its witness sees.
struct Sight {
    engine: EngineKind,
    witness: String,
    sees: Vec<String>,
    blind: Vec<String>,
}

/// Looks at everything.
pub(crate) fn execute(_: &Args, out: &mut Out) -> Result<Exit, CliError> {
    let mut sights = Vec::new();
    out.line("Engines");
    for kind in EngineKind::ALL {
        engine_lines(kind, &mut sights)?
            .iter()
            .for_each(|line| out.line(line));
    }
    out.line("");
    out.line("Witnesses (as declared in the evidence of the run just made)");
    for sight in &sights {
        let list = |kinds: &[String]| match kinds {
            [] => "nothing".to_owned(),
            some => some.join(", "),
        };
        out.line(&format!("  {:<7} {}", sight.engine.name(), sight.witness));
        out.line(&format!("  {:<7}   sees {}", "", list(&sight.sees)));
        out.line(&format!("  {:<7}   is blind to {}", "", list(&sight.blind)));
    }
    out.line("");
    let mut rows = moonquake_witness::selftest::measure();
    // The log is written inside the real client: where that is installed, it is tried there.
    if let Ok(tried) = moonquake_native::selftest::socket_log()
        && let Some(row) = rows.iter_mut().find(|row| row.witness == tried.witness)
    {
        *row = tried;
    }
    witnesses::lines(&rows).iter().for_each(|line| out.line(line));
    out.line("");
    out.line("Versions");
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let ours = format!("{} on {system} {processor}", env!("CARGO_PKG_VERSION"));
    for (what, version) in [
        ("moonquake", ours.as_str()),
        ("mooncake", release::VERSION),
        ("master sha256", release::MASTER_SHA256),
    ] {
        out.line(&format!("  {what:<14} {version}"));
    }
    let is_broken = rows.iter().any(|row| !row.broken().is_empty());
    Ok(if is_broken { Exit::Harness } else { Exit::Ok })
}

/// The lines about one engine. What its witness sees is added to `sights`.
fn engine_lines(kind: EngineKind, sights: &mut Vec<Sight>) -> Result<Vec<String>, CliError> {
    let first = |state: &str, words: &str| format!("  {:<7} {state:<14} {words}", kind.name());
    let next = |words: &str| format!("  {:<7} {:<14} {words}", "", "");
    Ok(match availability(kind) {
        Availability::Available(with) => match self_check(kind, sights)? {
            Ok(worked) => vec![first("available", &worked), next(&with)],
            Err(why) => vec![
                first("BROKEN", "it is installed, and does not work"),
                next(&why),
                next(&with),
            ],
        },
        Availability::NotInstalled { what, cure } => {
            let mut lines = vec![first("not installed", &what)];
            // Some reasons end in their cure.
            if !what.contains(&cure) {
                lines.push(next(&format!("to mend this: {cure}")));
            }
            lines
        }
        Availability::NotHere(why) => vec![first("not here", &why)],
        Availability::NotBuilt => vec![first("not built yet", needs(kind))],
    })
}

/// What an engine of a later version will need.
fn needs(kind: EngineKind) -> &'static str {
    match kind {
        EngineKind::Model => "nothing",
        EngineKind::Master => "Linux x86-64 and the pinned release",
        EngineKind::Native | EngineKind::Hosted => {
            "Linux x86-64, the pinned release with its client, and CPython 3.10 to 3.13"
        }
        EngineKind::Ffi => "the C++ MasterService in process; will need a built Mooncake tree",
        EngineKind::Rdma => {
            "the unmodified C++ client over RDMA; will need an RDMA device or a Soft-RoCE guest"
        }
    }
}

/// Runs the small scenario. The inner error is the engine's, the outer one ours.
fn self_check(kind: EngineKind, sights: &mut Vec<Sight>) -> Result<Result<String, String>, CliError> {
    let plan = parse::from_str("self-check", SELF_CHECK).map_err(|wrong| CliError::Harness {
        what: format!("the scenario of the self-check is wrong: {}", wrong.plain()),
    })?;
    let Some(mut engine) = engine(kind) else {
        return Ok(Err("this version does not have it".to_owned()));
    };
    let evidence = match engine.run(&plan, &RunOptions::new(Profile::Upstream)) {
        Ok(evidence) => evidence,
        Err(error) => return Ok(Err(error.to_string())),
    };
    sights.extend(sight(kind, &evidence));
    let judgement = judge(&plan, &evidence, Profile::Upstream, kind);
    let events = evidence.events.len();
    Ok(match judgement.verdict {
        Verdict::Holds => Ok(format!("works: a small scenario holds, {events} events")),
        other => Err(format!(
            "a small scenario is {other}, not holds: {}",
            judgement.deviations.join("; ")
        )),
    })
}

fn sight(engine: EngineKind, evidence: &Evidence) -> Option<Sight> {
    evidence.events.iter().find_map(|event| match &event.kind {
        Kind::Sight {
            witness, sees, blind, ..
        } => Some(Sight {
            engine,
            witness: witness.clone(),
            sees: sees.clone(),
            blind: blind.clone(),
        }),
        _ => None,
    })
}
