//! Simpler forms of one operation, the simplest first.

use crate::operation::Operation;
use moonquake_protocol::{DEFAULT_TENANT, ObjectMeta, ReplicateConfig, Request};

/// What may stand in its place.
pub(crate) fn simpler(operation: &Operation) -> Vec<Operation> {
    match operation {
        Operation::Clock {
            realtime_ns,
            monotonic_ns,
        } => clocks(*realtime_ns, *monotonic_ns),
        Operation::Call(request) => requests(request).into_iter().map(Operation::Call).collect(),
        Operation::CreateDrainJob {
            segments,
            target_segments,
            max_concurrency,
        } => drains(segments, target_segments, *max_concurrency),
        Operation::Tick(_) | Operation::QueryDrainJob(_) | Operation::CancelDrainJob(_) => Vec::new(),
    }
}

fn clocks(realtime_ns: i64, monotonic_ns: i64) -> Vec<Operation> {
    let step = |realtime_ns, monotonic_ns| Operation::Clock {
        realtime_ns,
        monotonic_ns,
    };
    let mut found = Vec::new();
    // Both together is what a timeline can say.
    if realtime_ns != monotonic_ns {
        found.push(step(realtime_ns, realtime_ns));
        found.push(step(monotonic_ns, monotonic_ns));
    }
    if realtime_ns == monotonic_ns {
        // A round number of seconds, milliseconds, or half as much.
        for unit in [1_000_000_000, 1_000_000] {
            let round = realtime_ns / unit * unit;
            if round != realtime_ns && round != 0 {
                found.push(step(round, round));
            }
        }
    }
    if realtime_ns / 2 != 0 && monotonic_ns / 2 != 0 {
        found.push(step(realtime_ns / 2, monotonic_ns / 2));
    }
    found
}

/// One name less, from either list.
fn drains(segments: &[String], target_segments: &[String], max_concurrency: u32) -> Vec<Operation> {
    let job = |segments: &[String], target_segments: &[String]| Operation::CreateDrainJob {
        segments: segments.to_vec(),
        target_segments: target_segments.to_vec(),
        max_concurrency,
    };
    let fewer_targets =
        (0..target_segments.len()).map(|cut| job(segments, &without_one(target_segments, cut)));
    let fewer = (0..segments.len()).map(|cut| job(&without_one(segments, cut), target_segments));
    fewer_targets.chain(fewer).collect()
}

fn without_one(names: &[String], cut: usize) -> Vec<String> {
    [&names[..cut], &names[cut + 1..]].concat()
}

fn requests(request: &Request) -> Vec<Request> {
    let mut found = Vec::new();
    let mut push = |change: &dyn Fn(&mut Request)| {
        let mut changed = request.clone();
        change(&mut changed);
        if changed != *request {
            found.push(changed);
        }
    };
    let entries = match request {
        Request::BatchReplicaClear { object_keys, .. } => object_keys.len(),
        Request::ReMountSegment { segments, .. } => segments.len(),
        Request::CopyStart { tgt_segments, .. } => tgt_segments.len(),
        batch => batch.batch_keys().map_or(0, |keys| keys.len()),
    };
    for entry in (0..entries).rev() {
        push(&|changed| drop_entry(changed, entry));
    }
    push(&plain);
    push(&plain_config);
    push(&plain_wishes);
    found
}

/// One entry less in a batch.
fn drop_entry(request: &mut Request, entry: usize) {
    fn cut<T>(list: &mut Vec<T>, entry: usize) {
        if entry < list.len() {
            list.remove(entry);
        }
    }
    match request {
        Request::BatchPutStart {
            keys,
            slice_lengths,
            config,
            ..
        }
        | Request::BatchUpsertStart {
            keys,
            slice_lengths,
            config,
            ..
        } => {
            cut(keys, entry);
            cut(slice_lengths, entry);
            if let Some(groups) = &mut config.group_ids {
                cut(groups, entry);
            }
        }
        Request::BatchPutRevoke { keys, .. }
        | Request::BatchUpsertRevoke { keys, .. }
        | Request::BatchGetReplicaList { keys, .. }
        | Request::BatchExistKey { keys, .. }
        | Request::BatchRemove { keys, .. } => cut(keys, entry),
        Request::BatchPutEnd { object_metas, .. } | Request::BatchUpsertEnd { object_metas, .. } => {
            cut(object_metas, entry);
        }
        Request::BatchReplicaClear { object_keys, .. } => cut(object_keys, entry),
        Request::ReMountSegment { segments, .. } => cut(segments, entry),
        Request::CopyStart { tgt_segments, .. } => cut(tgt_segments, entry),
        _ => {}
    }
}

/// Without what is beside the point in most requests.
fn plain(request: &mut Request) {
    request.set_tenant(DEFAULT_TENANT);
    let forget = |meta: &mut ObjectMeta| meta.object_checksum = None;
    match request {
        Request::PutEnd { object_meta, .. } | Request::UpsertEnd { object_meta, .. } => forget(object_meta),
        Request::BatchPutEnd { object_metas, .. } | Request::BatchUpsertEnd { object_metas, .. } => {
            object_metas.iter_mut().for_each(forget);
        }
        Request::Remove { force, .. } | Request::BatchRemove { force, .. } => *force = false,
        _ => {}
    }
}

fn config(request: &mut Request) -> Option<&mut ReplicateConfig> {
    match request {
        Request::PutStart { config, .. }
        | Request::UpsertStart { config, .. }
        | Request::BatchPutStart { config, .. }
        | Request::BatchUpsertStart { config, .. } => Some(config),
        _ => None,
    }
}

/// The default wishes.
fn plain_config(request: &mut Request) {
    if let Some(config) = config(request) {
        *config = ReplicateConfig::default();
    }
}

/// One replica and no places, but the pins and groups that there are.
fn plain_wishes(request: &mut Request) {
    if let Some(config) = config(request) {
        *config = ReplicateConfig {
            soft_pin_action: config.soft_pin_action,
            soft_pin_ttl_ms: config.soft_pin_ttl_ms,
            with_hard_pin: config.with_hard_pin,
            group_ids: config.group_ids.take(),
            ..ReplicateConfig::default()
        };
    }
}
