//! A write that fails after 60 s, gives its bytes back, and is written on into another object that has them by then.

use super::Natural;
use super::error::NaturalError;
use super::late_read::{LIMIT, TRANSFER_FAIL};
use super::look::{Census, Whose};
use super::rig::{MIB, OBJECT, Rig, get_into, put_from, setup};
use super::told::{Prose, SIGHT, Told, claim, seconds};
use super::wire::{Passed, Wire};
use crate::agent::Command;
use moonquake_net::foreign::{Act, At, Rule};
use moonquake_net::link::Leg;
use moonquake_protocol::Rpc;
use moonquake_scenario::{
    EngineKind, Interrupt, MeasuredAnswer, MeasuredBuffer, MeasuredClaim, MeasuredRun, SeenId, Verdict,
};
use std::time::Duration;

/// So slow that what the kernel has taken ahead is a small part of what is left after 60 s.
const RATE: u64 = 700_000;
/// One object of 64 MiB fits, and no second one beside it.
const SEGMENT: u64 = 80 * MIB;
/// What a read with checksums says of bytes that are not the writer's. Mirrors upstream `ErrorCode::CHECKSUM_MISMATCH`.
const CHECKSUM_MISMATCH: i64 = -801;

const PROSE: Prose = Prose {
    title: "A slow write fails after 60 s, and its stream overwrites the object that has the bytes by then",
    why: "The store gives a transfer up 60 s after it was submitted, cancels nothing, and revokes the put: the master gives the bytes \
        back at once, and to whoever asks next. The stream of the first writer goes on.",
    expected: "Nobody writes into bytes that belong to another object, and a read with success gives what its writer put. After the \
        failure was reported the library leaves the source buffer alone.",
    repair: "In the store: fence or drain a transfer before its put is revoked; at the master, quarantine revoked bytes like those of \
        a writer that died.",
};

const CHECKED: Prose = Prose {
    title: "With MOONCAKE_STORE_CHECKSUM=1 the overwritten object is found by its reader, and still lost",
    why: "A checksum tells the reader that the bytes are not those of the writer. It does not keep the stale stream away from them.",
    ..PROSE
};

/// What was seen, by number, and when.
struct Seen {
    code: i64,
    put: SeenId,
    refilled: SeenId,
    other_put: SeenId,
    read: SeenId,
    counted: SeenId,
    begun: Duration,
    returned: Duration,
    result: i64,
    census: Census,
    is_same_place: bool,
    stream: Stream,
}

/// What the proxy of the writer saw.
struct Stream {
    is_limited: bool,
    /// After the failure.
    late: Passed,
    /// Bytes after the other object was put.
    over_other: u64,
    limited: SeenId,
    revoked: SeenId,
    failed: SeenId,
    passed: SeenId,
}

/// Runs it.
pub(super) fn run(
    engine: EngineKind,
    interrupt: &Interrupt,
    with_checksums: bool,
) -> Result<MeasuredRun, NaturalError> {
    let mut rig = Rig::start(engine, interrupt, with_checksums)?;
    let seen = go(&mut rig)?;
    let mut told = Told::default();
    told.set(
        "Objects",
        "k and other, 64 MiB each; one fits into the segment of n1",
    );
    if with_checksums {
        told.set("MOONCAKE_STORE_CHECKSUM", "1 in every client");
    }
    tell(&mut told, &seen, with_checksums);
    let (form, prose) = if with_checksums {
        (Natural::WriteAfterRevokeChecksum, &CHECKED)
    } else {
        (Natural::WriteAfterRevoke, &PROSE)
    };
    Ok(told.finish(form, rig, prose, Verdict::Violated))
}

