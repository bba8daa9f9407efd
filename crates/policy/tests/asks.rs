//! Trace files whose requests name the prefix that they share.

use moonquake_policy::trace::{Reading, parse, parse_references};
use moonquake_policy::workload::{Ask, trace_of};

const GOOD: &str =
    r#"{"arrival_time": 5, "namespace": 0, "prefix_id": 7, "prefix_tokens": 1024, "suffix_tokens": 100}"#;
const OTHER: &str = r#"{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [7, 8]}"#;

fn refused(text: &str, line: u64, words: &str) {
    for said in [
        parse("t.jsonl", text.as_bytes(), &Reading::default()).map(|_| ()),
        parse_references("t.jsonl", text.as_bytes(), 512).map(|_| ()),
    ] {
        let said = said.expect_err(words).to_string();
        assert!(said.starts_with(&format!("t.jsonl:{line}: ")), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn requests_that_name_their_prefix_are_those_of_a_generated_load() {
    let lines = [
        GOOD.to_owned(),
        GOOD.replace("5,", "6,"),
        GOOD.replace("5,", "6,")
            .replace("\"namespace\": 0", "\"namespace\": \"v2\""),
        GOOD.replace("5,", "9,").replace("1024", "1025"),
        GOOD.replace("5,", "9,")
            .replace('7', "\"7\"")
            .replace("{", "{\"x\": [1],"),
    ];
    let text = lines.join("\r\n") + "\n\n";
    let trace = parse("t", text.as_bytes(), &Reading::default()).unwrap();
    let ask = |arrival_ns, namespace, prefix_id, prefix_tokens| Ask {
        arrival_ns,
        namespace,
        prefix_id,
        prefix_tokens,
        suffix_tokens: 100,
    };
    let asks = [
        ask(5, 0, 0, 1024),
        ask(6, 0, 0, 1024),
        ask(6, 1, 0, 1024),
        ask(9, 0, 0, 1025),
        ask(9, 0, 1, 1024),
    ];
    assert_eq!(trace, trace_of(&asks, 512).unwrap());
    assert_eq!(trace.requests[1].arrival_ns, 6);
    let alone = parse_references("t", text.as_bytes(), 512).unwrap();
    assert_eq!(
        (alone.references, alone.blocks),
        (trace.references, trace.parents.len())
    );
}

#[test]
fn broken_lines_are_refused() {
    let second = |line: &str| format!("{GOOD}\n{line}\n{GOOD}\n");
    let with = |from: &str, to: &str| second(&GOOD.replace(from, to));
    refused(&second("nonsense"), 2, "is not JSON at byte");
    refused(&second(&GOOD[..40]), 2, "one object with arrival_time, namespace");
    refused(&GOOD[..40], 1, "one object with arrival_time, namespace");
    refused(&second(""), 2, "is blank; delete it");
    refused(&second("[5, 0, 7, 1024, 100]"), 2, "expected an object");
    refused(&second("7"), 2, "write arrival_time in ns");
    for key in [
        "arrival_time",
        "namespace",
        "prefix_id",
        "prefix_tokens",
        "suffix_tokens",
    ] {
        refused(&with(key, "other"), 2, &format!("missing field `{key}`"));
    }
    refused(
        &with("{", "{\"prefix_id\": 1, "),
        2,
        "duplicate field `prefix_id`",
    );
    refused(&with("1024", "-1"), 2, "integer `-1`");
    refused(&with("1024", "1e3"), 2, "floating point `1000.0`");
    refused(&with("7", "-7"), 2, "a name is a whole number of 0 or more");
    refused(&with("7", "null"), 2, "a name is a whole number of 0 or more");
    refused(
        &with("1024", "4294967296"),
        2,
        "prefix_tokens 4294967296 is more than 2^32",
    );
    refused(
        &with("1024", "4294967295"),
        2,
        "prefix_tokens and suffix_tokens 4294967395",
    );
    let empty = GOOD.replace("1024", "0").replace("100", "0");
    refused(
        &second(&empty),
        2,
        "has no tokens, so it has no first token either",
    );
    refused(&with("5,", "18446744073709551615,"), 2, "146 years");
    refused(&with("5,", "4,"), 2, "time goes back from 5 ns to 4 ns");
    let long = GOOD.replace("1024", "4294967000");
    refused(&format!("{long}\n").repeat(20), 17, "more than 134217728 blocks");
}

#[test]
fn the_forms_are_not_mixed() {
    let both = GOOD.replace('{', &OTHER.replace('}', ","));
    for (text, line) in [
        (format!("{GOOD}\n{OTHER}\n"), 2),
        (format!("{OTHER}\n{OTHER}\n{GOOD}\n"), 3),
        (format!("{GOOD}\n{both}\n"), 2),
        (format!("{OTHER}\n{both}\n"), 2),
        (both, 1),
        (GOOD.replace('{', "{\"timestamp\": 3, "), 1),
    ] {
        refused(&text, line, "mixes two forms");
    }
}
