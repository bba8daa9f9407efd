//! What families of models mean by a key, and by its absence, where they differ from each other.

use moonquake_capacity::*;

fn ask(lines: &str, tokens: u64) -> Ask {
    Ask {
        config: Some(("config.json".to_owned(), format!("{{\n{lines}\n}}").into_bytes())),
        tokens: Some(tokens),
        ..Ask::default()
    }
}

fn budget_of(lines: &str, tokens: u64) -> Budget {
    ask(lines, tokens)
        .budget()
        .unwrap_or_else(|error| panic!("{error}\n{lines}"))
}

/// The file is refused with each of these parts in the message.
fn refused(lines: &str, parts: &[&str]) {
    let error = match ask(lines, 1).budget() {
        Ok(budget) => panic!("{} bytes of\n{lines}", budget.bytes_per_token),
        Err(error) => error.to_string(),
    };
    for part in parts {
        assert!(error.contains(part), "{part}\n{error}\n{lines}");
    }
}

fn has_note(budget: &Budget, part: &str) -> bool {
    budget.notes.iter().any(|note| note.contains(part))
}

/// 32 layers, 32 query heads, 8 KV heads of 128: 4096 B of a token in a layer.
fn plain(model: &str, more: &str) -> String {
    format!(
        "\"model_type\": \"{model}\",\n\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 8,\n\
         \"hidden_size\": 4096, \"torch_dtype\": \"bfloat16\"{more}"
    )
}

const HEAD: &str = ", \"head_dim\": 128";

#[test]
fn qwen3_moe_has_its_window_in_every_layer() {
    for more in ["", ", \"max_window_layers\": 28"] {
        let window = format!("{HEAD}, \"sliding_window\": 100, \"use_sliding_window\": true{more}");
        let found = budget_of(&plain("qwen3_moe", &window), 1_000);
        assert_eq!(found.request_bytes, Bytes(32 * 4_096 * 100));
        let off = budget_of(&plain("qwen3_moe", &window.replace("true", "false")), 1_000);
        assert_eq!(off.request_bytes, Bytes(32 * 4_096 * 1_000));
        // Its dense sister has it from a layer on, and must say from which.
        let dense = plain("qwen3", &window);
        if more.is_empty() {
            refused(&dense, &["`max_window_layers` is missing"]);
        } else {
            let found = budget_of(&dense, 1_000).request_bytes;
            assert_eq!(found, Bytes(4_096 * (28 * 1_000 + 4 * 100)));
        }
    }
}

#[test]
fn a_window_that_the_class_would_add_must_be_said() {
    for model in [
        "mistral",
        "ministral",
        "gemma2",
        "gemma3_text",
        "cohere2",
        "gpt_oss",
        "olmo3",
        "dots1",
        "exaone4",
    ] {
        refused(
            &plain(model, HEAD),
            &["`sliding_window` is missing", model, "or null"],
        );
        // In words there is none.
        let none = plain(model, &format!("{HEAD}, \"sliding_window\": null"));
        assert_eq!(budget_of(&none, 1_000).request_bytes, Bytes(32 * 4_096 * 1_000));
    }
    for model in ["mixtral", "phi3", "phimoe", "starcoder2", "llama"] {
        assert_eq!(
            budget_of(&plain(model, ""), 1_000).request_bytes,
            Bytes(32 * 4_096 * 1_000)
        );
    }
    // Where each layer is said to keep all, the window does not matter, unless the family does not read that.
    let full = format!(
        "{HEAD}, \"layer_types\": [{}\"full_attention\"]",
        "\"full_attention\", ".repeat(31)
    );
    let found = budget_of(&plain("olmo3", &full), 1_000);
    assert_eq!(found.request_bytes, Bytes(32 * 4_096 * 1_000));
    refused(&plain("mistral", &full), &["`sliding_window` is missing"]);
}

#[test]
fn a_window_is_a_floor_and_says_so() {
    let windowed = budget_of(&plain("mistral", ", \"sliding_window\": 100"), 1_000);
    assert!(
        has_note(&windowed, "That is a floor: vLLM"),
        "{:?}",
        windowed.notes
    );
    assert!(has_note(&windowed, "max_num_batched_tokens"));
    assert!(!has_note(&budget_of(&plain("llama", ""), 1_000), "floor"));
}