fn go(rig: &mut Rig) -> Result<Seen, NaturalError> {
    let (_owner, endpoint) = rig.owner(SEGMENT)?;
    let slow = Rule::new(At::Payload { byte: 0 }, Act::Rate(RATE));
    let slow = slow.map_err(|why| setup("the rule of the proxy", &why.to_string()))?;
    let writer = rig.actor("w1", 0, Some((slow, endpoint)))?;
    writer.fill(OBJECT, Whose::Failed)?;
    writer.register(OBJECT)?;
    let other = rig.actor("w2", 0, None)?;
    let reader = rig.actor("r1", 0, None)?;
    reader.register(OBJECT)?;
    let wire = writer.wire()?;

    let begun = rig.now();
    let ticket = writer.agent.submit(&put_from("k", OBJECT))?;
    let put = rig.note_at(begun, "agent w1", "put_from of 64 MiB under k is called");
    let (code, returned) = rig.answer(&writer, &ticket, LIMIT)?;
    // The caller takes its source back.
    let unregistered = writer.number(&Command::UnregisterBuffer {
        offset: OBJECT.offset,
    })?;
    writer.fill(OBJECT, Whose::Caller)?;
    let words = format!(
        "unregister_buffer returns {unregistered}; the caller has filled its source with other bytes"
    );
    let refilled = rig.note("caller w1", words);
    let place = wire.places().iter().map(|(address, _)| *address).min();
    other.put_all("other", OBJECT, Whose::Other)?;
    let put_at = rig.now();
    let is_same_place = replica_place(&other)? == place;
    let begins = if is_same_place { "where" } else { "elsewhere than" };
    let words = format!("put_from of 64 MiB under other has returned 0; its replica begins {begins} k began");
    let other_put = rig.note_at(put_at, "agent w2", words);
    rig.until("the end of the transfers", LIMIT, || wire.open_transfers() == 0)?;
    let ticket = reader.agent.submit(&get_into("other", OBJECT))?;
    let (result, read_at) = rig.answer(&reader, &ticket, LIMIT)?;
    let read = rig.note_at(read_at, "agent r1", format!("get_into of other returns {result}"));
    let census = rig.census(&reader, OBJECT, Whose::Other)?;
    let counted = rig.note("memory of r1", in_words(&census));
    let stream = Stream::note(rig, wire, (begun, returned, put_at), code);
    Ok(Seen {
        code,
        put,
        refilled,
        other_put,
        read,
        counted,
        begun,
        returned,
        result,
        census,
        is_same_place,
        stream,
    })
}

fn in_words(census: &Census) -> String {
    let (other, failed, caller, unknown) = (census.other, census.failed, census.caller, census.unknown);
    let places = census.places();
    format!(
        "of the bytes read, {other} are of other, {failed} are of k, {caller} are those that w1's caller wrote after its failure, \
         {unknown} are of nobody; not of other: {places}"
    )
}

impl Stream {
    /// Notes what the proxy of the writer saw.
    fn note(
        rig: &mut Rig,
        wire: &Wire,
        (begun, returned, put_at): (Duration, Duration, Duration),
        code: i64,
    ) -> Stream {
        let (all, late) = (wire.passed_after(None), wire.passed_after(Some(returned)));
        let over_other = wire.passed_after(Some(put_at)).bytes;
        let before = all.bytes - late.bytes;
        let struck = wire.struck_at();
        let words = match struck {
            Some(_) => format!("payload is limited to {RATE} bytes/s in all"),
            None => "no payload has come".to_owned(),
        };
        let limited = rig.note_at(struck.unwrap_or(begun), "proxy of w1", words);
        let revoked_at = wire.frame_at(Rpc::PutRevoke, Leg::RequestArrived);
        let words = match revoked_at {
            Some(_) => "PutRevoke of k passes to the master",
            None => "no PutRevoke has come",
        };
        let revoked = rig.note_at(revoked_at.unwrap_or(returned), "proxy of w1", words);
        let words = format!("put_from returns {code}; {before} bytes have passed by then");
        let failed = rig.note_at(returned, "agent w1", words);
        let words = format!(
            "the last payload of k passes to n1: {} bytes since put_from returned, {over_other} since other was put",
            late.bytes
        );
        let passed = rig.note_at(late.last.max(returned), "proxy of w1", words);
        Stream {
            is_limited: struck.is_some(),
            late,
            over_other,
            limited,
            revoked,
            failed,
            passed,
        }
    }
}

/// Where the object that was put lies.
fn replica_place(actor: &super::rig::Actor) -> Result<Option<u64>, NaturalError> {
    let command = Command::GetReplicaDesc {
        key: "other".to_owned(),
    };
    match actor.agent.call(&command)?.outcome {
        crate::agent::Outcome::Replicas(replicas) => Ok(replicas.first().and_then(|replica| replica.address)),
        other => Err(setup("where other lies", &format!("{other:?}"))),
    }
}

