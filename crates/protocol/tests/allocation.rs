//! No message makes its reader hold more than a small multiple of what arrived, whatever lengths it claims.
//!
//! One test in its own process: the allocator counts for all threads.

use moonquake_protocol::frame::{FrameDecoder, Header, RequestHeader, ResponseHeader};
use moonquake_protocol::handshake::HandshakeDecoder;
use moonquake_protocol::strategies::{request_of, response_of};
use moonquake_protocol::struct_pack::{DynamicMessage, Type};
use moonquake_protocol::{Literal, Request, Response, Rpc, TypeTag};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Bytes of heap per byte of message: a text of no bytes takes one byte on the wire and 24 in memory.
const TYPED_FACTOR: usize = 32;
/// At most 4 values per byte of message, 32 bytes each, and the vector that holds them grows by doubling, so that
/// for a moment there are three times as many.
const DYNAMIC_FACTOR: usize = 4 * 32 * 3;
/// For what does not depend on the message: errors, the types of a short literal.
const FIXED_BYTES: usize = 8 << 10;

/// The most heap that was in use above the level before.
fn peak_bytes(run: impl FnOnce()) -> usize {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    run();
    HEAP.peak_usage().saturating_sub(before)
}

fn assert_bounded(what: &str, message: &[u8], factor: usize, run: impl FnOnce()) {
    let (peak, limit) = (peak_bytes(run), message.len() * factor + FIXED_BYTES);
    assert!(
        peak <= limit,
        "{what}: {} bytes made it hold {peak}, more than {limit}",
        message.len()
    );
}

/// A message of that type whose value is `value`, with lengths of `8 << width_bits` bits.
fn message(tag: &TypeTag, width_bits: u8, value: &[u8]) -> Vec<u8> {
    let hash = (tag.hash() | 1).to_le_bytes();
    [&hash[..], &[width_bits << 3 | 0b100], tag.literal(), &[0], value].concat()
}

fn read_typed_and_dynamic(what: &str, rpc: Rpc, tag: &TypeTag, body: &[u8], is_request: bool) {
    assert_bounded(what, body, TYPED_FACTOR, || {
        if is_request {
            drop(Request::decode(rpc, body))
        } else {
            drop(Response::decode(rpc, body))
        }
    });
    let ty = Type::parse(tag.literal()).unwrap();
    assert_bounded(what, body, DYNAMIC_FACTOR, || {
        drop(DynamicMessage::decode_as(body, &ty))
    });
}

/// The two messages of each method, as tag and whether it is the request.
fn types_of(rpc: Rpc) -> impl Iterator<Item = (&'static TypeTag, bool)> {
    rpc.request_type()
        .map(|tag| (tag, true))
        .into_iter()
        .chain([(rpc.response_type(), false)])
}

/// Every container claims as much as its length can say.
fn claimed_lengths() {
    for &rpc in Rpc::ALL {
        for (tag, is_request) in types_of(rpc) {
            for width_bits in 0..4 {
                for value in [
                    vec![0xff; 64],
                    vec![1; 64],
                    [vec![1], vec![0xff; 64]].concat(),
                    vec![0xff; 4096],
                ] {
                    let body = message(tag, width_bits, &value);
                    read_typed_and_dynamic("claimed lengths", rpc, tag, &body, is_request);
                }
            }
        }
    }
}

/// The cheapest items there are, as many as possible: values of zeros and ones behind a count that fits.
fn cheap_items() {
    const ITEMS: u32 = 50_000;
    for &rpc in Rpc::ALL {
        for (tag, is_request) in types_of(rpc) {
            for (flag, fill) in [(&[][..], 0), (&[], 1), (&[1], 0), (&[1], 1)] {
                let value = [flag, &ITEMS.to_le_bytes(), &vec![fill; 4 * ITEMS as usize]].concat();
                let body = message(tag, 2, &value);
                read_typed_and_dynamic("cheap items", rpc, tag, &body, is_request);
            }
        }
    }
}

/// What arrives in good faith stays within the same bound.
fn honest_messages() {
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    for &rpc in Rpc::ALL {
        for _ in 0..8 {
            let request = request_of(rpc).new_tree(&mut runner).unwrap().current();
            let mut body = Vec::new();
            request.encode_into(&mut body, Literal::Without);
            assert_bounded("an honest request", &body, TYPED_FACTOR, || {
                drop(Request::decode(rpc, &body))
            });
            let response = response_of(rpc).new_tree(&mut runner).unwrap().current();
            let mut body = Vec::new();
            response.encode_into(&mut body, Literal::Without);
            assert_bounded("an honest response", &body, TYPED_FACTOR, || {
                drop(Response::decode(rpc, &body))
            });
        }
    }
}

