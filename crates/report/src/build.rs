//! From plan, evidence and judgement to the postmortem.

use crate::cite::{Citer, joined};
use crate::project::Projection;
use crate::timeline::{Context, rows};
use crate::words::{fault_in_a_sentence, fault_in_words, step_name};
use crate::{
    Before, BufferAnswer, Cites, Claim, Expectation, FileClaim, Injected, Invariant, Lanes, LifeRow,
    Postmortem, Proof, ReportError, Run, SCHEMA, Scenario, Touched, Watched, lanes, project,
};
use moonquake_evidence::{Event, EventId, Evidence, Kind, Op};
use moonquake_faults::Dimension;
use moonquake_judge::{Cited, Finding, Judgement, LifeEvent, NameAnswer, Status, Touch};
use moonquake_scenario::{Plan, Step, What};
use std::collections::{BTreeMap, BTreeSet};

/// The most expectations that column three spells out when all is well.
const MAX_HELD: usize = 6;

impl Postmortem {
    /// The postmortem of a run. `replay` is the command that brings the same events back.
    ///
    /// # Errors
    /// When the judgement cites events that the evidence does not have.
    pub fn new(
        plan: &Plan,
        evidence: &Evidence,
        judgement: &Judgement,
        replay: &str,
    ) -> Result<Postmortem, ReportError> {
        build(plan, evidence, judgement, replay, None)
    }

    /// The same without anything that differs between two runs of real processes: the form for snapshots.
    ///
    /// # Errors
    /// When the judgement cites events that the evidence does not have.
    pub fn projected(
        plan: &Plan,
        evidence: &Evidence,
        judgement: &Judgement,
        replay: &str,
    ) -> Result<Postmortem, ReportError> {
        let projection = project::project(evidence, &cited_by(judgement));
        build(plan, &projection.evidence, judgement, replay, Some(&projection))
    }
}

fn build(
    plan: &Plan,
    evidence: &Evidence,
    judgement: &Judgement,
    replay: &str,
    projection: Option<&Projection>,
) -> Result<Postmortem, ReportError> {
    let citer = Citer::new(evidence, projection);
    let maker = Maker {
        ends: first_ends(evidence),
        plan,
        evidence,
        judgement,
        citer,
    };
    let expectations = maker.expectations()?;
    let invariants = maker.invariants()?;
    let proof = maker.proof()?;
    let injection = evidence
        .events
        .iter()
        .find(|event| matches!(event.kind, Kind::Injected { .. }));
    let mut postmortem = Postmortem {
        schema: SCHEMA,
        scenario: scenario_of(plan),
        run: run_of(evidence),
        verdict: judgement.verdict,
        claim: maker.file_claim(),
        baseline: maker.before(injection),
        injected: Injected {
            dimension: plan.fault.dimension.row().name.to_owned(),
            planned: fault_in_words(plan),
            story: fault_in_a_sentence(plan),
            told: match &judgement.proof.claimed {
                Some(told) => Some(maker.cited(told)?),
                None => None,
            },
        },
        expected: plan.report.expected.clone(),
        actual: actual(&proof, &expectations, &invariants),
        repair: plan.report.repair.clone(),
        buffer: maker.buffer()?,
        proof,
        expectations,
        invariants,
        fault_at_ns: injection.map(|event| event.at.ns),
        lanes: Lanes::default(),
        timeline: Vec::new(),
        replay: replay.to_owned(),
    };
    let context = context_of(plan, &postmortem);
    let timeline = rows(evidence, &context);
    postmortem.lanes = lanes::lanes(plan, evidence, &timeline, &context.fails);
    postmortem.timeline = timeline;
    Ok(postmortem)
}

/// Where each operation ended first.
fn first_ends(evidence: &Evidence) -> BTreeMap<Op, &Event> {
    let mut ends = BTreeMap::new();
    for event in &evidence.events {
        if let (Some(op), Kind::StepEnded { .. }) = (event.op, &event.kind) {
            ends.entry(op).or_insert(event);
        }
    }
    ends
}

fn scenario_of(plan: &Plan) -> Scenario {
    Scenario {
        id: plan.id.clone(),
        title: plan.title.clone(),
        why: plan.why.clone(),
        see: plan.see.clone(),
        path: plan.path.clone(),
        sha256: plan.sha256.clone(),
    }
}

