//! What real clients have no words for. Static: it looks at the plan alone.

use super::{sessions, tasks};
use moonquake_clock::Span;
use moonquake_protocol::Rpc;
use moonquake_scenario::{Action, ArgValue, Do, Plan, Step, Timeouts, Verb, World};

/// The smallest segment or staging memory of the real client. Mirrors `client_buffer_allocation.cpp`.
const LEAST_BYTES: u64 = 16 << 20;

/// Why real clients cannot play a plan, if so.
pub(crate) fn unsupported(plan: &Plan) -> Option<String> {
    let actions = plan.steps.iter().filter_map(Step::operation);
    let world = unsupported_world(plan)
        .or_else(|| unsupported_fault(plan))
        .or_else(|| unsupported_pause(plan))
        .or_else(|| sessions::unsupported(plan));
    world
        .or_else(|| unsupported_close(plan))
        .or_else(|| actions.clone().find_map(unsupported_action))
        .or_else(|| actions.clone().find_map(|action| unsupported_task(plan, action)))
}

/// The thread that asks for tasks begins when a segment is mounted. Mirrors `client_service.cpp:EnsureStorageControlPlaneStarted`.
fn unsupported_task(plan: &Plan, action: &Do) -> Option<String> {
    let who = action
        .who
        .as_deref()
        .filter(|_| tasks::is_by_itself(action.verb))?;
    let is_node = plan.world.segments.iter().any(|(node, _)| node == who);
    (!is_node).then(|| format!("the real client asks for tasks only with a segment, and {who} has none"))
}

/// What is unmounted under a node's name is unmounted without its client, which does so once more when it closes.
fn unsupported_close(plan: &Plan) -> Option<String> {
    let mut unmounted = Vec::new();
    for action in plan.steps.iter().filter_map(Step::operation) {
        let who = action.who.as_deref().unwrap_or_default();
        match action.verb {
            Verb::Rpc(Rpc::UnmountSegment | Rpc::GracefulUnmountSegment) => unmounted.push(who),
            Verb::Rpc(Rpc::MountSegment) => unmounted.retain(|node| *node != who),
            Verb::Close if unmounted.contains(&who) => {
                return Some(format!(
                    "the real {who} does not know that its segment was unmounted under its name, and unmounts it again when it closes"
                ));
            }
            _ => {}
        }
    }
    None
}

fn unsupported_world(plan: &Plan) -> Option<String> {
    let (world, fixed) = (&plan.world, Timeouts::default());
    if world.slice_bytes != World::SLICE_BYTES {
        return Some(
            "the real client cuts writes into slices of 16 MiB less 16 B, and nothing sets that".to_owned(),
        );
    }
    let small = world.segments.iter().find(|(_, size)| *size < LEAST_BYTES);
    if let Some((node, size)) = small {
        return Some(format!(
            "the real client mounts 16 MiB at least, and {node} has {size} B"
        ));
    }
    if world.local_buffer_bytes < LEAST_BYTES {
        return Some("the real client has 16 MiB of staging memory at least".to_owned());
    }
    if world.timeouts.transfer != fixed.transfer {
        let fixed = fixed.transfer;
        return Some(format!(
            "the real client has {fixed} for transfer, and nothing sets that"
        ));
    }
    settings(&world.timeouts).err()
}

/// The variables that give the real client its time-outs.
///
/// # Errors
/// Which of them has no such value.
pub(crate) fn settings(timeouts: &Timeouts) -> Result<[(&'static str, String); 2], String> {
    let whole = |name: &str, ns: u64, unit_ns: u64, unit: &str| match ns % unit_ns {
        0 if ns > 0 => Ok((ns / unit_ns).to_string()),
        _ => Err(format!(
            "the real client takes {name} in whole {unit}, one at least"
        )),
    };
    let progress = whole("progress", timeouts.progress.ns, 1_000_000_000, "seconds")?;
    let rpc = whole("rpc", timeouts.rpc.ns, 1_000_000, "milliseconds")?;
    Ok([
        ("MC_TCP_PROGRESS_TIMEOUT_SEC", progress),
        ("MC_RPC_TIMEOUT_MS", rpc),
    ])
}

/// The variable that has a real client give checksums and compare them. Mirrors `environ.cpp:GetStoreChecksumEnabled`.
pub(crate) fn checksums(world: &World) -> Option<(String, String)> {
    world
        .checksums
        .then(|| ("MOONCAKE_STORE_CHECKSUM".to_owned(), "1".to_owned()))
}

/// The longest pause of a master that real clients play. Once no connection is left and a call was refused four times, the release looks
/// for the master by itself, every 30 to 36 s, and closes idle connections every 30 s, both by timers that hide those of its calls.
/// Mirrors yalantinglibs `client_pool.hpp` (`alive_detect`, `idle_timeout`).
const LONGEST_PAUSE: Span = Span::from_secs(25);

fn unsupported_pause(plan: &Plan) -> Option<String> {
    match plan.fault.action {
        Some(Action::Restart(pause)) if plan.fault.target == "master" && pause > LONGEST_PAUSE => {
            Some(format!(
                "a real client looks for a master that is gone by itself after some 30 s, which this engine does not follow; let it be back \
             within {LONGEST_PAUSE}"
            ))
        }
        _ => None,
    }
}

/// An RPC under its own name is spoken over a connection of its own, which nothing has broken. As a call of the session API it goes
/// over the connections of the client, and the stage does not know which of the two it is.
fn unsupported_fault(plan: &Plan) -> Option<String> {
    let dies = matches!(plan.fault.action, Some(Action::Kill | Action::Restart(_)));
    let why =
        "the put session of a real client goes over its own connections to the master, which die with that";
    (dies && plan.fault.target == "master" && sessions::tells_any(plan)).then(|| why.to_owned())
}

fn unsupported_action(action: &Do) -> Option<String> {
    let twice = || (1..action.keys.len()).any(|at| action.keys[..at].contains(&action.keys[at]));
    match action.verb {
        Verb::BatchGet if twice() => {
            let why = "the two reads of a key that a batch names twice look alike on their connections; name it once";
            return Some(why.to_owned());
        }
        Verb::Get | Verb::BatchGet if action.into.is_none() && !action.ranges.is_empty() => {
            return Some("the real client reads ranges into a caller's buffer only; give `into`".to_owned());
        }
        // What the master is told of a node's segments is the client's own business.
        Verb::Rpc(
            Rpc::UnmountSegment | Rpc::GracefulUnmountSegment | Rpc::MountSegment | Rpc::ReMountSegment,
        ) => {}
        Verb::Rpc(_) => return None,
        _ => {}
    }
    let tenant = action.args.get("tenant_id");
    if matches!(tenant, Some(ArgValue::Text(_))) && !matches!(action.verb, Verb::Rpc(_)) {
        return Some("the real client has one tenant for all its calls".to_owned());
    }
    if action.args.contains_key("host_id") && !matches!(action.verb, Verb::Rpc(_)) {
        return Some("the real client tells its own host".to_owned());
    }
    None
}
