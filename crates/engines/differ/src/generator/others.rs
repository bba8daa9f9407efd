//! Segments, clients, copies, and the methods of subsystems that are off.

use super::Generator;
use super::family::Family;
use super::stories::end;
use super::writes::TENANT;
use moonquake_protocol::{
    NoFSegment, OffloadTaskItem, ReplicaType, Request, Segment, StorageObjectMetadata, Uuid,
};

impl Generator {
    pub(super) fn other_request(&mut self, family: Family) -> Request {
        match family {
            Family::Mount => self.mount_request(),
            Family::Remount => self.remount(),
            Family::Unmount => {
                let (segment_id, client_id) = self.mount_meant();
                Request::UnmountSegment {
                    segment_id,
                    client_id,
                }
            }
            Family::GracefulUnmount => {
                let (segment_id, client_id) = self.mount_meant();
                Request::GracefulUnmountSegment {
                    segment_id,
                    client_id,
                    grace_period_ms: match self.draw.below(4) {
                        0 => 0,
                        1 => self.draw.below(100),
                        _ => 1_000 * self.draw.within(1, 20),
                    },
                }
            }
            Family::CopyStart | Family::MoveStart => self.copy_start(family == Family::MoveStart),
            Family::CopyEnd | Family::CopyRevoke | Family::MoveEnd | Family::MoveRevoke => {
                self.copy_end(family)
            }
            Family::DynamicCopy => self.dynamic_copy(),
            Family::Optional => self.optional(),
            _ => Request::Ping {
                client_id: self.alphabet.client(&mut self.draw),
            },
        }
    }

    fn segment(&mut self) -> Segment {
        let slots = if self.draw.chance(70) {
            self.alphabet.ordinary
        } else {
            self.alphabet.segments.len()
        };
        self.alphabet.segments[self.draw.below(slots as u64) as usize].clone()
    }

    fn mount_request(&mut self) -> Request {
        Request::MountSegment {
            segment: self.segment(),
            client_id: self.usual(),
        }
    }

    /// Mostly what the client has mounted, seldom something else or changed.
    fn remount(&mut self) -> Request {
        let client_id = self.usual();
        let mut segments: Vec<Segment> = Vec::new();
        for (id, owner) in self.memory.mounted.clone() {
            if owner == client_id && self.draw.chance(85) {
                segments.extend(
                    self.alphabet
                        .segments
                        .iter()
                        .find(|known| known.id == id)
                        .cloned(),
                );
            }
        }
        if self.draw.chance(25) {
            segments.push(self.segment());
        }
        if self.draw.chance(5)
            && let Some(first) = segments.first_mut()
        {
            first.size += 1;
        }
        Request::ReMountSegment { segments, client_id }
    }

    /// Which mount of whom is meant.
    fn mount_meant(&mut self) -> (Uuid, Uuid) {
        if !self.memory.mounted.is_empty() && self.draw.chance(85) {
            let (segment, owner) = *self.draw.pick(&self.memory.mounted);
            let who = if self.draw.chance(10) { self.usual() } else { owner };
            return (segment, who);
        }
        (self.segment().id, self.usual())
    }

    /// Where a copy or move of a key takes it from: mostly where it was put.
    pub(super) fn source_of(&mut self, key: &str) -> String {
        let place = self.memory.places.get(key).cloned();
        match place {
            Some(place) if self.draw.chance(70) => place,
            _ => self.alphabet.segment_name(&mut self.draw),
        }
    }

    fn copy_start(&mut self, moving: bool) -> Request {
        let client_id = self.usual();
        let key = if !self.memory.finished.is_empty() && self.draw.chance(80) {
            self.draw.pick(&self.memory.finished).clone()
        } else {
            self.alphabet.key(&mut self.draw)
        };
        let src_segment = self.source_of(&key);
        let tenant_id = TENANT.to_owned();
        if moving {
            return Request::MoveStart {
                client_id,
                key,
                tenant_id,
                src_segment,
                tgt_segment: self.alphabet.segment_name(&mut self.draw),
            };
        }
        let count = if self.draw.chance(6) {
            0
        } else {
            self.draw.within(1, 3)
        };
        let tgt_segments = (0..count)
            .map(|_| self.alphabet.segment_name(&mut self.draw))
            .collect();
        Request::CopyStart {
            client_id,
            key,
            tenant_id,
            src_segment,
            tgt_segments,
        }
    }

