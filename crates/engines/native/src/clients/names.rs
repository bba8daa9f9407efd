//! A real client names its segment by host and port, and lies where its allocator put it. Evidence speaks of homes and offsets.

use moonquake_evidence::{Range, State};
use moonquake_protocol::Segment;

/// The segment of one instance of a node.
#[derive(Clone, Debug)]
pub(crate) struct Mounted {
    /// The node.
    pub(crate) actor: String,
    /// Its name in evidence.
    pub(crate) home: String,
    /// As the client named it.
    pub(crate) segment: Segment,
}

/// Every segment there ever was.
#[derive(Debug, Default)]
pub(crate) struct Names {
    mounted: Vec<Mounted>,
}

impl Names {
    pub(crate) fn add(&mut self, mounted: Mounted) {
        self.mounted.push(mounted);
    }

    pub(crate) fn all(&self) -> &[Mounted] {
        &self.mounted
    }

    /// The segment with that name in evidence.
    pub(crate) fn home(&self, home: &str) -> Option<&Mounted> {
        self.mounted.iter().rev().find(|mounted| mounted.home == home)
    }

    /// What a node calls its latest segment; any other name as it is.
    pub(crate) fn real(&self, name: &str) -> String {
        let mut latest = self.mounted.iter().rev();
        let named = latest.find(|mounted| mounted.actor == name || mounted.home == name);
        named.map_or_else(|| name.to_owned(), |mounted| mounted.segment.name.clone())
    }

    /// The range in the names of evidence. A master that knows of places tells a segment and an offset, one that does not an
    /// endpoint and an address.
    fn range(&self, range: Range) -> Range {
        let mut latest = self.mounted.iter().rev();
        let found = latest.find_map(|mounted| {
            let base = if mounted.segment.te_endpoint == range.segment {
                mounted.segment.base
            } else if mounted.segment.name == range.segment {
                0
            } else {
                return None;
            };
            let offset = range.offset.checked_sub(base)?;
            (offset < mounted.segment.size).then(|| (mounted.home.clone(), offset))
        });
        match found {
            Some((segment, offset)) => Range {
                segment,
                offset,
                size: range.size,
            },
            None => range,
        }
    }

    /// A state in the names of evidence.
    pub(crate) fn told(&self, state: State) -> State {
        let home = |name: String| {
            let mut latest = self.mounted.iter().rev();
            let found = latest.find(|mounted| mounted.segment.name == name);
            found.map_or(name, |mounted| mounted.home.clone())
        };
        State {
            keys: state
                .keys
                .into_iter()
                .map(|(key, ranges)| (key, ranges.into_iter().map(|range| self.range(range)).collect()))
                .collect(),
            segments: state
                .segments
                .into_iter()
                .map(|(name, size)| (home(name), size))
                .collect(),
            ..state
        }
    }
}
