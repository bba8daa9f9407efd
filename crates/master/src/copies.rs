//! Copies and moves of single replicas. Mirrors `master_service.cpp:CopyStart`, `CopyEnd`, `CopyRevoke`, `MoveStart`,
//! `MoveEnd` and `MoveRevoke`.

use crate::Master;
use crate::objects::{Object, Replica, Replicas, split_off};
use crate::placement::{Placement, Strategy};
use moonquake_clock::{Clocks, DeadlineId};
use moonquake_faults::{Guard, Quirk};
use moonquake_protocol::{
    CopyStartResponse, ErrorCode, MoveStartResponse, ReplicaDescriptor, ReplicaStatus, SegmentStatus, Uuid,
};

/// What a dynamic copy must show again at its end; all zero for a plain one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Token {
    /// The lease of the proposal.
    pub(crate) lease: Uuid,
    /// The version of the object that the proposal was made for.
    pub(crate) epoch: u64,
}

/// A copy or move of one key. Mirrors `master_service.h:ReplicationTask`.
#[derive(Clone, Debug)]
pub(crate) struct CopyTask {
    client: Uuid,
    start: Clocks,
    /// When the object's PutStart was handled, from which the timeout could be mistaken to count.
    put_start: Clocks,
    moves: bool,
    source: u64,
    targets: Vec<u64>,
    token: Token,
}

impl Master {
    /// Begins a copy of the replica on one segment name to others. Names that hold a replica already are passed over,
    /// and even with none left the copy is under way.
    pub(crate) fn copy_start(
        &mut self,
        now: Clocks,
        client: Uuid,
        key: &str,
        names: (&str, &[String]),
        token: Token,
    ) -> Result<CopyStartResponse, ErrorCode> {
        let (source, targets) = names;
        let dynamic = token.lease != Uuid::default();
        if !dynamic {
            targets.iter().try_for_each(|name| self.check_target(name))?;
        }
        self.open(key).ok_or(ErrorCode::ObjectNotFound)?;
        if self.copies.contains_key(key) {
            return Err(ErrorCode::ObjectHasReplicationTask);
        }
        if dynamic {
            // Dynamic replication is off, so no proposal is open that the token could belong to.
            return Err(ErrorCode::UnavailableInCurrentStatus);
        }
        let (source, targets) = self.begin(now, client, key, source, targets, (false, token))?;
        Ok(CopyStartResponse { source, targets })
    }

    /// Begins a move from one segment name to another. If the target holds a replica already there is nothing to write.
    pub(crate) fn move_start(
        &mut self,
        now: Clocks,
        client: Uuid,
        key: &str,
        source: &str,
        target: &String,
    ) -> Result<MoveStartResponse, ErrorCode> {
        if source == target {
            return Err(ErrorCode::InvalidParams);
        }
        self.check_target(target)?;
        self.open(key).ok_or(ErrorCode::ObjectNotFound)?;
        if self.copies.contains_key(key) {
            return Err(ErrorCode::ObjectHasReplicationTask);
        }
        let targets = std::slice::from_ref(target);
        let (source, targets) = self.begin(now, client, key, source, targets, (true, Token::default()))?;
        Ok(MoveStartResponse {
            source,
            target: targets.into_iter().next(),
        })
    }

    fn check_target(&self, name: &str) -> Result<(), ErrorCode> {
        match self.segment_status(name)? {
            SegmentStatus::Ok => Ok(()),
            _ => Err(ErrorCode::UnavailableInCurrentStatus),
        }
    }

    /// The first replica on a segment of that name.
    fn replica_on(&self, key: &str, name: &str) -> Option<&Replica> {
        let on = |replica: &&Replica| {
            self.segments
                .get(replica.mount)
                .is_some_and(|mount| mount.segment.name == name)
        };
        self.objects.get(key)?.replicas.iter().find(on)
    }

