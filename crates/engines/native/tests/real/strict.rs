//! The strict master beside the two of a pair. It is asked the same, and its answers and state must part from theirs exactly
//! where the row of the test in `fixtures/sharp-edges.toml` says so.
//!
//! A row that names quirks has to earn each of them: with all of them on a strict master does what the two do, and with any of
//! them off it does not. Its writers behave as strict ones do: an end names its attempt, and what was written has landed.
//! Replica ids are not compared, because a strict master tells attempts apart by them and draws more of them.

use crate::Test;
use crate::pair::Pair;
use crate::rig::MIB;
use moonquake_clock::{Clocks, Thread};
use moonquake_faults::{Quirk, Quirks};
use moonquake_master::{Master, MasterConfig};
use moonquake_protocol::{ErrorCode, ReplicaDescriptor, ReplicateConfig, Request, Response, Uuid};
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;

pub(crate) const TESTS: &[Test] = &[("real_strict_a_wrong_row_is_told", wrong_rows)];

const EDGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/sharp-edges.toml");

thread_local! {
    /// What is known of the test that this thread runs.
    static TRIAL: RefCell<Trial> = RefCell::default();
}

#[derive(Deserialize)]
struct Edges {
    edge: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    #[serde(default)]
    strict: BTreeMap<String, Vec<String>>,
}

#[derive(Default)]
struct Trial {
    kinds: Vec<Kind>,
    asked: bool,
}

/// A strict master with some quirks on, which must part or must not.
struct Kind {
    on: BTreeSet<Quirk>,
    must_part: bool,
    parted: Option<String>,
}

impl Kind {
    fn new(on: BTreeSet<Quirk>, must_part: bool) -> Kind {
        Kind {
            on,
            must_part,
            parted: None,
        }
    }

    fn problem(&self) -> Option<String> {
        let names: Vec<&str> = self.on.iter().map(|quirk| quirk.row().name).collect();
        let who = format!("a strict master with {names:?}");
        match (&self.parted, self.must_part) {
            (None, true) => Some(format!("{who} never parts, and the row says that it does")),
            (Some(how), false) => Some(format!("{who} parts: {how}")),
            _ => None,
        }
    }
}

/// The masters to ask for a test that parts by these quirks.
fn kinds(quirks: &[String]) -> Vec<Kind> {
    let quirk = |name: &String| Quirk::from_name(name).unwrap_or_else(|| panic!("{name} is no quirk"));
    let all: BTreeSet<Quirk> = quirks.iter().map(quirk).collect();
    if all.is_empty() {
        return vec![Kind::new(all, false)];
    }
    let mut lacking: BTreeSet<BTreeSet<Quirk>> = BTreeSet::from([BTreeSet::new()]);
    for quirk in &all {
        lacking.insert(all.iter().copied().filter(|other| other != quirk).collect());
    }
    let lacking = lacking.into_iter().map(|on| Kind::new(on, true));
    lacking.chain(once(Kind::new(all, false))).collect()
}

/// Looks the test up that this thread is about to run. One that stands in no row, or that asks no pair, is not asked.
pub(crate) fn begin(test: &str) {
    let text = std::fs::read_to_string(EDGES).unwrap_or_else(|error| panic!("{EDGES}: {error}"));
    let edges: Edges = toml::from_str(&text).unwrap_or_else(|error| panic!("{EDGES}: {error}"));
    let row = edges.edge.iter().find_map(|edge| edge.strict.get(test));
    TRIAL.set(Trial {
        kinds: row.map(|quirks| kinds(quirks)).unwrap_or_default(),
        asked: false,
    });
}

