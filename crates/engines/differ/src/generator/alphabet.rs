//! The names and numbers of one history: clients, segments, keys, sizes.

use super::draw::Draw;
use super::names::{self, Style};
use crate::setup::Theme;
use moonquake_protocol::{Segment, Uuid};
use std::sync::Arc;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The last one mounts nothing at the start.
const CLIENTS: u64 = 4;
/// Sizes that whole segments have.
const SEGMENT_BYTES: [u64; 9] = [
    4 * KIB,
    4 * KIB + 17,
    64 * KIB,
    MIB,
    MIB + 4_095,
    16 * MIB,
    64 * MIB - 1,
    GIB,
    // Above 3.75 GiB the allocator counts in larger units.
    5 * GIB + 12_345,
];
/// Those of them that thousands of objects fit into.
const CROWD_SEGMENT_BYTES: [u64; 4] = [MIB + 4_095, 16 * MIB, 64 * MIB - 1, GIB];
/// So many segments are never mounted in the ordinary way: two of a name that is taken, one of memory that is taken, an absurd one.
const SPECIAL: u64 = 4;

/// The alphabet of a history.
#[derive(Clone, Debug)]
pub(crate) struct Alphabet {
    /// How many keys there are.
    keys: u64,
    key_style: Style,
    key_names: Arc<Vec<String>>,
    groups: [String; 2],
    /// Machines that segments and clients name.
    hosts: [String; 3],
    pub(crate) segments: Vec<Segment>,
    /// How many of them are mounted in the ordinary way.
    pub(crate) ordinary: usize,
    /// Objects are about so many times smaller than the segments.
    fraction: u64,
    /// Whether there are thousands of keys, and batches as long.
    is_crowd: bool,
}

impl Alphabet {
    pub(crate) fn draw(draw: &mut Draw, theme: Theme) -> Alphabet {
        let is_crowd = theme == Theme::Crowd;
        let fewest = if matches!(theme, Theme::Tasks | Theme::Drains) {
            2
        } else {
            1
        };
        let ordinary = if draw.chance(12) {
            draw.within(5, 36)
        } else {
            draw.within(fewest, 4)
        };
        let common = if is_crowd {
            *draw.pick(&CROWD_SEGMENT_BYTES)
        } else {
            *draw.pick(&SEGMENT_BYTES)
        };
        let alike = is_crowd || draw.chance(60);
        let (keys, fraction) = if is_crowd {
            let keys = draw.within(1_000, 5_000);
            // From a pool that most keys fit into to one for few of them.
            (keys, (keys / ordinary * *draw.pick(&[1, 2, 4]) / 2).max(1))
        } else if fewest == 2 {
            // What moves needs a place to go to.
            (draw.within(4, 20), *draw.pick(&[16, 40, 100]))
        } else {
            (draw.within(4, 40), *draw.pick(&[3, 8, 16, 40]))
        };
        let key_style = Style::draw(draw, 55);
        let other_style = Style::draw(draw, 70);
        let key_names = (0..keys).map(|number| key_style.key(draw, number)).collect();
        let groups = [0, 1].map(|number| other_style.group(draw, number));
        let hosts = match other_style {
            Style::Plain => ["h0", "h1", "h9"],
            _ => ["10.0.0.1", "h\u{e4}\0", "0123456789abcdefghijklmn"],
        };
        let mut alphabet = Alphabet {
            keys,
            key_style,
            key_names: Arc::new(key_names),
            groups,
            hosts: hosts.map(str::to_owned),
            segments: Vec::new(),
            ordinary: ordinary as usize,
            fraction,
            is_crowd,
        };
        let plain = ordinary.max(4);
        for slot in 0..plain + SPECIAL {
            let size = if alike { common } else { *draw.pick(&SEGMENT_BYTES) };
            let segment = alphabet.segment(draw, slot, plain, (other_style, size));
            alphabet.segments.push(segment);
        }
        alphabet
    }

    /// A client; the first three are the usual ones.
    pub(crate) fn client(&self, draw: &mut Draw) -> Uuid {
        let number = if draw.chance(4) {
            CLIENTS - 1
        } else {
            draw.below(CLIENTS - 1)
        };
        client(number)
    }

    /// A key, seldom an odd one.
    pub(crate) fn key(&self, draw: &mut Draw) -> String {
        match draw.below(400) {
            0 => String::new(),
            1 => "k 1/\u{e4}%".to_owned(),
            _ => self.key_names[draw.below(self.keys) as usize].clone(),
        }
    }

    /// A pattern.
    pub(crate) fn pattern(&self, draw: &mut Draw) -> String {
        let key = &self.key_names[draw.below(self.keys) as usize];
        names::pattern(draw, self.key_style, key)
    }

    /// A machine; the last one has no segment.
    pub(crate) fn host(&self, draw: &mut Draw) -> String {
        draw.pick(&self.hosts).clone()
    }

