//! Trace files: what is read, and what is refused with its line and the mend.

use moonquake_policy::Block;
use moonquake_policy::trace::{
    Flaw, Reading, References, Ticks, Trace, TraceBuilder, TraceError, parse, parse_references,
};
use proptest::prelude::*;

const GOOD: &str = r#"{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [7, 8]}"#;

fn requests(text: &str) -> Result<Trace, TraceError> {
    parse("t.jsonl", text.as_bytes(), &Reading::default())
}

fn table(text: &str) -> Result<References, TraceError> {
    parse_references("t.csv", text.as_bytes(), 512)
}

fn line(timestamp: u64, ids: &[u64]) -> String {
    let tokens = 512 * ids.len();
    format!(
        "{{\"timestamp\": {timestamp}, \"input_length\": {tokens}, \"output_length\": 1, \"hash_ids\": {ids:?}}}\n"
    )
}

#[test]
fn a_trace_is_read() {
    let other = r#"{"hash_ids":[7,9000000000000000000,4],"output_length":0,"input_length":1025,"timestamp":3,"x":[{}]}"#;
    let trace = requests(&format!("{GOOD}\r\n{other}\n\n")).unwrap();
    let blocks = |ids: &[u32]| ids.iter().copied().map(Block).collect::<Vec<_>>();
    assert_eq!(trace.chain(&trace.requests[0]), blocks(&[0, 1]));
    assert_eq!(trace.chain(&trace.requests[1]), blocks(&[0, 2, 3]));
    assert_eq!(
        trace.parents,
        [None, Some(Block(0)), Some(Block(0)), Some(Block(2))]
    );
    let second = trace.requests[1];
    assert_eq!(
        (second.arrival_ns, second.input_tokens, second.output_tokens),
        (3_000_000, 1_025, 0)
    );
    assert_eq!(
        [0, 1, 2, 3].map(|at| trace.tokens_at(&second, at)),
        [512, 512, 1, 0]
    );
}

/// What is wrong, in which line, and words of the message.
fn refused(text: &[u8], line: u64, words: &str) {
    let read = parse("t.jsonl", text, &Reading::default());
    let said = read.expect_err(words).to_string();
    assert!(said.starts_with(&format!("t.jsonl:{line}: ")), "{said}");
    assert!(said.contains(words), "{said}");
    // Alone for its references it is as broken.
    if !words.contains("an id names") && !words.contains("stands behind") {
        let alone = parse_references("t.jsonl", text, 512)
            .expect_err(words)
            .to_string();
        assert_eq!(alone, said);
    }
}

/// A line between two good ones.
fn second(line: &str) -> Vec<u8> {
    format!("{GOOD}\n{line}\n{GOOD}\n").into_bytes()
}

/// The good line with something else in it, between two good ones.
fn with(from: &str, to: &str) -> Vec<u8> {
    second(&GOOD.replace(from, to))
}

#[test]
fn lines_that_are_no_request_are_refused() {
    refused(&second("nonsense"), 2, "is not JSON at byte");
    refused(&second("5,1,2"), 2, "read with --blocks-only");
    refused(&second(&GOOD[..40]), 2, "is not JSON at byte 40 (EOF");
    refused(&second(&format!("{GOOD}{GOOD}")), 2, "is not JSON");
    refused(&second(""), 2, "is blank; delete it");
    refused(&second("[0, 1]"), 2, "expected an object");
    refused(&with("\"timestamp\": 0, ", ""), 2, "missing field `timestamp`");
    refused(&with("input_length", "input"), 2, "missing field `input_length`");
    refused(
        &with("output_length", "output"),
        2,
        "missing field `output_length`",
    );
    refused(&with("hash_ids", "ids"), 2, "missing field `hash_ids`");
    refused(
        &with("{", "{\"timestamp\": 0, "),
        2,
        "duplicate field `timestamp`",
    );
    refused(&with("1000", "-1000"), 2, "integer `-1000`");
    refused(&with("1000", "1e3"), 2, "floating point `1000.0`");
    refused(&with("1000", "\"1000\""), 2, "string \"1000\"");
    refused(&with("[7, 8]", "[7, -8]"), 2, "integer `-8`");
    refused(&with("[7, 8]", "[7, null]"), 2, "null");
    refused(&with("[7, 8]", "7"), 2, "expected a list of block ids");
    refused(
        &with("8]", "18446744073709551616]"),
        2,
        "whole numbers of 0 or more, below 2^64",
    );
    refused(
        &with("1000", "99999999999999999999"),
        2,
        "whole numbers of 0 or more",
    );
}

