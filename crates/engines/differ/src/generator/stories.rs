//! Short sequences that single operations seldom make by chance: copies and moves that lose an end or are ended as something else,
//! a remount of what cannot be mounted, and the rounds of a drain job from its creation to its end.

use super::Generator;
use super::alphabet::client;
use super::writes::TENANT;
use crate::operation::Operation;
use moonquake_clock::Thread;
use moonquake_protocol::{ObjectMeta, ReplicaType, ReplicateConfig, Request, Segment, Uuid};

/// Most rounds in a row that the dispatch thread has for one job.
const MOST_ROUNDS: u64 = 12;

impl Generator {
    /// One of them.
    pub(super) fn story(&mut self) -> Operation {
        let first = if self.alphabet.ordinary < 2 || self.draw.chance(10) {
            vec![self.impossible_mount()]
        } else {
            self.copy_story()
        };
        let mut first = first.into_iter().map(Operation::Call);
        let Some(next) = first.next() else {
            return Operation::Tick(Thread::Eviction);
        };
        self.script.extend(first);
        next
    }

    /// A segment without bytes or without an address is mounted, or remounted by a client that is OK or is not.
    fn impossible_mount(&mut self) -> Request {
        let plain = self.draw.pick(&self.alphabet.segments).clone();
        let id = Uuid::new(0xBAD, self.draw.below(2));
        let segment = match self.draw.below(2) {
            0 => Segment { id, size: 0, ..plain },
            _ => Segment { id, base: 0, ..plain },
        };
        let client_id = client(self.draw.below(4));
        if self.draw.chance(50) {
            return Request::MountSegment { segment, client_id };
        }
        let segments = vec![segment];
        Request::ReMountSegment { segments, client_id }
    }

    /// A key is put, a copy or move of it begins, one of its ends leaves or not, and it is ended by one of the four requests, and by
    /// the right one.
    fn copy_story(&mut self) -> Vec<Request> {
        let count = self.alphabet.ordinary as u64;
        let source = self.draw.below(count);
        let target = (source + self.draw.within(1, count - 1)) % count;
        let [source, target] = [source, target].map(|slot| self.alphabet.segments[slot as usize].clone());
        let (who, key) = (self.usual(), self.alphabet.key(&mut self.draw));
        let moving = self.draw.chance(50);
        let mut requests = self.put_on(who, &key, &source.name);
        requests.push(begin(moving, who, &key, (&source.name, &target.name)));
        for _ in 0..self.draw.below(3) {
            requests.push(self.meddling(who, &key, (&source.name, &target.name)));
        }
        let lost = match self.draw.below(3) {
            0 => None,
            1 => Some(source),
            _ => Some(target),
        };
        let owner = lost.as_ref().map(|lost| self.owner_of(lost.id));
        if let (Some(lost), Some(client_id)) = (&lost, owner) {
            let segment_id = lost.id;
            requests.push(Request::UnmountSegment {
                segment_id,
                client_id,
            });
        }
        if self.draw.chance(40) {
            let (other, revokes) = (self.draw.chance(50), self.draw.chance(50));
            requests.push(end(other, revokes, who, &key));
        }
        requests.push(end(moving, self.draw.chance(40), who, &key));
        if let (Some(segment), Some(client_id)) = (lost, owner) {
            requests.push(Request::MountSegment { segment, client_id });
        }
        requests
    }

    /// What comes between the start of a copy and its end, and should not.
    fn meddling(&mut self, who: Uuid, key: &str, (source, target): (&str, &str)) -> Request {
        let (key, tenant_id) = (key.to_owned(), TENANT.to_owned());
        match self.draw.below(5) {
            0 => end(self.draw.chance(50), self.draw.chance(50), client(3), &key),
            1 => Request::BatchRemove {
                keys: vec![key],
                force: self.draw.chance(20),
                tenant_id,
            },
            2 => Request::DynamicReplicaCopyStart {
                client_id: who,
                key,
                tenant_id,
                src_segment: source.to_owned(),
                tgt_segments: vec![target.to_owned()],
                dynamic_replication_lease_id: Uuid::default(),
                dynamic_replication_version_epoch: 0,
            },
            3 => Request::BatchUpsertEnd {
                client_id: who,
                object_metas: vec![ObjectMeta {
                    key,
                    object_checksum: None,
                }],
                tenant_id,
            },
            _ => begin(self.draw.chance(50), who, &key, (source, target)),
        }
    }

