//! `std::hash<std::string>` of the GNU C++ library on 64-bit machines: MurmurHash64A with its fixed seed. It decides
//! the shard of a key, and so the order in which a round visits keys.

const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;
const SEED: u64 = 0xC70F_6907;

/// The hash of a byte string.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let mixed = word.wrapping_mul(MULTIPLIER);
        let mixed = (mixed ^ (mixed >> 47)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ mixed).wrapping_mul(MULTIPLIER);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let word = rest
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 47)).wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 47)
}

#[cfg(test)]
mod tests {
    use super::hash_of;

    /// Computed with the GNU C++ library, version 12.
    #[test]
    fn hashes_equal_those_of_the_cpp_library() {
        let vectors: [(&str, u64); 6] = [
            ("", 6142509188972423790),
            ("a", 4993892634952068459),
            ("k", 515652794354703053),
            ("key_0", 7535905369544853410),
            ("0123456789abcdef", 10613591747391057286),
            ("0123456789abcdefg", 2203838674469644272),
        ];
        for (text, expected) in vectors {
            assert_eq!(hash_of(text.as_bytes()), expected, "{text:?}");
        }
    }
}
