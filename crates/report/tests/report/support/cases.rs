//! Five runs with their judgements, written by hand.

use super::{Tape, plan, range};
use moonquake_clock::Span;
use moonquake_evidence::{Change, EventId, Evidence, Kind, Observer, Op};
use moonquake_judge::{
    BufferAnswer, Cited, Claim, Finding, Judgement, NameAnswer, Proof, Status, Touch, Touched,
};
use moonquake_scenario::{Plan, Verdict};

pub(crate) type Case = (Plan, Evidence, Judgement);

pub(crate) const THIRTY: Span = Span::from_secs(30);

fn finding(name: &str, step: u32, status: Status, expected: &str, actual: Cited) -> Finding {
    Finding {
        name: name.into(),
        op: Some(Op { step, repetition: 1 }),
        status,
        expected: expected.into(),
        actual,
    }
}

fn invariant(name: &str, status: Status, expected: &str, actual: Cited) -> Finding {
    Finding {
        op: None,
        ..finding(name, 0, status, expected, actual)
    }
}

/// Where the events of [`run`] came to lie.
struct Marks {
    start_answered: EventId,
    injected: EventId,
    killed: EventId,
    put_ended: EventId,
    get_ended: EventId,
    refused: EventId,
    admitted: EventId,
    sight: EventId,
    last: EventId,
    luck: u64,
}

/// Every case.
pub(crate) fn all() -> [Case; 5] {
    [holds(), violated(), not_reproduced(), touched(), could_not_see()]
}

/// The run of the plan. `early`: the master admits w2 at the deadline already. `blind`: the witness is blind to some.
fn run(early: bool, blind: &[&str]) -> (Tape, Marks) {
    lucky_run(early, blind, 0)
}

/// The writer dies when its PutStart is answered: where that was, the injection, its end, and that of its put.
fn writer_dies(tape: &mut Tape, luck: u64) -> [EventId; 4] {
    tape.begin(0, "w1", "w1 put k 4MiB as a1");
    let start_answered = tape.call("w1", "PutStart", "ok", vec![range(0)]);
    tape.push(
        "w1",
        Observer::Timeline,
        Kind::Bound {
            name: "a1".into(),
            range: Some(range(0)),
        },
    );
    let injected = tape.push(
        "w1",
        Observer::Injector,
        Kind::Injected {
            dimension: "crash".into(),
            phase: Some("client.put.start_response".into()),
            action: Some("kill".into()),
            message: Some(3),
            transfer: None,
        },
    );
    let killed = tape.push(
        "w1",
        Observer::Master,
        Kind::Actor {
            change: Change::Killed,
            detail: format!("pid {} is gone", 4242 + luck),
        },
    );
    let put_ended = tape.end("w1", "no result");
    [start_answered, injected, killed, put_ended]
}

/// The same by another number of messages, other places and more pings.
fn lucky_run(early: bool, blind: &[&str], luck: u64) -> (Tape, Marks) {
    let mut tape = Tape::new();
    (tape.luck, tape.message) = (luck, luck);
    for _ in 0..luck % 5 {
        tape.call("n1", "Ping", "ok", vec![]);
    }
    let sight = tape.setup(blind);
    let [start_answered, injected, killed, put_ended] = writer_dies(&mut tape, luck);
    tape.state(4, None);
    tape.begin(1, "r1", "r1 get k");
    tape.call("r1", "GetReplicaList", "REPLICA_IS_NOT_READY", vec![]);
    let get_ended = tape.end("r1", "REPLICA_IS_NOT_READY");
    tape.state(4, None);
    tape.call("n1", "Ping", "ok", vec![]);
    tape.advance(THIRTY);
    tape.call("n1", "Ping", "ok", vec![]);
    tape.begin(2, "w2", "w2 put_start k 4MiB");
    let code = if early { "ok" } else { "OBJECT_ALREADY_EXISTS" };
    let second = if early { vec![range(4)] } else { vec![] };
    tape.call("w2", "PutStart", code, second);
    let refused = tape.end("w2", code);
    tape.state(if early { 8 } else { 4 }, None);
    tape.advance(THIRTY + Span::from_ns(1));
    tape.begin(3, "w2", "w2 put k 4MiB as a2");
    tape.call("w2", "PutStart", "ok", vec![range(4)]);
    tape.transfer(&range(4));
    tape.call("w2", "PutEnd", "ok", vec![]);
    let admitted = tape.end("w2", "ok");
    tape.state(8, Some(range(4)));
    tape.begin(4, "timeline", "a1 and a2 are disjoint");
    let last = tape.end("timeline", "ok");
    let marks = Marks {
        start_answered,
        injected,
        killed,
        put_ended,
        get_ended,
        refused,
        admitted,
        sight,
        last,
        luck,
    };
    (tape, marks)
}

