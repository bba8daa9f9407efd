//! Published forms of `config.json`: computed exactly, or refused with the key's name, its line and what to do.

use moonquake_capacity::config::{Beside, read};
use moonquake_capacity::*;

/// A config of these lines.
fn config(lines: &str) -> String {
    format!("{{\n{lines}\n}}")
}

fn ask(lines: &str, tokens: u64) -> Ask {
    Ask {
        config: Some(("config.json".to_owned(), config(lines).into_bytes())),
        tokens: Some(tokens),
        ..Ask::default()
    }
}

fn budget_of(lines: &str, tokens: u64) -> Budget {
    ask(lines, tokens)
        .budget()
        .unwrap_or_else(|error| panic!("{error}\n{lines}"))
}

fn refused(lines: &str) -> String {
    match ask(lines, 1).budget() {
        Ok(budget) => panic!("{} bytes of\n{lines}", budget.bytes_per_token),
        Err(error) => error.to_string(),
    }
}

const LLAMA: &str = r#""model_type": "llama",
"num_hidden_layers": 32, "num_attention_heads": 32,
"num_key_value_heads": 8, "hidden_size": 4096,
"torch_dtype": "bfloat16""#;

/// The Llama of above with more keys.
fn llama(more: &str) -> String {
    format!("{LLAMA},\n{more}")
}

/// Each of these configs is of that kind and keeps so many bytes of a token.
fn per_token(cases: &[(String, &str, u128)]) {
    for (lines, kind, bytes) in cases {
        let found = budget_of(lines, 1);
        assert_eq!(
            (found.kind.as_str(), found.bytes_per_token),
            (*kind, Bytes(*bytes)),
            "{lines}"
        );
    }
}

