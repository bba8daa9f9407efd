//! From what the observers saw to events.

use crate::ports::{OwnerEvent, Ports, Seen};
use crate::state::{Stage, Staged};
use moonquake_client::{Outcome, granted_by, memory_of};
use moonquake_evidence::{Kind, Leg, Observer, Op, Range, key_of_tenant};
use moonquake_protocol::{BufferDescriptor, ReplicaDescriptor, Request, Response};

/// The key a request names; those of a batch joined by commas.
pub fn key_of(request: &Request) -> Option<String> {
    match request {
        Request::ExistKey { key, .. }
        | Request::GetReplicaList { key, .. }
        | Request::PutStart { key, .. }
        | Request::PutRevoke { key, .. }
        | Request::UpsertStart { key, .. }
        | Request::UpsertRevoke { key, .. }
        | Request::Remove { key, .. }
        | Request::EvictDiskReplica { key, .. }
        | Request::PromotionAllocStart { key, .. }
        | Request::NotifyPromotionSuccess { key, .. }
        | Request::NotifyPromotionFailure { key, .. } => Some(key.clone()),
        Request::PutEnd { object_meta, .. } | Request::UpsertEnd { object_meta, .. } => {
            Some(object_meta.key.clone())
        }
        Request::BatchReplicaClear { object_keys, .. } => Some(object_keys.join(",")),
        other => copied_key(other).or_else(|| other.batch_keys().map(|keys| keys.join(","))),
    }
}

/// The key of a copy, a move or a task for one.
fn copied_key(request: &Request) -> Option<String> {
    match request {
        Request::CopyStart { key, .. }
        | Request::CopyEnd { key, .. }
        | Request::CopyRevoke { key, .. }
        | Request::MoveStart { key, .. }
        | Request::MoveEnd { key, .. }
        | Request::MoveRevoke { key, .. }
        | Request::DynamicReplicaCopyStart { key, .. }
        | Request::DynamicReplicaCopyEnd { key, .. }
        | Request::DynamicReplicaCopyRevoke { key, .. }
        | Request::CreateCopyTask { key, .. }
        | Request::CreateMoveTask { key, .. } => Some(key.clone()),
        _ => None,
    }
}

/// The key a request names, with its tenant if it names one that is not the default.
fn named_key(request: &Request) -> Option<String> {
    let keys = key_of(request)?;
    let tenant = request.tenant();
    let named: Vec<String> = keys.split(',').map(|key| key_of_tenant(tenant, key)).collect();
    Some(named.join(","))
}

/// The answer's code: `ok`, an error name, or those of a batch joined by commas.
fn code_of(answer: &Result<Response, String>) -> String {
    match answer {
        Err(text) => format!("RPC error: {text}"),
        Ok(response) => match Outcome::of(response) {
            Outcome::Batch(entries) => entries
                .iter()
                .map(Outcome::to_string)
                .collect::<Vec<_>>()
                .join(","),
            outcome => outcome.to_string(),
        },
    }
}

/// The replicas that an answer tells of, those of each entry of a batch by themselves. Of a copy or move only what it
/// hands out.
fn replicas_of(response: &Response) -> Vec<Vec<&ReplicaDescriptor>> {
    match response {
        Response::GetReplicaList(Ok(answer)) => vec![answer.replicas.iter().collect()],
        Response::BatchPutStart(results) | Response::BatchUpsertStart(results) => results
            .iter()
            .map(|result| result.iter().flatten().collect())
            .collect(),
        Response::BatchGetReplicaList(results) => results
            .iter()
            .map(|result| result.iter().flat_map(|answer| &answer.replicas).collect())
            .collect(),
        other => vec![granted_by(other)],
    }
}

fn lease_of(response: &Response) -> Option<u64> {
    match response {
        Response::GetReplicaList(Ok(answer)) => Some(answer.lease_ttl_ms),
        Response::BatchGetReplicaList(results) => results.iter().flatten().map(|a| a.lease_ttl_ms).max(),
        _ => None,
    }
}

