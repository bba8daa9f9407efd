//! What a scenario file means, after it has been read and checked. Engines, judge and report read this and nothing else.

mod about;
mod fault;
mod step;
mod verb;

pub use about::INVARIANTS;
pub use fault::{Action, Fault, Trigger};
pub use step::{
    ArgValue, AwaitFor, Base, ByteRange, Check, CheckKind, Do, Instant, Length, Moment, Step, Term, Verb,
    What, entry_results,
};

use moonquake_clock::Span;
use moonquake_faults::Profile;
use std::collections::BTreeMap;
use std::fmt;

/// A name of an actor, step, range, buffer or pattern: `[a-z][a-z0-9_]*`.
pub type Name = String;

/// A scenario, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// `put-start/writer-dies-before-payload`.
    pub id: String,
    /// One line.
    pub title: String,
    /// Why the scenario exists.
    pub why: String,
    /// `owner/repo#n` or URLs.
    pub see: Vec<String>,
    /// The world before the first step.
    pub world: World,
    /// The one fault.
    pub fault: Fault,
    /// Ranges and buffers whose accesses from the fault to the end are evidence.
    pub watch: Vec<Name>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Columns two and four of the report.
    pub report: ReportText,
    /// What the file claims, first match counts.
    pub verdicts: Vec<VerdictLine>,
    /// The path the file was read from, as given by the caller.
    pub path: String,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub sha256: String,
}

/// Segments, clients and configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Nodes with the capacity in bytes of the one segment that each mounts, in the file's order.
    pub segments: Vec<(Name, u64)>,
    /// Clients without a segment, in the file's order.
    pub clients: Vec<Name>,
    /// The lengths of all deadlines.
    pub timeouts: Timeouts,
    /// Time that passes after each `do`, repetitions too.
    pub step: Span,
    /// Size of a payload part in bytes.
    pub chunk_bytes: u64,
    /// The largest slice in bytes in which a write is submitted.
    pub slice_bytes: u64,
    /// The bytes of staging memory of each client. Mirrors `local_buffer_size` of `real_client.h:setup_real`.
    pub local_buffer_bytes: u64,
    /// Whether clients give their objects checksums and compare whole objects that they read with theirs. Mirrors
    /// `MOONCAKE_STORE_CHECKSUM` of `environ.cpp`, which is off.
    pub checksums: bool,
    /// Other flags of the master by upstream's name.
    pub flags: BTreeMap<String, String>,
}

impl World {
    /// The slices in which the real client submits a write. Mirrors `types.h:kMaxSliceSize`.
    pub const SLICE_BYTES: u64 = (16 << 20) - 16;
    /// The staging memory of a real client that was told nothing else.
    pub const LOCAL_BUFFER_BYTES: u64 = 16 << 20;
}

/// The lengths of all deadlines that a scenario may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `put_start_discard_timeout_sec`.
    pub discard: Span,
    /// `put_start_release_timeout_sec`.
    pub release: Span,
    /// `default_kv_lease_ttl`.
    pub lease: Span,
    /// `client_ttl`.
    pub client_ttl: Span,
    /// `default_kv_soft_pin_ttl`.
    pub soft_pin: Span,
    /// `MC_RPC_TIMEOUT_MS` of the client.
    pub rpc: Span,
    /// The client's limit for a transfer, fixed in the real client.
    pub transfer: Span,
    /// The transport closes a connection after that long without a byte.
    pub progress: Span,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            discard: Span::from_secs(30),
            release: Span::from_secs(600),
            lease: Span::from_secs(10),
            client_ttl: Span::from_secs(10),
            soft_pin: Span::from_secs(1800),
            rpc: Span::from_secs(30),
            transfer: Span::from_secs(60),
            progress: Span::from_secs(30),
        }
    }
}

impl Timeouts {
    /// The keys of `[world] timeouts`, which are also the deadline names of instants.
    pub const NAMES: [&'static str; 8] = [
        "discard",
        "release",
        "lease",
        "client_ttl",
        "soft_pin",
        "rpc",
        "transfer",
        "progress",
    ];

    /// The length of the deadline of that name.
    pub fn get(&self, name: &str) -> Option<Span> {
        Some(match name {
            "discard" => self.discard,
            "release" => self.release,
            "lease" => self.lease,
            "client_ttl" => self.client_ttl,
            "soft_pin" => self.soft_pin,
            "rpc" => self.rpc,
            "transfer" => self.transfer,
            "progress" => self.progress,
            _ => return None,
        })
    }
}

/// The human columns of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportText {
    /// What should happen.
    pub expected: String,
    /// What to do about it.
    pub repair: String,
}

/// The three outcomes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The injection was proven and every expectation and invariant held.
    Holds,
    /// At least one did not.
    Violated,
    /// The injection could not be proven at its exact phase, or the engine cannot make it.
    NotReproduced,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::NotReproduced => "not-reproduced",
        })
    }
}

/// A line of the file that says what comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictLine {
    /// The profiles it is about; empty means any.
    pub profiles: Vec<Profile>,
    /// The engines it is about; empty means any.
    pub engines: Vec<crate::EngineKind>,
    /// The verdict claimed.
    pub is: Verdict,
    /// Why, demanded unless `holds`.
    pub because: Option<String>,
    /// With `violated`: the step ids and invariants that fail, and nothing else does.
    pub violates: Vec<String>,
}

impl Plan {
    /// The claim of the file for a profile and an engine: the first line that fits.
    pub fn claim(&self, profile: Profile, engine: crate::EngineKind) -> Option<&VerdictLine> {
        self.verdicts.iter().find(|line| {
            (line.profiles.is_empty() || line.profiles.contains(&profile))
                && (line.engines.is_empty() || line.engines.contains(&engine))
        })
    }

    /// The index of the step with that id.
    pub fn step_index(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id.as_deref() == Some(id))
    }

    /// Whether any step gives a further argument of that name.
    pub fn gives(&self, arg: &str) -> bool {
        let gives = |step: &Step| matches!(&step.what, What::Do(action) if action.args.contains_key(arg));
        self.steps.iter().any(gives)
    }

    /// Every pattern name that the timeline can write.
    pub fn patterns(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for step in &self.steps {
            if let What::Do(action) = &step.what {
                names.extend(action.written_pattern().map(str::to_owned));
                names.extend(action.payload.clone());
            }
            if let What::Check(check) = &step.what {
                names.extend(check.payload.clone());
            }
        }
        names.sort();
        names.dedup();
        names
    }
}
