//! From a request to the part of the master that answers it. Mirrors `rpc_service.cpp:WrappedMasterService`.
//!
//! The keys that come here are those of the tenant already, where tenants are told apart; see [`crate::tenants`].

use crate::Master;
use crate::copies::Token;
use crate::refuse;
use crate::writes::Write;
use moonquake_clock::Clocks;
use moonquake_protocol::{
    ErrorCode, GetStorageConfigResponse, PingResponse, ReplicaType, Request, Response, Uuid,
};

/// The version that the pinned release tells its clients.
const VERSION: &str = "2.0.0";

/// The fence of the key at a place.
fn fence_at(fences: &[Option<u64>], place: usize) -> Option<u64> {
    fences.get(place).copied().flatten()
}

impl Master {
    /// Answers a request.
    pub(crate) fn dispatch(&mut self, now: Clocks, request: &Request, fences: &[Option<u64>]) -> Response {
        self.dispatch_starts(now, request)
            .or_else(|| self.dispatch_ends(now, request, fences))
            .or_else(|| self.dispatch_removals(now, request))
            .or_else(|| self.dispatch_reads(now, request))
            .or_else(|| self.dispatch_segments(now, request))
            .or_else(|| self.dispatch_copies(now, request))
            .or_else(|| self.dispatch_dynamic_copies(now, request))
            .or_else(|| self.dispatch_tasks(now, request))
            .or_else(|| self.dispatch_optional(now, request))
            .unwrap_or_else(|| refuse(request, ErrorCode::InternalError))
    }

    fn dispatch_starts(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        Some(match request {
            Request::PutStart {
                client_id,
                key,
                slice_length,
                config,
                ..
            } => {
                let write = Write {
                    client: *client_id,
                    key,
                    size_bytes: *slice_length,
                    config,
                };
                Response::PutStart(self.put_start(now, &write))
            }
            Request::UpsertStart {
                client_id,
                key,
                slice_length,
                config,
                ..
            } => {
                let write = Write {
                    client: *client_id,
                    key,
                    size_bytes: *slice_length,
                    config,
                };
                Response::UpsertStart(self.upsert_start(now, &write))
            }
            Request::BatchPutStart {
                client_id,
                keys,
                slice_lengths,
                config,
                ..
            } => Response::BatchPutStart(self.batch_put_start(now, *client_id, keys, slice_lengths, config)),
            Request::BatchUpsertStart {
                client_id,
                keys,
                slice_lengths,
                config,
                ..
            } => Response::BatchUpsertStart(self.batch_upsert_start(
                now,
                *client_id,
                keys,
                slice_lengths,
                config,
            )),
            _ => return None,
        })
    }

    fn dispatch_removals(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        Some(match request {
            Request::Remove { key, force, .. } => Response::Remove(self.remove(now, key, *force)),
            Request::BatchRemove { keys, force, .. } => {
                Response::BatchRemove(self.batch_remove(now, keys, *force))
            }
            Request::RemoveByRegex { regex, force, .. } => {
                let scope = self.scope_of(request);
                Response::RemoveByRegex(self.remove_by_regex(now, scope, regex, *force))
            }
            Request::RemoveAll { force, .. } => {
                let scope = self.scope_of(request);
                Response::RemoveAll(self.remove_all(now, scope, *force))
            }
            Request::BatchReplicaClear {
                object_keys,
                client_id,
                segment_name,
            } => Response::BatchReplicaClear(Ok(self.batch_replica_clear(
                now,
                object_keys,
                *client_id,
                segment_name,
            ))),
            _ => return None,
        })
    }