fn run_of(evidence: &Evidence) -> Run {
    Run {
        engine: evidence.baseline.engine.clone(),
        profile: evidence.baseline.profile.clone(),
        seed: evidence.baseline.seed,
        events: evidence.events.len(),
        evidence_sha256: evidence.hash(),
    }
}

/// What the timeline needs to know of the rest.
fn context_of(plan: &Plan, postmortem: &Postmortem) -> Context {
    let proven = postmortem.proof.seen.iter().filter(|_| postmortem.proof.proven);
    let instant = |step: &Step| step.at.as_ref().map(|at| at.text.clone());
    Context {
        cited: cited_in(postmortem),
        fails: failures(postmortem),
        proves: proven
            .flat_map(|seen| seen.events().ids().iter().copied())
            .collect(),
        steps: plan
            .steps
            .iter()
            .map(|step| (step_name(step), instant(step)))
            .collect(),
        checks: (0_u32..)
            .zip(&plan.steps)
            .filter(|(_, step)| matches!(step.what, What::Check(_)))
            .map(|(index, _)| index)
            .collect(),
        show_clocks: plan.fault.dimension == Dimension::Clock,
    }
}

struct Maker<'a> {
    plan: &'a Plan,
    evidence: &'a Evidence,
    judgement: &'a Judgement,
    citer: Citer<'a>,
    /// Where each operation ended first.
    ends: BTreeMap<Op, &'a Event>,
}

