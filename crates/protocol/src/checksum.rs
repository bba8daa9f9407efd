//! The checksum of an object: CRC-64/ECMA-182. Mirrors `mooncake-common/src/crc_checksum.cpp`.

const POLYNOMIAL: u64 = 0x42F0_E1EB_A9EA_3693;

/// What each value of the first byte adds.
static TABLE: [u64; 256] = table();

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut first = 0;
    while first < 256 {
        let mut rest = (first as u64) << 56;
        let mut bit = 0;
        while bit < 8 {
            let carries = rest >> 63 == 1;
            rest <<= 1;
            if carries {
                rest ^= POLYNOMIAL;
            }
            bit += 1;
        }
        table[first] = rest;
        first += 1;
    }
    table
}

/// The checksum of `bytes`: not reflected, from zero on, and taken as it comes out.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| {
        let first = (sum >> 56) as u8 ^ byte;
        (sum << 8) ^ TABLE[usize::from(first)]
    })
}

#[cfg(test)]
mod tests {
    use super::checksum;

    /// The check value of the standard, which the real client sends for these bytes.
    #[test]
    fn it_is_the_one_of_the_release() {
        assert_eq!(checksum(b"123456789"), 0x6C40_DF5F_0B49_7347);
        assert_eq!(checksum(b""), 0);
    }

    #[test]
    fn any_byte_changes_it() {
        let bytes = [7; 1000];
        for index in [0, 1, 500, 999] {
            let mut other = bytes;
            other[index] ^= 1;
            assert_ne!(checksum(&other), checksum(&bytes), "byte {index}");
        }
    }
}
