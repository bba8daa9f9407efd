//! The unmodified master, in lockstep.

use super::engines::Engines;
use super::http::Http;
use super::wire::Wire;
use super::{KeySeen, MountSeen, Outcome, ReplicaSeen, State, is_readable_label, jobs};
use crate::error::DifferError;
use crate::operation::{Operation, moved};
use crate::setup::{START, Setup};
use moonquake_clock::{Clocks, Thread};
use moonquake_native::process::{KeyDescriptor, MasterProcess, StartOptions};
use moonquake_protocol::{Request, Response, Uuid};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Requests that are under way at once.
const PIPELINE: usize = 32;

/// Bytes of keys, as they stand in a path, that the admin server is asked for in one query; a key that is longer stands alone.
const PATH_BYTES: usize = 2_048;

/// Gauges that are zero in a master that has just started.
const CLEAN: [&str; 5] = [
    "master_allocated_bytes",
    "master_total_capacity_bytes",
    "master_key_count",
    "master_soft_pin_key_count",
    "master_active_clients",
];

/// A real master under control, with one connection for requests and one for its observer.
#[derive(Debug)]
pub struct RealSide {
    // The connections go before the process.
    wire: Wire,
    http: Http,
    engines: Engines,
    process: MasterProcess,
    clocks: Clocks,
    /// The latest that each clock has ever shown.
    latest: Clocks,
    has_timers: bool,
    setup: Setup,
}