    fn copy_end(&mut self, family: Family) -> Request {
        let open = if self.draw.chance(90) {
            self.memory.open_copy(&mut self.draw)
        } else {
            None
        };
        if open.is_none() && self.draw.chance(70) {
            // There is nothing to end, so something begins.
            return self.copy_start(matches!(family, Family::MoveEnd | Family::MoveRevoke));
        }
        let (owner, key, is_move) = open.unwrap_or_else(|| {
            (
                self.usual(),
                self.alphabet.key(&mut self.draw),
                self.draw.chance(50),
            )
        });
        let client_id = if self.draw.chance(6) { self.usual() } else { owner };
        let fits = !self.draw.chance(6);
        let revokes = !matches!(family, Family::CopyEnd | Family::MoveEnd);
        end(is_move == fits, revokes, client_id, &key)
    }

    fn dynamic_copy(&mut self) -> Request {
        let client_id = self.usual();
        let key = self.alphabet.key(&mut self.draw);
        let tenant_id = TENANT.to_owned();
        let lease = Uuid::new(self.draw.below(2), 0);
        let epoch = self.draw.below(2);
        match self.draw.below(3) {
            0 => Request::DynamicReplicaCopyStart {
                client_id,
                key,
                tenant_id,
                src_segment: self.alphabet.segment_name(&mut self.draw),
                tgt_segments: vec![self.alphabet.segment_name(&mut self.draw)],
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
            },
            1 => Request::DynamicReplicaCopyEnd {
                client_id,
                key,
                tenant_id,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
            },
            _ => Request::DynamicReplicaCopyRevoke {
                client_id,
                key,
                tenant_id,
                dynamic_replication_lease_id: lease,
                dynamic_replication_version_epoch: epoch,
            },
        }
    }

    fn optional(&mut self) -> Request {
        match self.draw.below(18) {
            number @ 0..=8 => self.optional_segment(number),
            number @ 9..=15 => self.optional_object(number),
            _ => self.offloaded(),
        }
    }

    /// Disks and flash: segments that nobody has here.
    fn optional_segment(&mut self, number: u64) -> Request {
        let client_id = self.usual();
        match number {
            0 => Request::MountNoFSegment {
                segment: NoFSegment::default(),
                client_id,
            },
            1 => Request::ReMountNoFSegment {
                segments: vec![NoFSegment::default()],
                client_id,
            },
            2 => Request::UnmountNoFSegment {
                segment_id: Uuid::new(1, 1),
                client_id,
            },
            3 => Request::GetAllNoFSegments {},
            4 => Request::GetNoFSegmentsByName {
                segment_name: "n0".to_owned(),
            },
            5 => Request::MountLocalDiskSegment {
                client_id,
                enable_offloading: self.draw.chance(50),
            },
            6 => Request::UnmountLocalDiskSegment { client_id },
            7 => Request::OffloadObjectHeartbeat {
                client_id,
                enable_offloading: self.draw.chance(50),
            },
            _ => Request::ReportSsdCapacity {
                client_id,
                ssd_total_capacity_bytes: *self.draw.pick(&[1 << 30, 0, -1]),
            },
        }
    }

    /// Promotion from disks and removal from them.
    fn optional_object(&mut self, number: u64) -> Request {
        let client_id = self.usual();
        let key = self.alphabet.key(&mut self.draw);
        let tenant_id = TENANT.to_owned();
        let replica_type = *self.draw.pick(&[
            ReplicaType::Disk,
            ReplicaType::LocalDisk,
            ReplicaType::Memory,
            ReplicaType::All,
        ]);
        match number {
            9 => Request::PromotionObjectHeartbeat { client_id },
            10 => Request::PromotionAllocStart {
                client_id,
                key,
                tenant_id,
                size: 100,
                preferred_segments: Vec::new(),
            },
            11 => Request::NotifyPromotionSuccess {
                client_id,
                key,
                tenant_id,
            },
            12 => Request::NotifyPromotionFailure {
                client_id,
                key,
                tenant_id,
            },
            13 => Request::EvictDiskReplica {
                client_id,
                key,
                tenant_id,
                replica_type,
            },
            14 => Request::BatchEvictDiskReplica {
                client_id,
                keys: self.alphabet.some_keys(&mut self.draw),
                tenant_id,
                replica_type,
            },
            _ => Request::PollRemoveAll { client_id },
        }
    }

    /// A client says that it has written objects to its disk, although nobody has asked it to.
    fn offloaded(&mut self) -> Request {
        let client_id = self.usual();
        let key = self.alphabet.key(&mut self.draw);
        let task = OffloadTaskItem {
            tenant_id: TENANT.to_owned(),
            key,
            size: 100,
        };
        let metadata = StorageObjectMetadata {
            data_size: *self.draw.pick(&[100, 100, 0, -1]),
            transport_endpoint: "disk".to_owned(),
            ..StorageObjectMetadata::default()
        };
        Request::NotifyOffloadSuccess {
            client_id,
            tasks: vec![task],
            metadatas: if self.draw.chance(95) {
                vec![metadata]
            } else {
                Vec::new()
            },
        }
    }
}