    /// A put with one replica in a place, and now and then one more elsewhere, so that the object outlives the place.
    fn put_on(&mut self, client_id: Uuid, key: &str, place: &str) -> Vec<Request> {
        let config = ReplicateConfig {
            replica_num: self.draw.within(1, 2),
            preferred_segment: place.to_owned(),
            ..ReplicateConfig::default()
        };
        let (key, tenant_id) = (key.to_owned(), TENANT.to_owned());
        let object_meta = ObjectMeta {
            key: key.clone(),
            object_checksum: None,
        };
        vec![
            Request::Remove {
                key: key.clone(),
                force: true,
                tenant_id: tenant_id.clone(),
            },
            Request::PutStart {
                client_id,
                key,
                slice_length: self.alphabet.size(&mut self.draw),
                config,
                tenant_id: tenant_id.clone(),
            },
            Request::PutEnd {
                client_id,
                object_meta,
                replica_type: ReplicaType::Memory,
                tenant_id,
            },
        ]
    }

    /// Who has mounted a segment, as far as that is remembered.
    fn owner_of(&mut self, segment: Uuid) -> Uuid {
        let known = self.memory.mounted.iter().find(|(id, _)| *id == segment);
        let known = known.map(|(_, owner)| *owner);
        known.unwrap_or_else(|| self.usual())
    }

    /// What becomes of a job that was just created: now and then it is canceled at once, or has rounds in which it comes to its end, with
    /// the clients that do its moves well or badly.
    pub(super) fn follow_job(&mut self, id: Uuid, segments: &[String]) {
        match self.draw.below(10) {
            0..=1 => {
                self.script.push_back(Operation::QueryDrainJob(id));
                self.script.push_back(Operation::CancelDrainJob(id));
            }
            2..=6 => self.rounds_of_job(segments),
            _ => return,
        }
        self.script.push_back(Operation::QueryDrainJob(id));
    }

    fn rounds_of_job(&mut self, segments: &[String]) {
        if self.draw.chance(40) {
            self.failing = *self.draw.pick(&[0, 100]);
        }
        for segment_name in segments {
            let segment_name = segment_name.clone();
            self.script
                .push_back(Operation::Call(Request::QuerySegmentStatus { segment_name }));
        }
        for _ in 0..self.draw.within(1, MOST_ROUNDS) {
            self.script.push_back(Operation::Tick(Thread::JobDispatch));
            for number in 0..3 {
                self.script.push_back(Operation::Call(Request::FetchTasks {
                    client_id: client(number),
                    batch_size: 4,
                }));
            }
        }
        self.script.push_back(Operation::Tick(Thread::JobDispatch));
        self.retire(segments);
    }

    /// The first of the segments is to leave, whatever the job has made of it.
    fn retire(&mut self, segments: &[String]) {
        let known = &self.alphabet.segments;
        let first = known
            .iter()
            .find(|segment| segments.first() == Some(&segment.name));
        if let (Some(segment_id), true) = (first.map(|segment| segment.id), self.draw.chance(30)) {
            let client_id = self.owner_of(segment_id);
            self.script
                .push_back(Operation::Call(Request::GracefulUnmountSegment {
                    segment_id,
                    client_id,
                    grace_period_ms: 1_000,
                }));
        }
    }
}

fn begin(moving: bool, client_id: Uuid, key: &str, (source, target): (&str, &str)) -> Request {
    let (key, tenant_id) = (key.to_owned(), TENANT.to_owned());
    let src_segment = source.to_owned();
    if moving {
        return Request::MoveStart {
            client_id,
            key,
            tenant_id,
            src_segment,
            tgt_segment: target.to_owned(),
        };
    }
    Request::CopyStart {
        client_id,
        key,
        tenant_id,
        src_segment,
        tgt_segments: vec![target.to_owned()],
    }
}

/// The end of a copy or of a move, or its revoke.
pub(super) fn end(moving: bool, revokes: bool, client_id: Uuid, key: &str) -> Request {
    let (key, tenant_id) = (key.to_owned(), TENANT.to_owned());
    match (moving, revokes) {
        (false, false) => Request::CopyEnd {
            client_id,
            key,
            tenant_id,
        },
        (true, false) => Request::MoveEnd {
            client_id,
            key,
            tenant_id,
        },
        (false, true) => Request::CopyRevoke {
            client_id,
            key,
            tenant_id,
        },
        (true, true) => Request::MoveRevoke {
            client_id,
            key,
            tenant_id,
        },
    }
}
