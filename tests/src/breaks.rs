//! Everything that a test can break in the model, one thing at a time, and which scenarios notice.

use crate::{PROFILES, judged, plans};
pub use moonquake_clock::Flip;
use moonquake_clock::{Compare, DEADLINES, Deadline, DeadlineId, Domain, Rules};
use moonquake_faults::{GUARDS, Guard, Guards, Profile, QUIRKS, Quirk, Quirks};
use moonquake_scenario::{Plan, RunOptions, Verdict};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// One thing that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Break {
    /// The quirk alone is on, all else is strict.
    Quirk(Quirk),
    /// One part of one deadline is turned around.
    Flip(DeadlineId, Flip),
    /// One guard is lifted.
    Guard(Guard),
}

/// What the judge makes of a run: the verdict, and the names of all that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Steps and invariants that did not hold, in order of their names.
    pub failed: BTreeSet<String>,
}

/// One scenario that comes out differently under one break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What is broken.
    pub broken: Break,
    /// The profile in which the scenario noticed.
    pub profile: Profile,
    /// How it came out.
    pub outcome: Outcome,
}

/// A scenario with the breaks that it notices, in the order of [`Break::all`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticing {
    /// The scenario's id.
    pub id: String,
    /// What it notices.
    pub notices: Vec<Notice>,
}

/// What a flip does to a deadline, in words.
pub fn words(flip: Flip, row: &Deadline) -> String {
    match (flip, row.compare, row.domain) {
        (Flip::Compare, Compare::Inclusive, _) => "reached only after the instant".to_owned(),
        (Flip::Compare, Compare::Strict | Compare::StrictMs, _) => "reached at the instant itself".to_owned(),
        (Flip::Clock, _, Domain::Realtime) => "compared on the monotonic clock".to_owned(),
        (Flip::Clock, _, Domain::Monotonic) => "compared on the wall clock".to_owned(),
        (Flip::Base, ..) => format!("counted from {}", row.mistaken.unwrap_or(row.base)),
    }
}

impl Break {
    /// Every quirk, flip and guard, in the order of their tables.
    pub fn all() -> Vec<Break> {
        let quirks = QUIRKS.iter().map(|row| Break::Quirk(row.id));
        let flips = DEADLINES.iter().flat_map(|row| {
            let base = row.mistaken.map(|_| Flip::Base);
            let flips = [Flip::Compare, Flip::Clock].into_iter().chain(base);
            flips.map(|flip| Break::Flip(row.id, flip))
        });
        let guards = GUARDS.iter().map(|row| Break::Guard(row.id));
        quirks.chain(flips).chain(guards).collect()
    }

    /// The name in tables: of the quirk, of the deadline with what is flipped, of the guard.
    pub fn name(self) -> String {
        match self {
            Break::Quirk(quirk) => quirk.row().name.to_owned(),
            Break::Flip(deadline, flip) => {
                format!("{}: {}", deadline.row().name, format!("{flip:?}").to_lowercase())
            }
            Break::Guard(guard) => guard.row().name.to_owned(),
        }
    }

    /// The options under which a profile is broken so; none if the break is not of that profile.
    pub fn options(self, profile: Profile) -> Option<RunOptions> {
        let mut options = RunOptions::new(profile);
        match self {
            Break::Quirk(quirk) if profile == Profile::Strict => options.quirks = Quirks::only(quirk),
            Break::Quirk(_) => return None,
            Break::Flip(deadline, flip) => {
                let mut rules = Rules::default();
                rules.flip(deadline, flip);
                options.rules = rules;
            }
            Break::Guard(guard) => options.guards = Guards::without(guard),
        }
        Some(options)
    }

    /// Whether the break can change anything in a run under these options, which has been made without it.
    fn matters(self, plain: &RunOptions) -> bool {
        match self {
            Break::Quirk(quirk) => plain.quirks.mattered(quirk, &plain.rules),
            Break::Flip(deadline, flip) => plain.rules.mattered(deadline, flip),
            Break::Guard(guard) => plain.guards.asked(guard),
        }
    }
}

/// How a scenario comes out.
///
/// # Panics
/// When the harness fails.
pub fn outcome(plan: &Plan, options: &RunOptions) -> Outcome {
    let (_, judgement) = judged(plan, options);
    let findings = judgement.expectations.iter().chain(&judgement.invariants);
    let failed = findings.filter(|finding| !finding.status.is_fine());
    Outcome {
        verdict: judgement.verdict,
        failed: failed.map(|finding| finding.name.clone()).collect(),
    }
}

fn noticing(plan: &Plan, breaks: &[Break]) -> Noticing {
    let plain = PROFILES.map(|profile| {
        let options = RunOptions::new(profile);
        (outcome(plan, &options), options)
    });
    let notice = |broken: &Break| {
        // The first profile that notices is enough.
        plain.iter().find_map(|(plain, options)| {
            let run = broken
                .options(options.profile)
                .filter(|_| broken.matters(options))?;
            let outcome = outcome(plan, &run);
            (outcome != *plain).then_some(Notice {
                broken: *broken,
                profile: options.profile,
                outcome,
            })
        })
    };
    Noticing {
        id: plan.id.clone(),
        notices: breaks.iter().filter_map(notice).collect(),
    }
}

/// Every scenario under every break, on all processors; the result is in the order of the files.
///
/// # Panics
/// When the harness fails.
pub fn survey() -> Vec<Noticing> {
    let (plans, breaks) = (plans(), Break::all());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (Mutex::new(0..plans.len()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let work = || {
            while let Some(index) = next.lock().unwrap().next() {
                let row = noticing(&plans[index], &breaks);
                done.lock().unwrap().push((index, row));
            }
        };
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut rows = done.into_inner().unwrap();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}
