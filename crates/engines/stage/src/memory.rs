//! The callers' buffers, the names of ranges, and the witness over both.

use crate::clients::{Accessed, End};
use crate::ports::Ports;
use crate::staging::Staging;
use crate::state::{Stage, Staged};
use moonquake_client::{BufferPlace, ByteRange, Move, NearMemory};
use moonquake_evidence::{Content, Kind, Observer, Op, Range, staging_of};
use moonquake_scenario::{Do, What};
use moonquake_witness::{Region, classify, classify_at, fill};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Which buffer an operation uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BufferKey {
    /// A buffer of the caller, by its name in the scenario.
    Named(String),
    /// The block of its client's staging memory that one operation has.
    Staging(u64),
    /// A range of the client's own segment, which a copy reads.
    Own(Range),
}

/// An access that the witness has seen and not written down yet.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    actor: String,
    op: Option<Op>,
    name: String,
    write: bool,
    from: u64,
    to: u64,
}

/// All buffers of callers.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    regions: BTreeMap<String, Region>,
    /// How large the caller has made a named buffer. One that it gave no size is as large as what is read into it.
    sizes: BTreeMap<String, u64>,
    pub(crate) staging: Staging,
    /// The buffers that a client's transfer engine has been told of.
    pub(crate) registered: BTreeSet<(String, String)>,
    /// Where the objects of a batch, or the ranges of one object, lie in a named buffer that they were read into.
    layouts: BTreeMap<String, Vec<BufferPlace>>,
    pending: Vec<Access>,
    pending_bindings: Vec<(String, Range)>,
}

impl Buffers {
    /// Makes a named buffer at least `size` bytes large.
    pub(crate) fn grow(&mut self, name: &str, size: u64) {
        self.regions.entry(name.to_owned()).or_default().grow(size);
    }

    /// The caller says how large its buffer is at least: it fills it, or has so many bytes written out of it.
    pub(crate) fn size(&mut self, name: &str, bytes: u64) {
        let known = self.size_of(name).unwrap_or(0).max(bytes);
        let size = self.sizes.entry(name.to_owned()).or_default();
        *size = known.max(*size);
    }

    /// The memory of an operation that reads, or writes, with that buffer.
    pub(crate) fn near(&self, key: Option<&BufferKey>) -> NearMemory {
        match key {
            Some(BufferKey::Named(name)) => NearMemory::Caller {
                bytes: self.sizes.get(name).copied(),
            },
            Some(BufferKey::Own(_)) => NearMemory::CALLER,
            Some(BufferKey::Staging(_)) | None => NearMemory::Staging,
        }
    }

    /// Bytes of a buffer; zero where it has none.
    pub(crate) fn read(&mut self, key: &BufferKey, from: u64, len: u64) -> Vec<u8> {
        let bytes = match key {
            BufferKey::Named(name) => {
                let region = self.regions.entry(name.clone()).or_default();
                region.grow(from.saturating_add(len));
                region.read(from, len).ok()
            }
            BufferKey::Staging(operation) => self.staging.read(*operation, from, len),
            // The memory of a segment is behind the ports.
            BufferKey::Own(_) => None,
        };
        bytes.unwrap_or_default()
    }

    /// Writes into a buffer; false if it has no such bytes.
    pub(crate) fn write(&mut self, key: &BufferKey, from: u64, bytes: &[u8]) -> bool {
        match key {
            BufferKey::Named(name) => {
                let region = self.regions.entry(name.clone()).or_default();
                region.grow(from.saturating_add(bytes.len() as u64));
                region.write(from, bytes).is_ok()
            }
            BufferKey::Staging(operation) => self.staging.write(*operation, from, bytes),
            // Nothing is read into a segment.
            BufferKey::Own(_) => false,
        }
    }

    /// Fills a place with the part of a pattern that belongs there.
    pub(crate) fn fill_at(&mut self, key: &BufferKey, place: BufferPlace, pattern: &str) {
        let mut bytes = vec![0; usize::try_from(place.range.size).unwrap_or(0)];
        fill(pattern, place.range.from, &mut bytes);
        // A named buffer grows as it must, and blocks were taken to hold exactly these bytes.
        let _fits = self.write(key, place.at, &bytes);
    }

    /// The size of a named buffer, if it exists.
    pub(crate) fn size_of(&self, name: &str) -> Option<u64> {
        self.regions.get(name).map(Region::size)
    }

    /// Notes where the objects of a batch read, or ranges of one, lie; anything else leaves one object in the buffer.
    pub(crate) fn lay_out(&mut self, key: &BufferKey, wanted: &[Move]) {
        let BufferKey::Named(name) = key else { return };
        let places = wanted.iter().filter(|wanted| !wanted.write);
        let place = |wanted: &Move| BufferPlace {
            at: wanted.at,
            range: ByteRange {
                from: wanted.from,
                size: wanted.size,
            },
        };
        let places: Vec<BufferPlace> = places.map(place).collect();
        let is_plain = |place: &BufferPlace| (place.at, place.range.from) == (0, 0);
        if places.len() == 1 && places.iter().all(is_plain) {
            self.layouts.remove(name);
        } else {
            self.layouts.insert(name.clone(), places);
        }
    }