fn proof(marks: &Marks) -> Proof {
    Proof {
        proven: true,
        claimed: Some(Cited::new(
            "injects crash at client.put.start_response: kill",
            marks.injected,
        )),
        seen: vec![
            Cited::new(
                "the answer to PutStart is the last frame of w1",
                marks.start_answered,
            ),
            Cited::new(
                format!("w1 was seen to end: killed (pid {} is gone)", 4242 + marks.luck),
                marks.killed,
            ),
        ],
        missing: vec![],
        by: vec![Observer::Link, Observer::Master],
    }
}

fn expectations(marks: &Marks) -> Vec<Finding> {
    let refused = "OBJECT_ALREADY_EXISTS";
    vec![
        finding(
            "step 2",
            1,
            Status::Held,
            "REPLICA_IS_NOT_READY",
            Cited::new("ends with REPLICA_IS_NOT_READY", marks.get_ended),
        ),
        finding(
            "s2",
            2,
            Status::Held,
            refused,
            Cited::new("ends with OBJECT_ALREADY_EXISTS", marks.refused),
        ),
        finding(
            "s3",
            3,
            Status::Held,
            "ok",
            Cited::new("ends with ok", marks.admitted),
        ),
        finding(
            "step 5",
            4,
            Status::Held,
            "a1 and a2 share no byte",
            Cited::new("n1[0, 4194304) and n1[4194304, 8388608)", marks.last),
        ),
    ]
}

fn invariants(marks: &Marks) -> Vec<Finding> {
    vec![
        invariant(
            "invisible-before-put-end",
            Status::Held,
            "nothing is visible before PutEnd",
            Cited::new("no read found k before its PutEnd", marks.get_ended).and(marks.admitted),
        ),
        invariant(
            "one-writer-per-key",
            Status::Held,
            "at most one unfinished write of a key",
            Cited::new("never more than one", marks.refused),
        ),
        invariant(
            "no-success-after-lease",
            Status::NotApplicable,
            "no read that ends after its lease succeeds",
            Cited::new("no read was given a lease", marks.last),
        ),
    ]
}

fn judgement(marks: &Marks) -> Judgement {
    let failure = Cited::new("p1 lost its actor", marks.put_ended);
    let witness = Cited::new("segment owner sees remote write, remote read", marks.sight);
    Judgement {
        verdict: Verdict::Holds,
        proof: proof(marks),
        expectations: expectations(marks),
        invariants: invariants(marks),
        buffer: BufferAnswer {
            failures: vec![failure.clone()],
            names: vec![NameAnswer {
                name: "a1".into(),
                since: failure,
                answer: Touched::No { witness },
                late_by_others: vec![],
                by_others: vec![],
                life: vec![],
            }],
        },
        claim: Some(Claim {
            line: 0,
            is: Verdict::Holds,
            because: None,
            violates: vec![],
            met: true,
            failed_unclaimed: vec![],
            claimed_unfailed: vec![],
        }),
        deviations: vec![],
    }
}

/// Everything is as it should be.
pub(crate) fn holds() -> Case {
    lucky(0)
}

/// The same run with other numbers of everything that nobody steers.
pub(crate) fn lucky(luck: u64) -> Case {
    let (tape, marks) = lucky_run(false, &[], luck);
    (plan(), tape.finish(), judgement(&marks))
}

