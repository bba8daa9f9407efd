//! `moonquake policy`.

use crate::support::Place;
use std::fmt::Write;

const SMALL: [&str; 5] = ["policy", "--workload", "zipf", "--requests", "200"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

/// A trace of a scan: block after block, `rounds` times round `blocks`, one block a request.
fn scan(blocks: u64, rounds: u64) -> String {
    let mut text = String::new();
    for number in 0..blocks * rounds {
        let (time, block) = (number * 1_000, number % blocks);
        writeln!(
            text,
            "{{\"timestamp\": {time}, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [{block}]}}"
        )
        .unwrap();
    }
    text
}

#[test]
fn cli_policy_prints_tables_sentences_and_their_origin() {
    let place = Place::new();
    place
        .moonquake(&SMALL)
        .exits(0)
        .says("zipf: what the cache did (simulated)")
        .says("zipf: what requests got (simulated)")
        .says("TTFT P50")
        .says("belady")
        .says("nearest rank")
        .says("nothing was measured")
        .says("What this cannot show");
}

#[test]
fn cli_policy_is_the_same_to_the_byte_on_one_thread_and_on_two() {
    let place = Place::new();
    let run = |threads: &str, page: &str, svg: &str| {
        let more = [
            "--seeds",
            "3",
            "--threads",
            threads,
            "--html",
            page,
            "--svg",
            svg,
            "--format",
            "json",
        ];
        place.moonquake(&with(&SMALL, &more)).exits(0).out
    };
    let (one, two) = (run("1", "1.html", "1.svg"), run("2", "2.html", "2.svg"));
    assert_eq!(one, two);
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    assert_eq!(read("1.html"), read("2.html"));
    assert_eq!(read("1.svg"), read("2.svg"));
    assert!(read("1.html").len() < 300_000);
    let other = with(&SMALL, &["--seed", "2", "--seeds", "3", "--format", "json"]);
    assert_ne!(place.moonquake(&other).exits(0).out, one);
}

#[test]
fn cli_policy_finds_where_more_hits_are_worse() {
    let place = Place::new();
    let said = place
        .moonquake(&[
            "policy",
            "--requests",
            "100",
            "--policy",
            "lru",
            "--html",
            "a.html",
        ])
        .exits(0);
    for load in ["scan", "zipf", "burst", "switch", "slow-link"] {
        assert!(
            said.out
                .contains(&format!("{load}: what requests got (simulated)")),
            "{load}"
        );
    }
    let text = said.out.replace('\n', " ");
    assert!(
        text.contains("slow-link, by capacity: a higher hit rate with"),
        "{text}"
    );
    assert!(text.contains("lru, 30000 blocks with fetch"), "{text}");
    assert!(text.contains("lru, 500 blocks with fetch"), "{text}");
    let page = std::fs::read_to_string(place.path().join("a.html")).unwrap();
    assert!(page.contains("slow-link, by capacity: a higher hit rate with"));
    // A slow link does the same to any load.
    let slow = [
        "policy",
        "--workload",
        "zipf",
        "--policy",
        "lru",
        "--bandwidth",
        "1GiB/s",
        "--gap",
        "400ms",
        "--requests",
        "600",
    ];
    let text = place.moonquake(&slow).exits(0).out.replace('\n', " ");
    assert!(
        text.contains("zipf, by decision: a higher hit rate with"),
        "{text}"
    );
    assert!(
        text.contains("lru with fetch:") && text.contains("lru with faster:"),
        "{text}"
    );
}

#[test]
fn cli_policy_json_carries_units_and_keeps_its_sums() {
    let said = Place::new()
        .moonquake(&with(&SMALL, &["--seeds", "2", "--format", "json"]))
        .exits(0);
    let json = said.json();
    assert_eq!(json["results"]["origin"], "simulated");
    let rows = json["results"]["rows"].as_array().unwrap();
    // Six policies by two decisions.
    assert_eq!(rows.len(), 12);
    for row in rows {
        let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("no {key} in {row}"));
        assert_eq!(number("seeds"), 2);
        for key in [
            "ttft_p50_ns",
            "ttft_p95_ns",
            "ttft_p99_ns",
            "goodput_mrps",
            "queue_mean_milli",
            "fetched_bytes",
        ] {
            let (least, most) = (number(&format!("{key}_min")), number(&format!("{key}_max")));
            assert!(least <= number(key) && number(key) <= most, "{key} in {row}");
        }
        assert!(number("ttft_p50_ns") <= number("ttft_p99_ns"));
    }
    let runs = json["runs"]["rows"].as_array().unwrap();
    assert_eq!(runs.len(), 24);
    for run in runs {
        let number = |key: &str| run[key].as_u64().unwrap();
        assert_eq!(
            number("hit_tokens") + number("computed_tokens"),
            number("input_tokens")
        );
    }
    assert_eq!(json["workloads"][0]["machine"]["slo_ns"], 5_000_000_000_u64);
}

