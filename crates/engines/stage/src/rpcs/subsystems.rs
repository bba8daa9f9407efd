//! The words for tasks and for the optional subsystems. They pass through: the master says what it makes of them.

use super::{Id, Words};
use moonquake_protocol::{
    NoFSegment, OffloadTaskItem, Request, Rpc, StorageObjectMetadata, TaskCompleteRequest, TaskStatus, Uuid,
};

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Words<'_> {
    /// Everything that is left.
    pub(super) fn subsystem(&self, rpc: Rpc) -> Result<Request, String> {
        let made = self.task(rpc)?;
        let made = made.or_else(|| self.disk(rpc)).or_else(|| self.promotion(rpc));
        match made {
            Some(request) => Ok(request),
            None => match self.dynamic(rpc)? {
                Some(request) => Ok(request),
                None => self.fabric(rpc),
            },
        }
    }

    fn task(&self, rpc: Rpc) -> Result<Option<Request>, String> {
        let client_id = self.client_id;
        Ok(Some(match rpc {
            Rpc::QueryTask => Request::QueryTask {
                task_id: self.id("task_id", Id::Task)?,
            },
            Rpc::FetchTasks => Request::FetchTasks {
                client_id,
                batch_size: self.number("batch_size"),
            },
            Rpc::MarkTaskToComplete => Request::MarkTaskToComplete {
                client_id,
                request: self.report()?,
            },
            _ => return Ok(None),
        }))
    }

    /// The report on a task: `request = ["t1", "SUCCESS", "text"]`.
    fn report(&self) -> Result<TaskCompleteRequest, String> {
        let words = self.list("request");
        let [task, status, text @ ..] = words.as_slice() else {
            return Err("a report is `request = [\"t1\", \"SUCCESS\"]`: a task and how it ended".to_owned());
        };
        let known = TaskStatus::from_name(status);
        Ok(TaskCompleteRequest {
            id: self.cast.id(task, Id::Task)?,
            status: known.ok_or_else(|| format!("{status:?} is no status of a task, such as SUCCESS"))?,
            message: text.join(" "),
        })
    }

    fn disk(&self, rpc: Rpc) -> Option<Request> {
        let (client_id, tenant_id) = (self.client_id, self.tenant_id.clone());
        let enable_offloading = self.flag("enable_offloading");
        let replica_type = super::replica_type(self.action);
        Some(match rpc {
            Rpc::MountLocalDiskSegment => Request::MountLocalDiskSegment {
                client_id,
                enable_offloading,
            },
            Rpc::UnmountLocalDiskSegment => Request::UnmountLocalDiskSegment { client_id },
            Rpc::OffloadObjectHeartbeat => Request::OffloadObjectHeartbeat {
                client_id,
                enable_offloading,
            },
            Rpc::ReportSsdCapacity => Request::ReportSsdCapacity {
                client_id,
                ssd_total_capacity_bytes: signed(self.number("ssd_total_capacity_bytes")),
            },
            Rpc::NotifyOffloadSuccess => Request::NotifyOffloadSuccess {
                client_id,
                tasks: self
                    .list("tasks")
                    .into_iter()
                    .map(|key| self.offloaded(key))
                    .collect(),
                metadatas: self.list("metadatas").iter().map(|_| self.stored()).collect(),
            },
            Rpc::EvictDiskReplica => Request::EvictDiskReplica {
                client_id,
                key: self.key.clone(),
                tenant_id,
                replica_type,
            },
            Rpc::BatchEvictDiskReplica => Request::BatchEvictDiskReplica {
                client_id,
                keys: self.keys.clone(),
                tenant_id,
                replica_type,
            },
            Rpc::PollRemoveAll => Request::PollRemoveAll { client_id },
            _ => return None,
        })
    }

    fn offloaded(&self, key: String) -> OffloadTaskItem {
        OffloadTaskItem {
            tenant_id: self.tenant_id.clone(),
            key,
            size: signed(self.action.size_bytes.unwrap_or(0)),
        }
    }

    fn stored(&self) -> StorageObjectMetadata {
        StorageObjectMetadata {
            data_size: signed(self.action.size_bytes.unwrap_or(0)),
            ..StorageObjectMetadata::default()
        }
    }

    fn promotion(&self, rpc: Rpc) -> Option<Request> {
        let (client_id, key, tenant_id) = (self.client_id, self.key.clone(), self.tenant_id.clone());
        Some(match rpc {
            Rpc::PromotionObjectHeartbeat => Request::PromotionObjectHeartbeat { client_id },
            Rpc::PromotionAllocStart => Request::PromotionAllocStart {
                client_id,
                key,
                tenant_id,
                size: self.action.size_bytes.unwrap_or(0),
                preferred_segments: self.segment_names("preferred_segments"),
            },
            Rpc::NotifyPromotionSuccess => Request::NotifyPromotionSuccess {
                client_id,
                key,
                tenant_id,
            },
            Rpc::NotifyPromotionFailure => Request::NotifyPromotionFailure {
                client_id,
                key,
                tenant_id,
            },
            _ => return None,
        })
    }

    fn dynamic(&self, rpc: Rpc) -> Result<Option<Request>, String> {
        let (client_id, key, tenant_id) = (self.client_id, self.key.clone(), self.tenant_id.clone());
        let dynamic_replication_version_epoch = self.number("dynamic_replication_version_epoch");
        let lease = || match self.text("dynamic_replication_lease_id").as_str() {
            "" => Ok(Uuid::default()),
            _ => self.id("dynamic_replication_lease_id", Id::Other),
        };
        Ok(Some(match rpc {
            Rpc::DynamicReplicaCopyStart => Request::DynamicReplicaCopyStart {
                client_id,
                key,
                tenant_id,
                src_segment: self.segment_name("src_segment"),
                tgt_segments: self.segment_names("tgt_segments"),
                dynamic_replication_lease_id: lease()?,
                dynamic_replication_version_epoch,
            },
            Rpc::DynamicReplicaCopyEnd => Request::DynamicReplicaCopyEnd {
                client_id,
                key,
                tenant_id,
                dynamic_replication_lease_id: lease()?,
                dynamic_replication_version_epoch,
            },
            Rpc::DynamicReplicaCopyRevoke => Request::DynamicReplicaCopyRevoke {
                client_id,
                key,
                tenant_id,
                dynamic_replication_lease_id: lease()?,
                dynamic_replication_version_epoch,
            },
            _ => return Ok(None),
        }))
    }

    /// NVMe over Fabrics. A namespace is written by its name alone, or is the caller's.
    fn fabric(&self, rpc: Rpc) -> Result<Request, String> {
        let client_id = self.client_id;
        let size = self.action.size_bytes.unwrap_or(1 << 20);
        let named = |name: String| NoFSegment {
            id: client_id,
            name,
            base: 1 << 20,
            size,
            ..NoFSegment::default()
        };
        Ok(match rpc {
            Rpc::MountNoFSegment => Request::MountNoFSegment {
                segment: named(self.text("segment")),
                client_id,
            },
            Rpc::ReMountNoFSegment => Request::ReMountNoFSegment {
                segments: self.list("segments").into_iter().map(named).collect(),
                client_id,
            },
            Rpc::UnmountNoFSegment => Request::UnmountNoFSegment {
                segment_id: match self.text("segment_id").as_str() {
                    "" => client_id,
                    // A namespace has the id of the client that it is written for.
                    _ => self.id("segment_id", Id::Client)?,
                },
                client_id,
            },
            Rpc::GetAllNoFSegments => Request::GetAllNoFSegments {},
            Rpc::GetNoFSegmentsByName => Request::GetNoFSegmentsByName {
                segment_name: self.text("segment_name"),
            },
            other => return Err(format!("{} has no words", other.verb())),
        })
    }
}
