//! What a witness can see, said before anything is seen.

use std::collections::BTreeSet;
use std::fmt;

/// The way on which memory is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// An instruction of the process whose memory it is.
    Cpu,
    /// The kernel copies for that process between the memory and a socket: `recv` writes it, `send` reads it.
    Socket,
    /// The kernel copies for that process between the memory and a file or pipe: `read` writes it, `write` reads it.
    File,
    /// Another process reaches in: `process_vm_writev`, `process_vm_readv`.
    Peer,
    /// A network card reads or writes by itself (DMA).
    Nic,
}

impl Way {
    /// All ways.
    pub const ALL: [Way; 5] = [Way::Cpu, Way::Socket, Way::File, Way::Peer, Way::Nic];

    /// One word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Way::Cpu => "cpu",
            Way::Socket => "socket",
            Way::File => "file",
            Way::Peer => "peer process",
            Way::Nic => "NIC",
        }
    }
}

/// A kind of access: a way and a direction, as the memory sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessKind {
    /// The way.
    pub way: Way,
    /// Whether the memory is written. A `recv` writes, a `send` reads.
    pub write: bool,
}

impl AccessKind {
    /// All kinds: each way, reads before writes.
    pub const ALL: [AccessKind; 10] = [
        AccessKind::read(Way::Cpu),
        AccessKind::write(Way::Cpu),
        AccessKind::read(Way::Socket),
        AccessKind::write(Way::Socket),
        AccessKind::read(Way::File),
        AccessKind::write(Way::File),
        AccessKind::read(Way::Peer),
        AccessKind::write(Way::Peer),
        AccessKind::read(Way::Nic),
        AccessKind::write(Way::Nic),
    ];

    /// A read on that way.
    pub const fn read(way: Way) -> AccessKind {
        AccessKind { way, write: false }
    }

    /// A write on that way.
    pub const fn write(way: Way) -> AccessKind {
        AccessKind { way, write: true }
    }
}

/// `socket write`, as in the evidence.
impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.write { "write" } else { "read" };
        write!(f, "{} {direction}", self.way.name())
    }
}

/// How much of an access a witness tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grain {
    /// Each access, to the byte.
    Each,
    /// The first access to each page since it was armed, and the first write behind reads; where in the page, not how far.
    Page,
    /// Only what is different at the end: no time, nobody who did it, nothing of bytes that were written as they were.
    EndState,
}

impl Grain {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Grain::Each => "each access, to the byte",
            Grain::Page => "the first of a page",
            Grain::EndState => "the end state",
        }
    }
}

/// What a witness sees, and what cannot happen where it watches. It is blind to all the rest, and an answer that rests on
/// it is `could not see` for that rest, never `no`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Kinds of access that it sees, without a miss.
    pub sees: BTreeSet<AccessKind>,
    /// Kinds of write that it sees if they change a byte, and misses if they write what was there.
    pub sees_changes: BTreeSet<AccessKind>,
    /// Kinds of access that no one can make there, such as those of a card that knows nothing of the memory.
    pub absent: BTreeSet<AccessKind>,
    /// How much of an access it tells.
    pub grain: Grain,
}

impl Sight {
    /// A sight of these kinds, with nothing ruled out.
    pub fn of(sees: impl IntoIterator<Item = AccessKind>, grain: Grain) -> Sight {
        Sight {
            sees: sees.into_iter().collect(),
            sees_changes: BTreeSet::new(),
            absent: BTreeSet::new(),
            grain,
        }
    }

    /// A sight of changes alone, by writes of these ways.
    pub fn of_changes(ways: impl IntoIterator<Item = Way>, grain: Grain) -> Sight {
        let mut sight = Sight::of([], grain);
        sight.sees_changes.extend(ways.into_iter().map(AccessKind::write));
        sight
    }

    /// The same, where these kinds cannot happen.
    #[must_use]
    pub fn without(mut self, absent: impl IntoIterator<Item = AccessKind>) -> Sight {
        self.absent.extend(absent);
        self
    }

    /// What two witnesses of the same memory see together. The grain is the coarser one.
    #[must_use]
    pub fn and(mut self, other: &Sight) -> Sight {
        self.sees.extend(&other.sees);
        self.sees_changes.extend(&other.sees_changes);
        self.sees_changes.retain(|kind| !self.sees.contains(kind));
        self.absent.extend(&other.absent);
        self.grain = self.grain.max(other.grain);
        self
    }

    /// The kinds that can happen and that it may miss, in the order of [`AccessKind::ALL`].
    pub fn blind(&self) -> Vec<AccessKind> {
        let hidden = |kind: &AccessKind| !self.sees.contains(kind) && !self.absent.contains(kind);
        AccessKind::ALL.into_iter().filter(hidden).collect()
    }

    /// What it sees and what it is blind to, in the words of `moonquake_evidence::Kind::Sight`. A kind of which it sees the
    /// changes alone stands on both sides.
    pub fn words(&self) -> (Vec<String>, Vec<String>) {
        let changed = |kind: &AccessKind| format!("{kind} that changes a byte");
        let sees = self.sees.iter().map(AccessKind::to_string);
        let changes = self.sees_changes.iter().map(changed);
        let missed = |kind: &AccessKind| match self.sees_changes.contains(kind) {
            true => format!("{kind} of the same bytes"),
            false => kind.to_string(),
        };
        (
            sees.chain(changes).collect(),
            self.blind().iter().map(missed).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn together_two_see_what_either_sees_and_neither_is_believed_for_the_rest() {
        let sockets = Sight::of([AccessKind::write(Way::Socket)], Grain::Each);
        let canary = Sight::of_changes([Way::Cpu, Way::Socket], Grain::EndState);
        let both = sockets
            .and(&canary)
            .without([Way::Nic, Way::Peer].map(AccessKind::read));
        let (sees, blind) = both.words();
        assert_eq!(sees, ["socket write", "cpu write that changes a byte"]);
        assert_eq!(
            blind,
            [
                "cpu read",
                "cpu write of the same bytes",
                "socket read",
                "file read",
                "file write",
                "peer process write",
                "NIC write"
            ]
        );
        assert_eq!(both.grain, Grain::EndState);
    }
}
