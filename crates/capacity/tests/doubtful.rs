//! Configs that hint at more than plain attention, contradict themselves, or have numbers that no flag would take.

use moonquake_capacity::*;

fn found(lines: &str) -> Result<Budget, CapacityError> {
    let ask = Ask {
        config: Some(("config.json".to_owned(), format!("{{\n{lines}\n}}").into_bytes())),
        tokens: Some(1_000),
        ..Ask::default()
    };
    ask.budget()
}

fn refused(lines: &str, parts: &[&str]) {
    let error = match found(lines) {
        Ok(budget) => panic!("{} bytes of\n{lines}", budget.bytes_per_token),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("; "), "no mend: {error}");
    for part in parts {
        assert!(error.contains(part), "{part}\n{error}\n{lines}");
    }
}

fn accepted(lines: &str) -> Budget {
    found(lines).unwrap_or_else(|error| panic!("{error}\n{lines}"))
}

const NUMBERS: &str = "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 8,
\"head_dim\": 128, \"torch_dtype\": \"bfloat16\"";

/// With a type on the first line if there is one, and more on a line of its own: 3 or 4.
fn config(model: &str, more: &str) -> String {
    let kind = match model {
        "" => String::new(),
        model => format!("\"model_type\": \"{model}\",\n"),
    };
    match more {
        "" => format!("{kind}{NUMBERS}"),
        more => format!("{kind}{NUMBERS},\n{more}"),
    }
}

#[test]
fn keys_that_hint_at_other_layers_are_refused_with_and_without_a_type() {
    for (key, value) in [
        ("_block_types", "[\"recurrent\", \"attention\"]"),
        ("layer_block_type", "\"x\""),
        ("attention_pattern", "\"LLLG\""),
        ("sliding_window_pattern", "6"),
        ("interleaved_attention", "true"),
        ("local_attention", "128"),
        ("recurrent_width", "2560"),
        ("attention_window", "[1]"),
        ("window", "4096"),
        ("attn_window_tokens", "4096"),
        ("max_window_layers", "28"),
        ("use_mamba_layers", "true"),
        ("num_ssm_heads", "4"),
        ("is_linear_attn", "true"),
        ("rope_local_base_freq", "10000.0"),
        ("order_of_interleaved_layers", "\"local_attn_first\""),
        ("Local_Layers", "4"),
    ] {
        let line = format!("\"{key}\": {value}");
        let at = |line: u8| format!("config.json:{line}: `{key}`");
        refused(&config("", &line), &[&at(4)]);
        refused(&config("llama", &line), &[&at(5)]);
        let nested = format!("\"text_config\": {{\n{}}},\n{line}", config("llama", ""));
        refused(&nested, &[&format!("`{key}`")]);
        // What says nothing hints at nothing.
        for none in ["null", "false", "[]"] {
            accepted(&config("", &format!("\"{key}\": {none}")));
        }
    }
    refused(
        &config(
            "mpt",
            "\"attn_config\": {\"kv_n_heads\": 8, \"sliding_window_size\": 64}",
        ),
        &["sliding_window_size"],
    );
    accepted(&config(
        "mpt",
        "\"attn_config\": {\"kv_n_heads\": 8, \"sliding_window_size\": -1}",
    ));
}

#[test]
fn keys_as_they_are_published_stay_understood() {
    let full = format!("[{}\"full_attention\"]", "\"full_attention\", ".repeat(31));
    for (model, more) in [
        ("mixtral", "\"num_local_experts\": 8, \"sliding_window\": null"),
        (
            "qwen2",
            "\"max_window_layers\": 28, \"sliding_window\": 131072, \"use_sliding_window\": false",
        ),
        ("dots1", "\"max_window_layers\": 62, \"sliding_window\": null"),
        (
            "gemma3_text",
            "\"sliding_window\": 512, \"sliding_window_pattern\": 6, \"rope_local_base_freq\": 10000",
        ),
        (
            "cohere2",
            "\"sliding_window\": 4096, \"sliding_window_pattern\": 4, \"order_of_interleaved_layers\": \"local_attn_first\"",
        ),
        ("chatglm", "\"interleaved_qkv\": true"),
        ("ernie4_5_moe", "\"interleave_moe_layer_step\": 1"),
        ("glm4", "\"rope_interleaved\": true"),
    ] {
        accepted(&config(model, more));
    }
    accepted(&config(
        "exaone4",
        &format!("\"sliding_window\": 4096, \"sliding_window_pattern\": \"LLLG\", \"layer_types\": {full}"),
    ));
}

