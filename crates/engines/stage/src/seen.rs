//! From what the observers saw to events.

use crate::ports::{OwnerEvent, Ports, Seen};
use crate::state::{Stage, Staged};
use moonquake_client::{Outcome, memory_of};
use moonquake_evidence::{Kind, Leg, Observer, Op, Range, key_of_tenant};
use moonquake_protocol::{BufferDescriptor, ReplicaDescriptor, Request, Response};

/// The key a request names; those of a batch joined by commas.
pub(crate) fn key_of(request: &Request) -> Option<String> {
    Some(match request {
        Request::ExistKey { key, .. }
        | Request::GetReplicaList { key, .. }
        | Request::PutStart { key, .. }
        | Request::PutRevoke { key, .. }
        | Request::UpsertStart { key, .. }
        | Request::UpsertRevoke { key, .. }
        | Request::Remove { key, .. } => key.clone(),
        Request::PutEnd { object_meta, .. } | Request::UpsertEnd { object_meta, .. } => {
            object_meta.key.clone()
        }
        Request::BatchExistKey { keys, .. }
        | Request::BatchGetReplicaList { keys, .. }
        | Request::BatchPutStart { keys, .. }
        | Request::BatchPutRevoke { keys, .. }
        | Request::BatchRemove { keys, .. } => keys.join(","),
        Request::BatchPutEnd { object_metas, .. } => object_metas
            .iter()
            .map(|meta| meta.key.as_str())
            .collect::<Vec<_>>()
            .join(","),
        _ => return None,
    })
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
            Some(Outcome::Batch(entries)) => entries
                .iter()
                .map(Outcome::to_string)
                .collect::<Vec<_>>()
                .join(","),
            Some(Outcome::Bool(value)) => value.to_string(),
            Some(outcome) => outcome.to_string(),
            None => "ok".to_owned(),
        },
    }
}

fn replicas_of(response: &Response) -> Vec<&ReplicaDescriptor> {
    match response {
        Response::PutStart(Ok(replicas)) | Response::UpsertStart(Ok(replicas)) => replicas.iter().collect(),
        Response::GetReplicaList(Ok(answer)) => answer.replicas.iter().collect(),
        Response::BatchPutStart(results) => results.iter().flatten().flatten().collect(),
        Response::BatchGetReplicaList(results) => results
            .iter()
            .flatten()
            .flat_map(|answer| &answer.replicas)
            .collect(),
        _ => Vec::new(),
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
        self.places.iter().find_map(|place| {
            let offset = buffer.buffer_address.checked_sub(place.base)?;
            (offset < place.size).then(|| Range {
                segment: place.segment.clone(),
                offset,
                size: buffer.size,
            })
        })
    }

    fn ranges_of(&self, response: &Response) -> Vec<Range> {
        replicas_of(response)
            .into_iter()
            .filter_map(memory_of)
            .filter_map(|b| self.range_of(b))
            .collect()
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
            let ranges = response
                .map(|response| self.ranges_of(response))
                .unwrap_or_default();
            if frame.leg == Leg::RequestHandled {
                self.handled(op, &frame.request, &ranges);
            }
            let kind = Kind::Frame {
                message: frame.message,
                leg: frame.leg,
                rpc: frame.request.rpc().name().to_owned(),
                key: named_key(&frame.request),
                code: frame.answer.as_ref().map(code_of),
                ranges,
                lease_ms: response.and_then(lease_of),
            };
            self.note(&actor, Observer::Link, op, kind);
            self.log_bindings(op);
        }
        Ok(())
    }

    /// Notes the instant of a step's first handled request, and binds the names of its ranges.
    fn handled(&mut self, op: Option<Op>, request: &Request, ranges: &[Range]) {
        let Some(op) = op else { return };
        let now = self.now;
        let step = op.step as usize;
        if let Some(record) = self.steps.get_mut(step) {
            record.handled_at.get_or_insert(now);
        }
        let grants = matches!(request, Request::PutStart { .. } | Request::UpsertStart { .. });
        if grants && !ranges.is_empty() {
            self.bind(step, op.repetition, ranges);
        }
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
                    self.witness_part(id, from, to);
                    Kind::Payload {
                        transfer: id,
                        write,
                        range: Range {
                            segment: owner,
                            offset: at + from,
                            size: to - from,
                        },
                        from,
                        to,
                        first_part: part(from),
                        last_part: part(to.saturating_sub(1)),
                        parts: part(size.saturating_sub(1)),
                    }
                }
            };
            self.note(&actor, Observer::Owner, op, kind);
            self.log_accesses();
        }
        Ok(())
    }
}
