//! What the judge hands out.

use crate::Cited;
use moonquake_clock::Span;
use moonquake_evidence::{EventId, Observer, Op};
use moonquake_scenario::Verdict;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The judgement of one run.
///
/// A record without a single event leaves nothing to cite: every list is empty then, and the verdict is
/// [`Verdict::NotReproduced`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What came out.
    pub verdict: Verdict,
    /// Whether the injection was seen by somebody else than the injector, at its exact phase.
    pub proof: Proof,
    /// One finding for each step (each repetition) that expects, awaits or checks something.
    pub expectations: Vec<Finding>,
    /// The eight invariants, always all, in the order of [`crate::INVARIANTS`].
    pub invariants: Vec<Finding>,
    /// Whether watched buffers were still touched after the failure.
    pub buffer: BufferAnswer,
    /// The verdict line of the file that fits profile and engine, and whether the outcome agrees with it.
    pub claim: Option<Claim>,
    /// Where the outcome differs from the claim; empty when the claim is met.
    pub deviations: Vec<String>,
}

/// Whether the injection is proven.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Whether it is.
    pub proven: bool,
    /// What the injector says it did. Proves nothing, tells where to look.
    pub claimed: Option<Cited>,
    /// What other observers saw of it.
    pub seen: Vec<Cited>,
    /// What should have been seen and was not; empty when proven.
    pub missing: Vec<Cited>,
    /// The second observers: those whose events are cited in `seen`, the timeline and the injector apart.
    pub by: Vec<Observer>,
}

impl Proof {
    /// The proof in one paragraph, with event ids.
    pub fn text(&self) -> String {
        let list = if self.proven { &self.seen } else { &self.missing };
        let lines: Vec<String> = list.iter().map(Cited::to_string).collect();
        lines.join("; ")
    }
}

/// What became of an expectation or invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It held.
    Held,
    /// It did not hold.
    Failed,
    /// Nobody could see whether it held. That never counts as holding.
    CouldNotSee,
    /// The run never came to what it speaks about.
    NotApplicable,
}

impl Status {
    /// Whether the run may hold with this.
    pub fn is_fine(self) -> bool {
        matches!(self, Status::Held | Status::NotApplicable)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Held => "held",
            Status::Failed => "failed",
            Status::CouldNotSee => "could not see",
            Status::NotApplicable => "not applicable",
        })
    }
}

/// One expectation or invariant and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The step's id, `step 4` for one without, or the invariant's name.
    pub name: String,
    /// The step and repetition; none for an invariant.
    pub op: Option<Op>,
    /// What became of it.
    pub status: Status,
    /// What was expected.
    pub expected: String,
    /// What was seen, and where.
    pub actual: Cited,
}

/// The answer to: was the buffer of the failed operation still touched?
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferAnswer {
    /// The operations that had to do with bytes and failed or lost their actor, with the event at which they did.
    pub failures: Vec<Cited>,
    /// One answer for each watched name, then one for the staging memory of each client whose staged operation failed.
    pub names: Vec<NameAnswer>,
}

/// The answer for one watched name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameAnswer {
    /// The watched range or buffer.
    pub name: String,
    /// From where on accesses count: the failure of the first operation that named it, or else the fault.
    pub since: Cited,
    /// The answer.
    pub answer: Touched,
    /// Late accesses since then by operations that had not failed: the bytes belonged to somebody else, or to nobody.
    pub late_by_others: Vec<Touch>,
    /// Other accesses since then by operations that had not failed. They are not late.
    pub by_others: Vec<Touch>,
    /// What became of a caller's buffer from its registration on, in order; empty for ranges and staging memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub life: Vec<LifeEvent>,
}

/// What can become of a caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LifeStage {
    /// The transfer engine was told of it by a step. Without such a step it is told before the first use.
    Registered,
    /// An operation took it.
    Lent,
    /// That operation reported its result: the buffer is its caller's again.
    Returned,
    /// Bytes of it were read or written by an operation that did not have it.
    Touched,
    /// The transfer engine was told to forget it.
    Unregistered,
}

impl LifeStage {
    /// One word for tables.
    pub fn name(self) -> &'static str {
        match self {
            LifeStage::Registered => "registered",
            LifeStage::Lent => "lent",
            LifeStage::Returned => "returned",
            LifeStage::Touched => "touched",
            LifeStage::Unregistered => "unregistered",
        }
    }
}

/// One event in the life of a caller's buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifeEvent {
    /// What became of it.
    pub stage: LifeStage,
    /// By which client.
    pub who: String,
    /// When, on the timeline's own time; of several accesses the first.
    pub at: Span,
    /// The bytes that were touched: the first, and one past the last.
    pub bytes: Option<(u64, u64)>,
    /// In words, with the events that show it.
    pub told: Cited,
}

/// Whether a failed operation touched the buffer after its failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "touched")]
pub enum Touched {
    /// No: a witness that sees every kind of access saw none.
    No {
        /// Who watched.
        witness: Cited,
    },
    /// Yes.
    Yes {
        /// Each late access, in order.
        touches: Vec<Touch>,
    },
    /// Nobody saw one, and the witness here is blind to some kinds of access.
    CouldNotSee {
        /// The kinds of access that nobody could see.
        kinds: Vec<String>,
        /// What shows the blindness.
        witness: Cited,
    },
}

/// One access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// Who did it.
    pub who: String,
    /// In the course of which operation, if known.
    pub op: Option<Op>,
    /// When, on the timeline's own time.
    pub at: Span,
    /// Whether bytes were written or read.
    pub write: bool,
    /// The first byte within the watched buffer or range.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// The event.
    pub id: EventId,
    /// Whose memory it hit, for a late access.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<Hit>,
}

/// Memory that an access hit, and to whom it belonged at that instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The segment, the caller's buffer or the client's staging memory.
    pub place: String,
    /// The first byte within the place.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// The owner, as the epochs of [`crate::regions`] name it.
    pub owner: String,
    /// The number of the epoch within the place.
    pub epoch: u32,
    /// When the epoch began, and the event that shows it.
    pub since: (Span, EventId),
}

/// `n1[0, 4194304) belongs to n by w2 (p2) since 60s + 1ns (epoch 3)`.
impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}[{}, {}) belongs to {} since {} (epoch {})",
            self.place, self.from, self.to, self.owner, self.since.0, self.epoch
        )
    }
}

impl BufferAnswer {
    /// The overall answer in a word: `yes`, `late, by others`, `could not see` or `no`; `nothing watched` without a
    /// watched name.
    pub fn word(&self) -> &'static str {
        let any = |test: fn(&Touched) -> bool| self.names.iter().any(|name| test(&name.answer));
        if any(|answer| matches!(answer, Touched::Yes { .. })) {
            "yes"
        } else if self.names.iter().any(|name| !name.late_by_others.is_empty()) {
            "late, by others"
        } else if any(|answer| matches!(answer, Touched::CouldNotSee { .. })) {
            "could not see"
        } else if self.names.is_empty() {
            "nothing watched"
        } else {
            "no"
        }
    }
}

/// What the file says about this profile and engine, and whether it came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The place of the line among the file's verdict lines, from 0.
    pub line: usize,
    /// The verdict claimed.
    pub is: Verdict,
    /// Why, as the file says.
    pub because: Option<String>,
    /// The steps and invariants that the file says fail, and nothing else.
    pub violates: Vec<String>,
    /// Whether the outcome agrees, to the last name.
    pub met: bool,
    /// Failed and not named.
    pub failed_unclaimed: Vec<String>,
    /// Named and not failed.
    pub claimed_unfailed: Vec<String>,
}
