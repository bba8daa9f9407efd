//! One story for each dimension and action, told as it happens and as it is merely claimed.

use crate::telling::{MIB, Story, range, scenario_in};
use moonquake_clock::Span;
use moonquake_evidence::{Change, Leg, Op};

/// Tells a story: really, or with an injection that is claimed and not made.
pub(crate) type Tell = fn(bool) -> Story;

/// A story with its name.
pub(crate) type Named = (&'static str, Tell);

/// Every story, by name.
pub(crate) fn cases() -> Vec<Named> {
    let mut all: Vec<Named> = vec![
        ("lease deadline", lease_deadline),
        ("lease hold", lease_hold),
        ("lease rate", lease_rate),
        ("clock step", clock_step),
        ("liveness freeze", liveness),
        ("restart of the master", restart),
        ("restart of a client", restart_client),
        ("misuse", misuse),
        ("pressure", pressure),
    ];
    all.extend(messages());
    all.extend(streams());
    all
}

/// What strikes a request or a response.
fn messages() -> Vec<Named> {
    vec![
        ("network hold of a request", |real| {
            message("network", "put.end_sent", "\"hold\"", real)
        }),
        ("network drop of a request", |real| {
            message("network", "put.start_sent", "\"drop\"", real)
        }),
        ("network drop of a response", |real| {
            message("network", "put.end_response", "\"drop\"", real)
        }),
        ("network delay of a request", |real| {
            message("network", "put.end_sent", "{ delay = \"5s\" }", real)
        }),
        ("network delay of a response", |real| {
            message("network", "put.end_response", "{ delay = \"5s\" }", real)
        }),
        ("network duplicate", |real| {
            message("network", "put.end_sent", "\"duplicate\"", real)
        }),
        ("network cut of a request", |real| {
            message("network", "put.end_sent", "\"cut\"", real)
        }),
        ("network cut of a response", |real| {
            message("network", "put.start_response", "\"cut\"", real)
        }),
        ("network error for a request", |real| {
            message("network", "put.end_sent", "{ error = \"INTERNAL_ERROR\" }", real)
        }),
        ("network error for a response", |real| {
            message(
                "network",
                "put.end_response",
                "{ error = \"INTERNAL_ERROR\" }",
                real,
            )
        }),
        ("race hold", |real| {
            message("race", "put.end_sent", "\"hold\"", real)
        }),
        ("race delay", |real| {
            message("race", "put.end_sent", "{ delay = \"5s\" }", real)
        }),
    ]
}

/// What strikes a payload on its way.
fn streams() -> Vec<Named> {
    vec![
        ("network hold of a stream", |real| {
            stream("network", "w1", "\"hold\"", real)
        }),
        ("network delay of a stream", |real| {
            stream("network", "w1", "{ delay = \"5s\" }", real)
        }),
        ("network cut of a stream", |real| {
            stream("network", "w1", "\"cut\"", real)
        }),
        ("network rate of a stream", |real| {
            stream("network", "w1", "{ rate = \"100KiB/s\" }", real)
        }),
        ("buffer hold", |real| stream("buffer", "w1", "\"hold\"", real)),
        ("buffer freeze of the owner", |real| {
            stream("buffer", "n1", "\"freeze\"", real)
        }),
        ("buffer error", |real| {
            stream("buffer", "w1", "{ error = \"RPC_FAIL\" }", real)
        }),
    ]
}

const P1: &str = "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\" },\n";
const P1_BESIDE: &str =
    "{ id = \"p1\", who = \"w1\", do = \"put\", key = \"k\", size = \"4MiB\", async = true },\n";

fn object() -> moonquake_evidence::Range {
    range(0, 4 * MIB)
}

fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

const NS: Span = Span::from_ns(1);

pub(crate) fn lease_deadline(real: bool) -> Story {
    let steps = format!(
        "{P1}{}{}{}",
        "{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\" },\n",
        "{ id = \"before\", at = \"g1 + lease - 1ns\", who = \"w2\", do = \"remove\", key = \"k\", expect = \"OBJECT_HAS_LEASE\" },\n",
        "{ id = \"after\", at = \"g1 + lease\", who = \"w2\", do = \"remove\", key = \"k\", expect = \"ok\" },"
    );
    let fault = "dimension = \"lease\"\ntarget = \"master\"\ndeadline = \"g1 + lease\"";
    let mut story = Story::new(&scenario_in("", fault, &steps));
    story.put("p1", "k", &object());
    story.get("g1", "k", &object(), "w1");
    let visit = |story: &mut Story, at: Span, step: &str, code: &str| {
        story.at(at);
        if !real {
            // The timeline says it is there, and the master's clock stands still.
            story.wall_ns.insert("master".into(), -i128::from(at.ns));
        }
        story.one(step, "Remove", "k", code);
    };
    visit(&mut story, secs(10) - NS, "before", "OBJECT_HAS_LEASE");
    story.at(secs(10)).inject(None);
    visit(&mut story, secs(10), "after", "ok");
    story
}

fn lease_transfer(action: &str, lease: &str) -> (Story, Op, u64) {
    let fault = format!(
        "dimension = \"lease\"\ntarget = \"r1\"\nat = \"client.get.payload_part\"\nof = \"g1\"\nhit = 1\naction = {action}"
    );
    let steps = format!(
        "{P1}{}{}",
        "{ id = \"g1\", who = \"r1\", do = \"get\", key = \"k\", async = true },\n",
        "{ id = \"x\", at = \"g1 + lease\", who = \"w2\", do = \"exist\", key = \"other\" },\n\
         { id = \"r\", do = \"resume\" },\n{ id = \"w\", await = \"g1\", within = \"60s\", expect = \"LEASE_EXPIRED\" },"
    );
    let steps = if action == "\"hold\"" {
        steps
    } else {
        steps.replace("{ id = \"r\", do = \"resume\" },\n", "")
    };
    let world = format!("timeouts = {{ lease = \"{lease}\" }}");
    let mut story = Story::new(&scenario_in(&world, &fault, &steps));
    story.put("p1", "k", &object());
    let op = story.begin("g1");
    story.call(op, "GetReplicaList", "k", "ok", &[object()]);
    let transfer = story.open(op, false, &object());
    story.part(transfer, 1);
    story.inject_on(Some(op), None, Some(transfer));
    (story, op, transfer)
}

fn lease_hold(real: bool) -> Story {
    let (mut story, op, transfer) = lease_transfer("\"hold\"", "10s");
    if !real {
        story.parts(transfer, 2..=3);
    }
    story.read();
    story.at(secs(10));
    story.one("x", "ExistKey", "other", "false");
    let resume = story.begin("r");
    story.release();
    story.parts(transfer, if real { 2..=4 } else { 4..=4 });
    story.close(transfer, "complete");
    story.end(op, "LEASE_EXPIRED");
    story.end(resume, "ok");
    story.read();
    story.instant("w");
    story
}

fn lease_rate(real: bool) -> Story {
    let (mut story, op, transfer) = lease_transfer("{ rate = \"256KiB/s\" }", "10s");
    story.read();
    let each = if real { secs(4) } else { secs(5) };
    story.pass(each).part(transfer, 2);
    story.pass(each).part(transfer, 3);
    if real {
        story.at(secs(10));
        story.one("x", "ExistKey", "other", "false");
    }
    story.at(secs(12)).part(transfer, 4);
    story.close(transfer, "complete");
    story.end(op, "LEASE_EXPIRED");
    story
}

pub(crate) fn clock_plan() -> String {
    let fault = "dimension = \"clock\"\ntarget = \"master\"\nafter = \"p1\"\naction = { step = \"+61s\", clock = \"realtime\" }";
    let steps = format!(
        "{P1}{}",
        "{ id = \"x\", who = \"w2\", do = \"exist\", key = \"k\" },"
    );
    scenario_in("", fault, &steps)
}

fn clock_step(real: bool) -> Story {
    let mut story = Story::new(&clock_plan());
    let op = story.put("p1", "k", &object());
    story.inject(Some(op));
    if real {
        story.wall_ns.insert("master".into(), 61_000_000_000);
    }
    for actor in ["w1", "w2", "r1", "n1"] {
        story.clock(actor);
    }
    story.read();
    story.one("x", "ExistKey", "k", "true");
    story
}

fn liveness(real: bool) -> Story {
    let fault = "dimension = \"liveness\"\ntarget = \"n1\"\nafter = \"t0\"\naction = \"freeze\"";
    let steps = "{ id = \"t0\", tick = \"client_monitor\" },\n\
                 { id = \"t1\", at = \"t0 + client_ttl\", tick = \"client_monitor\" },\n{ id = \"r\", do = \"resume\" },";
    let mut story = Story::new(&scenario_in("", fault, steps));
    story.pass(secs(1)).ping("n1");
    let op = story.instant("t0");
    story.inject(Some(op));
    for _ in 0..9 {
        story.pass(secs(1));
        if !real {
            story.ping("n1");
        }
    }
    story.at(secs(11));
    story.instant("t1");
    let resume = story.begin("r");
    story.release();
    story.ping("n1");
    story.end(resume, "ok");
    story.read();
    story
}

/// A put whose message at a phase is struck.
fn message(dimension: &str, phase: &str, action: &str, real: bool) -> Story {
    let fault = format!(
        "dimension = \"{dimension}\"\ntarget = \"w1\"\nat = \"client.{phase}\"\nof = \"p1\"\naction = {action}"
    );
    let held = action == "\"hold\"";
    let resume = if held {
        "{ id = \"r\", do = \"resume\" },\n"
    } else {
        ""
    };
    let steps = format!(
        "{P1_BESIDE}{{ id = \"x\", who = \"r1\", do = \"get\", key = \"k\" }},\n{resume}\
         {{ id = \"w\", await = \"p1\", within = \"60s\" }},"
    );
    let mut story = Story::new(&scenario_in("", &fault, &steps));
    let op = story.begin("p1");
    let (rpc, request) = match phase {
        "put.start_sent" => ("PutStart", true),
        "put.start_response" => ("PutStart", false),
        "put.end_sent" => ("PutEnd", true),
        _ => ("PutEnd", false),
    };
    if rpc == "PutEnd" {
        story.call(op, "PutStart", "k", "ok", &[object()]);
        story.state.allocated_bytes = 4 * MIB;
        story.transfer(op, true, &object());
    }
    let ranges = if rpc == "PutStart" {
        vec![object()]
    } else {
        Vec::new()
    };
    let number = story.send(op, rpc, "k");
    if !request {
        story.handle(number, "ok", &ranges);
    }
    story.inject_on(Some(op), Some(number), None);
    let arrive = |story: &mut Story| {
        if request {
            story.handle(number, "ok", &ranges);
        }
        story.deliver(number);
    };
    let mut others = |story: &mut Story| {
        story.read();
        story.one("x", "GetReplicaList", "k", "REPLICA_IS_NOT_READY");
    };
    if !real {
        arrive(&mut story);
        others(&mut story);
        if held {
            let resume = story.begin("r");
            story.release();
            story.end(resume, "ok");
        }
        return story;
    }
    strike(&mut story, op, number, request, action, arrive, &mut others);
    story
}

fn strike(
    story: &mut Story,
    op: Op,
    number: u64,
    request: bool,
    action: &str,
    arrive: impl Fn(&mut Story),
    others: &mut impl FnMut(&mut Story),
) {
    match action {
        "\"hold\"" => {
            others(story);
            let resume = story.begin("r");
            story.release();
            arrive(story);
            story.end(resume, "ok");
        }
        "\"drop\"" => {
            story.leg(
                number,
                if request {
                    Leg::RequestLost
                } else {
                    Leg::ResponseLost
                },
            );
            others(story);
        }
        "\"duplicate\"" => {
            story.handle(number, "ok", &[]);
            story.handle(number, "ok", &[]);
            story.deliver(number);
            others(story);
        }
        "\"cut\"" => {
            story.leg(number, Leg::Closed);
            story.end(op, "RPC_FAIL");
            others(story);
        }
        _ if action.contains("delay") => {
            others(story);
            story.pass(secs(5));
            arrive(story);
        }
        _ => {
            story.replace_code(number, "INTERNAL_ERROR");
            story.deliver(number);
            story.end(op, "INTERNAL_ERROR");
            others(story);
        }
    }
}

/// A put whose stream is struck after its first part.
fn stream(dimension: &str, target: &str, action: &str, real: bool) -> Story {
    let fault = format!(
        "dimension = \"{dimension}\"\ntarget = \"{target}\"\nat = \"client.put.payload_part\"\nof = \"p1\"\n\
         hit = 1\naction = {action}"
    );
    let held = action == "\"hold\"" || action == "\"freeze\"";
    let resume = if held {
        "{ id = \"r\", do = \"resume\" },\n"
    } else {
        ""
    };
    let steps = format!(
        "{P1_BESIDE}{{ id = \"x\", at = \"fault + 4s\", who = \"w2\", do = \"exist\", key = \"other\" }},\n{resume}\
         {{ id = \"w\", await = \"p1\", within = \"60s\" }},"
    );
    let mut story = Story::new(&scenario_in(
        "timeouts = { client_ttl = \"300s\" }",
        &fault,
        &steps,
    ));
    let op = story.begin("p1");
    story.call(op, "PutStart", "k", "ok", &[object()]);
    story.state.allocated_bytes = 4 * MIB;
    let transfer = story.open(op, true, &object());
    story.part(transfer, 1);
    story.inject_on(Some(op), None, Some(transfer));
    if !real {
        story.parts(transfer, 2..=4);
        story.close(transfer, "complete");
    } else if action == "\"cut\"" || action.contains("error") {
        story.close(transfer, "closed: cut");
    }
    story.read();
    story.at(secs(4));
    story.one("x", "ExistKey", "other", "false");
    if held {
        let resume = story.begin("r");
        story.release();
        if real {
            story.parts(transfer, 2..=4);
            story.close(transfer, "complete");
        }
        story.end(resume, "ok");
        story.read();
    } else if real && action.contains("delay") {
        story.at(secs(5)).parts(transfer, 2..=4);
    } else if real && action.contains("rate") {
        for part in 2..=4 {
            story
                .at(Span::from_ms(10_240) * u64::from(part - 1))
                .part(transfer, part);
        }
    }
    story
}

fn restart_plan(target: &str) -> String {
    let fault = format!(
        "dimension = \"restart\"\ntarget = \"{target}\"\nafter = \"p1\"\naction = {{ restart = \"5s\" }}"
    );
    let steps = format!(
        "{P1}{}",
        "{ id = \"x\", at = \"fault + 6s\", who = \"r1\", do = \"exist\", key = \"k\" },"
    );
    scenario_in("", &fault, &steps)
}

fn restart(real: bool) -> Story {
    let mut story = Story::new(&restart_plan("master"));
    let op = story.put("p1", "k", &object());
    story.inject(Some(op));
    if real {
        story.change("master", Change::Killed);
        story.pass(secs(5)).change("master", Change::Started);
        story.dead("k");
    }
    story.at(secs(6)).ping("n1");
    story.one("x", "ExistKey", "k", if real { "false" } else { "true" });
    story
}

fn restart_client(real: bool) -> Story {
    let mut story = Story::new(&restart_plan("n1"));
    let op = story.put("p1", "k", &object());
    story.inject(Some(op));
    if real {
        story.change("n1", Change::Killed);
        story.pass(secs(5)).change("n1", Change::Started);
    }
    story.ping("n1");
    story.at(secs(6));
    story.one("x", "ExistKey", "k", "true");
    story
}

fn misuse(real: bool) -> Story {
    let fault = "dimension = \"misuse\"\ntarget = \"master\"\nstep = [\"x1\", \"x2\"]";
    let steps = "{ id = \"s\", who = \"w1\", do = \"put_start\", key = \"k\", size = \"4MiB\" },\n\
                 { id = \"x1\", who = \"w2\", do = \"put_end\", key = \"k\", expect = \"ILLEGAL_CLIENT\" },\n\
                 { id = \"x2\", who = \"w2\", do = \"put_revoke\", key = \"k\", expect = \"ILLEGAL_CLIENT\" },";
    let mut story = Story::new(&scenario_in("", fault, steps));
    let op = story.begin("s");
    story.call(op, "PutStart", "k", "ok", &[object()]);
    story.state.allocated_bytes = 4 * MIB;
    story.end(op, "ok");
    story.read();
    story.inject(None);
    for (step, rpc) in [("x1", "PutEnd"), ("x2", "PutRevoke")] {
        if real {
            story.one(step, rpc, "k", "ILLEGAL_CLIENT");
        } else {
            let op = story.begin(step);
            story.end(op, "ILLEGAL_CLIENT");
            story.read();
        }
    }
    story
}

fn pressure(real: bool) -> Story {
    let fault = "dimension = \"pressure\"\ntarget = \"master\"\nstep = \"probe\"";
    let steps = format!(
        "{P1}{}",
        "{ id = \"probe\", who = \"r1\", do = \"exist\", key = \"k\", times = 3 },"
    );
    let mut story = Story::new(&scenario_in("", fault, &steps));
    story.put("p1", "k", &object());
    story.inject(None);
    for repetition in 1..=3 {
        let op = story.begin_again("probe", repetition);
        if real {
            story.call(op, "ExistKey", "k", "true", &[]);
        }
        story.end(op, if real { "true" } else { "no result" });
    }
    story.read();
    story
}
