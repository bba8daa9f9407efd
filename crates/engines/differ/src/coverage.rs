//! What was asked and what was answered, counted.

use crate::operation::Operation;
use crate::sides::Outcome;
use moonquake_protocol::{ErrorCode, Response};
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts by operation and result. A batch counts once for each of its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// For each operation its results with how often each came.
    pub counts: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Coverage {
    /// Counts one operation.
    pub(crate) fn add(&mut self, operation: &Operation, outcome: &Outcome) {
        let name = match operation {
            Operation::Call(request) => request.rpc().name().to_owned(),
            Operation::Clock { .. } => "clock".to_owned(),
            Operation::Tick(thread) => format!("tick {}", thread.name()),
        };
        let row = self.counts.entry(name).or_default();
        for result in results(outcome) {
            *row.entry(result).or_default() += 1;
        }
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Coverage) {
        for (name, results) in &other.counts {
            let row = self.counts.entry(name.clone()).or_default();
            for (result, count) in results {
                *row.entry(result.clone()).or_default() += count;
            }
        }
    }
}

fn code<T>(result: &Result<T, ErrorCode>) -> String {
    match result {
        Ok(_) => "OK".to_owned(),
        Err(code) => code.to_string(),
    }
}

fn results(outcome: &Outcome) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    match outcome {
        Outcome::Moved => one("moved"),
        Outcome::Ticked(true) => one("round"),
        Outcome::Ticked(false) => one("too early"),
        Outcome::Refused(text) => vec![text.clone()],
        Outcome::Answer(response) => match response {
            Response::BatchGetReplicaList(each) => each.iter().map(code).collect(),
            Response::BatchPutStart(each) | Response::BatchUpsertStart(each) => {
                each.iter().map(code).collect()
            }
            Response::BatchPutEnd(each)
            | Response::BatchPutRevoke(each)
            | Response::BatchUpsertEnd(each)
            | Response::BatchUpsertRevoke(each)
            | Response::BatchRemove(each)
            | Response::BatchEvictDiskReplica(each) => each.iter().map(code).collect(),
            Response::ExistKey(Ok(found)) | Response::PollRemoveAll(Ok(found)) => vec![found.to_string()],
            Response::BatchExistKey(each) => each
                .iter()
                .map(|result| result.map_or_else(|code| code.to_string(), |found| found.to_string()))
                .collect(),
            Response::Ping(Ok(ping)) => vec![ping.client_status.to_string()],
            Response::QuerySegmentStatus(Ok(status)) | Response::QuerySegmentStatusById(Ok(status)) => {
                vec![status.to_string()]
            }
            _ => vec![
                response
                    .error()
                    .map_or_else(|| "OK".to_owned(), |code| code.to_string()),
            ],
        },
    }
}
