//! Failures after which nothing is touched.

use super::Natural;
use super::error::NaturalError;
use super::late_read::{LIMIT, RATE, TRANSFER_FAIL};
use super::look::Whose;
use super::rig::{Actor, MIB, OBJECT, Rig, get_into, put_from, setup};
use super::told::{Prose, SIGHT, Told, claim, seconds};
use crate::agent::{Command, Range};
use moonquake_net::foreign::{Act, At, Rule};
use moonquake_scenario::{
    EngineKind, Interrupt, MeasuredAnswer, MeasuredBuffer, MeasuredRun, SeenId, Verdict,
};
use std::time::Duration;

/// What differs from one of these forms to the next.
struct Case {
    prose: Prose,
    size: u64,
    act: Act,
    at: u64,
    is_write: bool,
    /// Results that are known; empty: any failure.
    known: &'static [i64],
    what: &'static str,
}

const EXPECTED: &str = "The operation fails, and nobody touches the buffer after that.";
const REPAIR: &str =
    "None is needed: the failure came when the transfer had ended, or its connections were closed.";

fn case(form: Natural) -> Case {
    let prose = |title, why| Prose {
        title,
        why,
        expected: EXPECTED,
        repair: REPAIR,
    };
    let read = Case {
        prose: prose("", ""),
        size: OBJECT.size,
        act: Act::Rate(RATE),
        at: 0,
        is_write: false,
        known: &[TRANSFER_FAIL],
        what: "The payload moves slowly",
    };
    match form {
        Natural::FullStall => Case {
            prose: prose(
                "A read whose payload stands still fails after about 30 s, and leaves its buffer alone",
                "The transport closes a connection after 30 s without a byte, before the store gives up.",
            ),
            act: Act::Hold,
            at: 4 * MIB,
            what: "The payload stands still after 4 MiB, and is let go of after the failure",
            ..read
        },
        Natural::OwnerKilled => Case {
            prose: prose(
                "A read whose owner is killed fails, and leaves its buffer alone",
                "The connections of a process that is killed end, so that nothing more can come.",
            ),
            act: Act::Rate(4_000_000),
            what: "The payload moves slowly, and its owner is killed after 4 MiB",
            known: &[],
            ..read
        },
        Natural::LeaseEnds => Case {
            prose: prose(
                "A read that outlives its lease is no success, and leaves its buffer alone",
                "The client compares its lease when the transfer has ended, so the failure is reported when nothing moves any more.",
            ),
            size: 16 * MIB,
            act: Act::Rate(1_000_000),
            what: "The payload moves so slowly that it outlives the lease of 10 s",
            known: &[-707],
            ..read
        },
        Natural::MasterKilled => Case {
            prose: prose(
                "A write whose master is killed fails, and leaves its source alone",
                "The transfer goes to the owner and ends as ever; only what follows fails.",
            ),
            size: 16 * MIB,
            act: Act::Rate(2_000_000),
            is_write: true,
            what: "The payload moves slowly, and the master is killed after 4 MiB",
            known: &[],
            ..read
        },
        // The closed reader; the others are no clean forms.
        _ => Case {
            prose: prose(
                "A slow read fails after 60 s, its client is closed, and from then on nothing is written",
                "Closing a client closes its connections, which is what ends a transfer that was given up and goes on.",
            ),
            what: "The payload moves slowly, and the client is closed after the failure",
            ..read
        },
    }
}

/// What came of one.
struct Came {
    word: &'static str,
    code: i64,
    begun: Duration,
    returned: Duration,
    is_struck: bool,
    touched: u64,
    places: String,
    /// What shows the injection; the first is the call.
    proof: Vec<SeenId>,
    failed: SeenId,
    filled: SeenId,
    ended: SeenId,
    counted: SeenId,
}

/// Runs one.
pub(super) fn run(
    form: Natural,
    engine: EngineKind,
    interrupt: &Interrupt,
) -> Result<MeasuredRun, NaturalError> {
    let case = case(form);
    let mut rig = Rig::start(engine, interrupt, false)?;
    let buffer = Range {
        offset: 0,
        size: case.size,
    };
    let (owner, endpoint) = rig.owner(128 * MIB)?;
    if !case.is_write {
        let writer = rig.actor("w1", 0, None)?;
        writer.put_all("k", buffer, Whose::Failed)?;
    }
    let rule = Rule::new(At::Payload { byte: case.at }, case.act);
    let rule = rule.map_err(|why| setup("the rule of the proxy", &why.to_string()))?;
    let caller = rig.actor("c1", 0, Some((rule, endpoint)))?;
    caller.register(buffer)?;
    let came = go(&mut rig, (form, &case), (&owner, &caller), buffer)?;
    let told = tell(form, &case, &came);
    Ok(told.finish(form, rig, &case.prose, Verdict::Holds))
}

