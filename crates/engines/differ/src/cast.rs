//! Who and what appears in a history: clients, segments, keys.

use crate::operation::Operation;
use moonquake_protocol::{Request, Segment, Uuid};
use std::collections::BTreeSet;

/// What a history names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cast {
    pub(crate) clients: BTreeSet<Uuid>,
    pub(crate) segments: BTreeSet<Uuid>,
    pub(crate) keys: BTreeSet<String>,
    pub(crate) segment_names: BTreeSet<String>,
}

impl Cast {
    /// Notes what one operation names.
    pub(crate) fn add_operation(&mut self, operation: &Operation) {
        if let Operation::Call(request) = operation {
            self.add(request);
        }
    }

    fn add(&mut self, request: &Request) {
        match request {
            Request::MountSegment { segment, client_id } => {
                self.owned(std::slice::from_ref(segment), *client_id)
            }
            Request::ReMountSegment { segments, client_id } => self.owned(segments, *client_id),
            Request::UnmountSegment {
                segment_id,
                client_id,
            }
            | Request::GracefulUnmountSegment {
                segment_id,
                client_id,
                ..
            } => {
                self.segments.insert(*segment_id);
                self.clients.insert(*client_id);
            }
            Request::Ping { client_id } => {
                self.clients.insert(*client_id);
            }
            // The master remembers the host that a writer names until that client expires, so writers are clients too.
            Request::PutStart { client_id, key, .. } | Request::UpsertStart { client_id, key, .. } => {
                self.clients.insert(*client_id);
                self.add_key(key);
            }
            Request::BatchPutStart { client_id, keys, .. }
            | Request::BatchUpsertStart { client_id, keys, .. } => {
                self.clients.insert(*client_id);
                keys.iter().for_each(|key| self.add_key(key));
            }
            Request::NotifyOffloadSuccess { client_id, tasks, .. } => {
                self.clients.insert(*client_id);
                tasks.iter().for_each(|task| self.add_key(&task.key));
            }
            _ => {}
        }
    }

    fn add_key(&mut self, key: &str) {
        if !self.keys.contains(key) {
            self.keys.insert(key.to_owned());
        }
    }

    fn owned(&mut self, segments: &[Segment], client: Uuid) {
        self.clients.insert(client);
        for segment in segments {
            self.segments.insert(segment.id);
            if !self.segment_names.contains(&segment.name) {
                self.segment_names.insert(segment.name.clone());
            }
        }
    }

    /// The keys that the admin server can be asked for: it divides a list by commas.
    pub(crate) fn askable_keys(&self) -> Vec<String> {
        let askable = self
            .keys
            .iter()
            .filter(|key| !key.is_empty() && !key.contains(','));
        askable.cloned().collect()
    }

    /// The segments in order.
    pub(crate) fn segment_ids(&self) -> Vec<Uuid> {
        self.segments.iter().copied().collect()
    }
}
