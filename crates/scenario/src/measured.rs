//! What a run in real time came to: nothing in it was steered, so its figures are measured and no two runs give the same.

use crate::{EngineKind, Verdict};
use std::time::Duration;

/// Something that was seen. It is cited by its place in [`MeasuredRun::seen`], counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Time of this machine since the run began.
    pub at: Duration,
    /// Who saw it, such as `proxy of r1` or `agent r1`.
    pub observer: String,
    /// What.
    pub what: String,
}

/// Number of something seen, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenId(pub usize);

/// A sentence, and what was seen for it: none is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredClaim {
    /// The sentence.
    pub words: String,
    /// What it rests on.
    pub rests_on: Vec<SeenId>,
}

/// A measured number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredFigure {
    /// What was measured.
    pub name: String,
    /// How much.
    pub value: Measure,
}

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes.
    Bytes(u64),
    /// Real time.
    Time(Duration),
}

/// Whether a buffer was touched after the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasuredAnswer {
    /// Nobody touched it.
    No,
    /// Who, when and which bytes, in words.
    Yes(String),
    /// Whoever watched is blind to it.
    CouldNotSee,
}

/// The answer for one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredBuffer {
    /// The buffer.
    pub name: String,
    /// Whether it was touched.
    pub answer: MeasuredAnswer,
    /// What the answer rests on.
    pub rests_on: Vec<SeenId>,
    /// What the witnesses here see of such a buffer, and what they do not.
    pub sight: String,
}

/// One run in real time, with the columns of a postmortem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredRun {
    /// Its name, such as `natural/read-after-failure`.
    pub id: String,
    /// In one line.
    pub title: String,
    /// Why it matters.
    pub why: String,
    /// `native` has the unmodified master, `hosted` ours; the client is the unmodified one in both.
    pub engine: EngineKind,
    /// Names and values of what the run began with.
    pub setting: Vec<(String, String)>,
    /// Everything that was seen, in order of time.
    pub seen: Vec<Seen>,
    /// What was done to it, with the proof that it was.
    pub injected: Vec<MeasuredClaim>,
    /// What the contract of the store says.
    pub expected: String,
    /// What came.
    pub found: Vec<MeasuredClaim>,
    /// What can be done about it.
    pub repair: String,
    /// The answers for the buffers of the operation that failed.
    pub buffers: Vec<MeasuredBuffer>,
    /// The figures.
    pub figures: Vec<MeasuredFigure>,
    /// How it came out.
    pub verdict: Verdict,
    /// How it is known to come out.
    pub said: Verdict,
    /// Why the verdict is not the known one; empty if it is.
    pub deviations: Vec<String>,
    /// The command that runs it again.
    pub replay: String,
}

impl MeasuredRun {
    /// Whether it came out as it is known to.
    pub fn is_as_said(&self) -> bool {
        self.verdict == self.said && self.deviations.is_empty()
    }
}