impl Maker<'_> {
    fn cited(&self, cited: &Cited) -> Result<Claim, ReportError> {
        self.citer.claim(cited.text(), cited.ids())
    }

    fn all(&self, cited: &[Cited]) -> Result<Vec<Claim>, ReportError> {
        cited.iter().map(|cited| self.cited(cited)).collect()
    }

    fn proof(&self) -> Result<Proof, ReportError> {
        let proof = &self.judgement.proof;
        Ok(Proof {
            proven: proof.proven,
            by: proof.by.clone(),
            seen: self.all(&proof.seen)?,
            missing: self.all(&proof.missing)?,
        })
    }

    fn expectations(&self) -> Result<Vec<Expectation>, ReportError> {
        let mut list: Vec<Expectation> = Vec::new();
        let mut first: Option<Cites> = None;
        for finding in &self.judgement.expectations {
            let next = self.expectation(finding)?;
            let Some(last) = list.last_mut().filter(|last| continues(last, &next)) else {
                first = Some(next.actual.events().clone());
                list.push(next);
                continue;
            };
            // Of a thousand equal repetitions the first and the last stand for all.
            let ends = first.iter().chain([next.actual.events()]);
            if let Some(ends) = joined(next.actual.text().to_owned(), ends) {
                last.actual = ends;
            }
            last.repetitions.1 = next.repetitions.1;
        }
        list.sort_by_key(|row| urgency(row.status));
        Ok(list)
    }

    fn expectation(&self, finding: &Finding) -> Result<Expectation, ReportError> {
        let step = finding
            .op
            .and_then(|op| self.plan.steps.get(usize::try_from(op.step).ok()?));
        let ended = finding.op.and_then(|op| self.ended(op));
        let repetition = finding.op.map_or(1, |op| op.repetition);
        Ok(Expectation {
            step: step.map_or_else(|| finding.name.clone(), step_name),
            text: step.map(|step| step.text.clone()).unwrap_or_default(),
            repetitions: (repetition, repetition),
            instant: step.and_then(|step| step.at.as_ref()).map(|at| at.text.clone()),
            at_ns: ended.map(|event| event.at.ns),
            status: finding.status,
            expected: finding.expected.clone(),
            actual: self.cited(&finding.actual)?,
        })
    }

    fn ended(&self, op: Op) -> Option<&Event> {
        self.ends.get(&op).copied()
    }

    fn invariants(&self) -> Result<Vec<Invariant>, ReportError> {
        let mut list = Vec::new();
        for finding in &self.judgement.invariants {
            list.push(Invariant {
                name: finding.name.clone(),
                status: finding.status,
                expected: finding.expected.clone(),
                actual: self.cited(&finding.actual)?,
            });
        }
        list.sort_by_key(|row| urgency(row.status));
        Ok(list)
    }

    fn file_claim(&self) -> FileClaim {
        match self.judgement.claim.clone() {
            None => FileClaim::default(),
            Some(claim) => FileClaim {
                is: Some(claim.is),
                because: claim.because,
                violates: claim.violates,
                met: claim.met,
                failed_unclaimed: claim.failed_unclaimed,
                claimed_unfailed: claim.claimed_unfailed,
            },
        }
    }

    /// What was true before the fault; where none was injected, before the first step.
    fn before(&self, injection: Option<&Event>) -> Before {
        let events = &self.evidence.events;
        let first_step = || {
            events
                .iter()
                .find(|event| matches!(event.kind, Kind::StepBegan { .. }))
        };
        let end = injection
            .or_else(first_step)
            .map_or(EventId(u32::MAX), |event| event.id);
        let state = events
            .iter()
            .rfind(|event| event.id < end && matches!(event.kind, Kind::State(_)));
        let world = &self.plan.world;
        Before {
            segments: world.segments.iter().cloned().collect(),
            clients: world.clients.clone(),
            configuration: self.evidence.baseline.configuration.clone(),
            versions: self.evidence.baseline.versions.clone(),
            real_time: self.evidence.baseline.real_time.clone(),
            state: state.and_then(|event| self.citer.about(event.kind.line(), event.id)),
        }
    }

    fn buffer(&self) -> Result<BufferAnswer, ReportError> {
        let answer = &self.judgement.buffer;
        Ok(BufferAnswer {
            failures: self.all(&answer.failures)?,
            watched: answer
                .names
                .iter()
                .map(|name| self.watched(name))
                .collect::<Result<_, _>>()?,
        })
    }

    fn watched(&self, name: &NameAnswer) -> Result<Watched, ReportError> {
        use moonquake_judge::Touched as Answer;
        let (touched, blind, shown_by) = match &name.answer {
            Answer::No { witness } => (Touched::No, vec![], vec![self.cited(witness)?]),
            Answer::Yes { touches } => (Touched::Yes, vec![], self.touches(touches)?),
            Answer::CouldNotSee { kinds, witness } => {
                (Touched::CouldNotSee, kinds.clone(), vec![self.cited(witness)?])
            }
        };
        Ok(Watched {
            name: name.name.clone(),
            touched,
            blind,
            since: self.cited(&name.since)?,
            shown_by,
            late_by_others: self.touches(&name.late_by_others)?,
            by_others: self.touches(&name.by_others)?,
            life: name
                .life
                .iter()
                .map(|event| self.life(event))
                .collect::<Result<_, _>>()?,
        })
    }

    fn life(&self, event: &LifeEvent) -> Result<LifeRow, ReportError> {
        Ok(LifeRow {
            what: event.stage.name(),
            who: event.who.clone(),
            at_ns: event.at.ns,
            bytes: event.bytes,
            told: self.cited(&event.told)?,
        })
    }

    fn touches(&self, touches: &[Touch]) -> Result<Vec<Claim>, ReportError> {
        touches
            .iter()
            .map(|touch| {
                let verb = if touch.write { "writes" } else { "reads" };
                let course = touch
                    .op
                    .and_then(|op| self.plan.steps.get(usize::try_from(op.step).ok()?))
                    .map(|step| format!(" in {}", step_name(step)))
                    .unwrap_or_default();
                let whose: String = touch.hits.iter().map(|hit| format!("; {hit}")).collect();
                let text = format!(
                    "{} {verb} bytes [{}, {}) at {}{course}{whose}",
                    touch.who, touch.from, touch.to, touch.at
                );
                let shown = std::iter::once(touch.id).chain(touch.hits.iter().map(|hit| hit.since.1));
                self.citer.claim(text, &shown.collect::<Vec<_>>())
            })
            .collect()
    }
}

/// Failures first, then what nobody could see.
fn urgency(status: Status) -> u8 {
    match status {
        Status::Failed => 0,
        Status::CouldNotSee => 1,
        Status::Held | Status::NotApplicable => 2,
    }
}

/// Whether a repetition came out as the one before it and needs no row of its own.
fn continues(last: &Expectation, next: &Expectation) -> bool {
    last.status == Status::Held
        && next.status == Status::Held
        && last.step == next.step
        && last.repetitions.1.checked_add(1) == Some(next.repetitions.0)
        && last.expected == next.expected
        && last.actual.text() == next.actual.text()
}