fn go(
    rig: &mut Rig,
    (form, case): (Natural, &Case),
    (owner, caller): (&Actor, &Actor),
    buffer: Range,
) -> Result<Came, NaturalError> {
    let wire = caller.wire()?;
    let (word, command) = if case.is_write {
        caller.fill(buffer, Whose::Failed)?;
        ("put_from", put_from("k", buffer))
    } else {
        ("get_into", get_into("k", buffer))
    };
    let begun = rig.now();
    let ticket = caller.agent.submit(&command)?;
    let called = format!("{word} of {} bytes is called", case.size);
    let mut proof = vec![rig.note_at(begun, "agent c1", called)];
    if matches!(form, Natural::OwnerKilled | Natural::MasterKilled) {
        let has_moved = || wire.passed_after(None).bytes >= 4 * MIB;
        rig.until("4 MiB of payload", LIMIT, has_moved)?;
        proof.push(if form == Natural::OwnerKilled {
            let status = owner.agent.kill()?;
            rig.note("process of n1", format!("it is gone: {status}"))
        } else {
            rig.kill_master()?
        });
    }
    let (code, returned) = rig.answer(caller, &ticket, LIMIT)?;
    let open = wire.open_transfers();
    let words = format!("{word} returns {code}; {open} transfers are open at the proxy");
    let failed = rig.note_at(returned, "agent c1", words);
    proof.push(failed);
    if form == Natural::ClosedReader {
        let closed = caller.number(&Command::Close)?;
        proof.push(rig.note("agent c1", format!("close returns {closed}")));
    }
    caller.fill(buffer, Whose::Caller)?;
    let filled_at = rig.now();
    let filled = rig.note_at(
        filled_at,
        "caller c1",
        "it has filled its buffer with other bytes",
    );
    wire.release();
    rig.until("the end of the transfers", LIMIT, || wire.open_transfers() == 0)?;
    let late = wire.passed_after(Some(filled_at));
    let words = format!(
        "no transfer is open; {} bytes have passed since the fill",
        late.bytes
    );
    let ended = rig.note("proxy of c1", words);
    let census = rig.census(caller, buffer, Whose::Caller)?;
    let wrong = census.wrong_bytes();
    let words = format!(
        "{wrong} of {} bytes of the buffer are not the caller's",
        case.size
    );
    let counted = rig.note("memory of c1", words);
    let struck = wire.struck_at();
    if let Some(at) = struck {
        let words = format!("{:?} strikes at byte {} of the payload", case.act, case.at);
        proof.push(rig.note_at(at, "proxy of c1", words));
    }
    Ok(Came {
        word,
        code,
        begun,
        returned,
        is_struck: struck.is_some(),
        // A source that is read shows in what passes; a buffer that is written, in its bytes.
        touched: if case.is_write { late.bytes } else { wrong },
        places: census.places(),
        proof,
        failed,
        filled,
        ended,
        counted,
    })
}

fn tell(form: Natural, case: &Case, came: &Came) -> Told {
    let (word, code, touched) = (came.word, came.code, came.touched);
    let took = came.returned.saturating_sub(came.begun);
    let mut told = Told {
        is_proven: came.is_struck && code < 0,
        is_broken: touched > 0,
        injected: vec![claim(format!("{}.", case.what), &came.proof)],
        ..Told::default()
    };
    told.set(
        "Object",
        format!("k, {} MiB, in one segment of n1", case.size / MIB),
    );
    let returned = format!("{word} returned {code} after {}.", seconds(took));
    let words = format!(
        "{touched} bytes of the buffer were touched after the caller had taken it back and filled it."
    );
    told.found = vec![
        claim(returned, &[came.proof[0], came.failed]),
        claim(words, &[came.filled, came.ended, came.counted]),
    ];
    told.buffers = vec![MeasuredBuffer {
        name: "buffer of c1".to_owned(),
        answer: if touched == 0 {
            MeasuredAnswer::No
        } else {
            MeasuredAnswer::Yes(format!(
                "the transport of c1 moves {touched} bytes: {}",
                came.places
            ))
        },
        rests_on: vec![came.failed, came.filled, came.ended, came.counted],
        sight: SIGHT.to_owned(),
    }];
    told.time("until the operation returned", took);
    told.bytes("touched after that", touched);
    told.demand(code < 0, || {
        format!("{word} returned {code}, and a failure is known")
    });
    let is_known = case.known.is_empty() || case.known.contains(&code);
    told.demand(is_known, || {
        format!("{word} returned {code}, and {:?} is known", case.known)
    });
    let is_in_time = form != Natural::FullStall || took < Duration::from_secs(50);
    told.demand(is_in_time, || {
        format!("it took {}, and about 30 s are known", seconds(took))
    });
    told
}