#[test]
fn cli_policy_counts_flattened_blocks() {
    let place = Place::new();
    place.file("scan.jsonl", scan(100, 3));
    let blocks = [
        "policy",
        "--trace",
        "scan.jsonl",
        "--blocks-only",
        "--format",
        "json",
        "--capacity-blocks",
    ];
    let hits = |capacity: &str, policy: &str| {
        let said = place
            .moonquake(&with(&blocks, &[capacity, "--policy", policy]))
            .exits(0);
        let json = said.json();
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(json["origin"], "simulated");
        assert_eq!(rows[0]["policy"], policy);
        assert_eq!(rows[0]["references"], 300);
        let of = |row: &serde_json::Value| row["hits"].as_u64().unwrap();
        (of(&rows[0]), of(rows.last().unwrap()))
    };
    // A cyclic scan is the worst for LRU, and all hits but the first round where everything fits.
    assert_eq!(hits("50", "lru"), (0, 200));
    assert_eq!(hits("100", "lru"), (200, 200));
    assert!(hits("50", "belady").0 > 50);
    let curve = with(
        &blocks[..4],
        &[
            "--capacity-blocks",
            "50,100",
            "--policy",
            "lru,LRU",
            "--html",
            "a.html",
        ],
    );
    let said = place.moonquake(&curve).exits(0);
    assert_eq!(said.out.matches("lru").count(), 2, "{}", said.out);
    assert!(
        std::fs::read_to_string(place.path().join("a.html"))
            .unwrap()
            .contains("<polyline")
    );
}

#[test]
fn cli_policy_says_what_became_of_ticks() {
    let place = Place::new();
    let mut batched = String::new();
    for number in 0..40 {
        let time = number / 8 * 3_000;
        writeln!(
            batched,
            "{{\"timestamp\": {time}, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [{number}]}}"
        )
        .unwrap();
    }
    place.file("t.jsonl", batched);
    let trace = ["policy", "--trace", "t.jsonl", "--policy", "lru"];
    let of = |more: &[&str]| place.moonquake(&with(&trace, more)).exits(0);
    let raw = of(&["--ticks", "raw"]).says("arrive at once").out;
    assert_eq!(of(&[]).out, raw);
    of(&["--ticks", "spread"]).says("at random times from seed 1");
    of(&["--ticks", "spread", "--seed", "7", "--seeds", "3"])
        .says("at random times from seed 7")
        .says("each of seeds 7 to 9");
}

const ZIPF: [&str; 3] = ["policy", "--workload", "zipf"];

