//! The tables of the language, tried cell by cell.

use super::from_str;
use super::verbs::{ArgKind, keys};
use crate::{Action, ArgValue, Base, ByteRange, Length, Moment, Plan, Term, Timeouts, Trigger, Verb, What};
use moonquake_clock::{Domain, Span};
use moonquake_faults::{ActionKind, DIMENSIONS, PHASES, TriggerKind};
use moonquake_protocol::{ErrorCode, Rpc};

/// A scenario with this fault and these steps.
fn scenario(fault: &str, steps: &str) -> String {
    format!(
        "schema = 1\nid = \"a/b\"\ntitle = \"t\"\nwhy = \"w\"\n\
         [world]\nsegments = {{ n2 = \"32MiB\", n1 = \"16MiB\" }}\nclients = [\"w1\", \"r1\"]\n\
         [fault]\n{fault}\n[timeline]\nsteps = [\n{steps}]\n\
         [report]\nexpected = \"e\"\nrepair = \"r\"\n[[verdict]]\nis = \"holds\"\n"
    )
}

fn plan(fault: &str, steps: &str) -> Plan {
    let text = scenario(fault, steps);
    from_str("x", text.as_bytes()).unwrap_or_else(|errors| panic!("{}\n{text}", errors.plain()))
}

const KILL: &str = "dimension = \"crash\"\ntarget = \"w1\"\nafter = \"p1\"\naction = \"kill\"\n";
const PUT: &str = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", bind = \"a1\", async = true },\n";
const GET: &str = "{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", into = \"b1\", async = true },\n";

fn written(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Kill => "\"kill\"",
        ActionKind::Freeze => "\"freeze\"",
        ActionKind::Hold => "\"hold\"",
        ActionKind::Drop => "\"drop\"",
        ActionKind::Duplicate => "\"duplicate\"",
        ActionKind::Cut => "\"cut\"",
        ActionKind::Restart => "{ restart = \"5s\" }",
        ActionKind::Delay => "{ delay = \"1s\" }",
        ActionKind::Error => "{ error = \"RPC_FAIL\" }",
        ActionKind::Rate => "{ rate = \"1MiB/s\" }",
        ActionKind::ClockStep => "{ step = \"-61s\", clock = \"monotonic\" }",
    }
}

/// Every dimension with every trigger and every action, or none: what the table allows parses, and nothing else does.
#[test]
fn the_table_of_dimensions_is_what_parses() {
    let triggers = [
        (TriggerKind::At, "at = \"client.get.payload_part\"\nof = \"g1\""),
        (TriggerKind::After, "after = \"p1\""),
        (TriggerKind::Deadline, "deadline = \"p1 + lease\""),
        (TriggerKind::Step, "step = [\"p1\", \"g1\"]"),
    ];
    let actions = moonquake_faults::ACTIONS.iter().map(|row| Some(row.kind));
    let actions: Vec<Option<ActionKind>> = actions.chain([None]).collect();
    let steps = format!(
        "{PUT}{GET}{{ at = \"p1 + lease - 1ns\", tick = \"eviction\" }},\n{{ at = \"p1 + lease\", tick = \"eviction\" }},\n"
    );
    let mut accepted = 0;
    for row in DIMENSIONS {
        for (trigger, text) in triggers {
            for action in &actions {
                let written = action.map_or(String::new(), |kind| format!("\naction = {}", written(kind)));
                let fault = format!("dimension = \"{}\"\ntarget = \"n1\"\n{text}{written}", row.name);
                let allowed = row.id.actions(trigger).is_some_and(|list| match action {
                    None => list.is_empty(),
                    Some(kind) => list.contains(kind),
                });
                let read = from_str("x", scenario(&fault, &steps).as_bytes());
                match &read {
                    Ok(plan) => {
                        assert_eq!(plan.fault.dimension, row.id);
                        assert_eq!(plan.fault.trigger.kind(), trigger);
                        assert_eq!(plan.fault.action.as_ref().map(Action::kind), *action);
                        accepted += 1;
                    }
                    Err(errors) => assert!(!allowed, "{fault}\n{}", errors.plain()),
                }
                assert_eq!(read.is_ok(), allowed, "{fault}");
            }
        }
    }
    assert_eq!(accepted, 29);
}