impl RealSide {
    /// Starts a master of a configuration.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn start(setup: &Setup) -> Result<RealSide, DifferError> {
        let process = MasterProcess::start(StartOptions {
            flags: setup.flags.clone(),
            clocks: START,
            seed: 0,
            ..StartOptions::default()
        })?;
        Ok(RealSide {
            wire: Wire::connect(process.rpc_addr())?,
            http: Http::connect(process.admin_addr())?,
            engines: Engines::default(),
            process,
            clocks: START,
            latest: START,
            has_timers: false,
            setup: setup.clone(),
        })
    }

    /// The configuration that it runs with.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The process.
    pub fn process(&self) -> &MasterProcess {
        &self.process
    }

    /// What its clocks show.
    pub fn clocks(&self) -> Clocks {
        self.clocks
    }

    /// How far each clock is behind the latest that it has shown, in nanoseconds.
    pub(crate) fn behind(&self) -> (i64, i64) {
        let lag = |latest: u64, now: u64| i64::try_from(latest - now).unwrap_or(i64::MAX);
        (
            lag(self.latest.realtime.0, self.clocks.realtime.0),
            lag(self.latest.monotonic.0, self.clocks.monotonic.0),
        )
    }

    /// Does operations in their order; the outcomes come in that order too.
    ///
    /// # Errors
    /// When the process ends or does not answer.
    pub fn apply(&mut self, operations: &[Operation]) -> Result<Vec<Outcome>, DifferError> {
        let mut outcomes = Vec::with_capacity(operations.len());
        self.apply_into(operations, &mut outcomes)?;
        Ok(outcomes)
    }

    /// The same; what was answered before a failure is there too.
    pub(crate) fn apply_into(
        &mut self,
        operations: &[Operation],
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), DifferError> {
        for operation in operations {
            match operation {
                Operation::Call(request) => {
                    self.wire.queue(request);
                    if operation.wakes_workers() {
                        self.flush(outcomes)?;
                        self.settle(request, outcomes.last())?;
                    } else if self.wire.queued() >= PIPELINE {
                        self.flush(outcomes)?;
                    }
                }
                Operation::Clock {
                    realtime_ns,
                    monotonic_ns,
                } => {
                    self.flush(outcomes)?;
                    self.move_clocks(*realtime_ns, *monotonic_ns)?;
                    outcomes.push(Outcome::Moved);
                }
                Operation::Tick(thread) => {
                    self.flush(outcomes)?;
                    outcomes.push(Outcome::Ticked(self.tick(*thread)?));
                }
                Operation::CreateDrainJob { .. }
                | Operation::QueryDrainJob(_)
                | Operation::CancelDrainJob(_) => {
                    self.flush(outcomes)?;
                    outcomes.extend(jobs::apply_real(&mut self.http, operation)?);
                }
            }
        }
        self.flush(outcomes)
    }

    /// What has become of the process after a failure, in words. It is ended if it still runs, so that its last words are all there.
    pub(crate) fn what_became(&self, failure: &DifferError) -> String {
        if failure.is_silence() {
            let _ended_anyway = self.process.kill();
            return "It ran on without an answer, and was ended".to_owned();
        }
        // A process that has closed its connections has its exit status already, and a signal changes it no more.
        match self.process.kill() {
            Ok(status) => format!("It has ended ({status})"),
            Err(error) => format!("What became of it is unknown: {error}"),
        }
    }

    fn flush(&mut self, outcomes: &mut Vec<Outcome>) -> Result<(), DifferError> {
        if self.wire.queued() == 0 {
            return Ok(());
        }
        self.wire.exchange(|answer| {
            outcomes.push(match answer {
                Ok(response) => Outcome::Answer(response),
                Err(text) => Outcome::Refused(text),
            });
        })
    }

    /// Waits for what a request has set going.
    fn settle(&mut self, request: &Request, outcome: Option<&Outcome>) -> Result<(), DifferError> {
        let accepted =
            |outcome: &Outcome| matches!(outcome, Outcome::Answer(Response::GracefulUnmountSegment(Ok(()))));
        if matches!(request, Request::GracefulUnmountSegment { .. }) && outcome.is_some_and(accepted) {
            self.has_timers = true;
            self.process.await_graceful_unmount()?;
            self.process.run_due_timers()?;
        }
        self.process.await_cleanup_idle()?;
        Ok(())
    }

    fn move_clocks(&mut self, realtime_ns: i64, monotonic_ns: i64) -> Result<(), DifferError> {
        self.clocks = moved(self.clocks, realtime_ns, monotonic_ns);
        self.latest = self.latest.max_each(self.clocks);
        self.process.set_clocks(self.clocks);
        if self.has_timers {
            self.process.run_due_timers()?;
            self.process.await_cleanup_idle()?;
        }
        Ok(())
    }

    fn tick(&mut self, thread: Thread) -> Result<bool, DifferError> {
        Ok(self.process.tick(thread)?.did_round)
    }

    /// Sets the random engines back to their start; the images are those of the Rust master. False if they have drawn something else.
    pub(crate) fn rewind(
        &mut self,
        present: &[Vec<u8>; 2],
        fresh: &[Vec<u8>; 2],
    ) -> Result<bool, DifferError> {
        self.engines.rewind(self.process.pid(), present, fresh)
    }

    /// Sets the engines to these images wherever they stand; false if it is not known where they are.
    pub(crate) fn force_engines(&mut self, fresh: &[Vec<u8>; 2]) -> Result<bool, DifferError> {
        self.engines.force(self.process.pid(), fresh)
    }

    /// Gauges of the admin server, by name.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn gauges(&mut self) -> Result<BTreeMap<String, f64>, DifferError> {
        let text = self.http.get("/metrics")?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let parsed = lines.filter_map(|line| line.rsplit_once(' '));
        Ok(parsed
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect())
    }

    /// Fails unless nothing is mounted, stored or alive.
    pub(crate) fn demand_clean(&mut self) -> Result<(), DifferError> {
        let gauges = self.gauges()?;
        let left: Vec<String> = CLEAN
            .iter()
            .filter(|name| gauges.get(**name) != Some(&0.0))
            .map(|name| format!("{name} = {:?}", gauges.get(*name)))
            .collect();
        if left.is_empty() {
            Ok(())
        } else {
            Err(DifferError::Unclean {
                what: left.join(", "),
            })
        }
    }

    /// What an observer sees of these keys and segments. The master stays as it is.
    ///
    /// # Errors
    /// When the admin server does not answer.
    pub fn state(&mut self, keys: &[String], segments: &[Uuid]) -> Result<State, DifferError> {
        let gauges = self.gauges()?;
        let mounts = self.mounts()?;
        let gauge = |name: &str| gauges.get(name).map_or(0, |value| *value as u64);
        let mut state = State {
            allocated_bytes: gauge("master_allocated_bytes"),
            capacity_bytes: gauge("master_total_capacity_bytes"),
            key_count: gauge("master_key_count"),
            soft_pinned_keys: gauge("master_soft_pin_key_count"),
            active_clients: gauge("master_active_clients"),
            gauges: mounts
                .iter()
                .filter(|mount| is_readable_label(&mount.name))
                .map(|mount| own_gauges(&gauges, &mount.name))
                .collect(),
            mounts,
            keys: self.keys(keys)?,
            ..State::default()
        };
        state.order = self
            .http
            .get("/get_all_keys")?
            .lines()
            .map(str::to_owned)
            .collect();
        // The admin server tells the status of the latest mount of a name, also for the others of that name.
        let queries = segments
            .iter()
            .map(|id| Request::QuerySegmentStatusById { segment_id: *id });
        queries.for_each(|query| self.wire.queue(&query));
        let mut statuses = Vec::new();
        self.wire.exchange(|answer| statuses.push(answer))?;
        for (id, answer) in segments.iter().zip(statuses) {
            if let Ok(Response::QuerySegmentStatusById(Ok(status))) = answer {
                state.segments.insert(id.to_string(), status.to_string());
            }
        }
        Ok(state)
    }

    /// The mounted segments as the admin server tells them.
    fn mounts(&mut self) -> Result<Vec<MountSeen>, DifferError> {
        let answer = self.http.get("/get_segments_detail")?;
        let answer: Segments = parse(&answer)?;
        let seen = |mount: SegmentAnswer| MountSeen {
            id: mount.segment_id,
            name: mount.segment_name,
            client: mount.client_id,
            used_bytes: mount.allocator_used_bytes,
            capacity_bytes: mount.allocator_capacity_bytes,
        };
        Ok(answer.segments.into_iter().map(seen).collect())
    }

    /// What queries of keys tell, as many in each as a path takes.
    fn keys(&mut self, keys: &[String]) -> Result<BTreeMap<String, KeySeen>, DifferError> {
        let mut found = BTreeMap::new();
        let mut list = String::new();
        for key in keys.iter().filter(|key| !key.is_empty()) {
            if list.len() >= PATH_BYTES {
                found.append(&mut self.asked_keys(&list)?);
                list.clear();
            }
            if !list.is_empty() {
                list.push(',');
            }
            percent_encode(&mut list, key);
        }
        if !list.is_empty() {
            found.append(&mut self.asked_keys(&list)?);
        }
        Ok(found)
    }

    fn asked_keys(&mut self, list: &str) -> Result<BTreeMap<String, KeySeen>, DifferError> {
        let answer = self.http.get(&format!("/batch_query_keys?keys={list}"))?;
        let answer: Keys = parse(&answer)?;
        let seen = |key: KeyAnswer| match (key.error, key.values) {
            (Some(error), _) => KeySeen::Refused(error),
            (None, values) => {
                KeySeen::Readable(values.unwrap_or_default().into_iter().map(replica).collect())
            }
        };
        Ok(answer
            .data
            .into_iter()
            .map(|(key, value)| (key, seen(value)))
            .collect())
    }
}

