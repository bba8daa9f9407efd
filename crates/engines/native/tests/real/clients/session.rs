//! One fixed session of a client, written down request by request and answer by answer at both masters. The client cannot tell
//! them apart: apart from ids, addresses and times, which are put in order of appearance, both records are equal.

use super::recorder::{Exchange, Recorder};
use super::rig::{Host, KIB, Kind, MIB, Store, keys, plain, range};
use crate::Test;
use moonquake_native::agent::{Command, Outcome, RangedRead, Replication, SoftPin};
use moonquake_protocol::{Request, Rpc};
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(crate) const TESTS: &[Test] = &[("real_client_session_is_the_same_at_both_masters", same)];

/// What the client asks by itself.
const BACKGROUND: &[Rpc] = &[Rpc::Ping, Rpc::ReMountSegment, Rpc::FetchTasks];

/// What a session left behind.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    /// What the client was asked for, followed by what it asked, one line each.
    lines: Vec<String>,
    /// What its background threads asked, as often as time let them; each once.
    background: BTreeSet<String>,
}

fn same() {
    let (real, rust) = (record(Kind::Real), record(Kind::Rust));
    assert!(real.lines.len() > 60, "{real:#?}");
    for (at, (one, other)) in real.lines.iter().zip(&rust.lines).enumerate() {
        assert_eq!(
            one,
            other,
            "line {at}, after {:#?}",
            &real.lines[at.saturating_sub(4)..at]
        );
    }
    assert_eq!(real.lines.len(), rust.lines.len());
    assert_eq!(real.background, rust.background);
    assert!(!real.background.is_empty());
}

fn record(kind: Kind) -> Record {
    let host = Host::start(kind);
    let recorder = Recorder::before(host.address());
    let store = Store::with_segment(recorder.address(), 64 * MIB);
    let mut names = Names::default();
    let mut lines = Vec::new();
    let mut background = BTreeSet::new();
    let mut seen = 0;
    let mut note = |what: String, lines: &mut Vec<String>| {
        let exchanges = recorder.exchanges();
        for exchange in &exchanges[seen..] {
            names.learn(exchange);
        }
        for exchange in &exchanges[seen..] {
            let Exchange {
                rpc,
                request,
                response,
            } = exchange;
            let line = names.apply(&format!("{rpc:?}: {request:?} -> {response:?}"));
            if BACKGROUND.contains(rpc) {
                background.insert(line);
            } else {
                lines.push(line);
            }
        }
        seen = exchanges.len();
        lines.push(what);
    };
    note("setup".to_owned(), &mut lines);
    store.fill(range(0, 4 * MIB), 1);
    store.register(range(0, 16 * MIB));
    for command in commands() {
        let outcome = match store.ask(command.clone()) {
            // Where it lies is told by the lines of the master.
            Outcome::Replicas(replicas) => format!("{} replicas", replicas.len()),
            Outcome::Task { code, .. } => format!("task {code}"),
            Outcome::Mount {
                code, allocated_size, ..
            } => format!("mount {code} {allocated_size}"),
            outcome => format!("{outcome:?}"),
        };
        note(format!("{command:?} = {outcome}"), &mut lines);
    }
    // Pings are answered in one way before it has mounted again, and in another after; the first one after may have been asked before.
    let mounted = recorder.until(0, Rpc::ReMountSegment);
    let pinged = recorder.until(mounted, Rpc::Ping);
    recorder.until(pinged, Rpc::Ping);
    recorder.until(0, Rpc::FetchTasks);
    store.close();
    note("close".to_owned(), &mut lines);
    Record { lines, background }
}

fn commands() -> Vec<Command> {
    let mut all = writes();
    all.extend(reads());
    all.extend(removals());
    all
}

fn writes() -> Vec<Command> {
    let put = |key: &str, value, config| Command::Put {
        key: key.to_owned(),
        value,
        config,
    };
    let pinned = Replication {
        soft_pin_action: Some(SoftPin::Enable),
        soft_pin_ttl_ms: Some(60_000),
        ..Replication::default()
    };
    let grouped = Replication {
        group_ids: Some(keys(&["g"])),
        with_hard_pin: Some(true),
        ..Replication::default()
    };
    let twice = Replication {
        replica_num: Some(2),
        ..Replication::default()
    };
    let two = vec![range(0, KIB), range(MIB, 2 * KIB)];
    vec![
        put("a", range(0, 1000), plain()),
        put("a", range(0, 1000), plain()),
        put("pinned", range(0, 1000), pinned),
        put("grouped", range(0, 1000), grouped),
        put("twice", range(0, 1000), twice),
        put("", range(0, 1000), plain()),
        put("large", range(0, 128 * MIB), plain()),
        Command::PutFrom {
            key: "b".to_owned(),
            buffer: range(0, 4 * MIB),
            config: plain(),
        },
        Command::PutBatch {
            keys: keys(&["c", "d"]),
            values: two.clone(),
            config: plain(),
        },
        Command::BatchPutFrom {
            keys: keys(&["e", "f"]),
            buffers: two.clone(),
            config: plain(),
        },
        Command::Upsert {
            key: "a".to_owned(),
            value: range(10, 1000),
            config: plain(),
        },
        Command::UpsertFrom {
            key: "a".to_owned(),
            buffer: range(0, MIB),
            config: plain(),
        },
        Command::BatchUpsertFrom {
            keys: keys(&["e", "new"]),
            buffers: two,
            config: plain(),
        },
        Command::BatchPutSessionStart {
            keys: keys(&["s", "t"]),
            sizes: vec![MIB, KIB],
            config: plain(),
        },
        Command::BatchPutFromMultiBufferRanges {
            keys: keys(&["s"]),
            buffers: vec![vec![range(0, MIB)]],
            dst_offsets: vec![vec![0]],
        },
        Command::BatchPutSessionEnd { keys: keys(&["s"]) },
        Command::BatchPutSessionRevoke { keys: keys(&["t"]) },
    ]
}

