//! The forms of a report, and its sentences, over outcomes that were written by hand.

use moonquake_policy::Outcome;
use moonquake_policy::report::{BlockHits, BlockReport, Case, Load, Report};
use moonquake_policy::sim::Config;

fn outcome(seed: u64, hit_tokens: u64, within_slo: u64) -> Outcome {
    Outcome {
        workload: "zipf".to_owned(),
        seed,
        requests: 100,
        input_tokens: 1_000_000,
        hit_tokens,
        computed_tokens: 1_000_000 - hit_tokens,
        fetched_bytes: hit_tokens << 17,
        stored_bytes: (1_000_000 - hit_tokens) << 17,
        span_ns: 50_000_000_000,
        servers: 4,
        servers_busy_ns: 150_000_000_000,
        link_busy_ns: 10_000_000_000,
        queue_max: 12,
        queue_request_ns: 75_000_000_000,
        ttft_ns: (1..=100).map(|one| one * 31_000_000 + seed).collect(),
        slo_ns: 2_000_000_000,
        within_slo,
        ..Outcome::default()
    }
}

fn case(policy: &str, decision: &str, runs: &[(u64, u64)]) -> Case {
    let outcomes = runs
        .iter()
        .zip(1..)
        .map(|((hits, good), seed)| outcome(seed, *hits, *good));
    Case {
        policy: policy.to_owned(),
        capacity_blocks: 10_000,
        decision: decision.to_owned(),
        outcomes: outcomes.collect(),
    }
}

fn report(cases: Vec<Case>) -> Report {
    Report {
        machine: Config::default(),
        loads: vec![Load {
            workload: "zipf".to_owned(),
            notes: vec!["Made from the seeds.".to_owned()],
            machine: Config::default(),
            cases,
        }],
    }
}

fn two_seeds() -> Report {
    report(vec![
        case("lru", "fetch", &[(500_000, 40), (520_000, 90)]),
        case("lru", "faster", &[(400_000, 80), (440_000, 85)]),
    ])
}

#[test]
fn a_report_is_text_json_and_a_page() {
    let one_seed = report(vec![
        case("lru", "fetch", &[(500_000, 40)]),
        case("sieve", "fetch", &[(1, 0)]),
    ]);
    insta::assert_snapshot!("one_seed", one_seed.text());
    insta::assert_snapshot!("two_seeds", two_seeds().text());
    insta::assert_json_snapshot!("two_seeds_json", two_seeds().json());
    insta::assert_snapshot!(
        "page",
        two_seeds().page("moonquake policy --workload zipf --seeds 2")
    );
}

#[test]
fn more_hits_with_less_goodput_is_said_with_both_names_and_figures() {
    let findings = two_seeds().findings();
    assert_eq!(
        findings,
        [
            "zipf, by decision: a higher hit rate with 21.21 % less goodput, on 1 of 2 seeds. lru with fetch: 51.00 % of tokens hit, 1.300 \
          requests/s within the SLO. lru with faster: 42.00 % of tokens hit, 1.650 requests/s within the SLO."
        ]
    );
}

#[test]
fn two_findings_about_one_row_open_differently() {
    let findings = report(vec![
        case("lru", "fetch", &[(500_000, 40)]),
        case("lru", "faster", &[(400_000, 80)]),
        case("sieve", "fetch", &[(400_000, 80)]),
    ])
    .findings();
    assert!(findings[0].starts_with("zipf, by decision: a higher hit rate with 50.00 % less goodput."));
    assert!(findings[1].starts_with("zipf, by policy: a higher hit rate with 50.00 % less goodput."));
}

#[test]
fn caches_of_two_sizes_are_told_apart_by_a_field() {
    let mut two = report(vec![
        case("lru", "fetch", &[(400_000, 80)]),
        case("lru", "fetch", &[(500_000, 40)]),
    ]);
    two.loads[0].cases[0].capacity_blocks = 500;
    let json = two.json();
    for rows in [&json["results"]["rows"], &json["runs"]["rows"]] {
        for (place, blocks) in [500, 10_000].into_iter().enumerate() {
            assert_eq!(rows[place]["policy"], "lru");
            assert_eq!(rows[place]["capacity_blocks"], blocks);
        }
    }
    let load = &json["workloads"][0];
    assert!(load["machine"]["capacity_blocks"].is_null(), "{load}");
    assert_eq!(
        load["machine"]["bandwidth_bytes_per_second"],
        20_u64 << 30,
        "{load}"
    );
    assert!(two.text().contains("lru, 500 blocks"));
    let said = &two.findings()[0];
    assert!(said.starts_with("zipf, by capacity: a higher"), "{said}");
    assert!(said.contains("lru, 10000 blocks with fetch: 50.00 %"), "{said}");
}

#[test]
fn policies_are_compared_where_the_decision_is_the_same() {
    let findings = report(vec![
        case("lru", "fetch", &[(500_000, 40)]),
        case("sieve", "fetch", &[(400_000, 60)]),
        case("fifo", "fetch", &[(450_000, 50)]),
        case("fifo", "faster", &[(300_000, 10)]),
    ])
    .findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("lru with fetch: 50.00 %"), "{findings:?}");
    assert!(findings[0].contains("sieve with fetch: 40.00 %"), "{findings:?}");
}

#[test]
fn where_hits_and_goodput_agree_nothing_is_made_of_it() {
    let agree = [(500_000, 60), (400_000, 40)];
    // Less than a hundredth is noise.
    let close = [(500_000, 9_950), (400_000, 10_000)];
    for [one, two] in [agree, close] {
        let findings = report(vec![case("lru", "fetch", &[one]), case("fifo", "fetch", &[two])]).findings();
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].starts_with("In these runs no higher hit rate"),
            "{findings:?}"
        );
    }
}

fn block(policy: &str, capacity_blocks: Option<u64>, hits: u64) -> BlockHits {
    BlockHits {
        workload: "trace".to_owned(),
        policy: policy.to_owned(),
        capacity_blocks,
        hits,
        references: 288_500,
    }
}

#[test]
fn block_hits_are_text_json_and_a_page() {
    let mut report = BlockReport {
        rows: vec![
            block("lru", Some(10_000), 60_921),
            block("infinite", None, 105_710),
        ],
        notes: Vec::new(),
    };
    insta::assert_snapshot!("blocks", report.text());
    insta::assert_json_snapshot!("blocks_json", report.json());
    assert!(report.chart("trace").svg().contains("21.12 %"));
    // Several capacities are a line for each policy.
    report.rows.insert(1, block("lru", Some(50_000), 90_000));
    assert!(report.chart("trace").svg().contains("<polyline"));
    assert!(report.page("moonquake policy --blocks-only").contains("60921"));
}

#[test]
fn a_report_of_nothing_has_every_form() {
    let empty = report(Vec::new());
    assert!(empty.text().contains("In these runs"));
    assert!(empty.page("").contains("zipf"));
    let none = report(vec![Case {
        policy: "lru".to_owned(),
        capacity_blocks: 1,
        decision: "fetch".to_owned(),
        outcomes: Vec::new(),
    }]);
    assert!(none.page("").contains("lru"));
    assert!(
        BlockReport::default()
            .text()
            .contains("no time, no prefixes, no bytes")
    );
}
