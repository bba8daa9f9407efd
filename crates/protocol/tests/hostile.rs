//! No input panics, whatever it is made of.

mod common;

use moonquake_protocol::datapath::{DataHeader, DataStatus};
use moonquake_protocol::fingerprint::probes;
use moonquake_protocol::frame::{
    FrameDecoder, Header, RequestHeader, ResponseHeader, decode_request, decode_response,
};
use moonquake_protocol::handshake::{HandshakeDecoder, SegmentDescriptor};
use moonquake_protocol::struct_pack::{DecodeError, DynamicMessage, Type, decode_message};
use moonquake_protocol::{Request, Response, Rpc, TypeTag, Uuid};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// All frames of the captures: material to damage.
fn golden_frames() -> Vec<Vec<u8>> {
    let files = ["golden-frames.jsonl", "golden-frames-extra.jsonl"];
    files
        .iter()
        .flat_map(|file| common::lines(file))
        .map(|line| common::bytes_of(&line, "hex"))
        .collect()
}

/// One thing that can happen to bytes.
#[derive(Clone, Debug)]
enum Damage {
    Set(prop::sample::Index, u8),
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (
            at(),
            prop_oneof![Just(0), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()]
        )
            .prop_map(|(at, value)| Damage::Set(at, value)),
        (at(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        at().prop_map(Damage::Cut),
        (at(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at(), 1_u8..9).prop_map(|(at, count)| Damage::Remove(at, count)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
        if bytes.is_empty() {
            break;
        }
        let length = bytes.len();
        match damage {
            Damage::Set(at, value) => bytes[at.index(length)] = *value,
            Damage::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Damage::Cut(at) => bytes.truncate(at.index(length)),
            Damage::Insert(at, more) => drop(bytes.splice(at.index(length)..at.index(length), more.clone())),
            Damage::Remove(at, count) => {
                let start = at.index(length);
                bytes.drain(start..(start + usize::from(*count)).min(length));
            }
        }
    }
    bytes
}

/// Everything that reads bytes reads these.
fn read_all_ways(bytes: &[u8]) {
    read_frames::<RequestHeader>(bytes, |header, body| drop(decode_request(header, body)));
    read_frames::<ResponseHeader>(bytes, |header, body| {
        for &rpc in Rpc::ALL {
            let _ = decode_response(rpc, header, body);
        }
        for probe in probes(Uuid::new(1, 2)) {
            let _ = probe.judge(header, body);
        }
    });
    read_body(bytes);
    let mut handshake = HandshakeDecoder::new();
    handshake.feed(bytes);
    while let Ok(Some(message)) = handshake.next_message() {
        let _ = SegmentDescriptor::from_json(&message.json);
    }
    if let Some(header) = bytes.first_chunk() {
        let header = DataHeader::from_bytes(header);
        assert_eq!(DataHeader::from_bytes(&header.to_bytes()), header);
    }
    if let Some(status) = bytes.first_chunk() {
        let _ = DataStatus::from_bytes(status);
    }
}

fn read_frames<H: Header>(bytes: &[u8], read: impl Fn(&H, &[u8])) {
    let mut decoder = FrameDecoder::<H>::new();
    decoder.feed(bytes);
    while let Ok(Some(frame)) = decoder.next_frame() {
        read(&frame.header, &frame.body);
        read_body(&frame.body);
    }
}

/// What can be read can be written, and reads the same again.
fn read_body(body: &[u8]) {
    if let Ok(message) = DynamicMessage::decode(body) {
        let again = message.encode().expect("a value that was read fits its type");
        // Compared as text: a NaN is not equal to itself.
        let second = DynamicMessage::decode(&again).expect("what was written can be read");
        assert_eq!(format!("{:?}", second.value), format!("{:?}", message.value));
    }
    if let Ok(ty) = Type::parse(body) {
        assert_eq!(ty.literal(), body);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read_all_ways(&bytes);
    }

    #[test]
    fn damaged_frames(
        frame in prop::sample::select(golden_frames()),
        damages in prop::collection::vec(damage(), 1..5),
    ) {
        read_all_ways(&damaged(frame, &damages));
    }

    /// With the right hash in front every byte of the value is reached.
    #[test]
    fn random_values_of_the_right_type(
        rpc in any::<Rpc>(),
        width in 0_u8..4,
        value in prop::collection::vec(prop_oneof![3 => 0_u8..3, 1 => any::<u8>()], 0..200),
    ) {
        let typed = |tag: &TypeTag| {
            let mut body = (tag.hash() | 1).to_le_bytes().to_vec();
            body.push(width << 3);
            body.extend_from_slice(&value);
            let ty = Type::parse(tag.literal()).unwrap();
            (DynamicMessage::decode_as(&body, &ty).is_ok(), body)
        };
        if let Some(tag) = rpc.request_type() {
            let (dynamic_reads, body) = typed(tag);
            compare(dynamic_reads, Request::decode(rpc, &body).err())?;
        }
        let (dynamic_reads, body) = typed(rpc.response_type());
        compare(dynamic_reads, Response::decode(rpc, &body).err())?;
    }

    /// Literals made of the bytes that mean something.
    #[test]
    fn literals(literal in prop::collection::vec(
        prop::sample::select(&b"\x01\x04\x06\x0b\x0c\x12\x16\x80\x81\x82\x83\x84\x85\x86\x87\x89\xfa\xfb\xfd\xff\xff"[..]),
        1..24,
    ), value in prop::collection::vec(0_u8..3, 0..64)) {
        if let Ok(ty) = Type::parse(&literal) {
            prop_assert_eq!(&ty.literal(), &literal);
            let body = [&ty.tag().hash().to_le_bytes()[..], &value].concat();
            if let Ok(message) = DynamicMessage::decode_as(&body, &ty) {
                let again = message.encode().unwrap();
                prop_assert!(body.starts_with(&again) || ty_has_padding_or_varints(&literal));
            }
        }
    }
}

/// Padding is written as zeros and a varint without superfluous digits, so bytes may differ there.
fn ty_has_padding_or_varints(literal: &[u8]) -> bool {
    literal
        .iter()
        .any(|code| [0x16, 0x81, 0x82, 0x85, 0x89].contains(code))
}

/// Typed and dynamic halves agree, except that typed texts are UTF-8 and that the dynamic half limits the number of
/// values.
fn compare(dynamic_reads: bool, typed: Option<DecodeError>) -> Result<(), TestCaseError> {
    match typed {
        None => prop_assert!(dynamic_reads, "only the typed half reads it"),
        Some(DecodeError::NotUtf8 { .. }) => {}
        Some(error) => prop_assert!(!dynamic_reads, "only the dynamic half reads it: {error}"),
    }
    Ok(())
}

#[test]
fn the_first_wrong_byte_is_named() {
    let body = [
        &TypeTag::of::<Vec<String>>().hash().to_le_bytes()[..],
        &[2, 1, b'a', 9, b'b'],
    ]
    .concat();
    let error = decode_message::<Vec<String>>(&body).unwrap_err();
    assert_eq!(
        error,
        DecodeError::Count {
            offset: 8,
            what: "text",
            count: 9,
            left: 1
        }
    );
    assert_eq!(
        error.to_string(),
        "at byte 8: a text claims 9 items, but only 1 bytes are left"
    );

    let other = decode_message::<Vec<u64>>(&body).unwrap_err();
    assert_eq!(
        other.to_string(),
        "at byte 0: the type hash is 8a86e11a, this type has 50f67092"
    );

    let mut literal = (TypeTag::of::<bool>().hash() | 1).to_le_bytes().to_vec();
    literal.extend([0b100, 0x0c, 0, 1]);
    let wrong = decode_message::<bool>(&literal).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "at byte 5: the type literal is 0c, this type has 0b"
    );
    literal[5] = 0x0b;
    assert_eq!(decode_message::<bool>(&literal), Ok(true));
    literal[7] = 2;
    let flag = decode_message::<bool>(&literal).unwrap_err();
    assert_eq!(
        flag,
        DecodeError::Flag {
            offset: 7,
            what: "a bool",
            value: 2
        }
    );
    literal.truncate(6);
    assert_eq!(
        decode_message::<bool>(&literal),
        Err(DecodeError::LiteralEnd { offset: 5 })
    );
}

/// A count that nothing stands behind: the items take no byte each.
#[test]
fn items_without_size_are_counted() {
    let vector_of_void = |count: u8| [&[0x84, 0xfa, 0][..], &[count]].concat();
    let tag = TypeTag::new(vec![0x84, 0xfa]);
    let message = |count| {
        [
            &(tag.hash() | 1).to_le_bytes()[..],
            &[0b100],
            &vector_of_void(count),
        ]
        .concat()
    };
    let few = DynamicMessage::decode(&message(60)).unwrap();
    assert_eq!(few.encode().unwrap(), message(60));
    let many = DynamicMessage::decode(&message(255)).unwrap_err();
    assert_eq!(
        many,
        DecodeError::TooManyValues {
            offset: 9,
            limit: 100
        }
    );
}

/// A message of that type with lengths of one byte.
fn described(literal: &[u8], value: &[u8]) -> Vec<u8> {
    let hash = (TypeTag::new(literal.to_vec()).hash() | 1).to_le_bytes();
    [&hash[..], &[0b100], literal, &[0], value].concat()
}

#[test]
fn recursive_types_end_somewhere() {
    // A struct that holds a list of itself, one inside the other.
    let list_of_itself = [0xfd, 0x84, 0xfb, 0x81, 0xff];
    let nested = |levels: usize| described(&list_of_itself, &[&vec![1; levels][..], &[0]].concat());
    let shallow = DynamicMessage::decode(&nested(15)).unwrap();
    assert_eq!(shallow.encode().unwrap(), nested(15));
    for levels in [100, 100_000] {
        assert!(matches!(
            DynamicMessage::decode(&nested(levels)),
            Err(DecodeError::TooDeep { limit: 64, .. })
        ));
    }
    // A struct that holds itself has no end at all.
    let itself = described(&[0xfd, 0xfd, 0xfb, 0x81, 0xff, 0xff], &[0; 64]);
    assert!(matches!(
        DynamicMessage::decode(&itself),
        Err(DecodeError::TooDeep { .. })
    ));
}

#[test]
fn varints_are_no_longer_than_their_type() {
    for (code, most, too_much) in [
        (
            0x16,
            &[0xff, 0xff, 0xff, 0xff, 0x0f][..],
            &[0xff, 0xff, 0xff, 0xff, 0x10][..],
        ),
        (
            0x14,
            &[0xff, 0xff, 0xff, 0xff, 0x0f],
            &[0xff, 0xff, 0xff, 0xff, 0x8f, 0],
        ),
        (
            0x17,
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x80; 11],
        ),
        (
            0x15,
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xff; 10],
        ),
    ] {
        let message = described(&[code], most);
        assert_eq!(
            DynamicMessage::decode(&message).unwrap().encode().unwrap(),
            message
        );
        let error = DynamicMessage::decode(&described(&[code], too_much)).unwrap_err();
        assert_eq!(error, DecodeError::Varint { offset: 7 }, "{code:#x}");
    }
}

#[test]
fn members_lie_where_the_compiler_puts_them() {
    // u8 and u32: with padding, and packed to single bytes.
    for (literal, value) in [
        (
            &[0xfd, 0x06, 0x02, 0x85, 0x85, 0xff][..],
            &[7, 0, 0, 0, 1, 2, 3, 4][..],
        ),
        (&[0xfd, 0x06, 0x02, 0x82, 0x82, 0xff], &[7, 1, 2, 3, 4]),
        (&[0xfd, 0x02, 0x06, 0x85, 0x85, 0xff], &[1, 2, 3, 4, 7, 0, 0, 0]),
    ] {
        let message = described(literal, value);
        assert_eq!(
            DynamicMessage::decode(&message).unwrap().encode().unwrap(),
            message
        );
        // The last byte belongs to the value, padding or not.
        assert!(DynamicMessage::decode(&message[..message.len() - 1]).is_err());
    }
}
