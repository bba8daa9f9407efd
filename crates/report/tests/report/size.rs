//! A page stays small enough to forward whatever the run was: it says what it leaves out, and none of its links is dead.

use crate::support::{Tape, plan, postmortem, range};
use moonquake_clock::Span;
use moonquake_evidence::{Change, EventId, Kind, Observer, Op};
use moonquake_judge::{BufferAnswer, Cited, Finding, Judgement, NameAnswer, Proof, Status, Touch, Touched};
use moonquake_report::Postmortem;
use moonquake_report::html::html;
use moonquake_scenario::Verdict;
use std::collections::BTreeSet;

const LIMIT: usize = 300_000;

/// A long run.
struct Long {
    steps: u32,
    /// The steps, from 0, that fail.
    failing: BTreeSet<u32>,
    /// What is put at the end of every name and detail.
    noise: String,
    /// Steps move bytes.
    busy: bool,
    /// The buffers that are watched, each touched late by many.
    buffers: usize,
}

fn long(steps: u32, failing: impl IntoIterator<Item = u32>) -> Long {
    Long {
        steps,
        failing: failing.into_iter().collect(),
        noise: String::new(),
        busy: false,
        buffers: 0,
    }
}

impl Long {
    fn postmortem(&self) -> Postmortem {
        let mut tape = Tape::new();
        let sight = tape.setup(&[]);
        let mut plan = plan();
        let model = plan.steps[1].clone();
        plan.steps.clear();
        let mut expectations = Vec::new();
        let (mut told, mut seen) = (sight, sight);
        for index in 0..self.steps {
            let mut step = model.clone();
            step.index = usize::try_from(index).unwrap();
            plan.steps.push(step);
            if index == self.steps / 4 {
                (told, seen) = self.injected(&mut tape);
            }
            let ended = self.step(&mut tape, index);
            let is = if self.failing.contains(&index) {
                Status::Failed
            } else {
                Status::Held
            };
            let name = format!("step {}", index + 1);
            expectations.push(Finding {
                name,
                op: Some(Op {
                    step: index,
                    repetition: 1,
                }),
                status: is,
                expected: format!("ok{}", self.noise),
                actual: Cited::new(format!("ends{}", self.noise), ended),
            });
        }
        let buffer = self.buffer(&expectations, sight);
        let judgement = Judgement {
            verdict: if self.failing.is_empty() {
                Verdict::Holds
            } else {
                Verdict::Violated
            },
            proof: Proof {
                proven: true,
                claimed: Some(Cited::new("injects", told)),
                seen: vec![Cited::new("w1 is gone", seen)],
                missing: vec![],
                by: vec![Observer::Master],
            },
            expectations,
            invariants: vec![],
            buffer,
            claim: None,
            deviations: vec![],
        };
        postmortem(&(plan, tape.finish(), judgement))
    }

    fn injected(&self, tape: &mut Tape) -> (EventId, EventId) {
        let kind = Kind::Injected {
            dimension: "crash".into(),
            phase: None,
            action: Some("kill".into()),
            message: None,
            transfer: None,
        };
        let told = tape.push("w1", Observer::Injector, kind);
        let detail = format!("pid 1 is gone{}", self.noise);
        let kind = Kind::Actor {
            change: Change::Killed,
            detail,
        };
        (told, tape.push("w1", Observer::Master, kind))
    }

    fn step(&self, tape: &mut Tape, index: u32) -> EventId {
        let noise = &self.noise;
        tape.begin(index, &format!("r1{noise}"), &format!("r1 get k{noise}"));
        let ranges = if self.busy {
            vec![range(u64::from(index % 4))]
        } else {
            vec![]
        };
        tape.call(
            "w2",
            if self.busy { "PutStart" } else { "ExistKey" },
            "ok",
            ranges.clone(),
        );
        if self.busy {
            ranges.iter().for_each(|range| tape.transfer(range));
            tape.call("w2", "PutEnd", "ok", vec![]);
        }
        let ended = tape.end(&format!("r1{noise}"), &format!("ok{noise}"));
        tape.advance(Span::from_secs(u64::from(index) + 1));
        ended
    }

    fn buffer(&self, findings: &[Finding], since: EventId) -> BufferAnswer {
        let touch = |finding: &Finding| Touch {
            who: format!("w1{}", self.noise),
            op: finding.op,
            write: true,
            from: 0,
            to: 1 << 20,
            at: Span::ZERO,
            id: finding.actual.ids()[0],
            hits: vec![],
        };
        let touches: Vec<Touch> = findings.iter().step_by(40).map(touch).collect();
        let name = |index: usize| NameAnswer {
            name: format!("a{index}{}", self.noise),
            since: Cited::new(format!("lost{}", self.noise), since),
            answer: Touched::Yes {
                touches: touches.clone(),
            },
            late_by_others: touches.clone(),
            by_others: touches.clone(),
            life: vec![],
        };
        BufferAnswer {
            failures: vec![Cited::new("lost", since); findings.len().min(500)],
            names: (0..self.buffers).map(name).collect(),
        }
    }
}

fn all<'a>(page: &'a str, before: &str) -> BTreeSet<&'a str> {
    page.split(before)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

/// The page of a run that is too long for a whole one.
fn trimmed(long: &Long) -> String {
    let postmortem = long.postmortem();
    let page = html(&postmortem);
    assert!(page.len() < LIMIT, "{} bytes", page.len());
    assert!(page.contains("The Markdown and the JSON next to this page have"));
    assert!(page.contains(&format!("of {} rows</b>", postmortem.timeline.len())));
    let (targets, links) = (all(&page, " id=\""), all(&page, "href=\"#"));
    let dead: Vec<_> = links.difference(&targets).collect();
    assert!(links.len() > 3 && dead.is_empty(), "{dead:?}");
    page
}

#[test]
fn a_failure_in_the_middle_of_a_long_run_is_shown() {
    for steps in [300, 4_000, 20_000] {
        let page = trimmed(&long(steps, [steps / 2]));
        let name = format!("step {}", steps / 2 + 1);
        assert!(page.contains(&format!("✗ {name}</span>")), "{steps}: no row");
        assert_eq!(page.matches("✗ failed</span>").count(), 1, "{steps}");
        assert!(page.contains("✓ proves the injection</span>"), "{steps}");
        assert!(page.contains(">⚡ "), "{steps}: no injection");
        assert!(page.contains(" rows left out"));
    }
}

#[test]
fn a_run_that_fails_everywhere_says_how_many_failures_it_leaves_out() {
    let page = trimmed(&long(20_000, 0..20_000));
    assert!(page.contains(" of them with a failure</b>"));
    assert!(page.contains("more rows are in the JSON form."));
    assert!(
        page.contains(">step 1: ") && page.contains(">step 20000: "),
        "both ends"
    );
}

#[test]
fn hostile_names_and_many_buffers_do_not_blow_a_page_up() {
    let noise = " <\"&\u{202e}\u{1}'\n>".repeat(60);
    for busy in [false, true] {
        let page = trimmed(&Long {
            noise: noise.clone(),
            busy,
            buffers: 60,
            ..long(300, 0..300)
        });
        assert!(page.contains("left out"));
    }
}

#[test]
fn expectations_that_held_and_the_picture_go_where_rows_are_not_enough() {
    let noise = "x".repeat(230);
    let page = trimmed(&Long {
        noise,
        busy: true,
        ..long(2_000, [1_000])
    });
    assert!(page.contains("because they held or do not apply: <b>1999 of 2000 expectations</b>"));
    assert!(page.contains("operations, messages, transfers, owners and accesses are not drawn"));
    assert!(page.contains("✗ step 1001"));
}