/// Flags that are refused, and words of the message.
type Wrong<'a> = (&'a [&'a str], &'a [&'a str], &'a str);

fn refuses(place: &Place, wrong: &[Wrong<'_>]) {
    for (first, more, part) in wrong {
        let said = place.moonquake(&with(first, more)).exits(64).complains(part);
        assert_eq!(said.out, "");
    }
}

#[test]
fn cli_policy_refuses_names_that_nothing_has() {
    let wrong: &[Wrong<'_>] = &[
        (&ZIPF, &["--policy", "sive"], "did you mean sieve?"),
        (&ZIPF, &["--policy", ""], "there are lru"),
        (&["policy"], &["--workload", "zpif"], "did you mean zipf?"),
        (&ZIPF, &["--decision", "faste"], "did you mean faster?"),
        (&ZIPF, &["--queue", "lifo"], "fifo, shortest, deadline"),
        (&ZIPF, &["--format", "jsn"], "did you mean json?"),
    ];
    refuses(&Place::new(), wrong);
}

#[test]
fn cli_policy_refuses_numbers_that_no_machine_has() {
    let wrong: &[Wrong<'_>] = &[
        (&ZIPF, &["--capacity", "64"], "add a unit"),
        (&ZIPF, &["--capacity", "64GIB"], "did you mean 64GiB?"),
        (&ZIPF, &["--capacity", "1KiB"], "--capacity"),
        (&ZIPF, &["--capacity-blocks", "0"], "--capacity-blocks"),
        (&ZIPF, &["--capacity-blocks", "-1"], "--capacity-blocks"),
        (&ZIPF, &["--capacity-blocks", "1,2"], "--blocks-only"),
        (
            &ZIPF,
            &["--capacity", "1TiB", "--capacity-blocks", "9"],
            "give one of them",
        ),
        (&ZIPF, &["--bandwidth", "0GiB/s"], "must not be 0"),
        (&ZIPF, &["--bandwidth", "20"], "--bandwidth"),
        (&ZIPF, &["--servers", "0"], "--servers"),
        (&ZIPF, &["--seeds", "0"], "--seeds"),
        (
            &ZIPF,
            &["--seed", "18446744073709551615", "--seeds", "2"],
            "--seed",
        ),
        (&ZIPF, &["--threads", "0"], "--threads"),
        (&ZIPF, &["--slo", "0s"], "--slo"),
        (&ZIPF, &["--chunk", "0"], "--chunk"),
        (&ZIPF, &["--requests", "0"], "--requests"),
        (&ZIPF, &["--prefill", "linear:5ms"], "linear:5ms,100us"),
        (&ZIPF, &["--prefill", "cubic:5ms"], "constant, linear, quadratic"),
        (&ZIPF, &["--prefill", "constant:-1ms"], "unsigned"),
        (
            &ZIPF,
            &["--prefill", "quadratic:5ms,80us"],
            "quadratic takes 3 costs, 2 were given",
        ),
        (
            &ZIPF,
            &["--prefill", "constant"],
            "constant takes 1 cost, 0 were given",
        ),
        (&ZIPF, &["--prefill", "-1"], "there are constant"),
    ];
    refuses(&Place::new(), wrong);
}

#[test]
fn cli_policy_names_the_range_of_a_number_and_an_example() {
    let place = Place::new();
    let whole = [
        ("--capacity-blocks", "from 1 to 4294967295, such as 10000"),
        ("--servers", "from 1 to 1000000, such as 4"),
        ("--seed", "from 0 to 18446744073709551615, such as 1"),
        ("--seeds", "from 1 to 1000, such as 5"),
        ("--requests", "from 1 to 10000000, such as 3000"),
        ("--prefixes", "from 1 to 10000000, such as 2000"),
        ("--prefix-tokens", "from 0 to 16777216, such as 8192"),
        ("--suffix-tokens", "from 1 to 16777216, such as 1024"),
        ("--chunk", "from 1 to 1048576, such as 512"),
        ("--threads", "from 1 to 1024, such as 8"),
    ];
    let units = [
        ("--gap", "from 0ns to 18446744s, such as 100us"),
        ("--lookup", "from 0ns to 18446744s, such as 100us"),
        ("--slo", "from 1ns to 18446744s, such as 5s"),
        ("--prefetch-deadline", "from 1ns to 18446744s, such as 5s"),
        ("--capacity", "from 1B to 16383PiB, such as 64GiB"),
        ("--bytes-per-token", "from 1B to 16383PiB, such as 64GiB"),
        ("--bandwidth", "from 1B/s to 16777215TiB/s, such as 20GiB/s"),
    ];
    let says = |flag: &str, value: &str, why: &str, range: &str| {
        for words in [
            vec![flag.to_owned(), value.to_owned()],
            vec![format!("{flag}={value}")],
        ] {
            let mut flags = ZIPF.to_vec();
            flags.extend(words.iter().map(String::as_str));
            let said = place.moonquake(&flags).exits(64).complains(flag).complains(why);
            said.complains(range);
        }
    };
    for (flag, range) in whole {
        says(flag, "-1", "it is negative", range);
        says(flag, "NaN", "it is no number", range);
        says(flag, "1e3", "no plain whole number", range);
        says(flag, "18446744073709551616", "it is too large", range);
    }
    says("--suffix-tokens", "0", "there must be at least one", whole[7].1);
    for (flag, range) in units {
        says(flag, "-1s", "it is negative", range);
        says(flag, "NaN", "it is no number", range);
    }
}

#[test]
fn cli_policy_refuses_what_it_would_ignore_or_no_machine_has() {
    let place = Place::new();
    place.file("t.jsonl", scan(2, 2));
    let trace = ["policy", "--trace", "t.jsonl"];
    let many = (1..=51).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let wrong: &[Wrong<'_>] = &[
        (&ZIPF, &["--ticks", "raw"], "--ticks"),
        (
            &ZIPF,
            &["--blocks-only", "--slo", "5s"],
            "--slo makes no difference",
        ),
        (
            &ZIPF,
            &["--blocks-only", "--capacity", "1GiB"],
            "give --capacity-blocks N",
        ),
        (
            &ZIPF,
            &["--blocks-only", "--html", "a", "--capacity-blocks", &many],
            "too many for the page",
        ),
        (
            &ZIPF,
            &["--blocks-only", "--seeds", "2"],
            "exact counts for one seed",
        ),
        (&trace, &["--blocks-only", "--seeds", "2"], "leave --seeds out"),
        (&trace, &["--blocks-only", "--seed", "2"], "leave --seed out"),
        (&["policy"], &["--svg", "a.svg"], "name one with --workload"),
        (&ZIPF, &["--svg", "a", "--html", "./a"], "name two files"),
        (&trace, &["--workload", "zipf"], "--trace and --workload"),
        (&trace, &["--requests", "9"], "--requests"),
        (&trace, &["--seed", "9"], "add --ticks spread"),
        (&trace, &["--seeds", "9"], "add --ticks spread"),
        (&trace, &["--chunk", "256"], "--chunk"),
        (&trace, &["--html", "./t.jsonl"], "overwrite the trace"),
        (&["policy"], &["--trace", "nowhere.jsonl"], "nowhere.jsonl"),
        (&["policy"], &["--trace", "."], "--trace"),
    ];
    refuses(&place, wrong);
    let names: Vec<_> = std::fs::read_dir(place.path())
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    assert_eq!(names, ["t.jsonl"]);
}

#[test]
fn cli_policy_refuses_a_broken_trace_with_its_line() {
    let place = Place::new();
    let good = scan(3, 1);
    for (name, broken) in [
        ("cut", "{\"timestamp\": 1"),
        (
            "words",
            "{\"timestamp\": \"x\", \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}",
        ),
        ("missing", "{\"timestamp\": 9000}"),
        (
            "negative",
            "{\"timestamp\": -1, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}",
        ),
    ] {
        let file = format!("{name}.jsonl");
        place.file(&file, format!("{good}{broken}\n"));
        for more in [&[][..], &["--blocks-only"]] {
            place
                .moonquake(&with(&["policy", "--trace", &file], more))
                .exits(64)
                .complains(&format!("{file}:4"))
                .complains("help: ");
        }
    }
    place.file("empty.jsonl", "");
    place
        .moonquake(&["policy", "--trace", "empty.jsonl"])
        .exits(64)
        .complains("empty.jsonl");
    place.file("bytes.jsonl", [0xff, 0xfe, 0]);
    place
        .moonquake(&["policy", "--trace", "bytes.jsonl"])
        .exits(64)
        .complains("bytes.jsonl");
}

#[test]
fn cli_policy_keeps_what_it_printed_where_a_file_cannot_be_written() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("taken")).unwrap();
    place.file("taken/file", "");
    for (flag, path) in [("--html", "taken"), ("--svg", "no/such/folder.svg")] {
        place
            .moonquake(&with(&SMALL, &[flag, path]))
            .exits(70)
            .says("What this cannot show")
            .complains(path)
            .complains(flag);
    }
    assert_eq!(place.contents("taken").len(), 1);
}

