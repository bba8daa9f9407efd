//! A read that fails after 60 s and is written on into the caller's buffer.

use super::Natural;
use super::error::NaturalError;
use super::look::Whose;
use super::rig::{MIB, OBJECT, Rig, get_into};
use super::told::{Prose, SIGHT, Told, claim, seconds};
use crate::agent::Command;
use moonquake_net::foreign::{Act, At, Rule};
use moonquake_scenario::{EngineKind, Interrupt, MeasuredAnswer, MeasuredBuffer, MeasuredRun, Verdict};
use std::time::Duration;

/// Slow, and fast enough that the transport always sees progress.
pub(super) const RATE: u64 = 900_000;
/// The result of a transfer that the store has given up. Mirrors upstream `ErrorCode::TRANSFER_FAIL`.
pub(super) const TRANSFER_FAIL: i64 = -800;
/// Real time that a slow operation may take.
pub(super) const LIMIT: Duration = Duration::from_secs(150);

const PROSE: Prose = Prose {
    title: "A slow read fails after 60 s, and the library writes on into the caller's buffer",
    why: "The store gives a transfer up 60 s after it was submitted, and cancels nothing. The transport itself closes only after 30 s \
        without any progress. A caller who was told of the failure takes its buffer back and uses it for something else.",
    expected: "After the failure was reported, and all the more after the buffer was unregistered, the library leaves the buffer alone.",
    repair: "In the store: fence or drain a transfer before its failure is reported, or close its connections. Until then a caller \
        must not use a buffer again after -800 until its client is closed.",
};

/// Runs it.
pub(super) fn run(engine: EngineKind, interrupt: &Interrupt) -> Result<MeasuredRun, NaturalError> {
    let mut rig = Rig::start(engine, interrupt, false)?;
    let mut told = Told::default();
    let (_owner, endpoint) = rig.owner(128 * MIB)?;
    let writer = rig.actor("w1", 0, None)?;
    writer.put_all("k", OBJECT, Whose::Failed)?;
    let put = rig.note("agent w1", "put_from of 64 MiB under k has returned 0");
    let slow = Rule::new(At::Payload { byte: 0 }, Act::Rate(RATE))
        .map_err(|why| super::rig::setup("the rule of the proxy", &why.to_string()))?;
    let reader = rig.actor("r1", 0, Some((slow, endpoint)))?;
    reader.register(OBJECT)?;
    let wire = reader.wire()?;

    let begun = rig.now();
    let ticket = reader.agent.submit(&get_into("k", OBJECT))?;
    let call = rig.note_at(
        begun,
        "agent r1",
        "get_into of k into its buffer of 64 MiB is called",
    );
    let (code, returned) = rig.answer(&reader, &ticket, LIMIT)?;
    let unregistered = reader.number(&Command::UnregisterBuffer {
        offset: OBJECT.offset,
    })?;
    let freed_at = rig.now();
    reader.fill(OBJECT, Whose::Caller)?;
    let filled_at = rig.now();
    rig.until("the end of the transfers", LIMIT, || wire.open_transfers() == 0)?;
    let census = rig.census(&reader, OBJECT, Whose::Caller)?;
    let looked_at = rig.now();

    let struck = wire.struck_at();
    let all = wire.passed_after(None);
    let late = wire.passed_after(Some(returned));
    let after_fill = wire.passed_after(Some(filled_at));
    let limited = rig.note_at(
        struck.unwrap_or_default(),
        "proxy of r1",
        format!("payload is limited to {RATE} bytes/s in all"),
    );
    let failed = rig.note_at(
        returned,
        "agent r1",
        format!(
            "get_into returns {code}; {} bytes have passed by then",
            all.bytes - late.bytes
        ),
    );
    let freed = rig.note_at(
        freed_at,
        "agent r1",
        format!("unregister_buffer returns {unregistered}"),
    );
    let filled = rig.note_at(
        filled_at,
        "caller r1",
        "it has filled its buffer with other bytes",
    );
    let passed = rig.note_at(
        late.last,
        "proxy of r1",
        format!(
            "the last payload passes: {} bytes since get_into returned, {} since the buffer was filled",
            late.bytes, after_fill.bytes
        ),
    );
    let counted = rig.note_at(
        looked_at,
        "memory of r1",
        format!(
            "{} bytes of the buffer are the caller's, {} are of k, {} of nobody; not the caller's: {}",
            census.caller,
            census.failed,
            census.unknown,
            census.places()
        ),
    );

    told.set("Object", "k, 64 MiB, in one segment of n1");
    told.set(
        "Flags of the store",
        "none; its limit of a transfer is fixed at 60 s",
    );
    told.is_proven = struck.is_some() && code == TRANSFER_FAIL && late.bytes > 0;
    told.is_broken = census.wrong_bytes() > 0;
    told.injected = vec![claim(
        format!("The payload of r1's read moves with {RATE} bytes/s: slow, and never still."),
        &[limited, call],
    )];
    told.found = vec![
        claim(
            format!("get_into returned {code} after {}.", seconds(returned - begun)),
            &[call, failed],
        ),
        claim(
            format!(
                "unregister_buffer returned {unregistered}, and the caller filled the buffer with other bytes."
            ),
            &[freed, filled],
        ),
        claim(
            format!(
                "{} bytes passed to r1 after the return, the last {} later.",
                late.bytes,
                seconds(late.last.saturating_sub(returned))
            ),
            &[failed, passed],
        ),
        claim(
            format!(
                "{} bytes of k lie in the buffer that the caller has taken back and filled.",
                census.wrong_bytes()
            ),
            &[put, filled, counted],
        ),
    ];
    told.buffers = vec![MeasuredBuffer {
        name: "buffer of r1".to_owned(),
        answer: if census.wrong_bytes() == 0 {
            MeasuredAnswer::No
        } else {
            MeasuredAnswer::Yes(format!(
                "the transport of r1 writes {} bytes of k between {} and {} after the failure was reported: {}",
                census.wrong_bytes(),
                seconds(filled_at - returned),
                seconds(late.last.saturating_sub(returned)),
                census.places(),
            ))
        },
        rests_on: vec![failed, filled, passed, counted],
        sight: SIGHT.to_owned(),
    }];
    told.bytes(
        "written into the buffer after it was unregistered and filled",
        census.wrong_bytes(),
    );
    told.bytes("passed to r1 after get_into returned", late.bytes);
    told.bytes("passed before", all.bytes - late.bytes);
    told.time("until get_into returned", returned - begun);
    told.time(
        "from the return to the last payload",
        late.last.saturating_sub(returned),
    );
    told.demand(code == TRANSFER_FAIL, || {
        format!("get_into returned {code}, and -800 is known")
    });
    told.demand(unregistered == 0, || {
        format!("unregister_buffer returned {unregistered}, and 0 is known")
    });
    told.demand(census.unknown + census.other == 0, || {
        format!("{} bytes are of nobody", census.unknown)
    });
    drop(reader);
    Ok(told.finish(Natural::ReadAfterFailure, rig, &PROSE, Verdict::Violated))
}