fn reads() -> Vec<Command> {
    let key = |name: &str| name.to_owned();
    vec![
        Command::Get {
            key: key("c"),
            into: range(8 * MIB, KIB),
        },
        Command::Get {
            key: key("missing"),
            into: range(8 * MIB, KIB),
        },
        Command::GetInto {
            key: key("b"),
            buffer: range(8 * MIB, 4 * MIB),
        },
        Command::GetInto {
            key: key("b"),
            buffer: range(8 * MIB, MIB),
        },
        Command::GetInto {
            key: key("missing"),
            buffer: range(8 * MIB, MIB),
        },
        Command::GetBatch {
            keys: keys(&["c", "d"]),
            into: range(8 * MIB, 3 * KIB),
        },
        Command::BatchGetInto {
            keys: keys(&["e", "missing"]),
            buffers: vec![range(8 * MIB, KIB), range(9 * MIB, KIB)],
        },
        Command::GetIntoRanges {
            buffers: vec![range(8 * MIB, MIB)],
            reads: vec![vec![RangedRead {
                key: key("s"),
                dst_offsets: vec![0],
                src_offsets: vec![100],
                sizes: vec![KIB],
            }]],
        },
        Command::BatchGetSessionStart {
            keys: keys(&["s", "missing"]),
        },
        Command::BatchGetIntoMultiBufferRanges {
            keys: keys(&["s"]),
            buffers: vec![vec![range(8 * MIB, KIB)]],
            src_offsets: vec![vec![0]],
        },
        Command::BatchGetSessionEnd { keys: keys(&["s"]) },
        Command::IsExist { key: key("a") },
        Command::IsExist { key: key("missing") },
        Command::BatchIsExist {
            keys: keys(&["a", "missing", "b"]),
        },
        Command::GetSize { key: key("b") },
        Command::GetSize { key: key("missing") },
        Command::GetReplicaDesc { key: key("b") },
        Command::CreateCopyTask {
            key: key("a"),
            targets: keys(&["nowhere"]),
        },
        Command::CreateMoveTask {
            key: key("missing"),
            source: key("x"),
            target: key("y"),
        },
        Command::QueryTask { task_id: (1, 2) },
    ]
}

fn removals() -> Vec<Command> {
    let key = |name: &str| name.to_owned();
    let mount = Command::AllocateAndMountSegment {
        size: 16 * MIB,
        protocol: key("tcp"),
    };
    vec![
        Command::Remove {
            key: key("b"),
            force: false,
        },
        Command::Remove {
            key: key("pinned"),
            force: false,
        },
        Command::Remove {
            key: key("b"),
            force: true,
        },
        Command::Remove {
            key: key("missing"),
            force: false,
        },
        Command::BatchRemove {
            keys: keys(&["d", "missing"]),
            force: true,
        },
        Command::RemoveByRegex {
            pattern: key("^[ef]$"),
            force: false,
        },
        Command::RemoveByRegex {
            pattern: key("^[ef]$"),
            force: true,
        },
        Command::RemoveByRegex {
            pattern: key("("),
            force: false,
        },
        Command::UnregisterBuffer { offset: 0 },
        mount,
        Command::RemoveAll { force: false },
        Command::RemoveAll { force: true },
    ]
}

/// Names for what is drawn anew in each session.
#[derive(Default)]
struct Names {
    /// Where a segment begins and how long it is.
    segments: Vec<(u64, u64)>,
    /// Where clients are reached.
    places: Vec<String>,
    /// Halves of ids, in order of appearance.
    ids: Vec<u64>,
}

impl Names {
    fn learn(&mut self, exchange: &Exchange) {
        if let Request::MountSegment { segment, .. } = &exchange.request {
            self.segments.push((segment.base, segment.size));
            for place in [&segment.name, &segment.te_endpoint] {
                if !self.places.contains(place) {
                    self.places.push(place.clone());
                }
            }
        }
    }

    fn apply(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (number, place) in self.places.iter().enumerate() {
            text = text.replace(&format!("{place:?}"), &format!("place{number}"));
        }
        let mut named = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
            let (before, from) = rest.split_at(at);
            named.push_str(before);
            let end = from
                .find(|letter: char| !letter.is_ascii_digit())
                .unwrap_or(from.len());
            let is_id = before.ends_with("first: ") || before.ends_with("second: ");
            self.number(&mut named, &from[..end], is_id);
            rest = &from[end..];
        }
        named.push_str(rest);
        named
    }

    fn number(&mut self, named: &mut String, digits: &str, is_id: bool) {
        let number: u64 = digits.parse().unwrap_or(0);
        let inside = |(base, size): &(u64, u64)| (*base..=base + size).contains(&number);
        if is_id && number > 9 {
            let known = self.ids.iter().position(|id| *id == number);
            let place = known.unwrap_or_else(|| {
                self.ids.push(number);
                self.ids.len() - 1
            });
            let _ = write!(named, "id{place}");
        } else if let Some(at) = self.segments.iter().position(inside) {
            let _ = write!(named, "segment{at}+{}", number - self.segments[at].0);
        } else {
            named.push_str(digits);
        }
    }
}