#[test]
fn every_phase_can_be_named() {
    for phase in PHASES {
        let fault = format!(
            "dimension = \"crash\"\ntarget = \"w1\"\nat = \"{}\"\nhit = 7\naction = \"kill\"",
            phase.name
        );
        let expected = Trigger::At {
            phase: phase.id,
            of: None,
            hit: 7,
        };
        assert_eq!(plan(&fault, PUT).fault.trigger, expected);
    }
}

#[test]
fn actions_carry_their_arguments() {
    let action = |dimension: &str, written: &str| {
        let fault = format!(
            "dimension = \"{dimension}\"\ntarget = \"w1\"\nat = \"client.put.end_response\"\nof = \"p1\"\naction = {written}"
        );
        plan(&fault, PUT).fault.action
    };
    let step = |by_ns, clock| Some(Action::ClockStep { by_ns, clock });
    assert_eq!(
        action("restart", "\"restart\""),
        Some(Action::Restart(Span::ZERO))
    );
    assert_eq!(
        action("restart", "{ restart = \"5s\" }"),
        Some(Action::Restart(Span::from_secs(5)))
    );
    assert_eq!(
        action("network", "{ delay = \"7ms\" }"),
        Some(Action::Delay(Span::from_ms(7)))
    );
    assert_eq!(
        action("network", "{ rate = \"100KiB/s\" }"),
        Some(Action::Rate(102_400))
    );
    assert_eq!(
        action("network", "{ error = \"LEASE_EXPIRED\" }"),
        Some(Action::Error(ErrorCode::LeaseExpired))
    );
    assert_eq!(
        action("clock", "{ step = \"+61s\", clock = \"realtime\" }"),
        step(61_000_000_000, Domain::Realtime)
    );
    assert_eq!(
        action("clock", "{ step = \"-1ns\", clock = \"monotonic\" }"),
        step(-1, Domain::Monotonic)
    );
}

/// A value that fits a key.
fn value_of(key: &str) -> &'static str {
    match key {
        "size" => "\"1MiB\"",
        "keys" => "[\"k{1..3}\", \"last\"]",
        "into" => "\"b9\"",
        "from" => "\"b8\"",
        "bind" => "[\"c1\", \"c2\"]",
        "pattern" | "payload" => "\"w1\"",
        "count" => "3",
        "ranges" => "[\"0B+64KiB\", \"1MiB + 1KiB\"]",
        _ => "\"k\"",
    }
}

#[test]
fn ranges_are_where_they_begin_and_how_long_they_are() {
    let read = plan(
        KILL,
        &format!(
            "{PUT}{{ who = \"r1\", do = \"get\", key = \"k\", ranges = [\"1MiB+64KiB\", \"0B + 3B\"], expect = \"ok, INVALID_PARAMS\" }},\n"
        ),
    );
    let action = read.steps[1].operation().expect("an operation");
    let range = |from, size_bytes| ByteRange { from, size_bytes };
    assert_eq!(action.ranges, [range(1 << 20, 64 << 10), range(0, 3)]);
    assert_eq!(action.entries(), Some(2));
    assert!(
        read.steps[1].text.ends_with("ranges 1MiB+64KiB 0B+3B"),
        "{}",
        read.steps[1].text
    );
}

