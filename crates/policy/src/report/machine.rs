//! The machine that was simulated, in sentences and in JSON.

use crate::sim::{Capacity, Config, Discipline, Prefill, Queue, Twins, Writes};
use moonquake_figures::Unit;
use serde_json::{Value, json};

/// A sentence each. The decision is that of each case and not told here.
pub(super) fn sentences(config: &Config) -> Vec<String> {
    let time = |ns: u64| Unit::Nanoseconds.show(ns.into());
    let bytes = |bytes: u64| Unit::Bytes.show(bytes.into());
    let servers = match config.servers {
        1 => "One server computes".to_owned(),
        many => format!("{many} servers compute, each"),
    };
    let takes = match config.queue {
        Queue::Fifo => "the one that became ready first (fifo)",
        Queue::Shortest => "the one with the least to compute (shortest)",
        Queue::Deadline => "the one whose SLO ends first (deadline)",
    };
    let link = match config.link {
        Discipline::Fifo => "one after the other (fifo)",
        Discipline::Shared => "all at once with equal shares (shared)",
    };
    let writes = match config.writes {
        Writes::OwnWay => "Writes delay no fetch.",
        Writes::SameWay => "Writes share it with fetches.",
    };
    let waits = match config.prefetch_deadline_ns {
        None => "A fetch is waited for.".to_owned(),
        Some(ns) => format!("A fetch that is not done after {} is given up.", time(ns)),
    };
    let twins = match config.twins {
        Twins::Wait => "waits for it (single flight)",
        Twins::Twice => "computes it a second time (twice)",
    };
    let (tokens, token) = (config.block_tokens, bytes(config.bytes_per_token));
    vec![
        format!("{servers} one request at a time; a free server takes {takes}."),
        format!("Computing a prompt costs {}.", prefill(&config.prefill)),
        format!("{} of {tokens} tokens, {token} a token.", capacity(config)),
        format!("A lookup takes {}.", time(config.lookup_ns)),
        format!(
            "A link of {}/s moves fetches {link}. {writes} {waits}",
            bytes(config.bandwidth_bytes_per_s)
        ),
        format!("A request that misses what another one is about to compute {twins}."),
        format!("The SLO is {} from arrival to first token.", time(config.slo_ns)),
    ]
}

fn capacity(config: &Config) -> String {
    let blocks = config.capacity_blocks().unwrap_or(0);
    let size = config
        .block_bytes()
        .ok()
        .and_then(|bytes| bytes.checked_mul(blocks));
    let size = size.map_or_else(String::new, |size| {
        format!(" ({})", Unit::Bytes.show(size.into()))
    });
    match config.capacity {
        Capacity::Blocks(_) => format!("The cache holds {blocks} blocks{size}"),
        Capacity::Bytes(bytes) => {
            let given = Unit::Bytes.show(bytes.into());
            format!("The cache holds {given}, which are {blocks} whole blocks{size}")
        }
    }
}

/// Picoseconds as people say them.
fn picoseconds(ps: u64) -> String {
    match ps.is_multiple_of(1_000) {
        true => Unit::Nanoseconds.show((ps / 1_000).into()),
        false => format!("{ps} ps"),
    }
}

fn prefill(prefill: &Prefill) -> String {
    let time = |ns: u64| Unit::Nanoseconds.show(ns.into());
    match *prefill {
        Prefill::Constant { request_ns } => format!("{} (constant)", time(request_ns)),
        Prefill::Linear { request_ns, token_ps } => {
            let token = picoseconds(token_ps);
            format!(
                "{} and {token} for each token that is computed (linear)",
                time(request_ns)
            )
        }
        Prefill::Quadratic {
            request_ns,
            token_ps,
            pair_ps,
        } => {
            let (token, pair) = (picoseconds(token_ps), picoseconds(pair_ps));
            format!(
                "{}, {token} for each token that is computed and {pair} for each pair of it and a token that it attends to \
                 (quadratic)",
                time(request_ns)
            )
        }
    }
}

/// Every number, with its unit in its name.
pub(super) fn json(config: &Config) -> Value {
    let (kind, request_ns, token_ps, pair_ps) = match config.prefill {
        Prefill::Constant { request_ns } => ("constant", request_ns, 0, 0),
        Prefill::Linear { request_ns, token_ps } => ("linear", request_ns, token_ps, 0),
        Prefill::Quadratic {
            request_ns,
            token_ps,
            pair_ps,
        } => ("quadratic", request_ns, token_ps, pair_ps),
    };
    json!({
        "servers": config.servers,
        "queue": match config.queue {
            Queue::Fifo => "fifo",
            Queue::Shortest => "shortest",
            Queue::Deadline => "deadline",
        },
        "prefill": kind,
        "prefill_request_ns": request_ns,
        "prefill_token_ps": token_ps,
        "prefill_pair_ps": pair_ps,
        "capacity_blocks": config.capacity_blocks().ok(),
        "block_tokens": config.block_tokens,
        "bytes_per_token": config.bytes_per_token,
        "lookup_ns": config.lookup_ns,
        "bandwidth_bytes_per_second": config.bandwidth_bytes_per_s,
        "link": match config.link {
            Discipline::Fifo => "fifo",
            Discipline::Shared => "shared",
        },
        "writes": match config.writes {
            Writes::OwnWay => "own",
            Writes::SameWay => "same",
        },
        "prefetch_deadline_ns": config.prefetch_deadline_ns,
        "flight": match config.twins {
            Twins::Wait => "single",
            Twins::Twice => "twice",
        },
        "slo_ns": config.slo_ns,
    })
}
