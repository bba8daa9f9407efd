//! Patterns: an endless stream of bytes for each name, so that a stretch of memory tells who wrote it.

use moonquake_evidence::{Content, Run};

const WORD_BYTES: u64 = 8;

fn seed(name: &str) -> u64 {
    // FNV-1a: any fixed hash does, and this one is the same on every machine.
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The word at `index` of a pattern; never all zero in its low byte pairs for two names at once, in practice.
fn word(seed: u64, index: u64) -> u64 {
    let mut mixed = seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// The byte at `offset` of the pattern `name`.
pub fn pattern_byte(name: &str, offset: u64) -> u8 {
    word(seed(name), offset / WORD_BYTES).to_le_bytes()[usize::try_from(offset % WORD_BYTES).unwrap_or(0)]
}

/// Writes the pattern `name` into `bytes`, of which the first is the byte at `offset`.
pub fn fill(name: &str, offset: u64, bytes: &mut [u8]) {
    let seed = seed(name);
    let lead = usize::try_from((WORD_BYTES - offset % WORD_BYTES) % WORD_BYTES)
        .unwrap_or(0)
        .min(bytes.len());
    let (head, rest) = bytes.split_at_mut(lead);
    for (at, byte) in (offset..).zip(head) {
        *byte = pattern_byte(name, at);
    }
    let first = (offset + lead as u64) / WORD_BYTES;
    let (words, tail) = rest.as_chunks_mut::<8>();
    let behind = first + words.len() as u64;
    for (index, bytes) in (first..).zip(words) {
        *bytes = word(seed, index).to_le_bytes();
    }
    tail.copy_from_slice(&word(seed, behind).to_le_bytes()[..tail.len()]);
}

/// The eight bytes of a pattern from `offset` on, as a number.
fn word_at(seed: u64, offset: u64) -> u64 {
    let (index, shift) = (offset / WORD_BYTES, 8 * (offset % WORD_BYTES));
    match shift {
        0 => word(seed, index),
        _ => word(seed, index) >> shift | word(seed, index + 1) << (64 - shift),
    }
}

/// Says which pattern each stretch of `bytes` follows; the first byte is the byte at offset 0. Only the `names` given
/// are tried, then memory that nobody wrote (`zero`); anything else is `unknown`.
pub fn classify(bytes: &[u8], names: &[String]) -> Content {
    classify_at(bytes, 0, names)
}

/// The same for bytes of which the first is the byte at `offset`. Stretches count from the first of them.
pub fn classify_at(bytes: &[u8], offset: u64, names: &[String]) -> Content {
    let seeds: Vec<u64> = names.iter().map(|name| seed(name)).collect();
    let mut runs: Vec<Run> = Vec::new();
    let mut last: Option<usize> = None;
    let (words, tail) = bytes.as_chunks::<8>();
    let mut padded = [0; 8];
    padded[..tail.len()].copy_from_slice(tail);
    let whole = words.iter().map(|bytes| (bytes, WORD_BYTES));
    let rest = (!tail.is_empty()).then_some((&padded, tail.len() as u64));
    for (index, (bytes, len)) in (0_u64..).zip(whole.chain(rest)) {
        let (value, mask) = (u64::from_le_bytes(*bytes), u64::MAX >> (64 - 8 * len));
        let fits = |which: usize| {
            let wanted = seeds
                .get(which)
                .map_or(0, |seed| word_at(*seed, offset + index * WORD_BYTES));
            which <= seeds.len() && wanted & mask == value
        };
        let found = last
            .filter(|which| fits(*which))
            .or_else(|| (0..=seeds.len()).find(|which| fits(*which)));
        let from = index * WORD_BYTES;
        let to = from + len;
        match runs.last_mut() {
            Some(run) if found == last => run.to = to,
            _ => {
                let pattern = match found {
                    Some(which) if which == seeds.len() => "zero".to_owned(),
                    Some(which) => names[which].clone(),
                    None => "unknown".to_owned(),
                };
                runs.push(Run { from, to, pattern });
            }
        }
        last = found;
    }
    Content(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_pattern_is_the_same_from_any_offset() {
        let mut whole = vec![0; 1000];
        fill("w1", 0, &mut whole);
        for (from, to) in [(0, 1000), (1, 9), (7, 8), (13, 999), (8, 16), (500, 500)] {
            let mut part = vec![0; to - from];
            fill("w1", from as u64, &mut part);
            assert_eq!(part, whole[from..to], "{from}..{to}");
        }
        assert_eq!(pattern_byte("w1", 13), whole[13]);
    }

    #[test]
    fn stretches_are_told_apart_to_the_word() {
        let mut bytes = vec![0; 64];
        fill("w1", 0, &mut bytes[..16]);
        fill("w2", 16, &mut bytes[16..40]);
        let content = classify(&bytes, &names(&["w1", "w2"]));
        let shown: Vec<(u64, u64, &str)> = content
            .0
            .iter()
            .map(|run| (run.from, run.to, run.pattern.as_str()))
            .collect();
        assert_eq!(shown, [(0, 16, "w1"), (16, 40, "w2"), (40, 64, "zero")]);
        bytes[3] ^= 1;
        assert_eq!(classify(&bytes, &names(&["w1", "w2"])).0[0].pattern, "unknown");
        assert!(classify(&[], &names(&["w1"])).0.is_empty());
    }

    #[test]
    fn a_part_of_a_pattern_is_known_from_where_it_begins() {
        for offset in [0, 1, 7, 8, 13, 4096, 65_543] {
            let mut bytes = vec![0; 29];
            fill("w1", offset, &mut bytes);
            assert!(
                classify_at(&bytes, offset, &names(&["w0", "w1"])).is_all("w1"),
                "from {offset}"
            );
            assert!(!classify_at(&bytes, offset + 1, &names(&["w1"])).is_all("w1"));
        }
    }

    #[test]
    fn a_tail_shorter_than_a_word_counts() {
        let mut bytes = vec![0; 13];
        fill("w1", 0, &mut bytes);
        assert!(classify(&bytes, &names(&["w1"])).is_all("w1"));
        bytes[12] ^= 0xff;
        assert!(!classify(&bytes, &names(&["w1"])).is_all("w1"));
    }
}
