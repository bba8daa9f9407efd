//! Batches: each key of a call has its own answer.

use crate::invariants::{K, PUT, broken, secs, story};
use crate::telling::{MIB, Story, all, failed, range, scenario_in};
use moonquake_clock::Span;
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

/// A get of one range that ends at `ends`, after a lease of 10 s at the start and perhaps another 5 s later.
fn ranged_get(ends: Span, renewed: bool, result: &str) -> Vec<String> {
    let get = "{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", ranges = \"0B+4MiB\" },\n";
    let mut story = story(&format!("{PUT}{get}"));
    let at = range(K.0, K.1);
    story.put("p1", "k", &at);
    let op = story.begin("g1");
    let ranges = std::slice::from_ref(&at);
    story.call(op, "GetReplicaList", "k", "ok", ranges);
    if renewed {
        story.at(secs(5));
        story.call(op, "BatchGetReplicaList", "k", "ok", ranges);
    }
    story.at(ends);
    story.transfer(op, false, &at);
    let content = (result == "ok").then(|| all("w1", at.size));
    story.end_each(op, "ok", &[result], content);
    story.read();
    broken(&story)
}

#[test]
fn a_range_that_lands_after_the_latest_lease_is_no_success() {
    let (late, none) = (vec!["no-success-after-lease".to_owned()], Vec::<String>::new());
    let just_before = |until: Span| until - Span::from_ns(1);
    assert_eq!(ranged_get(just_before(secs(10)), false, "ok"), none);
    assert_eq!(ranged_get(secs(10), false, "ok"), late);
    assert_eq!(ranged_get(secs(10), false, "LEASE_EXPIRED"), none);
    assert_eq!(ranged_get(just_before(secs(15)), true, "ok"), none);
    assert_eq!(ranged_get(secs(15), true, "ok"), late);
}