    /// How many keys a batch has. There is no limit upstream; clients send 128 and more.
    fn batch_length(&self, draw: &mut Draw) -> u64 {
        match draw.below(100) {
            0..=4 => 0,
            5..=7 => draw.within(120, 300),
            8..=69 if self.is_crowd => draw.within(20, 400),
            8..=12 => draw.within(7, 40),
            _ => draw.within(1, 6),
        }
    }

    /// Some keys, now and then one of them twice.
    pub(crate) fn some_keys(&self, draw: &mut Draw) -> Vec<String> {
        let count = self.batch_length(draw);
        let mut keys: Vec<String> = if self.is_crowd {
            let first = draw.below(self.keys);
            (0..count)
                .map(|next| self.key_names[((first + next) % self.keys) as usize].clone())
                .collect()
        } else {
            (0..count).map(|_| self.key(draw)).collect()
        };
        if draw.chance(15) && !keys.is_empty() {
            keys.push(keys[0].clone());
        }
        keys
    }

    /// The group that a key usually belongs to.
    pub(crate) fn group(&self, key: &str) -> Option<String> {
        let sum: usize = key.bytes().map(usize::from).sum();
        self.groups.get(sum % 5).cloned()
    }

    /// The name of one of the segments that are mounted at the start.
    pub(crate) fn ordinary_name(&self, draw: &mut Draw) -> String {
        self.segments[draw.below(self.ordinary as u64) as usize]
            .name
            .clone()
    }

    /// The name of a segment, seldom one that is not there.
    pub(crate) fn segment_name(&self, draw: &mut Draw) -> String {
        if draw.chance(4) {
            return (*draw.pick(&["", "nowhere"])).to_owned();
        }
        let slots = if draw.chance(85) {
            self.ordinary
        } else {
            self.segments.len()
        };
        self.segments[draw.below(slots as u64) as usize].name.clone()
    }

    /// The length of an object.
    pub(crate) fn size(&self, draw: &mut Draw) -> u64 {
        let whole = self.segments[draw.below(self.ordinary as u64) as usize].size;
        if self.is_crowd && draw.chance(98) {
            return draw.within(1, (2 * whole / self.fraction).max(1));
        }
        match draw.below(100) {
            0 => 0,
            1 => u64::MAX - draw.below(2),
            2..=5 => (whole - 1) + draw.below(3),
            6..=10 => draw.within(1, 16),
            11..=35 => bin_edge(draw, whole),
            36..=40 => draw.within(1, whole),
            _ => draw.within(1, (whole / self.fraction).max(1)),
        }
    }

    /// The segment of a slot; those before `plain` are ordinary.
    fn segment(&self, draw: &mut Draw, slot: u64, plain: u64, (style, size): (Style, u64)) -> Segment {
        let name = style.segment(draw, slot);
        let ordinary = Segment {
            id: Uuid::new(0x5E6 + slot, slot * 0x1_0001),
            te_endpoint: name.clone(),
            name,
            base: (slot + 1) << 40,
            size,
            protocol: "tcp".to_owned(),
            host_id: match draw.below(3) {
                0 => String::new(),
                _ => self.hosts[draw.below(2) as usize].clone(),
            },
        };
        match slot.checked_sub(plain) {
            None => ordinary,
            // The same name as the first: one unit of placement.
            Some(0) => Segment {
                name: self.segments[0].name.clone(),
                te_endpoint: "10.0.0.4:12345".to_owned(),
                ..ordinary
            },
            Some(1) => Segment {
                name: self.segments[1].name.clone(),
                te_endpoint: "[fe80::5%eth0]:17".to_owned(),
                ..ordinary
            },
            // The first segment's memory under another name.
            Some(2) => Segment {
                base: 1 << 40,
                te_endpoint: String::new(),
                ..ordinary
            },
            Some(_) => absurd(draw, ordinary),
        }
    }
}

/// A client's id.
pub(crate) fn client(number: u64) -> Uuid {
    Uuid::new(0x1000 + number * 0x9E37, 0x77 ^ (number << 40))
}

/// A value of a size bin of the allocator, or the number before or after it: eight bins for each power of two.
fn bin_edge(draw: &mut Draw, whole: u64) -> u64 {
    let bits = u64::from(63 - whole.leading_zeros());
    let exponent = draw.below(bits.saturating_sub(2).max(1));
    ((8 + draw.below(8)) << exponent) - 1 + draw.below(3)
}

fn absurd(draw: &mut Draw, plain: Segment) -> Segment {
    match draw.below(4) {
        0 => Segment { size: 0, ..plain },
        1 => Segment { base: 0, ..plain },
        2 => Segment {
            name: String::new(),
            ..plain
        },
        _ => Segment { size: 1, ..plain },
    }
}