/// Every verb with every key that it has, and without each key that it needs.
#[test]
fn every_verb_takes_its_keys_and_needs_some() {
    let sessions = "{ id = \"s1\", who = \"w1\", do = \"get_start\", key = \"k\" },\n\
                    { id = \"s2\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"1MiB\" },\n";
    for verb in Verb::all().into_iter().filter(|verb| *verb != Verb::Resume) {
        let own = keys(verb);
        let mut given: Vec<(String, String)> = Vec::new();
        for key in own
            .needs
            .iter()
            .chain(own.may.iter().filter(|key| **key != "use"))
        {
            given.push(((*key).to_owned(), value_of(key).to_owned()));
        }
        for (name, kind) in own.args.iter().filter(|(name, _)| !own.needs.contains(name)) {
            let value = match kind {
                ArgKind::Bool => "true".to_owned(),
                ArgKind::Int => "2".to_owned(),
                ArgKind::Text => "\"text\"".to_owned(),
                ArgKind::List => "[\"n1\", \"n2\"]".to_owned(),
                ArgKind::Word(words) => format!("\"{}\"", words[0]),
            };
            given.push(((*name).to_owned(), value));
        }
        let step = |without: Option<&str>| {
            let pairs: Vec<String> = given
                .iter()
                .filter(|(key, _)| Some(key.as_str()) != without)
                .map(|(key, value)| format!(", {key} = {value}"))
                .collect();
            format!(
                "{PUT}{sessions}{{ who = \"w1\", do = \"{}\"{} }},\n",
                verb.name(),
                pairs.concat()
            )
        };
        let read = plan(KILL, &step(None));
        let action = read.steps[3].operation().expect("an operation");
        assert_eq!(action.verb, verb);
        assert_eq!(action.args.len(), own.args.len(), "{}", verb.name());
        for key in &own.needs {
            let text = scenario(KILL, &step(Some(key)));
            assert!(
                from_str("x", text.as_bytes()).is_err(),
                "{} without {key}",
                verb.name()
            );
        }
    }
}

#[test]
fn a_step_is_read_in_full() {
    let steps = format!(
        "{PUT}{{ id = \"x\", at = \"p1.sent + 2 * lease - 1ns\", who = \"n1\", do = \"batch_put\", keys = \"k{{1..3}}\", \
         size = \"3B\", pattern = \"q\", from = \"src{{i}}\", replica_num = 2, preferred_segments = [\"n1\"], times = 4, \
         every = \"1ms\", expect = [\"ok\", \"NO_AVAILABLE_HANDLE\"] }},\n"
    );
    let plan = plan(KILL, &steps);
    let step = plan.step("x").expect("there");
    let at = step.at.as_ref().expect("an instant");
    assert_eq!(at.base, Base::Step(0, Moment::Sent));
    let lease = Term {
        minus: false,
        length: Length::Deadline("lease".to_owned(), 2),
    };
    let less = Term {
        minus: true,
        length: Length::Span(Span::from_ns(1)),
    };
    assert_eq!(at.terms, [lease, less]);
    assert_eq!((step.times, step.every), (4, Some(Span::from_ms(1))));
    assert_eq!(step.expect, ["ok", "NO_AVAILABLE_HANDLE"]);
    let What::Do(action) = &step.what else {
        panic!("no operation");
    };
    assert_eq!(action.keys, ["k1", "k2", "k3"]);
    assert_eq!(action.size_bytes, Some(3));
    assert_eq!(action.written_pattern(), Some("q"));
    assert_eq!(action.args["replica_num"], ArgValue::Int(2));
    assert_eq!(
        action.args["preferred_segments"],
        ArgValue::List(vec!["n1".to_owned()])
    );
    assert_eq!(plan.buffers().len(), 4);
    assert_eq!(plan.buffers()["src4"], "n1");
    assert_eq!(plan.ranges()["a1"], 0);
    assert_eq!(
        step.text,
        "n1 batch_put 3 keys k1 .. k3, 3B, pattern q, from src{i}, preferred_segments n1, replica_num 2, 4 times, every 1ms"
    );
}