#[test]
fn starcoder_has_one_head_unless_it_says_otherwise() {
    let coder = |more: &str| {
        format!(
            "\"model_type\": \"gpt_bigcode\", \"n_layer\": 40, \"n_head\": 48, \"n_embd\": 6144, \"torch_dtype\": \"float16\"{more}"
        )
    };
    let absent = budget_of(&coder(""), 1);
    assert_eq!(
        (absent.kind.as_str(), absent.bytes_per_token),
        ("MQA", Bytes(40 * 2 * 128 * 2))
    );
    assert!(has_note(&absent, "no multi_query"), "{:?}", absent.notes);
    let many = budget_of(&coder(", \"multi_query\": false"), 1);
    assert_eq!(
        (many.kind.as_str(), many.bytes_per_token),
        ("MHA", Bytes(40 * 2 * 6_144 * 2))
    );
    refused(&coder(", \"multi_query\": null"), &["`multi_query` is null"]);
    refused(
        &coder(", \"num_key_value_heads\": 8"),
        &["`multi_query` is true and there are 8"],
    );
    refused(
        &coder(", \"num_key_value_heads\": 8, \"multi_query\": false"),
        &["`multi_query` is false", "48 query heads"],
    );
}

#[test]
fn falcon_of_the_old_architecture() {
    let falcon = |model: &str, more: &str| {
        format!(
            "\"model_type\": \"{model}\", \"n_layer\": 60, \"n_head\": 128, \"hidden_size\": 8192, \"torch_dtype\": \"bfloat16\"{more}"
        )
    };
    let head = 60 * 2 * 64 * 2;
    for (model, more, heads) in [
        // The first form of the 40B model.
        ("RefinedWeb", ", \"n_head_kv\": 8", 8),
        ("falcon", ", \"multi_query\": false, \"num_kv_heads\": 8", 8),
        ("RefinedWeb", ", \"multi_query\": false, \"n_head_kv\": 8", 8),
        ("falcon", ", \"multi_query\": false", 128),
        ("falcon", ", \"multi_query\": true, \"num_kv_heads\": 128", 1),
    ] {
        let found = budget_of(&falcon(model, more), 1).bytes_per_token;
        assert_eq!(found, Bytes(head * heads), "{model}{more}");
    }
    for (model, more) in [
        ("RefinedWeb", ""),
        ("RefinedWebModel", ", \"n_head_kv\": 8"),
        ("falcon", ", \"num_kv_heads\": 8"),
    ] {
        refused(&falcon(model, more), &["`multi_query` is missing"]);
    }
}

const LATENT: &str = ", \"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64";

#[test]
fn only_families_known_to_keep_a_latent_do() {
    for model in [
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "kimi_k2",
        "glm4_moe_lite",
        "glm_moe_dsa",
    ] {
        let found = budget_of(&plain(model, LATENT), 1);
        assert_eq!(
            (found.kind.as_str(), found.bytes_per_token),
            ("MLA", Bytes(32 * 576 * 2))
        );
        // Without the key the class has a rank of its own, and no heads.
        refused(&plain(model, ""), &["`kv_lora_rank` is missing"]);
    }
    for model in ["llama", "minicpm", "deepseek"] {
        refused(
            &plain(model, LATENT),
            &[
                "config.json:4: `kv_lora_rank` is set",
                model,
                "--mla-rank",
                "--kv-heads",
            ],
        );
    }
    let untyped = plain("llama", LATENT).replace("\"model_type\": \"llama\",", "");
    let found = budget_of(&untyped, 1);
    assert_eq!(found.bytes_per_token, Bytes(32 * 576 * 2));
    assert!(has_note(&found, "no model_type"), "{:?}", found.notes);
}

#[test]
fn minicpm3_depends_on_the_engine() {
    refused(
        &plain("minicpm3", LATENT),
        &[
            "config.json:2: `model_type` is \"minicpm3\"",
            "SGLang",
            "vLLM",
            "--mla-rank",
            "--kv-heads",
        ],
    );
}

#[test]
fn an_indexer_in_some_layers_is_not_charged_to_all() {
    let indexer = format!("{LATENT}, \"index_head_dim\": 128, \"index_n_heads\": 32, \"index_topk\": 2048");
    let told = |more: &str| Ask {
        index_bytes: Some(132),
        ..ask(&plain("glm_moe_dsa", &format!("{indexer}{more}")), 1)
    };
    // As published.
    let all = told(", \"indexer_rope_interleave\": true").budget().unwrap();
    assert_eq!(all.bytes_per_token, Bytes(32 * (1_152 + 132)));
    let error = told(", \"indexer_types\": [\"full\", \"shared\"]")
        .budget()
        .unwrap_err();
    assert!(error.to_string().contains("`indexer_types` is set"), "{error}");
    assert!(error.to_string().contains("some layers only"), "{error}");
}

