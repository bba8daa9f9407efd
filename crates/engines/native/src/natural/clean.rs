//! Failures after which nothing is touched.

use super::Natural;
use super::error::NaturalError;
use super::late_read::{LIMIT, RATE, TRANSFER_FAIL};
use super::look::Whose;
use super::rig::{MIB, OBJECT, Rig, get_into, put_from, setup};
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
    let wire = caller.wire()?;
    let (word, command) = if case.is_write {
        caller.fill(buffer, Whose::Failed)?;
        ("put_from", put_from("k", buffer))
    } else {
        ("get_into", get_into("k", buffer))
    };
    let begun = rig.now();
    let ticket = caller.agent.submit(&command)?;
    let mut proof: Vec<SeenId> = vec![rig.note_at(
        begun,
        "agent c1",
        format!("{word} of {} bytes is called", case.size),
    )];
    if matches!(form, Natural::OwnerKilled | Natural::MasterKilled) {
        rig.until("4 MiB of payload", LIMIT, || {
            wire.passed_after(None).bytes >= 4 * MIB
        })?;
        proof.push(if form == Natural::OwnerKilled {
            let status = owner.agent.kill()?;
            rig.note("process of n1", format!("it is gone: {status}"))
        } else {
            rig.kill_master()?
        });
    }
    let (code, returned) = rig.answer(&caller, &ticket, LIMIT)?;
    let moving = wire.open_transfers();
    let failed = rig.note_at(
        returned,
        "agent c1",
        format!(
            "{word} returns {code}; {} transfers are open at the proxy",
            moving
        ),
    );
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
    let ended = rig.note("proxy of c1", "no transfer is open");
    let census = rig.census(&caller, buffer, Whose::Caller)?;
    let late = wire.passed_after(Some(filled_at));
    let counted = rig.note(
        "memory of c1",
        format!(
            "{} of {} bytes of the buffer are not the caller's",
            census.wrong_bytes(),
            case.size
        ),
    );
    let struck = wire.struck_at();
    proof.push(rig.note_at(
        struck.unwrap_or_default(),
        "proxy of c1",
        format!("{:?} strikes at byte {} of the payload", case.act, case.at),
    ));

    // A source that is read shows in what passes; a buffer that is written, in its bytes.
    let touched = if case.is_write {
        late.bytes
    } else {
        census.wrong_bytes()
    };
    let mut told = Told {
        is_proven: struck.is_some() && code < 0,
        is_broken: touched > 0,
        injected: vec![claim(format!("{}.", case.what), &proof)],
        ..Told::default()
    };
    told.set(
        "Object",
        format!("k, {} MiB, in one segment of n1", case.size / MIB),
    );
    told.found = vec![
        claim(
            format!("{word} returned {code} after {}.", seconds(returned - begun)),
            &[proof[0], failed],
        ),
        claim(
            format!(
                "{touched} bytes of the buffer were touched after the caller had taken it back and filled it."
            ),
            &[filled, ended, counted],
        ),
    ];
    told.buffers = vec![MeasuredBuffer {
        name: "buffer of c1".to_owned(),
        answer: if touched == 0 {
            MeasuredAnswer::No
        } else {
            MeasuredAnswer::Yes(format!(
                "the transport of c1 moves {touched} bytes: {}",
                census.places()
            ))
        },
        rests_on: vec![failed, filled, ended, counted],
        sight: SIGHT.to_owned(),
    }];
    told.time("until the operation returned", returned - begun);
    told.bytes("touched after that", touched);
    told.demand(code < 0, || {
        format!("{word} returned {code}, and a failure is known")
    });
    told.demand(case.known.is_empty() || case.known.contains(&code), || {
        format!("{word} returned {code}, and {:?} is known", case.known)
    });
    if form == Natural::FullStall {
        let took = returned - begun;
        told.demand(took < Duration::from_secs(50), || {
            format!("it took {}, and about 30 s are known", seconds(took))
        });
    }
    Ok(told.finish(form, rig, &case.prose, Verdict::Holds))
}