/// Holds what was seen since [`begin`] to the row.
pub(crate) fn finish() {
    let problems = problems();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn problems() -> Vec<String> {
    let trial = TRIAL.take();
    if !trial.asked && !trial.kinds.is_empty() {
        return vec!["the test stands in a row and asks no pair".to_owned()];
    }
    trial.kinds.iter().filter_map(Kind::problem).collect()
}

/// A row that names a quirk too many, one too few or another one fails its test.
fn wrong_rows() {
    let told = |quirks: &[&str], asks: bool| {
        let quirks: Vec<String> = quirks.iter().map(|name| (*name).to_owned()).collect();
        TRIAL.set(Trial {
            kinds: kinds(&quirks),
            asked: false,
        });
        if asks {
            let mut pair = Pair::with_segments(&[MIB]);
            pair.put("k", 1_024, &ReplicateConfig::default());
            assert!(pair.exist("k"));
            assert_eq!(pair.remove("k"), Err(ErrorCode::ObjectHasLease));
        }
        problems()
    };
    let (right, other) = ("probe-grants-lease", "stale-put-end");
    assert_eq!(told(&[right], true), [""; 0]);
    for (row, word) in [
        (&[][..], "parts: Remove(Ok(()))"),
        (&[other][..], "[\"stale-put-end\"] parts"),
        (&[right, other][..], "[\"probe-grants-lease\"] never parts"),
    ] {
        let told = told(row, true).join("\n");
        assert!(told.contains(word), "{row:?}: {told}");
    }
    assert_eq!(
        told(&[right], false),
        ["the test stands in a row and asks no pair"]
    );
}

/// The strict masters beside one pair.
pub(crate) struct Beside {
    masters: Vec<Strict>,
}

struct Strict {
    /// Its place among the kinds of the trial.
    kind: usize,
    master: Master,
    /// By writer and key the replicas that it was given last.
    given: BTreeMap<(Uuid, String), Vec<u64>>,
}

impl Beside {
    /// Those that the test wants, as they are at the start.
    pub(crate) fn start(config: &MasterConfig, now: Clocks) -> Beside {
        let strict = |(kind, of): (usize, &Kind)| {
            let config = MasterConfig {
                quirks: Quirks::from(of.on.clone()),
                ..config.clone()
            };
            let mut master = Master::new(config, now).unwrap_or_else(|error| panic!("{error}"));
            master.hear_owners(0);
            Strict {
                kind,
                master,
                given: BTreeMap::new(),
            }
        };
        let masters = TRIAL.with_borrow_mut(|trial| {
            trial.asked = true;
            trial.kinds.iter().enumerate().map(strict).collect()
        });
        Beside { masters }
    }

    /// Asks what `ours` has just answered.
    pub(crate) fn ask(&mut self, now: Clocks, request: &Request, answer: &Response, ours: &Master) {
        let wanted = unnumbered(answer.clone());
        self.step(ours, |strict| {
            let given = unnumbered(strict.ask(now, request));
            (given != wanted).then(|| format!("{given:?} for {wanted:?} to {request:?}"))
        });
    }

    /// A round that `ours` has just made.
    pub(crate) fn tick(&mut self, now: Clocks, thread: Thread, ours: &Master) {
        self.step(ours, |strict| {
            strict.master.tick(now, thread);
            None
        });
    }

    pub(crate) fn settle(&mut self, ours: &Master) {
        self.step(ours, |strict| {
            strict.master.settle_cleanup();
            None
        });
    }

    pub(crate) fn run_timers(&mut self, now: Clocks, ours: &Master) {
        self.step(ours, |strict| {
            strict.master.run_graceful_timer(now);
            strict.master.settle_cleanup();
            None
        });
    }

    /// Does the same to each, and lets go of those that have parted: what they do from then on means nothing.
    fn step(&mut self, ours: &Master, mut act: impl FnMut(&mut Strict) -> Option<String>) {
        if self.masters.is_empty() {
            return;
        }
        let wanted = ours.view();
        self.masters.retain_mut(|strict| {
            let differs = act(strict).or_else(|| {
                let seen = strict.master.view();
                (seen != wanted).then(|| format!("{seen:?} for {wanted:?} is seen"))
            });
            let parts = differs.is_some();
            if let Some(how) = differs {
                TRIAL.with_borrow_mut(|trial| {
                    trial.kinds[strict.kind].parted.get_or_insert(how).truncate(2_000)
                });
            }
            !parts
        });
    }
}

impl Strict {
    fn ask(&mut self, now: Clocks, request: &Request) -> Response {
        let fences = self.speak_for(request);
        let answer = self.master.handle(now, request, &fences);
        if let Some((client, keys)) = starts(request) {
            for (key, replicas) in keys.into_iter().zip(begun(&answer)) {
                if let Some(replicas) = replicas {
                    let ids = replicas
                        .iter()
                        .filter(|replica| replica.memory_buffer().is_some());
                    let ids = ids.map(|replica| replica.id).collect();
                    self.given.insert((client, key.to_owned()), ids);
                }
            }
        }
        answer
    }

    /// The attempts that the writer of an end or a revoke means. Whoever ends has written what it was given.
    fn speak_for(&mut self, request: &Request) -> Vec<Option<u64>> {
        let Some((client, keys, has_written)) = ends(request) else {
            return Vec::new();
        };
        let mut fences = Vec::new();
        for key in keys {
            let given = self.given.get(&(client, key.to_owned()));
            let given = given.map(Vec::as_slice).unwrap_or_default();
            if has_written {
                given.iter().for_each(|id| self.master.write_landed(*id));
            }
            fences.push(given.first().copied());
        }
        fences
    }
}

/// Who starts to write which keys.
fn starts(request: &Request) -> Option<(Uuid, Vec<&str>)> {
    match request {
        Request::PutStart { client_id, key, .. } | Request::UpsertStart { client_id, key, .. } => {
            Some((*client_id, vec![key.as_str()]))
        }
        Request::BatchPutStart { client_id, keys, .. }
        | Request::BatchUpsertStart { client_id, keys, .. } => {
            Some((*client_id, keys.iter().map(String::as_str).collect()))
        }
        _ => None,
    }
}

/// What each key of a start was given.
fn begun(answer: &Response) -> Vec<Option<&[ReplicaDescriptor]>> {
    match answer {
        Response::PutStart(given) | Response::UpsertStart(given) => vec![given.as_deref().ok()],
        Response::BatchPutStart(all) | Response::BatchUpsertStart(all) => {
            all.iter().map(|given| given.as_deref().ok()).collect()
        }
        _ => Vec::new(),
    }
}

/// Who ends or revokes the writes of which keys, and whether it has written.
fn ends(request: &Request) -> Option<(Uuid, Vec<&str>, bool)> {
    match request {
        Request::PutEnd {
            client_id,
            object_meta,
            ..
        }
        | Request::UpsertEnd {
            client_id,
            object_meta,
            ..
        } => Some((*client_id, vec![object_meta.key.as_str()], true)),
        Request::BatchPutEnd {
            client_id,
            object_metas,
            ..
        }
        | Request::BatchUpsertEnd {
            client_id,
            object_metas,
            ..
        } => {
            let keys = object_metas.iter().map(|meta| meta.key.as_str()).collect();
            Some((*client_id, keys, true))
        }
        Request::PutRevoke { client_id, key, .. } | Request::UpsertRevoke { client_id, key, .. } => {
            Some((*client_id, vec![key.as_str()], false))
        }
        Request::BatchPutRevoke { client_id, keys, .. }
        | Request::BatchUpsertRevoke { client_id, keys, .. } => {
            Some((*client_id, keys.iter().map(String::as_str).collect(), false))
        }
        _ => None,
    }
}

/// The answer without the ids of its replicas.
fn unnumbered(mut answer: Response) -> Response {
    replicas_of(&mut answer)
        .into_iter()
        .for_each(|replica| replica.id = 0);
    answer
}

fn replicas_of(answer: &mut Response) -> Vec<&mut ReplicaDescriptor> {
    match answer {
        Response::PutStart(Ok(all)) | Response::UpsertStart(Ok(all)) => all.iter_mut().collect(),
        Response::BatchPutStart(entries) | Response::BatchUpsertStart(entries) => {
            entries.iter_mut().flatten().flatten().collect()
        }
        Response::GetReplicaList(Ok(told)) => told.replicas.iter_mut().collect(),
        Response::BatchGetReplicaList(entries) => {
            let told = entries.iter_mut().flatten();
            told.flat_map(|told| &mut told.replicas).collect()
        }
        Response::GetReplicaListByRegex(Ok(found)) => found.values_mut().flatten().collect(),
        Response::CopyStart(Ok(copy)) | Response::DynamicReplicaCopyStart(Ok(copy)) => {
            once(&mut copy.source).chain(&mut copy.targets).collect()
        }
        Response::MoveStart(Ok(moved)) => once(&mut moved.source).chain(&mut moved.target).collect(),
        _ => Vec::new(),
    }
}
