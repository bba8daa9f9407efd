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
    assert!(text.contains("slow-link: a higher hit rate with"), "{text}");
    assert!(text.contains("lru, 30000 blocks with fetch"), "{text}");
    assert!(text.contains("lru, 500 blocks with fetch"), "{text}");
    let page = std::fs::read_to_string(place.path().join("a.html")).unwrap();
    assert!(page.contains("slow-link: a higher hit rate with"));
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
    assert!(text.contains("zipf: a higher hit rate with"), "{text}");
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
    assert_eq!(json["machine"]["slo_ns"], 5_000_000_000_u64);
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

#[test]
fn cli_policy_refuses_what_it_would_ignore_or_no_machine_has() {
    let place = Place::new();
    place.file("t.jsonl", scan(2, 2));
    let trace = ["policy", "--trace", "t.jsonl"];
    let many = (1..=51).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let zipf = ["policy", "--workload", "zipf"];
    let wrong: &[(&[&str], &[&str], &str)] = &[
        (&zipf, &["--policy", "sive"], "did you mean sieve?"),
        (&zipf, &["--policy", ""], "there are lru"),
        (&["policy"], &["--workload", "zpif"], "did you mean zipf?"),
        (&zipf, &["--decision", "faste"], "did you mean faster?"),
        (&zipf, &["--queue", "lifo"], "fifo, shortest, deadline"),
        (&zipf, &["--format", "jsn"], "did you mean json?"),
        (&zipf, &["--capacity", "64"], "add a unit"),
        (&zipf, &["--capacity", "64GIB"], "did you mean 64GiB?"),
        (&zipf, &["--capacity", "1KiB"], "--capacity"),
        (&zipf, &["--capacity-blocks", "0"], "--capacity-blocks"),
        (&zipf, &["--capacity-blocks", "-1"], "--capacity-blocks"),
        (&zipf, &["--capacity-blocks", "1,2"], "--blocks-only"),
        (
            &zipf,
            &["--capacity", "1TiB", "--capacity-blocks", "9"],
            "give one of them",
        ),
        (&zipf, &["--bandwidth", "0GiB/s"], "must not be 0"),
        (&zipf, &["--bandwidth", "20"], "--bandwidth"),
        (&zipf, &["--servers", "0"], "--servers"),
        (&zipf, &["--seeds", "0"], "--seeds"),
        (
            &zipf,
            &["--seed", "18446744073709551615", "--seeds", "2"],
            "--seed",
        ),
        (&zipf, &["--threads", "0"], "--threads"),
        (&zipf, &["--slo", "0s"], "--slo"),
        (&zipf, &["--chunk", "0"], "--chunk"),
        (&zipf, &["--requests", "0"], "--requests"),
        (&zipf, &["--prefill", "linear:5ms"], "linear:5ms,100us"),
        (&zipf, &["--prefill", "cubic:5ms"], "constant, linear, quadratic"),
        (&zipf, &["--prefill", "constant:-1ms"], "unsigned"),
        (&zipf, &["--ticks", "raw"], "--ticks"),
        (
            &zipf,
            &["--blocks-only", "--slo", "5s"],
            "--slo makes no difference",
        ),
        (
            &zipf,
            &["--blocks-only", "--capacity", "1GiB"],
            "give --capacity-blocks N",
        ),
        (
            &zipf,
            &["--blocks-only", "--html", "a", "--capacity-blocks", &many],
            "too many for the page",
        ),
        (&["policy"], &["--svg", "a.svg"], "name one with --workload"),
        (&zipf, &["--svg", "a", "--html", "./a"], "name two files"),
        (&trace, &["--workload", "zipf"], "--trace and --workload"),
        (&trace, &["--requests", "9"], "--requests"),
        (&trace, &["--seed", "9"], "add --ticks spread"),
        (&trace, &["--seeds", "9"], "add --ticks spread"),
        (&trace, &["--chunk", "256"], "--chunk"),
        (&trace, &["--html", "./t.jsonl"], "overwrite the trace"),
        (&["policy"], &["--trace", "nowhere.jsonl"], "nowhere.jsonl"),
        (&["policy"], &["--trace", "."], "--trace"),
    ];
    for (first, more, part) in wrong {
        let said = place.moonquake(&with(first, more)).exits(64).complains(part);
        assert_eq!(said.out, "");
    }
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
