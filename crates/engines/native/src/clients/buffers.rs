//! The callers' buffers: places in the arena that a client shares with us.

use crate::agent::{Arena, Range};
use moonquake_stage::{PortError, PortResult};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Address space of an arena. Only pages that somebody writes take memory.
pub(crate) const ARENA_BYTES: u64 = 32 << 30;

/// The distance of two buffers in an arena: the largest payload of a scenario, and a page that belongs to nobody.
const STRIDE: u64 = (1 << 30) + 4096;

/// A buffer that scenarios name.
#[derive(Clone, Debug)]
struct Named {
    actor: String,
    arena: Arc<Arena>,
    range: Range,
    /// With how many bytes it is registered, and whether its caller has said so.
    registered: Option<(u64, bool)>,
}

/// A registration that no step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Implied {
    pub(crate) buffer: Range,
    /// It is registered with another length so far.
    pub(crate) again: bool,
}

/// All buffers of all callers.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    named: BTreeMap<String, Named>,
    /// The next free place of each client's arena, and places to be taken again.
    next: BTreeMap<String, u64>,
    free: BTreeMap<String, Vec<u64>>,
}

impl Buffers {
    /// A place in the arena of a client.
    pub(crate) fn place(&mut self, actor: &str, size: u64) -> PortResult<Range> {
        if let Some(offset) = self.free.get_mut(actor).and_then(Vec::pop) {
            return Ok(Range { offset, size });
        }
        let next = self.next.entry(actor.to_owned()).or_default();
        let offset = *next;
        if offset + STRIDE > ARENA_BYTES || size > STRIDE - 4096 {
            return Err(PortError(format!(
                "{actor} has no room for {size} more bytes of its callers"
            )));
        }
        *next += STRIDE;
        Ok(Range { offset, size })
    }

    /// The place is free again, and reads as zero.
    pub(crate) fn give_back(&mut self, actor: &str, arena: &Arena, range: Range) -> PortResult<()> {
        if range.size > 0 {
            arena.clear(whole_pages(range)).map_err(PortError::new)?;
        }
        self.free.entry(actor.to_owned()).or_default().push(range.offset);
        Ok(())
    }

    /// The buffer of that name, of a client that uses it now.
    pub(crate) fn named(&mut self, actor: &str, arena: &Arc<Arena>, name: &str) -> PortResult<Range> {
        if let Some(named) = self.named.get(name).filter(|named| named.actor == actor) {
            return Ok(named.range);
        }
        let range = self.place(actor, STRIDE - 4096)?;
        let named = Named {
            actor: actor.to_owned(),
            arena: Arc::clone(arena),
            range,
            registered: None,
        };
        self.named.insert(name.to_owned(), named);
        Ok(range)
    }

    /// Says that a buffer must be registered before it is used, with so many bytes if those are known: how many it has is what the
    /// client believes. One that is registered with another length must be taken back first.
    pub(crate) fn imply_registration(&mut self, name: &str, bytes: Option<u64>) -> Option<Implied> {
        let named = self.named.get_mut(name)?;
        // No bytes cannot be registered.
        let size = bytes.filter(|bytes| *bytes > 0).unwrap_or(named.range.size);
        let again = match named.registered {
            Some((known, by_caller)) if by_caller || known == size => return None,
            known => known.is_some(),
        };
        named.registered = Some((size, false));
        let offset = named.range.offset;
        Some(Implied {
            buffer: Range { offset, size },
            again,
        })
    }

    /// Its caller registers a buffer. What is registered stays as it is.
    pub(crate) fn register(&mut self, name: &str, bytes: Option<u64>) -> Option<Range> {
        let named = self.named.get_mut(name)?;
        let size = bytes.unwrap_or(named.range.size);
        named.registered.get_or_insert((size, true));
        let offset = named.range.offset;
        Some(Range { offset, size })
    }

    /// Its caller takes a buffer back.
    pub(crate) fn unregister(&mut self, name: &str) -> Option<Range> {
        let named = self.named.get_mut(name)?;
        named.registered = None;
        Some(named.range)
    }

    /// Bytes of a buffer, also of a client that is gone.
    pub(crate) fn read(&self, name: &str, from: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        let Some(named) = self.named.get(name) else {
            return Ok(None);
        };
        read(&named.arena, named.range.offset + from, len).map(Some)
    }

    /// Where the named buffers of a client begin in its arena.
    pub(crate) fn of(&self, actor: &str) -> Vec<u64> {
        let mine = self.named.values().filter(|named| named.actor == actor);
        mine.map(|named| named.range.offset).collect()
    }

    /// Which bytes of which named buffers of a client lie in that piece of its arena.
    pub(crate) fn touched(&self, actor: &str, offset: u64, len: u64) -> Vec<(String, u64, u64)> {
        let mine = self.named.iter().filter(|(_, named)| named.actor == actor);
        let touched = mine.filter_map(|(name, named)| {
            let (begin, end) = (named.range.offset, named.range.offset + named.range.size);
            let (from, to) = (offset.max(begin), offset.saturating_add(len).min(end));
            (from < to).then(|| (name.clone(), from - begin, to - begin))
        });
        touched.collect()
    }

    /// The process of a client is gone. What its buffers hold can still be read.
    pub(crate) fn forget(&mut self, actor: &str) {
        self.next.remove(actor);
        self.free.remove(actor);
    }
}

/// Reads an arena.
pub(crate) fn read(arena: &Arena, offset: u64, len: u64) -> PortResult<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).map_err(PortError::new)?];
    arena.read(offset, &mut bytes).map_err(PortError::new)?;
    Ok(bytes)
}

fn whole_pages(range: Range) -> Range {
    Range {
        offset: range.offset,
        size: range.size.next_multiple_of(4096),
    }
}
