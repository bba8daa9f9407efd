//! Answers that are known from elsewhere, and the laws that every budget obeys.

use moonquake_capacity::*;

fn ask() -> Ask {
    Ask {
        layers: Some(32),
        kv_heads: Some(8),
        head_dim: Some(128),
        bytes: Some(2),
        tokens: Some(8192),
        batch: Some(64),
        page: Some(16),
        chunk: Some(256),
        tp: Some(8),
        bandwidth: Some(BytesPerSecond(20 << 30)),
        ..Ask::default()
    }
}

fn named(model: &str) -> Ask {
    Ask {
        model: Some(model.to_owned()),
        ..Ask::default()
    }
}

const KIB: u128 = 1 << 10;
const MIB: u128 = 1 << 20;
const GIB: u128 = 1 << 30;

#[test]
fn the_example_of_the_study() {
    let budget = ask().budget().unwrap();
    assert_eq!(budget.bytes_per_token, Bytes(128 * KIB));
    assert_eq!(budget.request_bytes, Bytes(GIB));
    assert_eq!(budget.rank_bytes, Bytes(128 * MIB));
    assert_eq!(budget.physical_bytes, Bytes(GIB));
    assert_eq!(budget.batch_bytes, Bytes(64 * GIB));
    assert_eq!(budget.chunk_bytes, Bytes(32 * MIB));
    assert_eq!(
        (budget.full_chunks, budget.partial_chunk_tokens),
        (Chunks(32), Tokens(0))
    );
    let transfer = budget.transfer.unwrap();
    assert_eq!(transfer.request, Nanoseconds(50_000_000));
    assert_eq!(transfer.batch, Nanoseconds(3_200_000_000));
}

#[test]
fn a_page_more_for_one_token_more() {
    let budget = Ask {
        tokens: Some(8193),
        ..ask()
    }
    .budget()
    .unwrap();
    assert_eq!(budget.pages, Pages(513));
    assert_eq!(budget.allocated_bytes, Bytes(1026 * MIB));
    assert_eq!(readable_bytes(budget.request_bytes.0), "1024.125 MiB");
    assert_eq!(budget.padding_bytes, Bytes(15 * 128 * KIB));
    assert_eq!(budget.partial_chunk_tokens, Tokens(1));
    assert_eq!(budget.partial_chunk_bytes, Bytes(128 * KIB));
}

#[test]
fn models_of_the_table() {
    let per_token = [
        ("llama-2-7b", "MHA", 524_288),
        ("llama-2-70b", "GQA", 327_680),
        ("llama-3-8b", "GQA", 131_072),
        ("llama-3-70b", "GQA", 327_680),
        ("llama-3.1-405b", "GQA", 516_096),
        ("mistral-7b-v0.1", "GQA, sliding window", 131_072),
        ("mixtral-8x7b", "GQA", 131_072),
        ("falcon-7b", "MQA", 8_192),
        ("qwen2.5-7b", "GQA", 57_344),
        ("qwen2.5-72b", "GQA", 327_680),
        ("qwen3-8b", "GQA", 147_456),
        ("qwen3-32b", "GQA", 262_144),
        ("qwen3-235b-a22b", "GQA", 192_512),
        ("deepseek-v2", "MLA", 69_120),
        ("deepseek-v3", "MLA", 70_272),
        ("deepseek-r1", "MLA", 70_272),
    ];
    for (name, kind, bytes) in per_token {
        let budget = named(name).budget().unwrap();
        assert_eq!(
            (budget.kind.as_str(), budget.bytes_per_token),
            (kind, Bytes(bytes)),
            "{name}"
        );
        assert!(budget.source.starts_with("https://huggingface.co/"), "{name}");
    }
    let names: Vec<String> = models().iter().map(|model| model.name.clone()).collect();
    assert_eq!(
        names,
        per_token.map(|(name, _, _)| name),
        "a row without a known answer"
    );
}

#[test]
fn a_misspelt_model_is_named() {
    for (wrong, near) in [
        ("lama-3-8b", "llama-3-8b"),
        ("deepseek-v33", "deepseek-v3"),
        ("llama-3-8", "llama-3-8b"),
        ("mistral-7b", "mistral-7b-v0.1"),
    ] {
        let error = named(wrong).budget().unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean {near}?")), "{error}");
    }
    let error = named("zzz").budget().unwrap_err().to_string();
    assert!(
        !error.contains("did you mean") && error.contains("llama-3-70b"),
        "{error}"
    );
    assert_eq!(
        model("meta-llama/Llama-3-8B").unwrap(),
        model("llama_3_8b").unwrap()
    );
}

#[test]
fn a_quantised_latent() {
    let ask = Ask {
        layers: Some(1),
        mla_rank: Some(512),
        rope_dim: Some(64),
        bytes: Some(1),
        rope_bytes: Some(2),
        scale: Some(Scale::parse("block:128:4").unwrap()),
        ..Ask::default()
    };
    assert_eq!(ask.budget().unwrap().bytes_per_token, Bytes(656));
    let deepseek = Ask {
        bytes: Some(1),
        rope_bytes: Some(2),
        scale: Some(Scale::parse("block:128").unwrap()),
        ..named("deepseek-v3")
    };
    assert_eq!(deepseek.budget().unwrap().bytes_per_token, Bytes(61 * 656));
}

