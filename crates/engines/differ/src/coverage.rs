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
        let row = self.counts.entry(operation.name()).or_default();
        for result in results(outcome) {
            *row.entry(result).or_default() += 1;
        }
    }

    /// What came at least once, a line for each operation and result, in alphabetical order.
    pub fn reached(&self) -> Vec<String> {
        let rows = self.counts.iter();
        rows.flat_map(|(name, results)| results.keys().map(move |result| format!("{name}: {result}")))
            .collect()
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
        Outcome::JobCreated(created) => vec![code(created)],
        Outcome::JobCanceled(canceled) => vec![code(canceled)],
        Outcome::Job(Err(code)) => vec![code.to_string()],
        Outcome::Job(Ok(job)) => vec![job.status_name().to_owned()],
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
            Response::FetchTasks(Ok(tasks)) => one(if tasks.is_empty() { "none" } else { "some" }),
            Response::QueryTask(Ok(task)) => vec![task.status.to_string()],
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
