//! One run: plan to evidence to judgement to postmortem.

use super::aside::unless_asked;
use super::entry::{Outcome, Ran};
use super::files::Forms;
use crate::engines::is_real;
use crate::exit::Exit;
use moonquake_evidence::{Evidence, projection};
use moonquake_faults::Profile;
use moonquake_judge::judge;
use moonquake_report::Postmortem;
use moonquake_scenario::{Engine, EngineError, EngineKind, Plan, RunOptions};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a plan on an engine that supports it.
pub(crate) fn run(engine: &mut dyn Engine, plan: &Plan, options: &RunOptions, replay: &str) -> Outcome {
    // A defect met in one run must not cost the verdicts of the others. The engine is dropped afterwards.
    let done = catch_unwind(AssertUnwindSafe(|| attempt(engine, plan, options, replay)));
    done.unwrap_or_else(|_| Outcome::Failed {
        why: "the harness panicked; its message is on standard error".to_owned(),
        exit: Exit::Harness,
    })
}

fn attempt(engine: &mut dyn Engine, plan: &Plan, options: &RunOptions, replay: &str) -> Outcome {
    let evidence = match engine.run(plan, options) {
        Ok(evidence) => evidence,
        Err(EngineError::Unsupported(why)) => return Outcome::Skipped(why),
        Err(error) => {
            let exit = match error {
                EngineError::NotInstalled { .. } => Exit::NotInstalled,
                EngineError::Interrupted => Exit::Interrupted,
                _ => Exit::Harness,
            };
            let why = error.to_string();
            return Outcome::Failed { why, exit };
        }
    };
    let (kind, profile) = (engine.kind(), options.profile);
    let (plan, replay) = (plan.clone(), replay.to_owned());
    let told = unless_asked(options.interrupt.as_ref(), move || {
        told(&plan, &evidence, (kind, profile), &replay)
    });
    // The evidence of a run whose judging was interrupted is let go.
    told.unwrap_or_else(|| Outcome::Failed {
        why: EngineError::Interrupted.to_string(),
        exit: Exit::Interrupted,
    })
}

/// What the evidence says, in all forms.
fn told(plan: &Plan, evidence: &Evidence, (kind, profile): (EngineKind, Profile), replay: &str) -> Outcome {
    let judgement = judge(plan, evidence, profile, kind);
    let postmortem = Postmortem::new(plan, evidence, &judgement, replay);
    let projection = projection(evidence);
    let sha256 = if is_real(kind) {
        hex_sha256(&projection.join("\n"))
    } else {
        evidence.hash()
    };
    match postmortem {
        Ok(postmortem) => Outcome::Ran(Box::new(Ran {
            forms: Some(Forms::of(&postmortem)),
            postmortem,
            claim_line: judgement.claim.map(|claim| claim.line),
            deviations: judgement.deviations,
            projection,
            sha256,
            files: None,
        })),
        Err(error) => Outcome::Failed {
            why: error.to_string(),
            exit: Exit::Harness,
        },
    }
}

/// SHA-256 of a text in hexadecimal.
pub(crate) fn hex_sha256(text: &str) -> String {
    hex_sha256_of(text.as_bytes())
}

/// SHA-256 in hexadecimal.
pub(crate) fn hex_sha256_of(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// The command that brings the same events back.
pub(crate) fn replay(name: &str, kind: EngineKind, profile: Profile, seed: Option<u64>) -> String {
    let seed = seed.map(|seed| format!(" --seed {seed}")).unwrap_or_default();
    format!(
        "moonquake run {} --engine {kind} --profile {}{seed}",
        quoted(name),
        profile.name()
    )
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    let is_flag = word.starts_with('-');
    match (!word.is_empty() && word.chars().all(is_plain), is_flag) {
        (true, false) => word.to_owned(),
        (true, true) => format!("./{word}"),
        (false, _) => format!(
            "'{}{}'",
            if is_flag { "./" } else { "" },
            word.replace('\'', "'\\''")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonquake_scenario::parse;

    /// An engine that fails in one way or panics.
    struct Broken(Option<EngineError>);

    impl Engine for Broken {
        fn kind(&self) -> EngineKind {
            EngineKind::Model
        }

        fn unsupported(&self, _: &Plan) -> Option<String> {
            None
        }

        fn run(&mut self, _: &Plan, _: &RunOptions) -> Result<Evidence, EngineError> {
            Err(self.0.take().expect("an engine with a defect"))
        }
    }

    #[test]
    fn a_run_without_evidence_has_no_verdict_and_says_why() {
        let text = include_bytes!("../self_check.scenario.toml");
        let plan = parse::from_str("self-check", text).unwrap();
        let outcome = |error| {
            let options = RunOptions::new(Profile::Upstream);
            run(&mut Broken(error), &plan, &options, "")
        };
        let exit = |error| match outcome(error) {
            Outcome::Failed { exit, .. } => exit,
            other => panic!("{other:?}"),
        };
        let text = || "x".to_owned();
        assert_eq!(exit(Some(EngineError::Harness(text()))), Exit::Harness);
        let missing = EngineError::NotInstalled {
            what: text(),
            cure: text(),
        };
        assert_eq!(exit(Some(missing)), Exit::NotInstalled);
        assert_eq!(exit(Some(EngineError::Interrupted)), Exit::Interrupted);
        // The panic of an engine does not end the program.
        assert_eq!(exit(None), Exit::Harness);
        let skipped = outcome(Some(EngineError::Unsupported(text())));
        assert!(matches!(skipped, Outcome::Skipped(why) if why == "x"));
    }

    #[test]
    fn a_replay_command_survives_a_shell() {
        let command = |name| replay(name, EngineKind::Model, Profile::Upstream, Some(7));
        let rest = "--engine model --profile upstream --seed 7";
        assert_eq!(command("a/b.toml"), format!("moonquake run a/b.toml {rest}"));
        assert_eq!(
            command("it's here.toml"),
            format!("moonquake run 'it'\\''s here.toml' {rest}")
        );
        assert_eq!(command("-x"), format!("moonquake run ./-x {rest}"));
        assert_eq!(command(""), format!("moonquake run '' {rest}"));
    }
}