#[test]
fn scales_of_heads() {
    let with = |scale: &str| {
        let one = Ask {
            layers: Some(1),
            bytes: Some(1),
            tokens: Some(1),
            scale: Some(Scale::parse(scale).unwrap()),
            ..ask()
        };
        one.budget().unwrap()
    };
    let plain = 2 * 8 * 128;
    assert_eq!(with("none").bytes_per_token, Bytes(plain));
    assert_eq!(with("token:4").bytes_per_token, Bytes(plain + 2 * 4));
    assert_eq!(with("head:2").bytes_per_token, Bytes(plain + 2 * 8 * 2));
    assert_eq!(with("block:64:4").bytes_per_token, Bytes(plain + 2 * 16 * 4));
    assert_eq!(with("block:128").bytes_per_token, Bytes(plain + 2 * 8 * 4));
    // Of a rank: its own head, and a scale of its own for it.
    assert_eq!(with("token:4").rank_bytes, Bytes(2 * 128 + 2 * 4));
    assert_eq!(with("head:4").rank_bytes, Bytes(2 * 128 + 2 * 4));
    let tensor = with("tensor:4");
    assert_eq!(
        (tensor.bytes_per_token, tensor.tensor_scale_bytes),
        (Bytes(plain), Bytes(8))
    );
}

#[test]
fn ranks() {
    let on = |kv_heads, tp| {
        Ask {
            kv_heads: Some(kv_heads),
            tp: Some(tp),
            ..ask()
        }
        .budget()
    };
    let copied = on(8, 16).unwrap();
    assert_eq!(copied.rank_bytes, Bytes(128 * MIB));
    assert_eq!(copied.physical_bytes, Bytes(2 * GIB));
    assert_eq!(copied.request_bytes, Bytes(GIB));
    assert!(
        copied
            .notes
            .iter()
            .any(|note| note.contains("each head is on 2 ranks"))
    );
    assert_eq!(on(1, 8).unwrap().physical_bytes, Bytes(8 * GIB / 8));
    for (heads, tp, mend) in [
        (8, 3, "--tp 2 or 4"),
        (8, 12, "--tp 8 or 16"),
        (6, 4, "--tp 3 or 6"),
    ] {
        let error = on(heads, tp).unwrap_err().to_string();
        assert!(error.contains(mend), "{error}");
    }
    let mla = Ask {
        tp: Some(8),
        ..named("deepseek-v3")
    };
    let mla = mla.budget().unwrap();
    assert_eq!(mla.rank_bytes, mla.request_bytes);
    assert_eq!(mla.physical_bytes.0, 8 * mla.request_bytes.0);
}

#[test]
fn a_window_keeps_its_last_tokens() {
    let at = |tokens| {
        Ask {
            tokens: Some(tokens),
            ..named("mistral-7b-v0.1")
        }
        .budget()
        .unwrap()
        .request_bytes
    };
    assert_eq!(at(4095), Bytes(4095 * 128 * KIB));
    assert_eq!(at(4096), Bytes(512 * MIB));
    assert_eq!(at(4097), Bytes(512 * MIB));
    assert_eq!(at(32_768), Bytes(512 * MIB));
}

#[test]
fn a_time_is_rounded_up() {
    let third = Ask {
        layers: Some(1),
        kv_heads: Some(1),
        head_dim: Some(1),
        tokens: Some(1),
        tp: Some(1),
        bandwidth: Some(BytesPerSecond(3)),
        ..ask()
    };
    let transfer = third.budget().unwrap().transfer.unwrap();
    assert_eq!(
        transfer.request,
        Nanoseconds(1_333_333_334),
        "4 bytes at 3 B/s, rounded up"
    );
}

#[test]
fn numbers_of_flags() {
    assert_eq!(number("--page", "16", Limit::TOKENS), Ok(16));
    for (text, part) in [
        ("0", "at least one"),
        ("-1", "negative"),
        ("1e9", "no plain whole number"),
        ("1.5", "no plain whole number"),
        ("16k", "no plain whole number"),
        ("many", "no number"),
        ("", "no number"),
        ("+1", "no number"),
        ("99999999999999999999999999", "too large"),
        ("1000000000001", "too large"),
    ] {
        let error = number("--page", text, Limit::TOKENS).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert!(
            error.contains("--page") && error.contains("such as 8192"),
            "{error}"
        );
    }
}