/// Types that say much with few bytes.
fn hostile_types() {
    let deep = |code: u8, end: &[u8]| [&[code; 60][..], &[0x06], end].concat();
    let wide_void = [&[0x84, 0xfd][..], &[0xfa; 500], &[0xff]].concat();
    let literals: [&[u8]; 10] = [
        &[0x84, 0xfa],
        &[0x83, 0xfd, 0xff],
        &[0x82, 0xfa, 0xfd, 0xff],
        &[0x81, 0xfa, 1, 1, 1, 1, 1, 1, 1, 130],
        &[0x81, 0x81, 0xfa, 1, 1, 1, 130, 1, 1, 1, 130],
        &[0x81, 0x04, 1, 1, 1, 1, 1, 1, 1, 130],
        &[
            0x84, 0xfd, 0x81, 0xfd, 0x04, 0x89, 0x89, 0xff, 1, 1, 1, 1, 1, 1, 130, 0x89, 0x89, 0xff,
        ],
        &[0xfd, 0x84, 0xfb, 0x81, 0xff],
        &wide_void,
        &[&[0x84][..], &deep(0xfd, &[0xff; 60])].concat(),
    ];
    for literal in literals
        .into_iter()
        .chain([&deep(0x84, &[])[..], &deep(0x85, &[])])
    {
        let tag = TypeTag::new(literal.to_vec());
        for width_bits in 0..4 {
            for value in [
                vec![0xff; 64],
                vec![1; 256],
                vec![0; 256],
                [vec![0, 1], vec![0; 254]].concat(),
            ] {
                let body = message(&tag, width_bits, &value);
                let what = format!("literal {literal:02x?}");
                assert_bounded(&what, &body, DYNAMIC_FACTOR, || {
                    drop(DynamicMessage::decode(&body))
                });
            }
        }
    }
    for code in [0x84, 0x86, 0xfd, 0x01] {
        let literal = vec![code; 4096];
        assert_bounded("a long literal", &literal, DYNAMIC_FACTOR, || {
            drop(Type::parse(&literal))
        });
        let wide = [&[0xfd], &literal[..], &[0xff]].concat();
        assert_bounded("a wide literal", &wide, DYNAMIC_FACTOR, || {
            drop(Type::parse(&wide))
        });
    }
}

/// A header alone allocates nothing for what it announces, neither below the limit nor above it.
fn announced_frames() {
    fn feed<H: Header>(header: &[u8], more: usize, fails: bool) {
        let arrived = [header, &vec![7; more]].concat();
        assert_bounded("an announced frame", &arrived, 4, || {
            let mut decoder = FrameDecoder::<H>::new();
            for piece in arrived.chunks(1000) {
                decoder.feed(piece);
                assert_eq!(
                    decoder.next_frame().is_err(),
                    fails && decoder.pending_bytes() == 0
                );
            }
            assert_eq!(decoder.next_frame().is_err(), fails);
        });
    }
    for (body_bytes, fails) in [(60 << 20, false), (4_000_000_000, true), (u32::MAX, true)] {
        for more in [0, 100_000] {
            feed::<RequestHeader>(
                &RequestHeader {
                    body_bytes,
                    ..Default::default()
                }
                .to_bytes(),
                more,
                fails,
            );
            feed::<ResponseHeader>(
                &ResponseHeader {
                    body_bytes,
                    ..Default::default()
                }
                .to_bytes(),
                more,
                fails,
            );
        }
    }
    for (length, fails) in [(1_u64 << 20, false), (4_000_000_000, true), (u64::MAX, true)] {
        let arrived = [&length.to_le_bytes()[..], &[1; 100]].concat();
        assert_bounded("an announced handshake", &arrived, 4, || {
            let mut decoder = HandshakeDecoder::new();
            decoder.feed(&arrived);
            assert_eq!(decoder.next_message().is_err(), fails);
        });
    }
}

/// A stream whose pieces never end where a frame does: what was handed out is not kept.
fn endless_stream() {
    let header = RequestHeader {
        body_bytes: 1000,
        ..Default::default()
    };
    let stream = [&header.to_bytes()[..], &[0; 1000]].concat().repeat(4000);
    let mut frames = 0;
    let peak = peak_bytes(|| {
        let mut decoder = FrameDecoder::<RequestHeader>::new();
        for piece in stream.chunks(1021) {
            decoder.feed(piece);
            while decoder.next_frame().unwrap().is_some() {
                frames += 1;
            }
        }
    });
    assert_eq!(frames, 4000);
    assert!(
        peak <= 256 << 10,
        "{} bytes passed through and {peak} were held",
        stream.len()
    );
}

#[test]
fn heap_stays_within_a_small_multiple_of_what_arrived() {
    // The counter counts: without this a broken allocator would make the test pass.
    assert!(peak_bytes(|| drop(vec![0_u8; 1 << 20])) >= 1 << 20);
    // Computed once and kept: ids, literals, hashes.
    assert_ne!(Rpc::Ping.function_id(), 0);
    claimed_lengths();
    cheap_items();
    honest_messages();
    hostile_types();
    announced_frames();
    endless_stream();
}
