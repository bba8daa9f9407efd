//! What a history has begun and not ended, so that its next operation meets something.

use super::draw::Draw;
use moonquake_protocol::{Request, Response, Uuid};
use std::collections::BTreeMap;

/// What is under way, as far as the answers tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Writes without an end: client and key.
    pub(crate) writes: Vec<(Uuid, String)>,
    /// Keys that were finished not long ago.
    pub(crate) finished: Vec<String>,
    /// Copies (false) and moves (true) without an end.
    pub(crate) copies: Vec<(Uuid, String, bool)>,
    /// Tasks with the client that executes each, where it is known.
    pub(crate) tasks: Vec<(Uuid, Uuid)>,
    /// Where keys were put last: the endpoint of the first replica, which most segments have for a name too.
    pub(crate) places: BTreeMap<String, String>,
    /// Drain jobs.
    pub(crate) jobs: Vec<Uuid>,
    /// Mounted segments: id and client.
    pub(crate) mounted: Vec<(Uuid, Uuid)>,
}

/// More are forgotten, the oldest first.
const MOST: usize = 32;

fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() >= MOST {
        list.remove(0);
    }
    list.push(value);
}

impl Memory {
    /// Learns from an answer.
    pub(crate) fn observe(&mut self, request: &Request, response: &Response) {
        match (request, response) {
            (Request::PutStart { client_id, key, .. }, Response::PutStart(Ok(replicas)))
            | (Request::UpsertStart { client_id, key, .. }, Response::UpsertStart(Ok(replicas))) => {
                push(&mut self.writes, (*client_id, key.clone()));
                if let Some(buffer) = replicas.first().and_then(|first| first.memory_buffer()) {
                    let place = buffer.transport_endpoint.clone();
                    self.places.insert(key.clone(), place);
                }
            }
            (Request::BatchPutStart { client_id, keys, .. }, Response::BatchPutStart(each))
            | (Request::BatchUpsertStart { client_id, keys, .. }, Response::BatchUpsertStart(each)) => {
                for (key, _) in keys.iter().zip(each).filter(|(_, answer)| answer.is_ok()) {
                    push(&mut self.writes, (*client_id, key.clone()));
                }
            }
            (Request::PutEnd { object_meta, .. }, Response::PutEnd(Ok(())))
            | (Request::UpsertEnd { object_meta, .. }, Response::UpsertEnd(Ok(()))) => {
                self.end_write(&object_meta.key);
            }
            (Request::BatchPutEnd { object_metas, .. }, _)
            | (Request::BatchUpsertEnd { object_metas, .. }, _) => {
                object_metas.iter().for_each(|meta| self.end_write(&meta.key));
            }
            (Request::PutRevoke { key, .. }, Response::PutRevoke(Ok(())))
            | (Request::UpsertRevoke { key, .. }, Response::UpsertRevoke(Ok(()))) => {
                self.writes.retain(|(_, known)| known != key);
            }
            (Request::CopyStart { client_id, key, .. }, Response::CopyStart(Ok(_))) => {
                push(&mut self.copies, (*client_id, key.clone(), false));
            }
            (Request::MoveStart { client_id, key, .. }, Response::MoveStart(Ok(_))) => {
                push(&mut self.copies, (*client_id, key.clone(), true));
            }
            (Request::CopyEnd { key, .. }, _)
            | (Request::MoveEnd { key, .. }, _)
            | (Request::CopyRevoke { key, .. }, _)
            | (Request::MoveRevoke { key, .. }, _)
                if response.error().is_none() =>
            {
                self.copies.retain(|(_, known, _)| known != key);
            }
            (Request::MountSegment { segment, client_id }, Response::MountSegment(Ok(()))) => {
                self.mounted.retain(|(id, _)| *id != segment.id);
                push(&mut self.mounted, (segment.id, *client_id));
            }
            (_, Response::CreateCopyTask(Ok(id)) | Response::CreateMoveTask(Ok(id))) => {
                push(&mut self.tasks, (*id, Uuid::default()));
            }
            (Request::FetchTasks { client_id, .. }, Response::FetchTasks(Ok(fetched))) => {
                for task in fetched {
                    self.tasks.retain(|(id, _)| *id != task.id);
                    push(&mut self.tasks, (task.id, *client_id));
                }
            }
            (Request::UnmountSegment { segment_id, .. }, _) => {
                self.mounted.retain(|(id, _)| id != segment_id);
            }
            _ => {}
        }
    }

    /// Learns of a drain job.
    pub(crate) fn observe_job(&mut self, id: Uuid) {
        push(&mut self.jobs, id);
    }

    fn end_write(&mut self, key: &str) {
        self.writes.retain(|(_, known)| known != key);
        push(&mut self.finished, key.to_owned());
    }

    /// Whether a key was written not long ago.
    pub(crate) fn is_known(&self, key: &str) -> bool {
        self.finished.iter().any(|known| known == key) || self.writes.iter().any(|(_, known)| known == key)
    }

    /// A write without an end.
    pub(crate) fn open_write(&self, draw: &mut Draw) -> Option<(Uuid, String)> {
        (!self.writes.is_empty()).then(|| draw.pick(&self.writes).clone())
    }

    /// A copy or a move without an end.
    pub(crate) fn open_copy(&self, draw: &mut Draw) -> Option<(Uuid, String, bool)> {
        (!self.copies.is_empty()).then(|| draw.pick(&self.copies).clone())
    }
}