    /// Allocates the targets, all or none, and pins the source.
    fn begin(
        &mut self,
        now: Clocks,
        client: Uuid,
        key: &str,
        source: &str,
        names: &[String],
        (moves, token): (bool, Token),
    ) -> Result<(ReplicaDescriptor, Vec<ReplicaDescriptor>), ErrorCode> {
        let object = self.objects.get(key).ok_or(ErrorCode::ReplicaNotFound)?;
        let put_start = object.put_start;
        if object.extra().before.is_some() {
            // The value that would be copied is about to go; upstream has no such state.
            return Err(ErrorCode::ObjectReplicaBusy);
        }
        let source = self
            .replica_on(key, source)
            .filter(|replica| replica.is_complete());
        let source = source.ok_or(ErrorCode::ReplicaNotFound)?;
        let (source_id, size_bytes, described) = (source.id, source.size_bytes, self.describe(source));
        let mut targets = Replicas::new();
        for name in names {
            if self.replica_on(key, name).is_some() {
                continue;
            }
            match self.allocate_on(now, name, size_bytes) {
                Ok(replica) => targets.push(replica),
                Err(code) => {
                    self.free_all(&targets);
                    return Err(code);
                }
            }
        }
        let descriptors = targets.iter().map(|replica| self.describe(replica)).collect();
        let task = CopyTask {
            client,
            start: now,
            put_start,
            moves,
            source: source_id,
            targets: targets.iter().map(|replica| replica.id).collect(),
            token,
        };
        self.copies.insert(key.to_owned(), task);
        if let Some(object) = self.objects.get_mut(key) {
            object
                .replicas
                .iter_mut()
                .filter(|replica| replica.id == source_id)
                .for_each(|source| source.readers += 1);
            object.replicas.extend(targets);
        }
        Ok((described, descriptors))
    }

    fn allocate_on(&mut self, now: Clocks, name: &str, size_bytes: u64) -> Result<Replica, ErrorCode> {
        if self.config.strategy == Strategy::Cxl {
            // That strategy places nothing on a name alone.
            return Err(ErrorCode::NoAvailableHandle);
        }
        if self.segments.mounts_of_name(name).is_empty() {
            return Err(ErrorCode::SegmentNotFound);
        }
        let mut placement = Placement {
            segments: &mut self.segments,
            dice: &mut self.dice,
            rules: &self.config.rules,
            now,
            strategy: self.config.strategy,
        };
        let (mount, allocation) = placement
            .allocate_from(name, size_bytes)
            .ok_or(ErrorCode::NoAvailableHandle)?;
        Ok(self.new_replica(mount, allocation, size_bytes))
    }

    /// The task of a key, if this client may end it as a copy or as a move.
    fn own_task(
        &mut self,
        client: Uuid,
        key: &str,
        moves: bool,
        token: Token,
    ) -> Result<CopyTask, ErrorCode> {
        self.open(key).ok_or(ErrorCode::ObjectNotFound)?;
        let task = self.copies.get(key).ok_or(ErrorCode::ObjectNoReplicationTask)?;
        if task.client != client {
            return Err(ErrorCode::IllegalClient);
        }
        if task.moves != moves {
            return Err(ErrorCode::InvalidParams);
        }
        if task.token != token {
            return Err(ErrorCode::InvalidVersion);
        }
        Ok(task.clone())
    }

    /// Ends a copy: the targets that are still there become readable. If any was lost the caller is told so, although
    /// the others count.
    pub(crate) fn copy_end(&mut self, client: Uuid, key: &str, token: Token) -> Result<(), ErrorCode> {
        let task = self.own_task(client, key, false, token)?;
        let whole = self.finish(key, &task)?;
        if whole {
            Ok(())
        } else {
            Err(ErrorCode::ReplicaIsGone)
        }
    }

    /// Ends a move: the target becomes readable, and the source goes to quarantine whoever may still read it.
    pub(crate) fn move_end(&mut self, now: Clocks, client: Uuid, key: &str) -> Result<(), ErrorCode> {
        let task = self.own_task(client, key, true, Token::default())?;
        if !self.finish(key, &task)? {
            return Err(ErrorCode::ReplicaIsGone);
        }
        let Some(object) = self.objects.get_mut(key) else {
            return Ok(());
        };
        let source = split_off(&mut object.replicas, |replica| replica.id == task.source);
        self.quarantine_unless_lifted(Guard::MovedSourceKept, source, now);
        Ok(())
    }

