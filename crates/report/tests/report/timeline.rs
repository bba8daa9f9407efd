//! Rows of the timeline.

use crate::support::{Tape, cases, plan, postmortem, range};
use moonquake_clock::Span;
use moonquake_evidence::{EventId, Evidence, Kind, Leg, Observer};
use moonquake_faults::Dimension;
use moonquake_judge::{BufferAnswer, Judgement, Proof};
use moonquake_report::{Postmortem, Row, RowKind, markdown};
use moonquake_scenario::Verdict;

/// The postmortem of a record that nobody judged.
fn unjudged(evidence: &Evidence, dimension: Dimension) -> Postmortem {
    let judgement = Judgement {
        verdict: Verdict::NotReproduced,
        proof: Proof::default(),
        expectations: vec![],
        invariants: vec![],
        buffer: BufferAnswer::default(),
        claim: None,
        deviations: vec![],
    };
    let mut plan = plan();
    plan.fault.dimension = dimension;
    Postmortem::new(&plan, evidence, &judgement, "").unwrap()
}

fn row_with(postmortem: &Postmortem, id: EventId) -> &Row {
    postmortem
        .timeline
        .iter()
        .find(|row| row.events.contains(&id))
        .unwrap()
}

#[test]
fn every_event_stands_in_exactly_one_row_in_order() {
    for case in cases::all() {
        let postmortem = postmortem(&case);
        let ids: Vec<EventId> = postmortem
            .timeline
            .iter()
            .flat_map(|row| row.events.clone())
            .collect();
        let all: Vec<EventId> = case.1.events.iter().map(|event| event.id).collect();
        assert_eq!(ids, all);
    }
}

#[test]
fn pings_are_summed_up_and_news_are_not() {
    let mut tape = Tape::new();
    tape.setup(&[]);
    tape.begin(0, "w1", "w1 put k");
    tape.end("w1", "ok");
    let first = tape.call("n1", "Ping", "ok", vec![]);
    tape.advance(Span::from_secs(1));
    let second = tape.call("n1", "Ping", "ok", vec![]);
    let lost = tape.frame(Leg::RequestLost, "n1", "Ping", None, vec![]);
    let remount = tape.call("n1", "Ping", "NEED_REMOUNT", vec![]);
    let unchanged = tape.state(0, None);
    let changed = tape.state(4, Some(range(0)));
    let postmortem = unjudged(&tape.finish(), Dimension::Crash);
    let pings = row_with(&postmortem, first);
    assert_eq!((pings.kind, pings.events.len()), (RowKind::Background, 7));
    assert_eq!(pings.text, "6 frames of Ping, all clocks move by 1s");
    assert!(pings.events.contains(&second));
    assert_eq!(row_with(&postmortem, lost).kind, RowKind::Event);
    assert!(row_with(&postmortem, remount).text.ends_with("NEED_REMOUNT"));
    assert_ne!(row_with(&postmortem, changed).kind, RowKind::Background);
    assert_eq!(row_with(&postmortem, unchanged).kind, RowKind::Background);
}

#[test]
fn repetitions_that_end_alike_are_summed_up() {
    let mut tape = Tape::new();
    let mut ends = Vec::new();
    for repetition in 1..=1_000 {
        tape.repetition = repetition;
        tape.begin(1, "r1", "r1 exist k");
        tape.call("r1", "ExistKey", "ok", vec![]);
        ends.push(tape.end("r1", if repetition <= 900 { "true" } else { "false" }));
    }
    let postmortem = unjudged(&tape.finish(), Dimension::Pressure);
    assert!(postmortem.timeline.len() < 12, "{}", postmortem.timeline.len());
    let summary = row_with(&postmortem, ends[500]);
    assert_eq!(
        summary.text,
        "step 2 ends with true 899 more times, 2697 frames of ExistKey"
    );
    assert_eq!(row_with(&postmortem, ends[0]).kind, RowKind::Result);
    let turn = row_with(&postmortem, ends[900]);
    assert_eq!(
        (turn.kind, turn.text.as_str()),
        (RowKind::Result, "step 2, repetition 901 ends with false")
    );
}

#[test]
fn a_request_in_pieces_stays_in_pieces() {
    let mut tape = Tape::new();
    tape.begin(0, "w1", "w1 put k");
    let sent = tape.frame(Leg::RequestSent, "w1", "PutStart", None, vec![]);
    tape.advance(Span::from_secs(1));
    let handled = tape.frame(Leg::RequestHandled, "w1", "PutStart", Some("ok"), vec![range(0)]);
    let gone = tape.frame(Leg::ResponseUndeliverable, "w1", "PutStart", Some("ok"), vec![]);
    let postmortem = unjudged(&tape.finish(), Dimension::Crash);
    for id in [sent, handled, gone] {
        assert_eq!(row_with(&postmortem, id).events, [id]);
    }
}

#[test]
fn a_clock_that_is_off_shows_where_the_fault_steps_one() {
    let mut tape = Tape::new();
    tape.state(0, None);
    tape.begin(0, "w1", "w1 put k");
    tape.advance(Span::from_secs(5));
    tape.wall_ahead.insert("master".into(), Span::from_secs(31));
    let (realtime, monotonic) = Default::default();
    let read = tape.push("master", Observer::Clock, Kind::ClockRead { realtime, monotonic });
    let evidence = tape.finish();
    let off = |dimension| row_with(&unjudged(&evidence, dimension), read).clock_off.clone();
    assert_eq!(off(Dimension::Clock).as_deref(), Some("wall +31s"));
    assert_eq!(off(Dimension::Crash), None);
}

#[test]
fn times_are_told_from_the_fault_where_it_is_not_at_the_start() {
    let mut tape = Tape::new();
    tape.begin(0, "w1", "w1 put k");
    tape.advance(Span::from_secs(5));
    let kind = Kind::Injected {
        dimension: "crash".into(),
        phase: None,
        action: None,
        message: None,
        transfer: None,
    };
    tape.push("w1", Observer::Injector, kind);
    tape.advance(Span::from_secs(35) + Span::from_ns(1));
    tape.begin(1, "r1", "r1 get k");
    let page = markdown(&unjudged(&tape.finish(), Dimension::Crash));
    assert!(page.contains("| Event | Time | From the fault | Actor | Seen by | What |"));
    assert!(page.contains("| 0s | 5s before | w1 |"), "{page}");
    assert!(page.contains("| 35s + 1ns | 30s + 1ns | r1 |"), "{page}");
}
