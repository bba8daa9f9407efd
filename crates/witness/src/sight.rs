//! What a witness can see, said before anything is seen.

use std::collections::BTreeSet;
use std::fmt;

/// The way on which memory is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// An instruction of the process whose memory it is.
    Cpu,
    /// The kernel copies for that process: `recv` and `read` into it, `send` and `write` from it.
    Kernel,
    /// Another process reaches in: `process_vm_writev`, `process_vm_readv`.
    Peer,
    /// A network card reads or writes by itself (DMA).
    Nic,
}

impl Way {
    /// All ways.
    pub const ALL: [Way; 4] = [Way::Cpu, Way::Kernel, Way::Peer, Way::Nic];

    /// One word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Way::Cpu => "cpu",
            Way::Kernel => "kernel",
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
    /// All eight kinds: each way, reads before writes.
    pub const ALL: [AccessKind; 8] = [
        AccessKind::read(Way::Cpu),
        AccessKind::write(Way::Cpu),
        AccessKind::read(Way::Kernel),
        AccessKind::write(Way::Kernel),
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

/// `kernel write`, as in the evidence.
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
            absent: BTreeSet::new(),
            grain,
        }
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
        self.absent.extend(&other.absent);
        self.grain = self.grain.max(other.grain);
        self
    }

    /// The kinds that can happen and that it does not see, in the order of [`AccessKind::ALL`].
    pub fn blind(&self) -> Vec<AccessKind> {
        let hidden = |kind: &AccessKind| !self.sees.contains(kind) && !self.absent.contains(kind);
        AccessKind::ALL.into_iter().filter(hidden).collect()
    }

    /// The kinds seen and those that it is blind to, in the words of `moonquake_evidence::Kind::Sight`.
    pub fn words(&self) -> (Vec<String>, Vec<String>) {
        let sees = self.sees.iter().map(AccessKind::to_string).collect();
        (sees, self.blind().iter().map(AccessKind::to_string).collect())
    }
}