/// As published: the text part of the 4B model leaves out its heads.
const GEMMA_3_4B: &str = r#""architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
"text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
"num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024},
"torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1152, "num_attention_heads": 16}"#;

#[test]
fn gemma_3_4b_has_the_heads_of_its_class() {
    let found = budget_of(GEMMA_3_4B, 8_192);
    assert_eq!(found.bytes_per_token, Bytes(34 * 2 * 4 * 256 * 2));
    // Every sixth of 34 layers keeps all.
    assert_eq!(found.request_bytes, Bytes(4_096 * (5 * 8_192 + 29 * 1_024)));
    assert_eq!(found.kind, "GQA, sliding window in some layers");
    for part in [
        "num_attention_heads: 8",
        "num_key_value_heads: 4",
        "head_dim: 256",
    ] {
        assert!(has_note(&found, part), "{part}\n{:?}", found.notes);
    }
    // What the file says goes first, and null says something.
    let said = GEMMA_3_4B.replace(
        "\"hidden_size\": 2560",
        "\"head_dim\": 128, \"hidden_size\": 2560",
    );
    assert_eq!(budget_of(&said, 1).bytes_per_token, Bytes(34 * 2 * 4 * 128 * 2));
    refused(&said.replace("128", "null"), &["`head_dim` is missing"]);
    // Without a type inside, that of the whole counts.
    refused(
        &GEMMA_3_4B.replace("\"model_type\": \"gemma3_text\",", ""),
        &["`head_dim` is missing", "gemma3"],
    );
    refused(
        &GEMMA_3_4B.replace("34,", "34, \"use_bidirectional_attention\": true,"),
        &["`use_bidirectional_attention` is set"],
    );
}

#[test]
fn heads_of_a_size_of_their_own_must_be_said() {
    for model in ["qwen3_vl", "qwen3_vl_text", "glm", "glm4"] {
        refused(&plain(model, ""), &["`head_dim` is missing", model]);
        let found = budget_of(&plain(model, ", \"head_dim\": 64"), 1);
        assert_eq!(found.bytes_per_token, Bytes(32 * 2_048));
    }
    // These do share out their hidden size.
    let found = budget_of(&plain("qwen3_vl_moe_text", ""), 1);
    assert_eq!(found.bytes_per_token, Bytes(32 * 4_096));
}

#[test]
fn what_all_layers_have_in_common_is_said() {
    let json = |lines: &str| show::flat(&budget_of(lines, 1));
    let latent = json(&plain("deepseek_v3", LATENT));
    for (key, value) in [
        ("layers", 32),
        ("mla_rank", 512),
        ("rope_dim", 64),
        ("bytes_per_token_layer", 1_152),
    ] {
        assert_eq!(latent[key], value, "{key}");
    }
    assert!(latent["kv_heads"].is_null() && latent["head_dim"].is_null());
    // Layers that differ in their window alone keep the same of a token.
    let windowed = json(&plain("gemma2", &format!("{HEAD}, \"sliding_window\": 100")));
    assert_eq!(windowed["layers"], 32);
    assert_eq!(windowed["bytes_per_token_layer"], 4_096);
    // Others do not, even where the bytes would divide.
    let heads = format!("[{}8, 4]", "8, ".repeat(30));
    let mixed = json(&plain("llama", "").replace(": 8,", &format!(": {heads},")));
    assert_eq!(mixed["layers"], 32);
    assert!(mixed["bytes_per_token_layer"].is_null() && mixed["kv_heads"].is_null());
    // An index key is counted once for each layer.
    let indexed = Ask {
        index_bytes: Some(132),
        ..ask(
            &plain("deepseek_v32", &format!("{LATENT}, \"index_head_dim\": 128")),
            1,
        )
    };
    let each = indexed.budget().unwrap().per_layer;
    assert_eq!(
        (each.layers, each.bytes_per_token),
        (Some(Layers(32)), Some(Bytes(1_284)))
    );
}