#[test]
fn cli_policy_counts_blocks_whatever_the_lengths_are() {
    let place = Place::new();
    place.file("t.jsonl", scan(3, 2).replace("512", "513"));
    let trace = ["policy", "--trace", "t.jsonl"];
    place
        .moonquake(&with(&trace, &["--blocks-only"]))
        .exits(0)
        .says("6 of 6 requests have another number of block ids");
    place
        .moonquake(&trace)
        .exits(64)
        .complains("t.jsonl:1")
        .complains("makes 2 blocks");
    place.file("t.jsonl", scan(3, 2).replace("512", "0"));
    place
        .moonquake(&trace)
        .exits(64)
        .complains("t.jsonl:1: has no tokens");
}

#[test]
fn cli_policy_reads_requests_that_name_their_prefix() {
    let place = Place::new();
    let line =
        r#"{"arrival_time": 0, "namespace": 0, "prefix_id": 7, "prefix_tokens": 1024, "suffix_tokens": 100}"#;
    place.file("t.jsonl", format!("{line}\n{line}\n"));
    let trace = [
        "policy", "--trace", "t.jsonl", "--policy", "lru", "--format", "json",
    ];
    let json = place.moonquake(&trace).exits(0).json();
    assert_eq!(json["results"]["rows"][0]["input_tokens"], 2_248);
    let json = place.moonquake(&with(&trace, &["--blocks-only"])).exits(0).json();
    assert_eq!(
        (&json["rows"][0]["hits"], &json["rows"][0]["references"]),
        (&2.into(), &6.into())
    );
    place.file("t.jsonl", format!("{line}\n{}", scan(1, 1)));
    place
        .moonquake(&trace)
        .exits(64)
        .complains("t.jsonl:2: mixes two forms");
    // Where it breaks lines depends on how it was built.
    let help = place.moonquake(&["policy", "--help"]).exits(0).out;
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("arrival_time in nanoseconds"), "{help}");
}