#[test]
fn classes_of_another_kind_are_refused() {
    for class in [
        "MambaForCausalLM",
        "JambaForCausalLM",
        "RwkvForCausalLM",
        "RWKV5",
        "RecurrentGemmaForCausalLM",
    ] {
        let line = format!("\"architectures\": [\"{class}\"]");
        refused(&config("", &line), &["config.json:4: `architectures`", class]);
        refused(
            &config("llama", &line),
            &["config.json:5: `architectures`", class],
        );
        refused(
            &config("llama", &format!("\"architectures\": \"{class}\"")),
            &[class],
        );
    }
    let one = |class: &str| format!("\"architectures\": [\"{class}\"]");
    refused(
        &config("llama", &one("Gemma2ForCausalLM")),
        &["`model_type` is llama", "two families"],
    );
    refused(
        &config("", &one("Gemma2ForCausalLM")),
        &["add \"model_type\": \"gemma2\""],
    );
    refused(
        &config("", &one("NewForCausalLM")),
        &["NewForCausalLM", "add model_type"],
    );
    refused(
        &config("llama", "\"architectures\": [7]"),
        &["`architectures` has 7"],
    );
    for (model, class) in [
        ("llama", "LlamaForCausalLM"),
        ("", "LlamaForCausalLM"),
        ("qwen", "QWenLMHeadModel"),
        ("gpt2", "GPT2LMHeadModel"),
        ("falcon", "RWForCausalLM"),
        ("chatglm", "ChatGLMModel"),
        ("qwen3_vl_moe_text", "Qwen3VLMoeForConditionalGeneration"),
    ] {
        let more = match model {
            "falcon" => ", \"new_decoder_architecture\": true",
            _ => "",
        };
        accepted(&config(model, &format!("{}{more}", one(class))));
    }
    let gemma = format!("{}, \"sliding_window\": 512", one("Gemma3ForCausalLM"));
    accepted(&config("gemma3_text", &gemma));
    let kimi = format!(
        "{}, \"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64",
        one("DeepseekV3ForCausalLM")
    );
    accepted(&config("kimi_k2", &kimi));
}

#[test]
fn a_file_without_a_type_says_how_it_was_read() {
    let says = |budget: &Budget| {
        budget
            .notes
            .iter()
            .any(|note| note.contains("read as plain attention"))
    };
    assert!(says(&accepted(&config("", ""))));
    assert!(!says(&accepted(&config("llama", ""))));
}

#[test]
fn a_file_keeps_to_the_limits_of_the_flags() {
    let llama = config("llama", "");
    let with = |from: &str, to: &str| llama.replace(from, to);
    refused(
        &with("layers\": 32", "layers\": 10001"),
        &["config.json:3: `num_hidden_layers` is 10001", "at most 10000"],
    );
    accepted(&with("layers\": 32", "layers\": 10000"));
    refused(
        &with("dim\": 128", "dim\": 1000001"),
        &["config.json:4: `head_dim` is 1000001", "at most 1000000"],
    );
    refused(
        &with("value_heads\": 8", "value_heads\": 100001"),
        &["config.json:3:", "at most 100000"],
    );
    refused(
        &with("value_heads\": 8", "value_heads\": 18446744073709551615"),
        &["at most 100000"],
    );
    refused(
        &with("value_heads\": 8", "value_heads\": 64"),
        &["config.json:3:", "64 KV heads and only 32 query heads"],
    );
    refused(
        &with("value_heads\": 8", "value_heads\": 7"),
        &["config.json:3:", "32 query heads cannot share 7 KV heads"],
    );
    let list = |last: u64| format!("value_heads\": [{}{last}]", "8, ".repeat(31));
    accepted(&with("value_heads\": 8", &list(4)));
    refused(&with("value_heads\": 8", &list(5)), &["cannot share 5 KV heads"]);
    refused(&with("value_heads\": 8", &list(200_000)), &["at most 100000"]);
    let mpt =
        config("mpt", "\"attn_config\": {\n\"kv_n_heads\": 5}").replace(" \"num_key_value_heads\": 8,", "");
    refused(&mpt, &["config.json:6:", "cannot share 5 KV heads"]);
    refused(
        &config("mistral", "\"sliding_window\": 2000000000000"),
        &["config.json:5: `sliding_window`", "at most 1000000000000"],
    );
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    refused(
        &config("llama", "\"num_hidden_layers\": 16"),
        &["config.json:5: `num_hidden_layers` stands twice; keep the one"],
    );
    // The same value twice too, and at any depth.
    refused(
        &config("llama", "\"a\": [{\"b\": 1,\n\"b\": 1}]"),
        &["config.json:6: `b` stands twice"],
    );
    accepted(&config("llama", "\"a\": [{\"b\": 1.5}, {\"b\": -1}]"));
}