/// As [`refused`], but alone for its references it is read, with a note.
fn odd(text: &[u8], words: &str) {
    let said = parse("t.jsonl", text, &Reading::default())
        .expect_err(words)
        .to_string();
    assert!(said.starts_with("t.jsonl:2: ") && said.contains(words), "{said}");
    let read = parse_references("t.jsonl", text, 512).unwrap();
    let note = read.notes.first().expect(words);
    assert!(note.starts_with("1 of 3 requests have another number"), "{note}");
    assert!(read.references.len() >= 4, "{words}");
}

#[test]
fn lengths_go_with_ids_only_where_requests_are_simulated() {
    odd(
        &with("[7, 8]", "[7]"),
        "has 1 block ids, but input_length 1000 makes 2 blocks of 512",
    );
    odd(&with("1000", "1025"), "makes 3 blocks");
    odd(
        &with("1000", "0"),
        "has no tokens, so it has no first token either; leave the line out",
    );
    odd(
        &second(&GOOD.replace("1000", "0").replace("7, 8", "")),
        "has no tokens",
    );
    odd(&with("1000", "18446744073709551615"), "more than 2^32 tokens");
    odd(
        &with("5,", "4294967296,"),
        "output_length 4294967296 is more than 2^32 tokens",
    );
}

#[test]
fn times_and_ids_that_cannot_be_are_refused() {
    refused(&with("p\": 0", "p\": 18446744073709551615"), 2, "146 years");
    refused(&with("p\": 0", "p\": 9000000000000"), 2, "146 years");
    refused(
        &with("[7, 8]", "[7, 7]"),
        2,
        "stands behind 7 here and at the beginning of a chain in line 1",
    );
    refused(&with("[7, 8]", "[9, 8]"), 2, "an id names a whole prefix");
    refused(
        &with("[7, 8]", "[8, 9]"),
        2,
        "at the beginning of a chain here and behind 7 in line 1; an id names a whole prefix",
    );
    refused(
        &[GOOD.as_bytes(), b"\n", &GOOD.as_bytes()[..9], b"\0"].concat(),
        2,
        "has a NUL at byte 10",
    );
    refused(
        &[GOOD.as_bytes(), b"\n\n\xff"].concat(),
        3,
        "is not UTF-8 at byte 1",
    );
    refused(
        &second(&GOOD.replace("p\": 0", "p\": 9")),
        3,
        "time goes back from 9 ms to 0 ms",
    );
}

#[test]
fn files_without_requests_are_refused() {
    for nothing in ["", "\n", " \r\n\n"] {
        assert_eq!(
            requests(nothing).unwrap_err(),
            TraceError::Empty {
                file: "t.jsonl".to_owned()
            }
        );
        assert_eq!(
            table(nothing).unwrap_err(),
            TraceError::Empty {
                file: "t.csv".to_owned()
            }
        );
    }
    assert!(
        table("time,obj_id\n")
            .unwrap_err()
            .to_string()
            .contains("is empty")
    );
    let reading = Reading {
        block_tokens: 0,
        ..Reading::default()
    };
    assert_eq!(
        parse("t", GOOD.as_bytes(), &reading).unwrap_err(),
        TraceError::NoTokens
    );
    let nowhere = std::path::Path::new("/nowhere/t.jsonl");
    let said = moonquake_policy::trace::read(nowhere, &Reading::default())
        .unwrap_err()
        .to_string();
    assert!(said.starts_with("/nowhere/t.jsonl: cannot be read"), "{said}");
}

#[test]
fn references_alone_may_have_any_order_of_ids() {
    let text = line(0, &[1, 2, 3]) + &line(0, &[3, 2, 1]);
    assert!(requests(&text).is_err());
    let read = table(&text).unwrap();
    assert_eq!(read.references, [0, 1, 2, 2, 1, 0].map(Block));
    assert!(read.notes[0].starts_with("3 references"), "{:?}", read.notes);
}