    /// Closes a task: an unfinished target becomes complete. Whether all targets were still there.
    fn finish(&mut self, key: &str, task: &CopyTask) -> Result<bool, ErrorCode> {
        let readable = |replica: &Replica| replica.id == task.source && self.is_readable(replica);
        let source_lives = self
            .objects
            .get(key)
            .is_some_and(|object| object.replicas.iter().any(readable));
        if !source_lives {
            self.abandon(key, task);
            return Err(ErrorCode::ReplicaIsGone);
        }
        self.copies.remove(key);
        let lets_go = self.guarded(Guard::LostTargetUnpinsSource);
        let Some(object) = self.objects.get_mut(key) else {
            return Ok(false);
        };
        let mut found = 0;
        for replica in object
            .replicas
            .iter_mut()
            .filter(|replica| task.targets.contains(&replica.id))
        {
            replica.status = ReplicaStatus::Complete;
            found += 1;
        }
        let whole = found == task.targets.len();
        if whole || lets_go {
            unpin(object, task.source);
        }
        Ok(whole)
    }

    /// Revokes a copy or a move: the targets are freed at once.
    pub(crate) fn copy_revoke(
        &mut self,
        client: Uuid,
        key: &str,
        moves: bool,
        token: Token,
    ) -> Result<(), ErrorCode> {
        let task = self.own_task(client, key, moves, token)?;
        if let Some(object) = self.objects.get_mut(key) {
            // One after the other in the order in which they came, whatever order the object has them in: what is freed last is
            // taken first. An end that finds its source gone takes all at once.
            let each = task.targets.iter();
            let targets: Replicas = each
                .flat_map(|id| split_off(&mut object.replicas, |replica| replica.id == *id))
                .collect();
            self.free_all(&targets);
        }
        self.abandon(key, &task);
        Ok(())
    }

    /// Closes a task without its targets, and the object if nothing valid is left of it.
    fn abandon(&mut self, key: &str, task: &CopyTask) {
        self.copies.remove(key);
        let Some(object) = self.objects.get_mut(key) else {
            return;
        };
        unpin(object, task.source);
        let targets = split_off(&mut object.replicas, |replica| task.targets.contains(&replica.id));
        self.free_all(&targets);
        if self.look(key).is_none() {
            self.erase(key);
        }
    }

    /// Ends the copies and moves whose source has left with its segment, as their end would find. Upstream lets them be.
    pub(crate) fn end_orphaned_copies(&mut self) {
        if self.config.quirks.has(Quirk::OrphanedCopyKeepsTargets) {
            return;
        }
        let orphaned = |(key, task): (&String, &CopyTask)| {
            let source = |replica: &Replica| replica.id == task.source && self.segments.is_live(replica);
            let object = self.objects.get(key);
            let lives = object.is_some_and(|object| object.replicas.iter().any(source));
            (!lives).then(|| (key.clone(), task.clone()))
        };
        let orphaned: Vec<(String, CopyTask)> = self.copies.iter().filter_map(orphaned).collect();
        for (key, task) in orphaned {
            self.abandon(&key, &task);
        }
    }

    /// Gives up the copies of one shard that are as old as the release timeout; their targets go to quarantine.
    pub(crate) fn sweep_copies(&mut self, now: Clocks, shard: usize) {
        let due = |(key, task): (&String, &CopyTask)| {
            let rules = &self.config.rules;
            let base = rules.base(DeadlineId::CopyTimeout, task.start, task.put_start);
            let old = rules.reached(DeadlineId::CopyTimeout, base, self.config.release, now);
            (old && self.objects.shard_of(key) == shard).then(|| key.clone())
        };
        let due: Vec<String> = self.copies.iter().filter_map(due).collect();
        for key in due {
            let Some(task) = self.copies.remove(&key) else {
                continue;
            };
            let Some(object) = self.objects.get_mut(&key) else {
                continue;
            };
            unpin(object, task.source);
            let targets = split_off(&mut object.replicas, |replica| task.targets.contains(&replica.id));
            let base = self.quarantine_base(task.start, now);
            self.quarantine(targets, base);
            if self.look(&key).is_none() {
                self.erase(&key);
            }
        }
    }
}

fn unpin(object: &mut Object, source: u64) {
    for replica in object.replicas.iter_mut().filter(|replica| replica.id == source) {
        replica.readers = replica.readers.saturating_sub(1);
    }
}