fn refuses(cases: &[(Ask, &str)]) {
    for (ask, part) in cases {
        let error = ask.budget().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn flags_that_do_not_go_together() {
    let model = || named("llama-3-8b");
    let cases = [
        (
            Ask {
                layers: Some(1),
                ..model()
            },
            "--model and --layers both",
        ),
        (
            Ask {
                window: Some(1),
                ..model()
            },
            "--model and --window both",
        ),
        (
            Ask {
                rope_bytes: Some(2),
                ..model()
            },
            "--rope-bytes",
        ),
        (
            Ask {
                index_bytes: Some(132),
                ..model()
            },
            "no indexer",
        ),
        (
            Ask {
                config: Some(("c".into(), Vec::new())),
                ..model()
            },
            "--model and --config",
        ),
        (
            Ask {
                scale: Some(Scale::Token { bytes: 4 }),
                ..model()
            },
            "add --bytes 1",
        ),
    ];
    refuses(&cases);
}

#[test]
fn flags_that_say_too_little() {
    let cases = [
        (
            Ask {
                mla_rank: Some(512),
                ..ask()
            },
            "without --rope-dim",
        ),
        (
            Ask {
                mla_rank: Some(512),
                rope_dim: Some(64),
                ..ask()
            },
            "two kinds",
        ),
        (
            Ask {
                rope_dim: Some(64),
                ..ask()
            },
            "without --mla-rank",
        ),
        (
            Ask {
                layers: None,
                ..ask()
            },
            "without --layers",
        ),
        (
            Ask {
                head_dim: None,
                ..ask()
            },
            "--head-dim is missing",
        ),
        (
            Ask {
                heads: Some(30),
                ..ask()
            },
            "cannot share 8 KV heads",
        ),
        (Ask::default(), "no model to budget"),
    ];
    refuses(&cases);
}

#[test]
fn scales_that_mean_nothing() {
    for (scale, part) in [("block:96:4", "such as 32"), ("block:2048:4", "such as 1024")] {
        let ask = Ask {
            bytes: Some(1),
            scale: Some(Scale::parse(scale).unwrap()),
            ..ask()
        };
        let error = ask.budget().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    for text in [
        "",
        "tokens",
        "block",
        "block:0:4",
        "block:128:0",
        "token:4:4",
        "none:1",
        "block:1:2:3",
        "token:-1",
    ] {
        let error = Scale::parse(text).unwrap_err().to_string();
        assert!(error.contains("--scale"), "{text}: {error}");
    }
}

#[test]
fn four_kinds_beside_each_other() {
    let rows = compare(&Ask::default()).unwrap();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.kind.as_str(), row.bytes_per_token.0, row.rank_bytes.0 / MIB))
        .collect();
    assert_eq!(
        found,
        [
            ("MHA", 512 * KIB, 512),
            ("GQA", 128 * KIB, 128),
            ("MQA", 16 * KIB, 128),
            ("MLA", 36 * KIB, 288)
        ]
    );
    assert_eq!(
        rows[1].transfer.as_ref().unwrap().request,
        Nanoseconds(50_000_000)
    );
    assert!(compare(&named("llama-3-8b")).is_err());
}

#[test]
fn every_intermediate_is_named_with_its_formula() {
    let budget = ask().budget().unwrap();
    let step = |name: &str| {
        let found = budget.steps.iter().find(|step| step.name == name);
        found.map(|step| format!("{} = {} {}", step.formula, step.value, step.unit))
    };
    assert_eq!(
        step("bytes_per_token_layer").as_deref(),
        Some("keys and values 2 x kv_heads 8 x head_dim 128 x bytes 2 = 4096 B")
    );
    assert_eq!(
        step("request_bytes").as_deref(),
        Some("bytes_per_token 131072 x tokens 8192 = 1073741824 B")
    );
    assert_eq!(
        step("transfer_ns").as_deref(),
        Some("request_bytes x 1e9 1073741824000000000 / bandwidth 21474836480 rounded up = 50000000 ns")
    );
    for name in [
        "pages",
        "rank_bytes",
        "physical_bytes",
        "batch_bytes",
        "allocated_bytes",
        "chunk_bytes",
    ] {
        assert!(step(name).is_some(), "{name}");
    }
}

#[test]
fn bytes_and_times_are_never_rounded_for_people() {
    for (bytes, text) in [
        (0, "0 B"),
        (656, "656 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (70_272, "68.625 KiB"),
        (1_026 * MIB, "1026 MiB"),
        ((1 << 40) + 1, "1099511627777 B"),
        (u128::MAX, "340282366920938463463374607431768211455 B"),
    ] {
        assert_eq!(readable_bytes(bytes), text);
    }
    for (ns, text) in [
        (1, "1 ns"),
        (1_500, "1.5 us"),
        (50_000_000, "50 ms"),
        (3_200_000_000, "3.2 s"),
    ] {
        assert_eq!(readable_time(ns), text);
    }
}

#[test]
fn segments_by_model() {
    assert_eq!(segment_bytes("llama-3-8b", 1024), Ok(128 << 20));
    assert_eq!(segment_bytes("mistral-7b-v0.1", 8192), Ok(512 << 20));
    assert!(segment_bytes("llama-3-8b", u64::MAX).is_err());
}