    fn dispatch_ends(&mut self, now: Clocks, request: &Request, fences: &[Option<u64>]) -> Option<Response> {
        let fence = fence_at(fences, 0);
        Some(match request {
            Request::PutEnd {
                client_id,
                object_meta,
                replica_type,
                ..
            } => Response::PutEnd(self.put_end(now, *client_id, object_meta, *replica_type, fence)),
            Request::UpsertEnd {
                client_id,
                object_meta,
                replica_type,
                ..
            } => Response::UpsertEnd(self.put_end(now, *client_id, object_meta, *replica_type, fence)),
            Request::PutRevoke {
                client_id,
                key,
                replica_type,
                ..
            } => Response::PutRevoke(self.put_revoke(*client_id, key, *replica_type, fence)),
            Request::UpsertRevoke {
                client_id,
                key,
                replica_type,
                ..
            } => Response::UpsertRevoke(self.put_revoke(*client_id, key, *replica_type, fence)),
            Request::BatchPutEnd {
                client_id,
                object_metas,
                replica_type,
                ..
            } => {
                let end = |(place, meta)| {
                    let fence = fence_at(fences, place);
                    self.put_end(now, *client_id, meta, *replica_type, fence)
                };
                Response::BatchPutEnd(object_metas.iter().enumerate().map(end).collect())
            }
            Request::BatchUpsertEnd {
                client_id,
                object_metas,
                ..
            } => {
                let end = |(place, meta)| {
                    let fence = fence_at(fences, place);
                    self.put_end(now, *client_id, meta, ReplicaType::All, fence)
                };
                Response::BatchUpsertEnd(object_metas.iter().enumerate().map(end).collect())
            }
            Request::BatchPutRevoke {
                client_id,
                keys,
                replica_type,
                ..
            } => {
                let revoke = |(place, key): (usize, &String)| {
                    self.put_revoke(*client_id, key, *replica_type, fence_at(fences, place))
                };
                Response::BatchPutRevoke(keys.iter().enumerate().map(revoke).collect())
            }
            Request::BatchUpsertRevoke { client_id, keys, .. } => {
                let revoke = |(place, key): (usize, &String)| {
                    self.put_revoke(*client_id, key, ReplicaType::All, fence_at(fences, place))
                };
                Response::BatchUpsertRevoke(keys.iter().enumerate().map(revoke).collect())
            }
            _ => return None,
        })
    }

    fn dispatch_reads(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        Some(match request {
            Request::GetReplicaListByRegex { regex, .. } => {
                let scope = self.scope_of(request);
                Response::GetReplicaListByRegex(self.get_replica_list_by_regex(now, scope, regex))
            }
            Request::BatchQueryIp { client_ids } => {
                Response::BatchQueryIp(Ok(self.batch_query_ip(client_ids)))
            }
            Request::QuerySegmentStatus { segment_name } => {
                Response::QuerySegmentStatus(self.segment_status(segment_name))
            }
            Request::QuerySegmentStatusById { segment_id } => {
                Response::QuerySegmentStatusById(self.segment_status_by_id(*segment_id))
            }
            Request::GetFsdir {} => Response::GetFsdir(Ok(String::new())),
            Request::GetStorageConfig {} => Response::GetStorageConfig(Ok(GetStorageConfigResponse {
                fsdir: String::new(),
                enable_disk_eviction: self.config.enable_disk_eviction,
                quota_bytes: self.config.quota_bytes,
            })),
            Request::ServiceReady {} => Response::ServiceReady(Ok(VERSION.to_owned())),
            _ => return None,
        })
    }

    fn dispatch_segments(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        Some(match request {
            Request::MountSegment { segment, client_id } => {
                Response::MountSegment(self.mount_segment(now, segment, *client_id))
            }
            Request::ReMountSegment { segments, client_id } => {
                Response::ReMountSegment(self.remount_segments(now, segments, *client_id))
            }
            Request::UnmountSegment {
                segment_id,
                client_id,
            } => Response::UnmountSegment(self.unmount_asked(now, *segment_id, *client_id)),
            Request::GracefulUnmountSegment {
                segment_id,
                client_id,
                grace_period_ms,
            } => Response::GracefulUnmountSegment(self.graceful_unmount_segment(
                now,
                *segment_id,
                *client_id,
                *grace_period_ms,
            )),
            Request::Ping { client_id } => {
                self.clients.ping(*client_id, now);
                Response::Ping(Ok(PingResponse {
                    view_version_id: 0,
                    client_status: self.ping_status(*client_id),
                }))
            }
            _ => return None,
        })
    }