#[test]
fn cli_policy_help_has_the_unit_of_every_field() {
    let place = Place::new();
    let flags = [
        "policy",
        "--requests",
        "20",
        "--policy",
        "lru",
        "--format",
        "json",
    ];
    let json = place.moonquake(&flags).exits(0).json();
    let help = place.moonquake(&["policy", "--help"]).exits(0).out;
    let counts = ["seed", "seeds", "requests", "servers", "queue"];
    let mut keys = Vec::new();
    for load in json["workloads"].as_array().unwrap() {
        keys.extend(load["machine"].as_object().unwrap());
    }
    for table in ["results", "runs"] {
        keys.extend(json[table]["rows"][0].as_object().unwrap());
    }
    for (key, _) in keys.into_iter().filter(|(_, value)| value.is_number()) {
        let key = key.trim_end_matches("_min").trim_end_matches("_max");
        let is_listed = help
            .split('`')
            .any(|unit| unit.len() > 2 && !unit.contains(' ') && key.ends_with(unit));
        assert!(is_listed || counts.contains(&key), "{key}");
    }
    let slow = json["workloads"].as_array().unwrap().last().unwrap();
    assert_eq!(slow["workload"], "slow-link");
    assert_eq!(slow["machine"]["bandwidth_bytes_per_second"], 2_u64 << 30);
    assert_eq!(
        json["workloads"][0]["machine"]["bandwidth_bytes_per_second"],
        20_u64 << 30
    );
    let rows = json["results"]["rows"].as_array().unwrap();
    let last = rows.last().unwrap();
    assert_eq!(
        (&last["policy"], &last["capacity_blocks"]),
        (&"lru".into(), &30_000.into())
    );
}