fn tell(told: &mut Told, seen: &Seen, with_checksums: bool) {
    let success = i64::try_from(OBJECT.size).unwrap_or(i64::MAX);
    let (stream, wrong, code) = (&seen.stream, seen.census.wrong_bytes(), seen.code);
    let delivered = seen.result == success;
    let over_other = stream.over_other;
    told.is_proven = stream.is_limited && code == TRANSFER_FAIL && over_other > 0;
    told.is_broken = seen.is_same_place && over_other > 0 && (wrong > 0 || !delivered);
    let slow = format!("The payload of w1's write moves with {RATE} bytes/s: slow, and never still.");
    told.injected = vec![claim(slow, &[stream.limited, seen.put])];
    told.found = found(seen, delivered);
    // Also what a read refuses to call a success has come to the reader's buffer.
    told.buffers = vec![overwritten(seen), source(seen, seen.census.unknown == 0)];
    told.bytes(
        "of k's stream that passed to n1 after put_from returned",
        stream.late.bytes,
    );
    told.bytes("of that, after the other object was put", over_other);
    told.time(
        "until put_from returned",
        seen.returned.saturating_sub(seen.begun),
    );
    told.time("from the return to the last payload", seen.last());
    if delivered {
        told.bytes("wrong bytes that a reader got with success", wrong);
        told.bytes(
            "of those, written by w1's caller after the failure",
            seen.census.caller,
        );
    }
    let (known, got) = if with_checksums {
        (CHECKSUM_MISMATCH, seen.result)
    } else {
        (success, seen.result)
    };
    let nobodys = seen.census.unknown;
    told.demand(code == TRANSFER_FAIL, || {
        format!("put_from returned {code}, and -800 is known")
    });
    told.demand(seen.is_same_place, || {
        "the other object lies elsewhere".to_owned()
    });
    told.demand(got == known, || {
        format!("the reader got {got}, and {known} is known")
    });
    told.demand(nobodys == 0 || !delivered, || {
        format!("{nobodys} bytes are of nobody")
    });
}

impl Seen {
    /// Time from the failure to the last payload.
    fn last(&self) -> Duration {
        self.stream.late.last.saturating_sub(self.returned)
    }
}

fn found(seen: &Seen, delivered: bool) -> Vec<MeasuredClaim> {
    let (stream, wrong, object) = (&seen.stream, seen.census.wrong_bytes(), OBJECT.size);
    let took = seconds(seen.returned.saturating_sub(seen.begun));
    let revoked = format!(
        "put_from returned {} after {took}, and the put was revoked.",
        seen.code
    );
    let over = format!(
        "{} bytes of k's stream passed to n1 after that, the last {} after the failure.",
        stream.over_other,
        seconds(seen.last())
    );
    vec![
        claim(revoked, &[seen.put, stream.revoked, stream.failed]),
        claim(
            "Another client's object was put, in the same bytes of n1.",
            &[seen.other_put],
        ),
        claim(over, &[seen.other_put, stream.passed]),
        if delivered {
            let words = format!(
                "A reader got other with success, and {wrong} of its {object} bytes are not what was put."
            );
            claim(words, &[seen.read, seen.counted])
        } else {
            claim(format!("A reader of other got {}.", seen.result), &[seen.read])
        },
    ]
}

/// The answer for the bytes that the object had.
fn overwritten(seen: &Seen) -> MeasuredBuffer {
    let stream = &seen.stream;
    let places = match seen.census.wrong_bytes() {
        0 => String::new(),
        _ => format!(": {}", seen.census.places()),
    };
    MeasuredBuffer {
        name: "range of n1 that k had".to_owned(),
        answer: if stream.over_other == 0 {
            MeasuredAnswer::No
        } else {
            MeasuredAnswer::Yes(format!(
                "the transport of w1 writes {} bytes into other, up to {} after its failure was reported{places}",
                stream.over_other,
                seconds(seen.last()),
            ))
        },
        rests_on: vec![stream.failed, seen.other_put, stream.passed, seen.counted],
        sight: SIGHT.to_owned(),
    }
}

/// The answer for the buffer from which was written.
fn source(seen: &Seen, has_come: bool) -> MeasuredBuffer {
    let late = seen.census.caller;
    let answer = match (has_come, late) {
        (false, _) => MeasuredAnswer::CouldNotSee,
        (true, 0) => MeasuredAnswer::No,
        (true, _) => MeasuredAnswer::Yes(format!(
            "the transport of w1 reads {late} bytes that its caller wrote there after the failure, and sends them to n1: what was \
             read before they were written, or sent ahead, is not among them"
        )),
    };
    MeasuredBuffer {
        name: "source buffer of w1".to_owned(),
        answer,
        rests_on: vec![seen.stream.failed, seen.refilled, seen.counted],
        sight: if has_come {
            "The bytes that came to n1 tell when they were read. Blind: what was read and not sent."
                .to_owned()
        } else {
            "What came to n1 was given to nobody, so nobody could look at it.".to_owned()
        },
    }
}
