//! The memory of the nodes, with the log that each owner keeps of transfers.

use moonquake_stage::{Ending, OwnerEvent, OwnerSeen, TransferSpec};
use moonquake_witness::Region;
use std::collections::BTreeMap;

#[derive(Debug)]
struct Node {
    base: u64,
    memory: Region,
    frozen: bool,
    /// What happened while it stood still; it is news to the node when it goes on.
    unseen: Vec<OwnerSeen>,
}

#[derive(Debug)]
struct Open {
    node: String,
    replica_id: u64,
    address: u64,
    write: bool,
    offset: u64,
    size: u64,
    within: (u64, u64),
    moved: u64,
}

/// All nodes.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    nodes: BTreeMap<String, Node>,
    open: BTreeMap<u64, Open>,
    /// Which parts of a replica have landed, in order and apart from each other.
    landed: BTreeMap<u64, Vec<(u64, u64)>>,
    log: Vec<OwnerSeen>,
}

impl Owners {
    pub(crate) fn start(&mut self, node: &str, base: u64, size: u64) {
        self.nodes.insert(
            node.to_owned(),
            Node {
                base,
                memory: Region::new(size),
                frozen: false,
                unseen: Vec::new(),
            },
        );
    }

    pub(crate) fn kill(&mut self, node: &str) {
        self.nodes.remove(node);
    }

    pub(crate) fn freeze(&mut self, node: &str, frozen: bool) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.frozen = frozen;
            if !frozen {
                self.log.append(&mut node.unseen);
            }
        }
    }

    fn say(&mut self, node: &str, transfer: u64, event: OwnerEvent) {
        let seen = OwnerSeen { transfer, event };
        match self.nodes.get_mut(node) {
            Some(node) if node.frozen => node.unseen.push(seen),
            _ => self.log.push(seen),
        }
    }

    /// Accepts a range that lies inside the node's segment. Mirrors `tcp_transport_session_impl.h`: size 0, an
    /// overflow and anything outside are refused.
    pub(crate) fn open(&mut self, spec: &TransferSpec) -> bool {
        let Some(node) = self.nodes.get(&spec.owner) else {
            return false;
        };
        let offset = spec.address.checked_sub(node.base);
        let inside = |offset: &u64| {
            offset
                .checked_add(spec.size)
                .is_some_and(|end| spec.size > 0 && end <= node.memory.size())
        };
        let Some(offset) = offset.filter(inside) else {
            return false;
        };
        let open = Open {
            node: spec.owner.clone(),
            replica_id: spec.replica_id,
            address: spec.address,
            write: spec.write,
            offset,
            size: spec.size,
            within: spec.within,
            moved: 0,
        };
        self.open.insert(spec.id, open);
        self.say(
            &spec.owner,
            spec.id,
            OwnerEvent::Opened {
                write: spec.write,
                offset,
                size: spec.size,
            },
        );
        true
    }

    /// Refuses a transfer whose descriptor is not good any more.
    pub(crate) fn refuse(&mut self, spec: &TransferSpec) {
        let how = "refused".to_owned();
        self.say(&spec.owner, spec.id, OwnerEvent::Closed { how });
    }

    /// Replica id and address that a transfer was opened with.
    pub(crate) fn descriptor(&self, transfer: u64) -> Option<(u64, u64)> {
        let open = self.open.get(&transfer)?;
        Some((open.replica_id, open.address))
    }

    pub(crate) fn write(&mut self, transfer: u64, bytes: &[u8]) -> bool {
        let Some(open) = self.open.get_mut(&transfer) else {
            return false;
        };
        let Some(node) = self.nodes.get_mut(&open.node) else {
            return false;
        };
        let from = open.moved;
        if node.memory.write(open.offset + from, bytes).is_err() {
            return false;
        }
        open.moved += bytes.len() as u64;
        let (to, node) = (open.moved, open.node.clone());
        self.say(&node, transfer, OwnerEvent::Moved { from, to });
        true
    }

    pub(crate) fn read(&mut self, transfer: u64, len: u64) -> Option<Vec<u8>> {
        let open = self.open.get_mut(&transfer)?;
        let node = self.nodes.get(&open.node)?;
        let from = open.moved;
        let bytes = node.memory.read(open.offset + from, len).ok()?;
        open.moved += len;
        let (to, node) = (open.moved, open.node.clone());
        self.say(&node, transfer, OwnerEvent::Moved { from, to });
        Some(bytes)
    }

    /// The replica whose last missing byte a complete write has brought, alone or with others before it.
    pub(crate) fn written(&mut self, transfer: u64) -> Option<u64> {
        let open = self.open.get(&transfer)?;
        if !open.write || open.moved != open.size {
            return None;
        }
        let (from, whole) = open.within;
        let parts = self.landed.entry(open.replica_id).or_default();
        parts.push((from, from + open.size));
        parts.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in parts.drain(..) {
            match joined.last_mut().filter(|last| from <= last.1) {
                Some(last) => last.1 = last.1.max(to),
                None => joined.push((from, to)),
            }
        }
        if joined == [(0, whole)] {
            // What is written over it later must land anew.
            self.landed.remove(&open.replica_id);
            return Some(open.replica_id);
        }
        *parts = joined;
        None
    }

    /// Ends a transfer. True if it is complete and the owner says so.
    pub(crate) fn close(&mut self, transfer: u64, ending: Ending) -> bool {
        let Some(open) = self.open.remove(&transfer) else {
            return false;
        };
        // The owner acknowledges in one go with its last byte, so a node that dies after that has said it.
        let acknowledged = ending.is_complete() && open.moved == open.size;
        let ending = if ending.is_complete() && !acknowledged {
            Ending::NotAcknowledged
        } else {
            ending
        };
        let how = ending.words().to_owned();
        self.say(&open.node, transfer, OwnerEvent::Closed { how });
        acknowledged
    }

    pub(crate) fn drain(&mut self) -> Vec<OwnerSeen> {
        std::mem::take(&mut self.log)
    }

    pub(crate) fn peek(&self, node: &str, offset: u64, len: u64) -> Option<Vec<u8>> {
        self.nodes.get(node)?.memory.read(offset, len).ok()
    }
}