impl<P: Ports> Stage<'_, P> {
    /// The place of a descriptor: the node that owns it and the offset in its segment.
    pub(crate) fn range_of(&self, buffer: &BufferDescriptor) -> Option<Range> {
        let mut here = self
            .places
            .iter()
            .rev()
            .filter(|place| place.endpoint == buffer.transport_endpoint);
        here.find_map(|place| {
            let offset = buffer.buffer_address.checked_sub(place.base)?;
            (offset < place.size).then(|| Range {
                segment: place.segment.clone(),
                offset,
                size: buffer.size,
            })
        })
    }

    fn ranges_of(&self, response: &Response) -> Vec<Vec<Range>> {
        let of_entry = |replicas: Vec<&ReplicaDescriptor>| {
            let buffers = replicas.into_iter().filter_map(memory_of);
            buffers.filter_map(|buffer| self.range_of(buffer)).collect()
        };
        replicas_of(response).into_iter().map(of_entry).collect()
    }

    /// Writes frames to the evidence. Background pings that are simply answered leave one line, their handling.
    pub(crate) fn log_frames(&mut self, seen: Vec<Seen>) -> Staged<()> {
        for frame in seen {
            let Some(message) = self.messages.get(&frame.message) else {
                continue;
            };
            let (actor, op) = (message.actor.clone(), message.op);
            let plain_ping = op.is_none() && matches!(frame.request, Request::Ping { .. });
            if plain_ping && frame.leg != Leg::RequestHandled {
                continue;
            }
            let response = frame.answer.as_ref().and_then(|answer| answer.as_ref().ok());
            let entries = response
                .map(|response| self.ranges_of(response))
                .unwrap_or_default();
            if frame.leg == Leg::RequestHandled {
                self.handled(op, &frame.request, &entries);
            }
            let shares = match entries.as_slice() {
                [] | [_] => Vec::new(),
                many => many.iter().map(|ranges| ranges.len() as u32).collect(),
            };
            let ranges = entries.into_iter().flatten().collect();
            let kind = Kind::Frame {
                message: frame.message,
                leg: frame.leg,
                rpc: frame.request.rpc().name().to_owned(),
                key: named_key(&frame.request),
                code: frame.answer.as_ref().map(code_of),
                ranges,
                shares,
                lease_ms: response.and_then(lease_of),
            };
            self.note(&actor, Observer::Link, op, kind);
            self.log_bindings(op);
        }
        Ok(())
    }

    /// Notes the instant of a step's first handled request, and binds the names of its ranges.
    fn handled(&mut self, op: Option<Op>, request: &Request, entries: &[Vec<Range>]) {
        let Some(op) = op else { return };
        let now = self.now;
        let step = op.step as usize;
        if let Some(record) = self.steps.get_mut(step) {
            record.handled_at.get_or_insert(now);
        }
        if !request.rpc().hands_out_memory() {
            return;
        }
        let names = self
            .plan
            .steps
            .get(step)
            .and_then(|step| step.operation())
            .map_or(0, |action| action.bind.len());
        // The names of a batch are shared out evenly among its keys.
        let each = names / entries.len().max(1);
        let of_entry = |ranges: &'_ Vec<Range>| {
            let count = if entries.len() > 1 { each } else { ranges.len() };
            (0..count)
                .map(|index| ranges.get(index).cloned())
                .collect::<Vec<_>>()
        };
        let ranges: Vec<Option<Range>> = entries.iter().flat_map(of_entry).collect();
        let ranges: Vec<Option<&Range>> = ranges.iter().map(Option::as_ref).collect();
        self.bind(step, op.repetition, &ranges);
    }

    /// Writes the owners' log to the evidence, and what the witness saw of it.
    pub(crate) fn log_owners(&mut self) -> Staged<()> {
        for seen in self.ports.owner_log()? {
            let Some(transfer) = self.transfer(seen.transfer) else {
                continue;
            };
            let (actor, op, owner) = (transfer.actor.clone(), transfer.op, transfer.owner.clone());
            let (id, write, at, chunk, size) = (
                transfer.id,
                transfer.write,
                transfer.offset,
                self.plan.world.chunk_bytes,
                transfer.size,
            );
            let (buffer, block) = (transfer.buffer_name(), transfer.block);
            // In a named buffer of a batch the objects lie one behind the other.
            let named_at = buffer.as_ref().map_or(0, |_| transfer.buffer_at);
            let kind = match seen.event {
                OwnerEvent::Opened { write, offset, size } => Kind::TransferOpened {
                    transfer: id,
                    write,
                    range: Range {
                        segment: owner,
                        offset,
                        size,
                    },
                    buffer,
                    block,
                },
                OwnerEvent::Closed { how } => Kind::TransferClosed { transfer: id, how },
                OwnerEvent::Moved { from, to } => {
                    let part = |byte: u64| u32::try_from(byte / chunk + 1).unwrap_or(u32::MAX);
                    if !self.ports.has_clients() {
                        self.witness_part(id, from, to);
                    }
                    Kind::Payload {
                        transfer: id,
                        write,
                        range: Range {
                            segment: owner,
                            offset: at + from,
                            size: to - from,
                        },
                        from: named_at + from,
                        to: named_at + to,
                        first_part: part(from),
                        last_part: part(to.saturating_sub(1)),
                        parts: part(size.saturating_sub(1)),
                    }
                }
            };
            self.note(&actor, Observer::Owner, op, kind);
            self.log_accesses();
        }
        self.hear_witnesses()
    }
}
