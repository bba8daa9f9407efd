//! Batches of as many keys as a scenario may have: what is run, judged and told takes time by the key, not by the pair of keys.
//! Whatever looks at all keys for each of them takes minutes here, and the limit of a test ends it.

use moonquake_evidence::Evidence;
use moonquake_faults::Profile;
use moonquake_judge::Judgement;
use moonquake_model::ModelEngine;
use moonquake_report::{Postmortem, html::html, json, markdown};
use moonquake_scenario::{Engine, EngineError, Interrupt, Plan, RunOptions, Verdict, parse};
use moonquake_tests::judged;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const KEYS: u32 = 20_000;

/// A story of batches of `keys` keys. `@` stands for the keys in its steps.
fn plan(keys: u32, fault: &str, steps: &str) -> Plan {
    let steps = steps.replace('@', &format!("keys = [\"k{{1..{keys}}}\"], size = \"8B\""));
    let steps = steps.replace('#', &format!("keys = [\"k{{1..{keys}}}\"]"));
    let watch = if steps.contains("\"b1\"") {
        "[watch]\nbuffer = [\"b1\"]\n"
    } else {
        ""
    };
    let text = format!(
        "schema = 1\nid = \"large/batch\"\ntitle = \"t\"\nwhy = \"w\"\n\
         [world]\nsegments = {{ n1 = \"64MiB\", n2 = \"64MiB\" }}\nclients = [\"w1\", \"r1\"]\nlocal_buffer = \"64MiB\"\n\
         [fault]\n{fault}\n{watch}[timeline]\nsteps = [\n{steps}]\n\
         [report]\nexpected = \"e\"\nrepair = \"r\"\n[[verdict]]\nis = \"holds\"\n"
    );
    parse::from_str("large.scenario.toml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{}", errors.plain()))
}

const MISUSE: &str = "dimension = \"misuse\"\ntarget = \"w1\"\nstep = \"x\"";
const CRASH: &str =
    "dimension = \"crash\"\ntarget = \"w1\"\nat = \"client.put.start_response\"\naction = \"kill\"";

/// Runs, judges and tells; the verdict must be that everything held.
fn held(plan: &Plan) -> (Evidence, Judgement) {
    let (evidence, judgement) = judged(plan, &RunOptions::new(Profile::Upstream));
    assert_eq!(judgement.verdict, Verdict::Holds, "{:?}", judgement.deviations);
    let postmortem = Postmortem::new(plan, &evidence, &judgement, "moonquake run").expect("a postmortem");
    for form in [html(&postmortem), markdown(&postmortem), json(&postmortem)] {
        assert!(form.contains("large/batch"));
    }
    (evidence, judgement)
}

#[test]
fn model_a_large_batch_is_put_read_and_removed() {
    let steps = "{ id = \"x\", who = \"w1\", do = \"batch_put\", @, expect = \"ok\" },\n\
         { who = \"r1\", do = \"batch_exist\", #, expect = \"true\" },\n\
         { who = \"r1\", do = \"batch_get\", #, into = \"b1\", expect = \"ok\", payload = \"w1\" },\n\
         { who = \"r1\", do = \"batch_get\", #, expect = \"ok\", payload = \"w1\" },\n\
         { at = \"start + 1h\", who = \"w1\", do = \"batch_remove\", #, expect = \"ok\" },\n";
    held(&plan(KEYS, MISUSE, steps));
}

#[test]
fn model_a_large_batch_stays_in_the_process_of_its_owner() {
    let steps = "{ id = \"x\", who = \"n1\", do = \"batch_put\", @, expect = \"ok\" },\n\
         { who = \"n2\", do = \"batch_get\", #, expect = \"ok\", payload = \"n1\" },\n";
    held(&plan(KEYS, &MISUSE.replace("w1", "n1"), steps));
}

#[test]
fn model_a_large_batch_is_replaced_freed_and_put_anew() {
    let steps = "{ id = \"x\", who = \"w1\", do = \"batch_put\", @, expect = \"ok\" },\n\
         { at = \"start + 1h\", who = \"r1\", do = \"batch_upsert\", @, from = \"b1\", expect = \"ok\" },\n\
         { at = \"start + 2h\", who = \"r1\", do = \"remove_all\" },\n\
         { at = \"start + 3h\", tick = \"eviction\" },\n\
         { at = \"start + 3h\", who = \"w1\", do = \"batch_put\", @, expect = \"ok\" },\n";
    held(&plan(KEYS, MISUSE, steps));
}

#[test]
fn model_a_large_batch_of_a_writer_that_died_is_taken_over() {
    let steps = "{ id = \"x\", who = \"w1\", do = \"batch_put\", @ },\n\
         { at = \"x + discard + 1ns\", who = \"r1\", do = \"batch_put\", @, expect = \"ok\" },\n\
         { at = \"x + 1h\", tick = \"eviction\" },\n\
         { at = \"x + 2h\", tick = \"eviction\" },\n";
    held(&plan(KEYS, CRASH, steps));
}

/// All of a batch happens at one instant, and somebody who wants the end is heard in the middle of it.
#[test]
fn model_a_run_ends_on_request_within_a_batch() {
    let plan = plan(
        500,
        MISUSE,
        "{ id = \"x\", who = \"w1\", do = \"batch_put\", @, expect = \"ok\" },\n",
    );
    let run = |asks_until: u32| {
        let asked = Arc::new(AtomicU32::new(0));
        let counts = asked.clone();
        let mut options = RunOptions::new(Profile::Upstream);
        options.interrupt = Some(Interrupt::new(move || {
            counts.fetch_add(1, Ordering::Relaxed) >= asks_until
        }));
        let ended = ModelEngine.run(&plan, &options);
        (ended, asked.load(Ordering::Relaxed))
    };
    let (whole, asked) = run(u32::MAX);
    assert!(whole.is_ok() && asked > 1_000, "asked {asked} times");
    let (cut, heard) = run(asked / 2);
    assert!(matches!(cut, Err(EngineError::Interrupted)), "{cut:?}");
    assert_eq!(heard, asked / 2 + 1, "the first answer counts");
}