#[test]
fn forms_of_a_llama() {
    let cases = [
        (LLAMA.to_owned(), "GQA", 131_072),
        // The head size of the config, not hidden / heads.
        (llama(r#""head_dim": 64"#), "GQA", 65_536),
        (
            llama(r#""head_dim": null, "sliding_window": null"#),
            "GQA",
            131_072,
        ),
        (LLAMA.replace("\"num_key_value_heads\": 8, ", ""), "MHA", 524_288),
        (LLAMA.replace("bfloat16", "float32"), "GQA", 262_144),
        (LLAMA.replace("torch_dtype", "dtype"), "GQA", 131_072),
        (LLAMA.replace("\"model_type\": \"llama\",", ""), "GQA", 131_072),
        // A value of another size than the key.
        (
            llama(r#""head_dim": 192, "v_head_dim": 128"#),
            "GQA",
            32 * 8 * 320 * 2,
        ),
        // KV heads by layer.
        (
            LLAMA
                .replace("32, \"num_att", "3, \"num_att")
                .replace(": 8,", ": [8, 4, 8],"),
            "GQA",
            20 * 2 * 128 * 2,
        ),
        // A model with eyes.
        (
            format!("\"model_type\": \"mistral3\", \"vision_config\": {{}}, \"text_config\": {{{LLAMA}}}"),
            "GQA",
            131_072,
        ),
    ];
    per_token(&cases);
}

#[test]
fn other_families() {
    let cases = [        // Falcon 7B and 40B, under old and new names.
        (
            r#""model_type": "falcon", "num_hidden_layers": 32, "num_attention_heads": 71, "hidden_size": 4544,
            "multi_query": true, "new_decoder_architecture": false, "torch_dtype": "bfloat16""#
                .to_owned(),
            "MQA",
            8_192,
        ),
        (
            r#""model_type": "RefinedWeb", "n_layer": 60, "n_head": 128, "n_head_kv": 8, "hidden_size": 8192,
            "multi_query": true, "new_decoder_architecture": true, "torch_dtype": "bfloat16""#
                .to_owned(),
            "GQA",
            60 * 2 * 8 * 64 * 2,
        ),
        // GPT-2 and StarCoder.
        (
            r#""model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_ctx": 1024, "dtype": "float32""#.to_owned(),
            "MHA",
            12 * 2 * 768 * 4,
        ),
        (
            r#""model_type": "gpt_bigcode", "n_layer": 40, "n_head": 48, "n_embd": 6144, "multi_query": true,
            "torch_dtype": "float16""#
                .to_owned(),
            "MQA",
            40 * 2 * 128 * 2,
        ),
        // ChatGLM, DBRX.
        (
            r#""model_type": "chatglm", "num_layers": 28, "num_attention_heads": 32, "hidden_size": 4096,
            "kv_channels": 128, "multi_query_attention": true, "multi_query_group_num": 2, "torch_dtype": "float16""#
                .to_owned(),
            "GQA",
            28 * 2 * 2 * 128 * 2,
        ),
        (
            r#""model_type": "dbrx", "n_layers": 40, "n_heads": 48, "d_model": 6144,
            "attn_config": {"kv_n_heads": 8}, "torch_dtype": "bfloat16""#
                .to_owned(),
            "GQA",
            40 * 2 * 8 * 128 * 2,
        ),
        // MLA, whatever num_key_value_heads says.
        (
            r#""model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 128, "hidden_size": 7168,
            "num_key_value_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "v_head_dim": 128,
            "quantization_config": {"quant_method": "fp8"}, "torch_dtype": "bfloat16""#
                .to_owned(),
            "MLA",
            70_272,
        ),
    ];
    per_token(&cases);
}

#[test]
fn windows() {
    let each = 2 * 8 * 128 * 2;
    let qwen = |more: &str| LLAMA.replace("\"llama\"", "\"qwen2\"") + ",\n" + more;
    let cases = [
        // Layers that keep all tokens, of 32; the window is 100 and the request 1000.
        (
            qwen(r#""sliding_window": 100, "use_sliding_window": false, "max_window_layers": 28"#),
            32,
        ),
        (qwen(r#""sliding_window": 100"#), 32),
        (
            qwen(r#""sliding_window": 100, "use_sliding_window": true, "max_window_layers": 28"#),
            28,
        ),
        (
            qwen(r#""sliding_window": 100, "use_sliding_window": true, "max_window_layers": 32"#),
            32,
        ),
        (
            qwen(r#""sliding_window": 100, "use_sliding_window": true, "max_window_layers": 0"#),
            0,
        ),
        (
            LLAMA.replace("\"llama\"", "\"mistral\"") + r#", "sliding_window": 100"#,
            0,
        ),
        (
            LLAMA.replace("\"llama\"", "\"gemma2\"") + r#", "head_dim": 128, "sliding_window": 100"#,
            16,
        ),
        (
            LLAMA.replace("\"llama\"", "\"gemma3_text\"") + r#", "head_dim": 128, "sliding_window": 100"#,
            5,
        ),
        (
            LLAMA.replace("\"llama\"", "\"cohere2\"")
                + r#", "sliding_window": 100, "sliding_window_pattern": 4"#,
            8,
        ),
        (
            LLAMA
                .replace("\"llama\"", "\"gpt_oss\"")
                .replace(": 32, \"num_att", ": 3, \"num_att")
                + r#", "head_dim": 128, "sliding_window": 100,
                "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]"#,
            1,
        ),
    ];
    for (lines, all) in cases {
        let layers = if lines.contains("layer_types") { 3 } else { 32 };
        let found = budget_of(&lines, 1_000);
        let wanted = each * (all * 1_000 + (layers - all) * 100);
        assert_eq!(found.request_bytes, Bytes(wanted), "{lines}");
        assert_eq!(found.bytes_per_token, Bytes(each * layers), "{lines}");
        let says_so = found
            .notes
            .iter()
            .any(|note| note.contains("min(tokens, window)"));
        assert_eq!(says_so, all < layers, "{lines}");
        // 1000 tokens are 63 pages of 16, a window of 100 has 7.
        let pages = all * 63 + (layers - all) * 7;
        assert_eq!(found.allocated_bytes, Bytes(each * pages * 16), "{lines}");
    }
}

#[test]
fn an_indexer_is_counted_as_it_is_told() {
    let lines = r#""model_type": "deepseek_v32", "num_hidden_layers": 61, "num_attention_heads": 128,
"kv_lora_rank": 512, "qk_rope_head_dim": 64, "torch_dtype": "bfloat16",
"index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048"#;
    let error = refused(lines);
    assert!(error.starts_with("config.json:4: `index_head_dim`"), "{error}");
    assert!(error.contains("--index-bytes"), "{error}");
    let told = Ask {
        index_bytes: Some(132),
        tp: Some(8),
        ..ask(lines, 10)
    };
    let told = told.budget().unwrap();
    assert_eq!(told.bytes_per_token, Bytes(61 * (1152 + 132)));
    assert_eq!(told.physical_bytes.0, 8 * told.request_bytes.0);
    assert_eq!(told.kind, "MLA + indexer");
}

fn all_refused(cases: &[(String, &str)]) {
    for (lines, part) in cases {
        let error = refused(lines);
        assert!(error.contains(part), "{part}\n{error}\n{lines}");
        assert!(
            error.starts_with("config.json") && error.contains("; "),
            "no place or mend: {error}"
        );
    }
}

#[test]
fn what_is_refused_names_its_key_and_line() {
    let cases = [
        (
            llama(r#""is_encoder_decoder": true"#),
            "config.json:6: `is_encoder_decoder`",
        ),
        (llama(r#""add_cross_attention": true"#), "`add_cross_attention`"),
        (
            llama(r#""cross_attention_layers": [3, 8]"#),
            "`cross_attention_layers`",
        ),
        (llama(r#""mamba_d_state": 16"#), "`mamba_d_state`"),
        (llama(r#""ssm_cfg": {"a": 1}"#), "`ssm_cfg`"),
        (llama(r#""linear_num_key_heads": 16"#), "`linear_num_key_heads`"),
        (
            llama(r#""full_attention_interval": 4"#),
            "`full_attention_interval`",
        ),
        (llama(r#""attention_chunk_size": 8192"#), "`attention_chunk_size`"),
        (llama(r#""num_kv_shared_layers": 10"#), "`num_kv_shared_layers`"),
        (
            llama(r#""hybrid_override_pattern": "M-*""#),
            "`hybrid_override_pattern`",
        ),
        (llama(r#""attn_type_list": [0, 1]"#), "`attn_type_list`"),
        (llama(r#""compress_ratios": [4]"#), "`compress_ratios`"),
        (llama(r#""index_topk_freq": 4"#), "`index_topk_freq`"),
        (llama(r#""window_size": 256"#), "`window_size`"),
        (llama(r#""sliding_window": 4096"#), "nothing says which layers"),
        (llama(r#""sliding_window": "4096""#), "`sliding_window`"),
    ];
    all_refused(&cases);
}

#[test]
fn what_contradicts_itself_is_refused_too() {
    let cases = [
        (llama(r#""layer_types": ["full_attention"]"#), "1 entries for 32 layers"),
        (
            LLAMA.replace(": 32, \"num_att", ": 2, \"num_att") + r#", "layer_types": ["full_attention", "linear_attention"]"#,
            "linear_attention",
        ),
        (
            LLAMA.replace(": 32, \"num_att", ": 1, \"num_att") + r#", "layer_types": ["sliding_attention"]"#,
            "`sliding_window` is missing",
        ),
        (llama(r#""n_layer": 31"#), "`num_hidden_layers` is 32 and `n_layer` is 31"),
        (LLAMA.replace("\"llama\"", "\"new_thing\""), "`model_type` is \"new_thing\""),
        (LLAMA.replace("\"llama\"", "7"), "`model_type` is 7"),
        (LLAMA.replace("\"llama\"", "\"qwen3\""), "`head_dim` is missing"),
        (LLAMA.replace("\"num_key_value_heads\": 8, ", "").replace("\"llama\"", "\"mistral\""), "`num_key_value_heads` is missing"),
        (LLAMA.replace("\"num_hidden_layers\": 32, ", ""), "`num_hidden_layers` is missing"),
        (LLAMA.replace(": 4096", ": 4097"), "no multiple of 32 heads"),
        (LLAMA.replace(": 8,", ": 0,"), "`num_key_value_heads` is 0"),
        (LLAMA.replace(": 8,", ": -8,"), "`num_key_value_heads` is -8"),
        (LLAMA.replace(": 8,", ": 8.5,"), "`num_key_value_heads` is 8.5"),
        (LLAMA.replace(": 8,", ": \"8\","), "not a whole number"),
        (LLAMA.replace("bfloat16", "int3"), "`torch_dtype` is \"int3\""),
        (LLAMA.replace(",\n\"torch_dtype\": \"bfloat16\"", ""), "add --bytes 2"),
        (llama(r#""quantization_config": {"kv_cache_scheme": {"num_bits": 8}}"#), "kv_cache_scheme"),
        (
            LLAMA.replace("\"llama\"", "\"deepseek_v3\"") + r#", "kv_lora_rank": 512"#,
            "`qk_rope_head_dim` is missing",
        ),
        (llama(r#""text_config": {"num_hidden_layers": 16}"#), "32 at the top and 16 in `text_config`"),
        (
            r#""model_type": "falcon", "num_hidden_layers": 32, "num_attention_heads": 71, "hidden_size": 4544,
            "torch_dtype": "bfloat16""#
                .to_owned(),
            "`multi_query` is missing",
        ),
        (llama(r#""multi_query": true"#), "`multi_query` is true and there are 8 KV heads"),
    ];
    all_refused(&cases);
    // The type of the cache may be told beside the file.
    let told = Ask {
        bytes: Some(1),
        ..ask(
            &llama(r#""quantization_config": {"kv_cache_scheme": {"num_bits": 8}}"#),
            1,
        )
    };
    assert_eq!(told.budget().unwrap().bytes_per_token, Bytes(65_536));
}

#[test]
fn what_is_no_config() {
    for (text, part) in [
        (&b""[..], "config.json:1: this is no JSON"),
        (b"{\n\"a\": 1,\n}", "config.json:3: this is no JSON"),
        (b"[1]", "no JSON object"),
        (b"\xff\xfe", "no text"),
        (b"{}", "`num_hidden_layers` is missing"),
    ] {
        let error = read("config.json", text, Beside::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
    let nested = "[".repeat(100_000);
    assert!(read("c", nested.as_bytes(), Beside::default()).is_err());
    let large = vec![b' '; 5 << 20];
    assert!(
        read("c", &large, Beside::default())
            .unwrap_err()
            .to_string()
            .contains("too large")
    );
}
