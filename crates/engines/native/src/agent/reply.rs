//! What an agent answers.

use moonquake_protocol::ErrorCode;
use serde::Deserialize;

/// A replica as the client describes it. Mirrors upstream `Replica::Descriptor`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Replica {
    /// Upstream `ReplicaStatus`, by name.
    pub status: String,
    /// `memory`, `disk` or `local_disk`.
    pub kind: String,
    /// Length in bytes.
    pub size: u64,
    /// Address in the owner's memory; none but in memory.
    pub address: Option<u64>,
    /// Where the owner is reached, or the file's path.
    pub place: String,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A code if negative, else a size, a count, 0 or 1.
    Number(i64),
    /// A number for each key.
    Numbers(Vec<i64>),
    /// A number for each buffer, object and part.
    Nested(Vec<Vec<Vec<i64>>>),
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// How long a staged result is; 0 when nothing came, whatever the reason.
    Length(u64),
    /// The same for each key.
    Lengths(Vec<u64>),
    /// What a mount gave.
    Mount {
        /// A code, or 0.
        code: i64,
        /// Ids of the segments.
        segment_ids: Vec<String>,
        /// Bytes in all.
        allocated_size: u64,
    },
    /// What making a task gave.
    Task {
        /// A code, or 0.
        code: i64,
        /// Its id.
        id: (u64, u64),
    },
    /// What has become of a task.
    TaskState {
        /// A code, or 0; with a code the rest is empty.
        code: i64,
        /// Upstream `TaskStatus`, by name.
        status: String,
        /// Upstream `TaskType`, by name.
        kind: String,
        /// What the master says about it.
        message: String,
    },
    /// Replicas of one key.
    Replicas(Vec<Replica>),
    /// Replicas of each key, in the order of the keys asked for; none for a key that has none.
    ReplicasOf(Vec<Option<Vec<Replica>>>),
    /// The call has thrown: a call that the client's Python layer refuses.
    Raised {
        /// Name of the exception.
        kind: String,
        /// What it says.
        message: String,
    },
}

impl Outcome {
    /// The number, if it is one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Outcome::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The numbers of a batch, if it is one.
    pub fn numbers(&self) -> Option<&[i64]> {
        match self {
            Outcome::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// The length of a staged result, if it is one.
    pub fn length(&self) -> Option<u64> {
        match self {
            Outcome::Length(length) => Some(*length),
            _ => None,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Which call is answered.
    pub id: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// The store's code in a number that a call has returned: `Ok` with the size, count or truth if it is not negative.
///
/// # Errors
/// The code that a negative number is.
pub fn code_of(number: i64) -> Result<u64, ErrorCode> {
    match u64::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => Err(ErrorCode::from_value(i32::try_from(number).unwrap_or(i32::MIN))),
    }
}