/// Column three: what is missing to the proof, then failures, then what proves the injection, then what held.
fn actual(proof: &Proof, expectations: &[Expectation], invariants: &[Invariant]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut claim = |text: String, cites: &Cites| claims.extend(joined(text, [cites]));
    let expected = |row: &Expectation| {
        format!(
            "{}: expected {}, but {}",
            row.step,
            row.expected,
            row.actual.text()
        )
    };
    for missing in &proof.missing {
        claim(missing.text().to_owned(), missing.events());
    }
    for row in expectations.iter().filter(|row| !row.status.is_fine()) {
        claim(expected(row), row.actual.events());
    }
    for row in invariants.iter().filter(|row| !row.status.is_fine()) {
        claim(
            format!("{}: {}", row.name, row.actual.text()),
            row.actual.events(),
        );
    }
    let any_failed = !claims.is_empty();
    claims.extend(proof.seen.iter().cloned());
    let held: Vec<&Expectation> = expectations
        .iter()
        .filter(|row| row.status == Status::Held)
        .collect();
    // Where something failed, what held is for the tables below.
    let spelled = if any_failed || !proof.proven { 0 } else { MAX_HELD };
    for row in held.iter().take(spelled) {
        claims.extend(joined(
            format!("{}: {}", row.step, row.actual.text()),
            [row.actual.events()],
        ));
    }
    let rest = held.iter().skip(spelled);
    let more = if spelled > 0 { " more" } else { "" };
    let text = match rest.len() {
        1 => format!("1{more} expectation held"),
        count => format!("{count}{more} expectations held"),
    };
    claims.extend(joined(text, rest.map(|row| row.actual.events())));
    claims
}

/// For each event the names of what it shows to have failed.
fn failures(postmortem: &Postmortem) -> BTreeMap<EventId, Vec<String>> {
    let steps = postmortem
        .expectations
        .iter()
        .map(|row| (&row.step, row.status, &row.actual));
    let invariants = postmortem
        .invariants
        .iter()
        .map(|row| (&row.name, row.status, &row.actual));
    let mut fails: BTreeMap<EventId, Vec<String>> = BTreeMap::new();
    for (name, _, actual) in steps
        .chain(invariants)
        .filter(|(_, status, _)| *status == Status::Failed)
    {
        for id in actual.events().ids() {
            let names = fails.entry(*id).or_default();
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    fails
}

/// Every event that the judge cites.
fn cited_by(judgement: &Judgement) -> BTreeSet<EventId> {
    let proof = &judgement.proof;
    let findings = judgement.expectations.iter().chain(&judgement.invariants);
    let mut cited: Vec<&Cited> = findings.map(|finding| &finding.actual).collect();
    cited.extend(proof.claimed.iter().chain(&proof.seen).chain(&proof.missing));
    cited.extend(&judgement.buffer.failures);
    let mut ids = BTreeSet::new();
    for name in &judgement.buffer.names {
        use moonquake_judge::Touched as Answer;
        cited.push(&name.since);
        cited.extend(name.life.iter().map(|event| &event.told));
        let mut touches: Vec<_> = name.late_by_others.iter().chain(&name.by_others).collect();
        match &name.answer {
            Answer::No { witness } | Answer::CouldNotSee { witness, .. } => cited.push(witness),
            Answer::Yes { touches: late } => touches.extend(late),
        }
        ids.extend(touches.iter().map(|touch| touch.id));
        let hits = touches.iter().flat_map(|touch| &touch.hits);
        ids.extend(hits.map(|hit| hit.since.1));
    }
    ids.extend(cited.iter().flat_map(|cited| cited.ids().iter().copied()));
    ids
}

/// Every event that the postmortem cites.
fn cited_in(postmortem: &Postmortem) -> BTreeSet<EventId> {
    let buffer = &postmortem.buffer;
    let mut claims: Vec<&Claim> = Vec::new();
    claims.extend(&postmortem.actual);
    claims.extend(&postmortem.injected.told);
    claims.extend(&postmortem.baseline.state);
    claims.extend(postmortem.proof.seen.iter().chain(&postmortem.proof.missing));
    claims.extend(postmortem.expectations.iter().map(|row| &row.actual));
    claims.extend(postmortem.invariants.iter().map(|row| &row.actual));
    claims.extend(&buffer.failures);
    for watched in &buffer.watched {
        claims.push(&watched.since);
        claims.extend(&watched.shown_by);
        claims.extend(watched.late_by_others.iter().chain(&watched.by_others));
        claims.extend(watched.life.iter().map(|row| &row.told));
    }
    claims
        .iter()
        .flat_map(|claim| claim.events().ids().iter().copied())
        .collect()
}