    /// An operation begins that uses the buffer for one object.
    pub(crate) fn lay_plain(&mut self, key: &BufferKey) {
        if let BufferKey::Named(name) = key {
            self.layouts.remove(name);
        }
    }
}

impl<P: Ports> Stage<'_, P> {
    /// The caller fills a place of its buffer with the part of a pattern that belongs there.
    pub(crate) fn fill_buffer(
        &mut self,
        who: &str,
        key: &BufferKey,
        place: BufferPlace,
        pattern: &str,
    ) -> Staged<()> {
        self.buffers.fill_at(key, place, pattern);
        if let BufferKey::Named(name) = key
            && self.ports.has_clients()
        {
            let bytes = self.buffers.read(key, place.at, place.range.size);
            self.ports.fill_buffer(who, name, place.at, &bytes)?;
        }
        Ok(())
    }

    /// Bytes of a buffer, as its client has them.
    fn bytes_of(&mut self, key: &BufferKey, from: u64, len: u64) -> Staged<Vec<u8>> {
        let real = match key {
            BufferKey::Named(name) => self.ports.read_buffer(name, from, len)?,
            BufferKey::Staging(operation) => self.ports.read_value(*operation, from, len)?,
            BufferKey::Own(_) => None,
        };
        Ok(real.unwrap_or_else(|| self.buffers.read(key, from, len)))
    }

    /// What the first `size` bytes of a buffer are.
    pub(crate) fn content_of(&mut self, key: &BufferKey, size: u64) -> Staged<Content> {
        let bytes = self.bytes_of(key, 0, size)?;
        Ok(classify(&bytes, &self.patterns))
    }

    /// What one object, or a range of one, in a buffer is: patterns count from the object's own first byte.
    pub(crate) fn content_at(&mut self, key: &BufferKey, place: BufferPlace) -> Staged<Content> {
        let bytes = self.bytes_of(key, place.at, place.range.size)?;
        Ok(classify_at(&bytes, place.range.from, &self.patterns))
    }

    /// What a named buffer or range holds now.
    pub(crate) fn content_of_name(&mut self, name: &str) -> Staged<Option<Content>> {
        let key = BufferKey::Named(name.to_owned());
        if let Some(places) = self.buffers.layouts.get(name).filter(|places| !places.is_empty()) {
            let places = places.clone();
            let contents: Vec<Content> = places
                .into_iter()
                .map(|place| self.content_at(&key, place))
                .collect::<Staged<_>>()?;
            return Ok(Content::joined(&contents));
        }
        if let Some(size) = self.buffers.size_of(name) {
            return self.content_of(&key, size).map(Some);
        }
        let Some(range) = self.bound.get(name).cloned() else {
            return Ok(None);
        };
        if !self.is_there(&range.segment) {
            return Ok(None);
        }
        let bytes = self.ports.peek(&range.segment, range.offset, range.size)?;
        Ok(Some(classify(&bytes, &self.patterns)))
    }

    /// Binds the names of a step to ranges that it was given, in the master's order: `None` stands for a name whose range
    /// never comes into being.
    pub(crate) fn bind(&mut self, step: usize, repetition: u32, ranges: &[Option<&Range>]) {
        let Some(What::Do(action)) = self.plan.steps.get(step).map(|step| &step.what) else {
            return;
        };
        // In a batch each key has its own names, so that one which is refused leaves the others' in place.
        for (name, range) in action
            .bind
            .iter()
            .zip(ranges)
            .filter_map(|(name, range)| Some((name, (*range)?)))
        {
            let name = Do::repeated(name, repetition);
            // A request that is handled twice hands out two ranges; the name is that of the first answer, which is the one
            // that its client hears.
            if let Entry::Vacant(vacant) = self.bound.entry(name.clone()) {
                vacant.insert(range.clone());
                self.buffers.pending_bindings.push((name, range.clone()));
            }
        }
    }

    /// Writes fresh bindings to the evidence.
    pub(crate) fn log_bindings(&mut self, op: Option<Op>) {
        for (name, range) in std::mem::take(&mut self.buffers.pending_bindings) {
            let actor = range.segment.clone();
            self.note(
                &actor,
                Observer::Link,
                op,
                Kind::Bound {
                    name,
                    range: Some(range),
                },
            );
        }
    }

    /// Names that were never bound are stated at the end.
    pub(crate) fn log_unbound(&mut self) {
        let plan = self.plan;
        for step in &plan.steps {
            let What::Do(action) = &step.what else { continue };
            for name in action.bind.iter().filter(|name| !name.contains("{i}")) {
                if !self.bound.contains_key(name) {
                    let actor = action.who.clone().unwrap_or_default();
                    self.note(
                        &actor,
                        Observer::Timeline,
                        None,
                        Kind::Bound {
                            name: name.clone(),
                            range: None,
                        },
                    );
                }
            }
        }
    }

    fn watched(&self, name: &str) -> bool {
        self.fault.at.is_some() && self.plan.watch.iter().any(|watched| watched == name)
    }

    /// The watched ranges that have been bound, in the order of their names.
    fn watched_ranges(&self) -> BTreeMap<&String, &Range> {
        let watch = self.plan.watch.iter().filter(|_| self.fault.at.is_some());
        watch.filter_map(|name| self.bound.get_key_value(name)).collect()
    }

    /// Writes down what witnesses inside the processes have seen, where clients have such witnesses.
    pub(crate) fn hear_witnesses(&mut self) -> Staged<()> {
        for accessed in self.ports.accesses()?.unwrap_or_default() {
            match accessed {
                Accessed::Part {
                    transfer,
                    end,
                    from,
                    to,
                } => self.witness_end(transfer, end, from, to),
                Accessed::Buffer {
                    actor,
                    name,
                    write,
                    from,
                    to,
                } => {
                    if self.watched(&name) {
                        self.buffers.pending.push(Access {
                            actor,
                            op: None,
                            name,
                            write,
                            from,
                            to,
                        });
                    }
                }
                Accessed::Segment {
                    actor,
                    home,
                    write,
                    from,
                    to,
                } => {
                    let touched = Range {
                        segment: home,
                        offset: from,
                        size: to - from,
                    };
                    for (name, from, to) in self.watched_within(&touched) {
                        self.buffers.pending.push(Access {
                            actor: actor.clone(),
                            op: None,
                            name,
                            write,
                            from,
                            to,
                        });
                    }
                }
            }
        }
        self.log_accesses();
        Ok(())
    }

    /// Which bytes of which watched ranges lie in a piece of a segment.
    fn watched_within(&self, piece: &Range) -> Vec<(String, u64, u64)> {
        let end = piece.offset + piece.size;
        let watched = self.watched_ranges().into_iter();
        watched
            .filter(|(_, range)| range.overlaps(piece))
            .map(|(name, range)| {
                let first = piece.offset.max(range.offset) - range.offset;
                let last = end.min(range.offset + range.size) - range.offset;
                (name.clone(), first, last)
            })
            .collect()
    }

    /// The witness: bytes of a transfer moved between the owner's range and the caller's buffer.
    pub(crate) fn witness_part(&mut self, transfer: u64, from: u64, to: u64) {
        self.witness_end(transfer, End::Near, from, to);
        self.witness_end(transfer, End::Far, from, to);
    }

    /// The witness: bytes of a transfer were accessed at one end.
    fn witness_end(&mut self, transfer: u64, end: End, from: u64, to: u64) {
        let Some(transfer) = self.transfer(transfer) else {
            return;
        };
        let (actor, op, write) = (transfer.actor.clone(), transfer.op, transfer.write);
        let part = |segment: &str, start: u64| Range {
            segment: segment.to_owned(),
            offset: start + from,
            size: to - from,
        };
        let mut seen = Vec::new();
        let range = match (end, &transfer.buffer) {
            (End::Far, _) => Some((part(&transfer.owner, transfer.offset), write)),
            // A copy reads the segment of its own client.
            (End::Near, BufferKey::Own(source)) => Some((part(&source.segment, source.offset), false)),
            (End::Near, BufferKey::Named(name)) => {
                if self.watched(name) {
                    let at = transfer.buffer_at;
                    seen.push((name.clone(), !write, at + from, at + to));
                }
                None
            }
            // A transfer that outlived its operation reaches memory that is not its own any more, watched or not.
            (End::Near, BufferKey::Staging(operation)) => {
                if let Some(client) = self.buffers.staging.given_back(*operation)
                    && let Some(block) = transfer.block
                {
                    seen.push((staging_of(client), !write, block.from + from, block.from + to));
                }
                None
            }
        };
        if let Some((moved, write)) = range {
            let watched = self.watched_within(&moved).into_iter();
            seen.extend(watched.map(|(name, first, last)| (name, write, first, last)));
        }
        for (name, write, from, to) in seen {
            self.buffers.pending.push(Access {
                actor: actor.clone(),
                op,
                name,
                write,
                from,
                to,
            });
        }
    }

    /// The witness: the caller itself wrote its buffer.
    pub(crate) fn witness_fill(&mut self, actor: &str, op: Option<Op>, name: &str, size: u64) {
        if self.watched(name) {
            let (actor, name) = (actor.to_owned(), name.to_owned());
            self.buffers.pending.push(Access {
                actor,
                op,
                name,
                write: true,
                from: 0,
                to: size,
            });
            self.log_accesses();
        }
    }

    /// Writes what the witness saw to the evidence.
    pub(crate) fn log_accesses(&mut self) {
        for Access {
            actor,
            op,
            name,
            write,
            from,
            to,
        } in std::mem::take(&mut self.buffers.pending)
        {
            self.note(
                &actor,
                Observer::Witness,
                op,
                Kind::Access {
                    buffer: name,
                    write,
                    from,
                    to,
                },
            );
        }
    }
}
