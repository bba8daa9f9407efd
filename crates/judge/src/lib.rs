//! Expectations and invariants become a verdict. The judge sees the plan and the evidence, and never an engine.
//!
//! [`judge`] proves the injection from observers other than the injector, weighs every expectation and check of the
//! timeline and all eight invariants, answers whether the watched buffers were still touched, and compares the outcome
//! with what the file claims. Every statement it makes is a [`Cited`] one: it names the events that show it.

mod attempts;
mod buffer;
mod check;
mod cited;
mod claim;
mod copies;
mod expect;
mod instant;
mod invariant;
mod judgement;
mod lease;
mod life;
mod master_clock;
mod outcome;
mod overlaps;
mod proof;
mod regions;
mod rpc;
mod view;

pub use cited::Cited;
pub use invariant::INVARIANTS;
pub use judgement::{
    BufferAnswer, Claim, Finding, Hit, Judgement, LifeEvent, LifeStage, NameAnswer, Proof, Status, Touch,
    Touched,
};
pub use regions::{Epoch, Idle, NOBODY, Place, RegionAccess, regions};

use moonquake_evidence::Evidence;
use moonquake_faults::Profile;
use moonquake_scenario::{EngineKind, Plan, Verdict};
use view::View;

/// Judges one run of a plan.
pub fn judge(plan: &Plan, evidence: &Evidence, profile: Profile, engine: EngineKind) -> Judgement {
    let view = View::new(plan, &evidence.events);
    let (proof, expectations, invariants, buffer) = view.as_ref().map_or_else(Default::default, |view| {
        let lanes = regions::Lanes::of(view);
        (
            proof::prove(view),
            expect::findings(view),
            invariant::findings(view, &lanes),
            buffer::answer(view, &lanes),
        )
    });
    let all_fine = expectations
        .iter()
        .chain(&invariants)
        .all(|finding| finding.status.is_fine());
    let verdict = if !proof.proven {
        Verdict::NotReproduced
    } else if all_fine {
        Verdict::Holds
    } else {
        Verdict::Violated
    };
    let outcome = claim::Outcome {
        verdict,
        proof: &proof,
        findings: expectations.iter().chain(&invariants).collect(),
    };
    let (claim, deviations) = claim::compare(plan, profile, engine, &outcome);
    Judgement {
        verdict,
        proof,
        expectations,
        invariants,
        buffer,
        claim,
        deviations,
    }
}