#[test]
fn tables_are_read() {
    let three = [0, 1, 0].map(Block);
    for text in [
        "5\n18446744073709551615\n5",
        "obj_id\n5\n6\n5\n",
        "time,obj_id,obj_size\n0,5,1\n1.5,6,1\n1.50,05,1\n",
        "Size , OBJ_ID,ttl\r\n4096,\"5\",0\r\n4096,6,1\r\n4096,5,x\r\n",
        "1234\n12ab\n1234\n",
        "a b\n+1\na b\n",
    ] {
        let read = table(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
        assert_eq!(
            (read.references.as_slice(), read.blocks),
            (three.as_slice(), 2),
            "{text}"
        );
    }
    // 05 and 5 are one number, but two texts.
    assert_eq!(table("05\n5\n").unwrap().blocks, 1);
    assert_eq!(table("05\n5\nx\n").unwrap().blocks, 3);
}

#[test]
fn broken_tables_are_refused() {
    for (text, line, flaw) in [
        ("1,2\n3,4\n", 1, Flaw::NoIdColumn),
        ("1\n\n2\n", 2, Flaw::Blank),
        ("1\n2,3\n", 2, Flaw::Fields { found: 2, wanted: 1 }),
        ("time,id\n1,2\n1\n", 3, Flaw::Fields { found: 1, wanted: 2 }),
        ("time,id\n1,2,3\n", 2, Flaw::Fields { found: 3, wanted: 2 }),
        ("time,id\n1,\n", 2, Flaw::NoId),
        (
            "time,id\n-1,2\n",
            2,
            Flaw::Time {
                found: "-1".to_owned(),
            },
        ),
        (
            "time,id\n2,2\n1.9,2\n",
            3,
            Flaw::Backwards {
                before: "2".to_owned(),
                at: "1.9".to_owned(),
            },
        ),
        (
            "id,size\n1,1\n2,2\n",
            3,
            Flaw::Size {
                found: "2".to_owned(),
                wanted: "1".to_owned(),
            },
        ),
        (
            "id,size\n1,-1\n",
            2,
            Flaw::Size {
                found: "-1".to_owned(),
                wanted: "a whole number".to_owned(),
            },
        ),
    ] {
        assert_eq!(
            table(text).unwrap_err(),
            TraceError::Line {
                file: "t.csv".to_owned(),
                line,
                flaw
            },
            "{text}"
        );
    }
}

#[test]
fn ticks_are_found_and_spread_from_a_seed() {
    let text: String = (0..40).map(|at| line(3_000 * (at / 4), &[at])).collect();
    let read = |ticks| {
        parse(
            "t",
            text.as_bytes(),
            &Reading {
                ticks,
                ..Reading::default()
            },
        )
        .unwrap()
    };
    let (raw, one, two) = (
        read(Ticks::Raw),
        read(Ticks::Spread { seed: 1 }),
        read(Ticks::Spread { seed: 2 }),
    );
    assert!(raw.notes[0].contains("40 requests at 10 instants, 3000 ms apart (median). Taken as they are"));
    assert_eq!(one, read(Ticks::Spread { seed: 1 }));
    assert_ne!(one.requests, two.requests);
    assert_eq!(one.references, raw.references);
    for (before, after) in raw.requests.iter().zip(&one.requests) {
        assert!((0..3_000_000_000).contains(&(after.arrival_ns - before.arrival_ns)));
    }
    assert!(one.requests.is_sorted_by_key(|request| request.arrival_ns));

    let text: String = (0..40).map(|at| line(7 * at, &[at])).collect();
    let ticks = Ticks::Spread { seed: 1 };
    let smooth = parse(
        "t",
        text.as_bytes(),
        &Reading {
            ticks,
            ..Reading::default()
        },
    )
    .unwrap();
    assert_eq!(smooth.requests, requests(&text).unwrap().requests);
    assert!(smooth.notes[0].contains("nothing was spread"));
    assert!(requests(&text).unwrap().notes.is_empty());
}

#[test]
fn generated_requests_share_what_has_the_same_keys_before_it() {
    let mut builder = TraceBuilder::new(16).unwrap();
    builder.request(5, 0, 48, 1, &[1, 2, 3]).unwrap();
    builder.request(5, 0, 33, 1, &[1, 2, 4]).unwrap();
    builder.request(6, 1, 48, 1, &[1, 2, 3]).unwrap();
    builder.request(9, 0, 32, 1, &[2, 2]).unwrap();
    let back = builder.request(8, 0, 16, 1, &[1]).unwrap_err();
    assert_eq!(
        back.to_string(),
        "generated requests:5: time goes back from 9 ns to 8 ns; sort the lines by time"
    );
    assert!(builder.request(9, 0, 17, 1, &[1]).is_err());
    let trace = builder.finish();
    let chains: Vec<&[Block]> = trace
        .requests
        .iter()
        .map(|request| trace.chain(request))
        .collect();
    let blocks = [&[0, 1, 2][..], &[0, 1, 3], &[4, 5, 6], &[7, 8]];
    assert_eq!(
        chains,
        blocks.map(|chain| chain.iter().copied().map(Block).collect::<Vec<_>>())
    );
    assert_eq!(trace.parents[3], Some(Block(1)));
    assert_eq!(trace.parents[4], None);
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse("t", &bytes, &Reading::default());
        let _ = parse_references("t", &bytes, 512);
    }

    #[test]
    fn no_damage_makes_the_parser_panic(at in 0..GOOD.len(), with in any::<u8>(), cut in 0..GOOD.len()) {
        let mut bytes = GOOD.as_bytes().to_vec();
        bytes[at] = with;
        let _ = parse("t", &bytes, &Reading::default());
        bytes.truncate(cut);
        prop_assert!(parse("t", &bytes, &Reading::default()).is_err());
    }
}