#[test]
fn the_world_keeps_the_order_of_the_file_and_its_defaults() {
    let plan = plan(KILL, PUT);
    assert_eq!(
        plan.world.segments,
        [("n2".to_owned(), 32 << 20), ("n1".to_owned(), 16 << 20)]
    );
    assert_eq!(plan.actors(), ["n2", "n1", "w1", "r1"]);
    assert!(plan.is_node("n1") && !plan.is_node("w1"));
    assert_eq!(plan.world.timeouts, Timeouts::default());
    assert_eq!((plan.world.chunk_bytes, plan.world.step), (65_536, Span::ZERO));
    assert_eq!(plan.sha256.len(), 64);
}

/// A world whose second node has this room.
fn world(room: &str) -> Result<Plan, String> {
    let text = scenario(KILL, PUT).replace("\"16MiB\"", room);
    from_str("x", text.as_bytes()).map_err(|errors| errors.plain())
}

#[test]
fn a_segment_has_room_for_tokens_of_a_model() {
    for (room, bytes) in [
        ("{ model = \"llama-3-8b\", tokens = 1024 }", 128 << 20),
        ("{ tokens = 1, model = \"deepseek-v3\" }", 70_272),
        // Not more than its window keeps.
        ("{ model = \"mistral-7b-v0.1\", tokens = 1000000 }", 512 << 20),
        ("\"16MiB\"", 16 << 20),
    ] {
        let plan = world(room).unwrap();
        assert_eq!(plan.world.segments[1], ("n1".to_owned(), bytes), "{room}");
    }
    // To the byte: the other node has 32 MiB of the 16 GiB.
    assert!(world("{ model = \"llama-3-8b\", tokens = 130816 }").is_ok());
    for (room, says) in [
        ("{ model = \"llama-3-8b\", tokens = 130817 }", "bytes in all"),
        (
            "{ model = \"llama-3-8b\", tokens = 131073 }",
            "use at most 131072 tokens",
        ),
        (
            "{ model = \"llama-3-8b\", tokens = 9000000000000000000 }",
            "use at most 131072 tokens",
        ),
        (
            "{ model = \"lama-3-8b\", tokens = 1 }",
            "did you mean `llama-3-8b`?",
        ),
        ("{ model = \"llama-3-8b\", tokens = 0 }", "has no bytes"),
        ("{ model = \"llama-3-8b\", tokens = -1 }", "negative or too large"),
        (
            "{ model = \"llama-3-8b\", tokens = \"1024\" }",
            "write `tokens = 1024`",
        ),
        (
            "{ model = \"llama-3-8b\", token = 1 }",
            "this segment has no key `token`",
        ),
        ("{ model = \"llama-3-8b\" }", "needs the key `tokens`"),
        ("{ tokens = 1 }", "needs the key `model`"),
        ("{ }", "needs the key `model`"),
        ("16", "a text in quotes"),
    ] {
        let wrong = world(room).unwrap_err();
        assert!(wrong.contains(says), "{room}: {wrong}");
    }
}

#[test]
fn the_house_form_keeps_a_segment_by_model() {
    let text = scenario(KILL, PUT).replace("\"16MiB\"", "{model=\"llama-3-8b\",   tokens=1024}");
    let formatted = crate::format("x", text.as_bytes()).unwrap();
    let line = "segments = { n2 = \"32MiB\", n1 = { model = \"llama-3-8b\", tokens = 1024 } }";
    assert!(formatted.contains(line), "{formatted}");
}

/// Beside what an operation needs, an operation that shares its word with an RPC is the one of the client API.
#[test]
fn shared_words_mean_the_client_api() {
    let steps = format!(
        "{PUT}{{ who = \"r1\", do = \"remove\", key = \"k\" }},\n{{ who = \"r1\", do = \"exist_key\", key = \"k\", expect = \"true\" }},\n"
    );
    let plan = plan(KILL, &steps);
    assert_eq!(
        plan.steps[1].operation().map(|action| action.verb),
        Some(Verb::Remove)
    );
    assert_eq!(
        plan.steps[2].operation().map(|action| action.verb),
        Some(Verb::Rpc(Rpc::ExistKey))
    );
}
