//! A read that fails after 60 s and is written on into the caller's buffer.

use super::Natural;
use super::error::NaturalError;
use super::look::{Census, Whose};
use super::rig::{MIB, OBJECT, Rig, get_into, setup};
use super::told::{Prose, SIGHT, Told, claim, seconds};
use super::wire::Passed;
use crate::agent::Command;
use moonquake_net::foreign::{Act, At, Rule};
use moonquake_scenario::{
    EngineKind, Interrupt, MeasuredAnswer, MeasuredBuffer, MeasuredRun, SeenId, Verdict,
};
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

/// What came.
struct Came {
    code: i64,
    unregistered: i64,
    begun: Duration,
    returned: Duration,
    filled_at: Duration,
    is_struck: bool,
    all: Passed,
    late: Passed,
    census: Census,
    ids: Ids,
}

/// What was seen, by number.
struct Ids {
    put: SeenId,
    call: SeenId,
    limited: SeenId,
    failed: SeenId,
    freed: SeenId,
    filled: SeenId,
    passed: SeenId,
    counted: SeenId,
}

/// Runs it.
pub(super) fn run(engine: EngineKind, interrupt: &Interrupt) -> Result<MeasuredRun, NaturalError> {
    let mut rig = Rig::start(engine, interrupt, false)?;
    let came = go(&mut rig)?;
    Ok(tell(&came).finish(Natural::ReadAfterFailure, rig, &PROSE, Verdict::Violated))
}

fn go(rig: &mut Rig) -> Result<Came, NaturalError> {
    let (_owner, endpoint) = rig.owner(128 * MIB)?;
    let writer = rig.actor("w1", 0, None)?;
    writer.put_all("k", OBJECT, Whose::Failed)?;
    let put = rig.note("agent w1", "put_from of 64 MiB under k has returned 0");
    let slow = Rule::new(At::Payload { byte: 0 }, Act::Rate(RATE));
    let slow = slow.map_err(|why| setup("the rule of the proxy", &why.to_string()))?;
    let reader = rig.actor("r1", 0, Some((slow, endpoint)))?;
    reader.register(OBJECT)?;
    let wire = reader.wire()?;

    let begun = rig.now();
    let ticket = reader.agent.submit(&get_into("k", OBJECT))?;
    let words = "get_into of k into its buffer of 64 MiB is called";
    let call = rig.note_at(begun, "agent r1", words);
    let (code, returned) = rig.answer(&reader, &ticket, LIMIT)?;
    let unregistered = reader.number(&Command::UnregisterBuffer {
        offset: OBJECT.offset,
    })?;
    let freed = rig.note("agent r1", format!("unregister_buffer returns {unregistered}"));
    reader.fill(OBJECT, Whose::Caller)?;
    let filled_at = rig.now();
    let words = "it has filled its buffer with other bytes";
    let filled = rig.note_at(filled_at, "caller r1", words);
    rig.until("the end of the transfers", LIMIT, || wire.open_transfers() == 0)?;
    let census = rig.census(&reader, OBJECT, Whose::Caller)?;
    let counted = rig.note("memory of r1", in_words(&census));

    let struck = wire.struck_at();
    let (all, late) = (wire.passed_after(None), wire.passed_after(Some(returned)));
    let after_fill = wire.passed_after(Some(filled_at)).bytes;
    let before = all.bytes - late.bytes;
    let words = match struck {
        Some(_) => format!("payload is limited to {RATE} bytes/s in all"),
        None => "no payload has come".to_owned(),
    };
    let limited = rig.note_at(struck.unwrap_or(begun), "proxy of r1", words);
    let words = format!("get_into returns {code}; {before} bytes have passed by then");
    let failed = rig.note_at(returned, "agent r1", words);
    let words = format!(
        "the last payload passes: {} bytes since get_into returned, {after_fill} since the buffer was filled",
        late.bytes
    );
    let passed = rig.note_at(late.last.max(returned), "proxy of r1", words);
    Ok(Came {
        code,
        unregistered,
        begun,
        returned,
        filled_at,
        is_struck: struck.is_some(),
        all,
        late,
        census,
        ids: Ids {
            put,
            call,
            limited,
            failed,
            freed,
            filled,
            passed,
            counted,
        },
    })
}

fn in_words(census: &Census) -> String {
    let (caller, failed, unknown) = (census.caller, census.failed, census.unknown);
    let places = census.places();
    format!(
        "{caller} bytes of the buffer are the caller's, {failed} are of k, {unknown} of nobody; not the caller's: {places}"
    )
}

fn tell(came: &Came) -> Told {
    let mut told = Told::default();
    let (ids, code, late) = (&came.ids, came.code, came.late.bytes);
    let wrong = came.census.wrong_bytes();
    let took = came.returned.saturating_sub(came.begun);
    let last = came.late.last.saturating_sub(came.returned);
    told.set("Object", "k, 64 MiB, in one segment of n1");
    told.set(
        "Flags of the store",
        "none; its limit of a transfer is fixed at 60 s",
    );
    told.is_proven = came.is_struck && code == TRANSFER_FAIL && late > 0;
    told.is_broken = wrong > 0;
    let slow = format!("The payload of r1's read moves with {RATE} bytes/s: slow, and never still.");
    told.injected = vec![claim(slow, &[ids.limited, ids.call])];
    let returned = format!("get_into returned {code} after {}.", seconds(took));
    let freed = format!(
        "unregister_buffer returned {}, and the caller filled the buffer with other bytes.",
        came.unregistered
    );
    let passed = format!(
        "{late} bytes passed to r1 after the return, the last {} later.",
        seconds(last)
    );
    let written = format!("{wrong} bytes of k lie in the buffer that the caller has taken back and filled.");
    told.found = vec![
        claim(returned, &[ids.call, ids.failed]),
        claim(freed, &[ids.freed, ids.filled]),
        claim(passed, &[ids.failed, ids.passed]),
        claim(written, &[ids.put, ids.filled, ids.counted]),
    ];
    told.buffers = vec![answer(came, wrong, last)];
    told.bytes(
        "written into the buffer after it was unregistered and filled",
        wrong,
    );
    told.bytes("passed to r1 after get_into returned", late);
    told.bytes("passed before", came.all.bytes - late);
    told.time("until get_into returned", took);
    told.time("from the return to the last payload", last);
    told.demand(code == TRANSFER_FAIL, || {
        format!("get_into returned {code}, and -800 is known")
    });
    let unregistered = came.unregistered;
    told.demand(unregistered == 0, || {
        format!("unregister_buffer returned {unregistered}, and 0 is known")
    });
    let nobodys = came.census.unknown + came.census.other;
    told.demand(nobodys == 0, || format!("{nobodys} bytes are of nobody"));
    told
}

fn answer(came: &Came, wrong: u64, last: Duration) -> MeasuredBuffer {
    let ids = &came.ids;
    let since = seconds(came.filled_at.saturating_sub(came.returned));
    let (until, places) = (seconds(last), came.census.places());
    MeasuredBuffer {
        name: "buffer of r1".to_owned(),
        answer: if wrong == 0 {
            MeasuredAnswer::No
        } else {
            MeasuredAnswer::Yes(format!(
                "the transport of r1 writes {wrong} bytes of k between {since} and {until} after the failure was reported: {places}"
            ))
        },
        rests_on: vec![ids.failed, ids.filled, ids.passed, ids.counted],
        sight: SIGHT.to_owned(),
    }
}