    fn dispatch_copies(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        Some(match request {
            Request::CopyStart {
                client_id,
                key,
                src_segment,
                tgt_segments,
                ..
            } => {
                let names = (src_segment.as_str(), tgt_segments.as_slice());
                Response::CopyStart(self.copy_start(now, *client_id, key, names, Token::default()))
            }
            Request::CopyEnd { client_id, key, .. } => {
                Response::CopyEnd(self.copy_end(*client_id, key, Token::default()))
            }
            Request::CopyRevoke { client_id, key, .. } => {
                Response::CopyRevoke(self.copy_revoke(*client_id, key, false, Token::default()))
            }
            Request::MoveStart {
                client_id,
                key,
                src_segment,
                tgt_segment,
                ..
            } => Response::MoveStart(self.move_start(now, *client_id, key, src_segment, tgt_segment)),
            Request::MoveEnd { client_id, key, .. } => Response::MoveEnd(self.move_end(now, *client_id, key)),
            Request::MoveRevoke { client_id, key, .. } => {
                Response::MoveRevoke(self.copy_revoke(*client_id, key, true, Token::default()))
            }
            _ => return None,
        })
    }

    fn dispatch_dynamic_copies(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        let token = |lease: &Uuid, epoch: &u64| Token {
            lease: *lease,
            epoch: *epoch,
        };
        Some(match request {
            Request::DynamicReplicaCopyStart {
                client_id,
                key,
                src_segment,
                tgt_segments,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
                ..
            } => {
                let names = (src_segment.as_str(), tgt_segments.as_slice());
                Response::DynamicReplicaCopyStart(self.copy_start(
                    now,
                    *client_id,
                    key,
                    names,
                    token(lease, epoch),
                ))
            }
            Request::DynamicReplicaCopyEnd {
                client_id,
                key,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
                ..
            } => Response::DynamicReplicaCopyEnd(self.copy_end(*client_id, key, token(lease, epoch))),
            Request::DynamicReplicaCopyRevoke {
                client_id,
                key,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
                ..
            } => Response::DynamicReplicaCopyRevoke(self.copy_revoke(
                *client_id,
                key,
                false,
                token(lease, epoch),
            )),
            _ => return None,
        })
    }

    /// The methods of subsystems that are off: what a master without them answers.
    fn dispatch_optional(&mut self, now: Clocks, request: &Request) -> Option<Response> {
        use ErrorCode::{SegmentNotFound, UnableOffload, UnavailableInCurrentMode};
        Some(match request {
            Request::MountNoFSegment { .. }
            | Request::ReMountNoFSegment { .. }
            | Request::UnmountNoFSegment { .. } => refuse(request, UnavailableInCurrentMode),
            Request::GetAllNoFSegments {} => Response::GetAllNoFSegments(Ok(Vec::new())),
            Request::MountLocalDiskSegment { .. } | Request::UnmountLocalDiskSegment { .. } => {
                refuse(request, UnableOffload)
            }
            Request::ReportSsdCapacity {
                ssd_total_capacity_bytes: ..0,
                ..
            } => refuse(request, ErrorCode::InvalidParams),
            Request::OffloadObjectHeartbeat { .. }
            | Request::ReportSsdCapacity { .. }
            | Request::PromotionObjectHeartbeat { .. }
            | Request::GetNoFSegmentsByName { .. }
            | Request::PollRemoveAll { .. } => refuse(request, SegmentNotFound),
            Request::NotifyOffloadSuccess {
                client_id,
                tasks,
                metadatas,
            } => {
                Response::NotifyOffloadSuccess(self.notify_offload_success(now, *client_id, tasks, metadatas))
            }
            Request::PromotionAllocStart { key, .. } | Request::NotifyPromotionSuccess { key, .. } => {
                let present = self.open(key).is_some();
                refuse(
                    request,
                    if present {
                        ErrorCode::ReplicaIsNotReady
                    } else {
                        ErrorCode::ObjectNotFound
                    },
                )
            }
            Request::NotifyPromotionFailure { key, .. } => {
                let present = self.open(key).map(|_| ());
                Response::NotifyPromotionFailure(present.ok_or(ErrorCode::ObjectNotFound))
            }
            Request::EvictDiskReplica {
                client_id,
                key,
                replica_type,
                ..
            } => Response::EvictDiskReplica(self.evict_disk_replica(*client_id, key, *replica_type)),
            Request::BatchEvictDiskReplica {
                client_id,
                keys,
                replica_type,
                ..
            } => {
                let evict = |key: &String| self.evict_disk_replica(*client_id, key, *replica_type);
                Response::BatchEvictDiskReplica(keys.iter().map(evict).collect())
            }
            _ => return None,
        })
    }
}
