//! `moonquake budget`: the example of the study, and what is refused.

use crate::support::{Place, good};
use serde_json::json;

const EXAMPLE: &str = "budget --layers 32 --kv-heads 8 --head-dim 128 --bytes 2 --tokens 8192 --batch 64 --page 16 --chunk 256 \
                       --tp 8 --bandwidth 20GiB/s";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn cli_a_budget_for_people_and_for_machines() {
    let place = Place::new();
    place
        .moonquake(&words(EXAMPLE))
        .exits(0)
        .says("128 KiB")
        .says("1 GiB")
        .says("50 ms")
        .says("(computed)")
        .says("lower bounds");
    let json = place
        .moonquake(&words(&format!("{EXAMPLE} --format json --explain")))
        .exits(0)
        .json();
    assert_eq!(json["origin"], "computed");
    for (key, value) in [
        ("layers", 32_u64),
        ("kv_heads", 8),
        ("head_dim", 128),
        ("v_head_dim", 128),
        ("bytes_per_token_layer", 4_096),
        ("bandwidth_bytes_per_second", 20 << 30),
        ("bytes_per_token", 131_072),
        ("request_bytes", 1 << 30),
        ("rank_bytes", 128 << 20),
        ("batch_bytes", 64 << 30),
        ("chunk_bytes", 32 << 20),
        ("transfer_ns", 50_000_000),
        ("pages", 512),
    ] {
        assert_eq!(json[key], json!(value), "{key}");
    }
    assert!(json["mla_rank"].is_null() && json["rope_dim"].is_null());
    let steps = json["explain"].as_array().unwrap();
    assert!(steps.len() > 15 && steps.iter().all(|step| step["formula"].is_string()));
}

#[test]
fn cli_a_bandwidth_may_have_decimals() {
    let place = Place::new();
    let json = place
        .moonquake(&words(
            "budget --model llama-3-8b --bandwidth 12.5GB/s --format json",
        ))
        .exits(0)
        .json();
    assert_eq!(json["bandwidth_bytes_per_second"], 12_500_000_000_u64);
}

#[test]
fn cli_kinds_of_attention_beside_each_other() {
    let place = Place::new();
    let text = place.moonquake(&["budget", "--compare"]).exits(0).out;
    let at = |kind: &str| text.find(kind).unwrap_or_else(|| panic!("no {kind} in\n{text}"));
    assert!(at("MHA") < at("GQA") && at("GQA") < at("MQA") && at("MQA") < at("MLA"));
    let json = place
        .moonquake(&words("budget --compare --format json --explain"))
        .exits(0)
        .json();
    let found: Vec<_> = json["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["bytes_per_token"].clone())
        .collect();
    assert_eq!(found, [524_288, 131_072, 16_384, 36_864]);
    assert_eq!(json["rows"][3]["explain"][0]["name"], "tokens");
}

#[test]
fn cli_a_config_is_read_and_a_wrong_one_is_refused_with_its_line() {
    let place = Place::new();
    let config = "{\n\"num_hidden_layers\": 80, \"num_attention_heads\": 64, \"num_key_value_heads\": 8,\n\
                  \"hidden_size\": 8192, \"torch_dtype\": \"bfloat16\"\n}";
    place.file("config.json", config);
    let json = place
        .moonquake(&words("budget --config config.json --format json"))
        .exits(0)
        .json();
    assert_eq!(json["bytes_per_token"], 327_680);
    place.file("wrong.json", config.replace(": 8,", ": 0,"));
    place
        .moonquake(&words("budget --config wrong.json"))
        .exits(64)
        .complains("wrong.json:2: `num_key_value_heads` is 0");
    place
        .moonquake(&words("budget --config none.json"))
        .exits(64)
        .complains("none.json cannot be read");
}

#[test]
fn cli_a_wrong_budget_is_refused_with_the_flag_and_a_mend() {
    let place = Place::new();
    for (more, part) in [
        ("--tp 3", "use --tp 2 or 4"),
        ("--page 0", "--page 0: there must be at least one"),
        ("--page=-1", "--page -1: it is negative"),
        ("--page -1", "--page -1: it is negative"),
        ("--tokens 1e9", "--tokens 1e9"),
        ("--tokens 99999999999999999999", "it is too large"),
        ("--bandwidth 20", "such as in 20GiB/s"),
        ("--bandwidth=-1GB/s", "write an unsigned number"),
        ("--bandwidth 0GB/s", "must not be 0"),
        ("--bandwidth 0.0000000015GB/s", "write 1B/s or 2B/s"),
        ("--scale block:128:4", "add --bytes 1"),
        ("--layers 3", "--model and --layers both"),
    ] {
        let line = format!("budget --model llama-3-8b {more}");
        let said = place.moonquake(&words(&line)).exits(64).complains(part);
        assert_eq!(said.out, "", "{line}");
    }
    place
        .moonquake(&words("budget --model lama-3-8b"))
        .exits(64)
        .complains("did you mean llama-3-8b?");
    place.moonquake(&["budget"]).exits(64).complains("--model NAME");
}

#[test]
fn cli_a_budget_is_drawn() {
    let place = Place::new();
    let svg = |line: &str| {
        place.moonquake(&words(line)).exits(0);
        std::fs::read_to_string(place.path().join("a.svg")).unwrap()
    };
    let kinds = svg("budget --compare --svg a.svg");
    assert!(
        kinds.starts_with("<svg") && kinds.contains("MHA") && kinds.contains("MLA"),
        "{kinds}"
    );
    let one = svg("budget --model llama-3-8b --tokens 5000 --svg a.svg");
    assert!(
        one.contains("llama-3-8b: bytes of a KV cache over tokens") && !one.contains("MHA"),
        "{one}"
    );
    place
        .moonquake(&words("budget --compare --svg none/a.svg"))
        .exits(70)
        .says("MHA")
        .complains("--svg FILE");
}

#[test]
fn cli_the_help_lists_every_model() {
    let place = Place::new();
    let help = place.moonquake(&["budget", "--help"]).exits(0).out;
    let wrong = place.moonquake(&["budget", "--model", "zzz"]).exits(64).err;
    let list = wrong
        .split("the table has ")
        .nth(1)
        .unwrap()
        .split(", others")
        .next()
        .unwrap();
    let names: Vec<&str> = list.split(", ").collect();
    assert!(names.len() > 8, "{wrong}");
    for name in names {
        assert!(help.contains(name), "{name} is not in\n{help}");
    }
}

#[test]
fn cli_a_scenario_with_a_segment_by_model_checks() {
    let place = Place::new();
    let text = good("by-model");
    let sized = text.replacen("\"16MiB\"", "{ model = \"llama-3-8b\", tokens = 128 }", 1);
    assert_ne!(text, sized);
    place.file("by-model.scenario.toml", sized);
    place
        .moonquake(&["explain", "by-model.scenario.toml"])
        .exits(0)
        .says("(16MiB)");
}
