//! Verdicts, claims, the answer about buffers, and what comes out of damaged records.

use crate::cases::cases;
use crate::telling::{MIB, Story, failed, range, scenario_in};
use moonquake_clock::Span;
use moonquake_evidence::{EventId, Evidence};
use moonquake_faults::Profile;
use moonquake_judge::{Cited, Judgement, Touched, judge, regions};
use moonquake_scenario::{EngineKind, Plan, Verdict, VerdictLine};
use proptest::prelude::*;

fn line(is: Verdict, violates: &[&str]) -> VerdictLine {
    VerdictLine {
        profiles: Vec::new(),
        engines: Vec::new(),
        is,
        because: Some("because".into()),
        violates: violates.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// A story that violates `x` and nothing else, under a claim.
fn violated(lines: Vec<VerdictLine>) -> Judgement {
    let mut story = misuse("ILLEGAL_CLIENT", "OBJECT_NOT_FOUND");
    story.plan.verdicts = lines;
    story.judge()
}

fn misuse(expect: &str, comes: &str) -> Story {
    let fault = "dimension = \"misuse\"\ntarget = \"master\"\nstep = \"x\"";
    let steps = format!(
        "{{ id = \"s\", who = \"w1\", do = \"exist\", key = \"k\", expect = \"false\" }},\n\
         {{ id = \"x\", who = \"w2\", do = \"put_end\", key = \"k\", expect = \"{expect}\" }},"
    );
    let mut story = Story::new(&scenario_in("", fault, &steps));
    story.one("s", "ExistKey", "k", "false");
    story.one("x", "PutEnd", "k", comes);
    story
}

fn met(lines: Vec<VerdictLine>) -> bool {
    let judgement = violated(lines);
    assert_eq!(
        (judgement.verdict, failed(&judgement)),
        (Verdict::Violated, vec!["x"])
    );
    let met = judgement.claim.as_ref().unwrap().met;
    assert_eq!(met, judgement.deviations.is_empty(), "{:?}", judgement.deviations);
    for deviation in judgement
        .deviations
        .iter()
        .skip(usize::from(judgement.claim.unwrap().is != Verdict::Violated))
    {
        assert!(
            deviation.contains("(e") || deviation.contains("nothing of that name"),
            "{deviation}"
        );
    }
    met
}

#[test]
fn a_claim_is_met_to_the_last_name() {
    assert!(met(vec![line(Verdict::Violated, &["x"])]));
    assert!(!met(vec![line(Verdict::Violated, &["x", "s"])]), "s did not fail");
    assert!(!met(vec![line(Verdict::Violated, &["s"])]), "x is not named");
    assert!(
        !met(vec![line(Verdict::Violated, &["x", "no-foreign-bytes"])]),
        "an invariant that held"
    );
    assert!(!met(vec![line(Verdict::Holds, &[])]));
    assert!(!met(vec![line(Verdict::NotReproduced, &[])]));
}

#[test]
fn a_failure_that_no_claim_names_is_a_deviation() {
    let mut story = misuse("ILLEGAL_CLIENT", "OBJECT_NOT_FOUND");
    story.plan.steps[0].expect = vec!["true".into()];
    story.plan.verdicts = vec![line(Verdict::Violated, &["x"])];
    let judgement = story.judge();
    let claim = judgement.claim.unwrap();
    assert_eq!((claim.met, claim.failed_unclaimed), (false, vec!["s".to_owned()]));
    assert!(judgement.deviations[0].starts_with("s failed: expected true; false (e"));
}

#[test]
fn the_first_line_that_fits_counts() {
    let strict = VerdictLine {
        profiles: vec![Profile::Strict],
        ..line(Verdict::Holds, &[])
    };
    let native = VerdictLine {
        engines: vec![EngineKind::Native],
        ..line(Verdict::Holds, &[])
    };
    let rest = line(Verdict::Violated, &["x"]);
    let judgement = violated(vec![strict.clone(), native, rest]);
    assert_eq!(
        judgement.claim.map(|claim| (claim.line, claim.met)),
        Some((2, true))
    );
    let judgement = violated(vec![strict]);
    assert!(judgement.claim.is_none() && !judgement.deviations.is_empty());
}

#[test]
fn a_deviation_names_what_failed_and_where() {
    let judgement = violated(vec![line(Verdict::Holds, &[])]);
    let [said, why] = judgement.deviations.as_slice() else {
        panic!("{:?}", judgement.deviations)
    };
    assert_eq!(said, "the file says holds, and the verdict is violated");
    assert!(
        why.starts_with("x failed: expected ILLEGAL_CLIENT; OBJECT_NOT_FOUND (e"),
        "{why}"
    );
}

#[test]
fn an_unproven_run_says_what_is_missing() {
    let mut story = misuse("ILLEGAL_CLIENT", "ILLEGAL_CLIENT");
    assert_eq!(story.judge().verdict, Verdict::Holds);
    story
        .events
        .retain(|event| event.observer != moonquake_evidence::Observer::Link);
    let judgement = story.judge();
    assert_eq!(judgement.verdict, Verdict::NotReproduced);
    let all = judgement.deviations.join("\n");
    assert!(
        all.contains("no call of x was seen to reach the master (e"),
        "{all}"
    );
}

/// A get into b1 fails; then somebody touches b1. The answer, and how many accesses are listed as those of others.
fn touched(by: &str, blind: &[&str]) -> (Touched, usize) {
    let fault = "dimension = \"misuse\"\ntarget = \"master\"\nstep = \"g0\"\n[watch]\nbuffer = \"b1\"";
    let steps = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },\n\
                 { id = \"g0\", who = \"r1\", do = \"get\", key = \"k\", into = \"b1\" },\n\
                 { id = \"f\", who = \"r1\", do = \"fill\", into = \"b1\", pattern = \"mine\" },\n\
                 { id = \"g2\", who = \"r1\", do = \"get\", key = \"k\", into = \"b1\" },";
    let mut story = Story::new(&scenario_in("", fault, steps));
    if !blind.is_empty() {
        story
            .events
            .retain(|event| !matches!(event.kind, moonquake_evidence::Kind::Sight { .. }));
        story.sight("b1", blind);
    }
    let at = range(0, 4 * MIB);
    story.put("p1", "k", &at);
    let op = story.begin("g0");
    story.call(op, "GetReplicaList", "k", "ok", std::slice::from_ref(&at));
    let transfer = story.open_with(op, false, &at, Some("b1"));
    story.part(transfer, 1);
    story.access(op, "b1", true, 0, MIB);
    story.pass(Span::from_secs(3)).end(op, "TRANSFER_FAIL");
    match by {
        "its own transfer" => drop(story.access(op, "b1", true, MIB, 2 * MIB)),
        "its own payload" => drop(story.part(transfer, 2)),
        "fill" => {
            let fill = story.begin("f");
            story.access(fill, "b1", true, 0, 4 * MIB);
            story.end(fill, "ok");
        }
        "another get" => {
            let other = story.begin("g2");
            story.access(other, "b1", true, 0, 4 * MIB);
            story.end(other, "ok");
        }
        _ => {}
    }
    let answer = story.judge().buffer;
    assert_eq!(answer.failures.len(), 1);
    let name = &answer.names[0];
    assert!(
        name.since.text().contains("g0 failed with TRANSFER_FAIL"),
        "{}",
        name.since
    );
    (name.answer.clone(), name.by_others.len())
}

#[test]
fn was_the_buffer_still_touched() {
    for by in ["its own transfer", "its own payload"] {
        let (Touched::Yes { touches }, 0) = touched(by, &[]) else {
            panic!("{by}")
        };
        let [touch] = touches.as_slice() else {
            panic!("{touches:?}")
        };
        assert_eq!(
            (touch.who.as_str(), touch.write, touch.from, touch.to),
            ("r1", true, MIB, 2 * MIB),
            "{by}"
        );
        assert_eq!(touch.at, Span::from_secs(3), "{by}");
    }
    assert!(matches!(touched("nobody", &[]), (Touched::No { .. }, 0)));
    assert!(
        matches!(touched("fill", &[]), (Touched::No { .. }, 0)),
        "the caller's own"
    );
    assert!(
        matches!(touched("another get", &[]), (Touched::No { .. }, 1)),
        "not a late access"
    );
    let (Touched::CouldNotSee { kinds, .. }, 0) = touched("nobody", &["dma write"]) else {
        panic!("blind")
    };
    assert_eq!(kinds, ["dma write"]);
    assert!(matches!(
        touched("its own transfer", &["dma write"]),
        (Touched::Yes { .. }, _)
    ));
}

#[test]
fn a_name_without_a_witness_could_not_be_seen() {
    let mut story = misuse("ILLEGAL_CLIENT", "ILLEGAL_CLIENT");
    story.plan.watch = vec!["b9".into()];
    let answer = story.judge().buffer;
    assert!(matches!(answer.names[0].answer, Touched::CouldNotSee { .. }));
    assert_eq!(answer.word(), "could not see");
}

#[test]
fn nothing_recorded_is_nothing_reproduced() {
    let story = misuse("ILLEGAL_CLIENT", "ILLEGAL_CLIENT");
    let judgement = judge(
        &story.plan,
        &Evidence::default(),
        Profile::Strict,
        EngineKind::Master,
    );
    assert_eq!(judgement.verdict, Verdict::NotReproduced);
    assert!(judgement.expectations.is_empty() && judgement.invariants.is_empty());
}

#[test]
fn a_judgement_survives_being_written_down() {
    for (name, tell) in cases() {
        let judgement = tell(true).judge();
        let text = serde_json::to_string(&judgement).unwrap();
        assert_eq!(
            serde_json::from_str::<Judgement>(&text).unwrap(),
            judgement,
            "{name}"
        );
    }
}

#[test]
fn a_statement_without_an_event_cannot_be_read_back() {
    let cited = Cited::new("so it was", EventId(3))
        .and(EventId(7))
        .and(EventId(3));
    assert_eq!(cited.to_string(), "so it was (e3, e7)");
    assert!(serde_json::from_str::<Cited>(r#"{"text":"so it was","ids":[3]}"#).is_ok());
    assert!(serde_json::from_str::<Cited>(r#"{"text":"so it was","ids":[]}"#).is_err());
}

/// Everything cited must exist in the record.
fn cites_only_what_exists(judgement: &Judgement, evidence: &Evidence) {
    let ids: std::collections::BTreeSet<EventId> = evidence.events.iter().map(|event| event.id).collect();
    let findings = judgement
        .expectations
        .iter()
        .chain(&judgement.invariants)
        .map(|finding| &finding.actual);
    let proof = &judgement.proof;
    let all = findings
        .chain(&proof.seen)
        .chain(&proof.missing)
        .chain(&proof.claimed)
        .chain(&judgement.buffer.failures);
    for cited in all {
        assert!(cited.ids().iter().all(|id| ids.contains(id)), "{cited}");
    }
}

fn damaged() -> impl Strategy<Value = (Plan, Evidence)> {
    let tellings: Vec<(Plan, Evidence)> = cases()
        .into_iter()
        .flat_map(|(_, tell)| [true, false].map(tell))
        .map(|story| (story.plan.clone(), story.evidence()))
        .collect();
    let count = tellings.len();
    (
        0..count,
        0..count,
        any::<prop::sample::Index>(),
        prop::collection::vec(any::<u16>(), 0..400),
    )
        .prop_map(move |(plan, evidence, cut, keys)| {
            let mut evidence = tellings[evidence].1.clone();
            let mut keyed: Vec<_> = evidence.events.into_iter().enumerate().collect();
            // Some events are dropped, some change their places, and the end may be missing.
            keyed.retain(|(index, _)| keys.get(*index).is_none_or(|key| key % 5 != 0));
            keyed.sort_by_key(|(index, _)| match keys.get(*index) {
                Some(key) if key % 7 == 0 => usize::from(*key) % 200,
                _ => *index,
            });
            let keep = cut.index(keyed.len() + 1);
            evidence.events = keyed.into_iter().take(keep).map(|(_, event)| event).collect();
            (tellings[plan].0.clone(), evidence)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_record_makes_the_judge_panic((plan, evidence) in damaged()) {
        let judgement = judge(&plan, &evidence, Profile::Upstream, EngineKind::Model);
        cites_only_what_exists(&judgement, &evidence);
        prop_assert_eq!(judgement.proof.proven, judgement.proof.missing.is_empty() && !evidence.events.is_empty());
        prop_assert_eq!(judgement.verdict == Verdict::NotReproduced, !judgement.proof.proven);
    }

    #[test]
    fn no_record_breaks_the_bytes_lane((plan, evidence) in damaged()) {
        for place in regions(&plan, &evidence) {
            let position = |id: EventId| evidence.events.iter().position(|event| event.id == id);
            let mut last = None;
            for (epoch, number) in place.epochs.iter().zip(1..) {
                prop_assert_eq!(epoch.number, number);
                prop_assert!(epoch.from <= epoch.to && epoch.to <= place.size);
                let since = position(epoch.since.1);
                prop_assert!(since.is_some() && since >= last);
                prop_assert!(epoch.until.is_none_or(|until| position(until.1) >= since));
                prop_assert!(epoch.readable_at.is_none_or(|at| position(at.1) >= since));
                for access in &epoch.accesses {
                    prop_assert!(epoch.from <= access.from && access.from <= access.to && access.to <= epoch.to);
                    prop_assert!(position(access.id).is_some());
                }
                last = since;
            }
        }
    }
}
