//! Batches: each key of a call has its own answer.

use crate::telling::{MIB, Story, failed, range, scenario_in};
use moonquake_scenario::Verdict;

const STEPS: &str = "{ id = \"p1\", who = \"w1\", do = \"batch_put\", keys = [\"a\", \"b\"], size = \"1MiB\" },\n\
     { id = \"x\", who = \"r1\", do = \"batch_exist\", keys = [\"a\", \"b\"] },";

/// A batch put of `a` and `b` of which the master accepts what `codes` says, then a probe of both.
fn batch(codes: &str, end: &str, seen: &str) -> (Verdict, Vec<String>) {
    let fault = "dimension = \"misuse\"\ntarget = \"master\"\nstep = \"x\"";
    let mut story = Story::new(&scenario_in("", fault, STEPS));
    let op = story.begin("p1");
    let accepted = codes.split(',').filter(|code| *code == "ok").count() as u64;
    let ranges: Vec<_> = (0..accepted).map(|index| range(index * MIB, MIB)).collect();
    story.call(op, "BatchPutStart", "a,b", codes, &ranges);
    for at in &ranges {
        story.transfer(op, true, at);
    }
    let keys: Vec<&str> = ["a", "b"]
        .into_iter()
        .zip(codes.split(','))
        .filter(|(_, c)| *c == "ok")
        .map(|(k, _)| k)
        .collect();
    story.call(op, "BatchPutEnd", &keys.join(","), end, &[]);
    for (key, at) in keys.iter().zip(&ranges) {
        story.live(key, at);
    }
    story.end(op, "ok");
    story.read();
    story.one("x", "BatchExistKey", "a,b", seen);
    let judgement = story.judge();
    (
        judgement.verdict,
        failed(&judgement).into_iter().map(str::to_owned).collect(),
    )
}

#[test]
fn each_key_of_a_batch_is_followed() {
    assert_eq!(batch("ok,ok", "ok,ok", "true,true"), (Verdict::Holds, vec![]));
    assert_eq!(
        batch("ok,NO_AVAILABLE_HANDLE", "ok", "true,false"),
        (Verdict::Holds, vec![])
    );
    let invisible = vec!["invisible-before-put-end".to_owned()];
    assert_eq!(
        batch("ok,NO_AVAILABLE_HANDLE", "ok", "true,true"),
        (Verdict::Violated, invisible.clone())
    );
    assert_eq!(
        batch("ok,ok", "ok,ILLEGAL_CLIENT", "true,true"),
        (Verdict::Violated, invisible)
    );
}
