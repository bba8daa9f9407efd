//! Two outcomes or two states side by side.

use crate::operation::Operation;
use crate::sides::{Outcome, State};
use moonquake_protocol::{ReplicaDescriptor, Response};
use serde::Serialize;

/// Where two masters part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Place of the operation in the history.
    pub index: usize,
    /// The operation.
    pub operation: Operation,
    /// What parts.
    pub parted: Parted,
}

/// What parts after an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Parted {
    /// The outcome of the operation, replica ids counted from the start of the history.
    Outcome {
        /// Of the Rust master.
        rust: Box<Outcome>,
        /// Of the real one.
        real: Box<Outcome>,
    },
    /// What an observer sees after it.
    State {
        /// Of the Rust master.
        rust: Box<State>,
        /// Of the real one.
        real: Box<State>,
    },
    /// How often a random engine has drawn: later choices would part.
    Draws,
}

/// Brings the answers of the real master into the form of a fresh one: nothing sets its counter of replica ids back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Canon {
    /// How many replica ids were given out before this history. After a history that parted nobody knows until the first
    /// descriptor comes; else the Rust master has counted them.
    pub(crate) ids_before: Option<u64>,
}

impl Canon {
    /// Replica ids are relative to the start of the history.
    pub(crate) fn bring(&mut self, outcome: Outcome, expected: &Outcome) -> Outcome {
        let Outcome::Answer(mut response) = outcome else {
            return outcome;
        };
        if let Outcome::Answer(expected) = expected {
            self.learn(&response, expected);
        }
        let before = self.ids_before.unwrap_or(0);
        each_replica(&mut response, &mut |replica| {
            replica.id = replica.id.wrapping_sub(before)
        });
        Outcome::Answer(response)
    }

    fn learn(&mut self, real: &Response, rust: &Response) {
        if self.ids_before.is_none()
            && let (Some(real), Some(rust)) = (first_id(real), first_id(rust))
        {
            self.ids_before = Some(real.wrapping_sub(rust));
        }
    }
}

/// The id of the first replica that an answer names.
fn first_id(response: &Response) -> Option<u64> {
    let mut first = None;
    each_replica(&mut response.clone(), &mut |replica| {
        first.get_or_insert(replica.id);
    });
    first
}

fn each_replica(response: &mut Response, change: &mut impl FnMut(&mut ReplicaDescriptor)) {
    match response {
        Response::PutStart(Ok(replicas)) | Response::UpsertStart(Ok(replicas)) => {
            replicas.iter_mut().for_each(change);
        }
        Response::BatchPutStart(each) | Response::BatchUpsertStart(each) => {
            each.iter_mut().flatten().flatten().for_each(change);
        }
        Response::GetReplicaList(Ok(found)) => found.replicas.iter_mut().for_each(change),
        Response::BatchGetReplicaList(each) => {
            let replicas = each.iter_mut().flatten().flat_map(|found| &mut found.replicas);
            replicas.for_each(change);
        }
        Response::GetReplicaListByRegex(Ok(found)) => {
            found.values_mut().flatten().for_each(change);
        }
        Response::CopyStart(Ok(copy)) | Response::DynamicReplicaCopyStart(Ok(copy)) => {
            change(&mut copy.source);
            copy.targets.iter_mut().for_each(change);
        }
        Response::MoveStart(Ok(moving)) => {
            change(&mut moving.source);
            moving.target.iter_mut().for_each(change);
        }
        _ => {}
    }
}