/// The gauges of the segments of a name; less than nothing where there is none.
fn own_gauges(all: &BTreeMap<String, f64>, name: &str) -> (String, [i64; 2]) {
    let own = ["segment_allocated_bytes", "segment_total_capacity_bytes"];
    let value = |gauge: &str| all.get(&format!("{gauge}{{segment=\"{name}\"}}"));
    (
        name.to_owned(),
        own.map(|gauge| value(gauge).map_or(-1, |value| *value as i64)),
    )
}

fn replica(seen: KeyDescriptor) -> ReplicaSeen {
    ReplicaSeen {
        size_bytes: seen.size_bytes,
        address: seen.buffer_address,
        endpoint: seen.transport_endpoint,
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, DifferError> {
    serde_json::from_str(text).map_err(|error| DifferError::Wire {
        doing: "reading the admin server's answer",
        source: std::io::Error::new(std::io::ErrorKind::InvalidData, error),
    })
}

fn percent_encode(path: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
    }
}

#[derive(Deserialize)]
struct Segments {
    segments: Vec<SegmentAnswer>,
}

#[derive(Deserialize)]
struct SegmentAnswer {
    segment_name: String,
    segment_id: String,
    client_id: String,
    allocator_used_bytes: u64,
    allocator_capacity_bytes: u64,
}

#[derive(Deserialize)]
struct Keys {
    data: BTreeMap<String, KeyAnswer>,
}

#[derive(Deserialize)]
struct KeyAnswer {
    error: Option<String>,
    values: Option<Vec<KeyDescriptor>>,
}