/// The discard boundary is off by a nanosecond, and the file does not say so.
pub(crate) fn violated() -> Case {
    let (tape, marks) = run(true, &[]);
    let mut judgement = judgement(&marks);
    judgement.verdict = Verdict::Violated;
    judgement.expectations[1].status = Status::Failed;
    judgement.expectations[1].actual = Cited::new("ends with ok", marks.refused);
    judgement.invariants[1].status = Status::Failed;
    judgement.invariants[1].actual = Cited::new(
        "w1 and w2 both write k between 30s and 30s + 1ns",
        marks.start_answered,
    )
    .and(marks.refused);
    if let Some(claim) = &mut judgement.claim {
        claim.met = false;
        claim.failed_unclaimed = vec!["s2".into(), "one-writer-per-key".into()];
    }
    judgement.deviations =
        vec!["the file claims holds, the run is violated by s2, one-writer-per-key".into()];
    (plan(), tape.finish(), judgement)
}

/// The put never gets to the phase.
pub(crate) fn not_reproduced() -> Case {
    let mut tape = Tape::new();
    tape.setup(&[]);
    tape.begin(0, "w1", "w1 put k 4MiB as a1");
    tape.call("w1", "PutStart", "NO_AVAILABLE_HANDLE", vec![]);
    let ended = tape.end("w1", "NO_AVAILABLE_HANDLE");
    let last = tape.state(0, None);
    let (_, marks) = run(false, &[]);
    let judgement = Judgement {
        verdict: Verdict::NotReproduced,
        proof: Proof {
            proven: false,
            claimed: None,
            seen: vec![],
            missing: vec![Cited::new(
                "no operation of w1 came to client.put.start_response with an answer to act on",
                ended,
            )],
            by: vec![],
        },
        expectations: vec![],
        invariants: vec![invariant(
            "bytes-accounted",
            Status::Held,
            "allocated bytes are the sum of all replicas",
            Cited::new("0 bytes at the end", last),
        )],
        buffer: BufferAnswer::default(),
        deviations: vec!["the file claims holds, the run is not-reproduced".into()],
        claim: judgement(&marks).claim.map(|claim| Claim { met: false, ..claim }),
    };
    (plan(), tape.finish(), judgement)
}

/// A write of the dead lands, as the file says.
pub(crate) fn touched() -> Case {
    let (mut tape, marks) = run(false, &[]);
    let late = tape.push(
        "w1",
        Observer::Witness,
        Kind::Access {
            buffer: "a1".into(),
            write: true,
            from: 0,
            to: 65536,
        },
    );
    let mut judgement = judgement(&marks);
    judgement.verdict = Verdict::Violated;
    judgement.invariants.push(invariant(
        "no-access-after-failure",
        Status::Failed,
        "no access to a buffer after its operation failed",
        Cited::new("w1 writes a1[0, 65536) after p1 lost its actor", late).and(marks.put_ended),
    ));
    judgement.buffer.names[0].answer = Touched::Yes {
        touches: vec![Touch {
            hits: Vec::new(),
            who: "w1".into(),
            op: Some(Op {
                step: 0,
                repetition: 1,
            }),
            at: THIRTY + Span::from_ns(1),
            write: true,
            from: 0,
            to: 65536,
            id: late,
        }],
    };
    if let Some(claim) = &mut judgement.claim {
        claim.is = Verdict::Violated;
        claim.because = Some("A one-sided write that is under way lands after its writer is gone.".into());
        claim.violates = vec!["no-access-after-failure".into()];
    }
    (plan(), tape.finish(), judgement)
}

/// Nobody saw an access, and nobody could have seen each.
pub(crate) fn could_not_see() -> Case {
    let (tape, marks) = run(false, &["local read"]);
    let mut judgement = judgement(&marks);
    judgement.buffer.names[0].answer = Touched::CouldNotSee {
        kinds: vec!["local read".into()],
        witness: Cited::new("segment owner is blind to local read", marks.sight),
    };
    (plan(), tape.finish(), judgement)
}
