//! Whose bytes lie in a buffer: at each place the bytes of different writers differ, so each byte tells.

/// Who has written a byte. Its number is what the byte is xored with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Whose {
    /// The operation that failed.
    Failed = 0x00,
    /// The caller of that operation, after it was told of the failure.
    Caller = 0x55,
    /// Another client's object.
    Other = 0xAA,
}

impl Whose {
    /// That many bytes of it, from the begin of a buffer.
    pub(super) fn bytes(self, length: u64) -> Vec<u8> {
        let byte = |at: u64| at.wrapping_mul(31) ^ (at >> 8) ^ (at >> 17);
        (0..length)
            .map(|at| byte(at).to_le_bytes()[0] ^ self as u8)
            .collect()
    }
}

/// What lies in a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    /// Bytes of the operation that failed.
    pub(super) failed: u64,
    /// Bytes that the caller wrote afterwards.
    pub(super) caller: u64,
    /// Bytes of the other object.
    pub(super) other: u64,
    /// Bytes of nobody.
    pub(super) unknown: u64,
    /// Ranges of bytes, `[from, to)`, that are not of whom they should be.
    pub(super) wrong: Vec<(u64, u64)>,
}

impl Census {
    /// Looks at a buffer all of whose bytes should be of `owner`.
    pub(super) fn of(bytes: &[u8], owner: Whose) -> Census {
        let mut census = Census::default();
        let base = Whose::Failed.bytes(bytes.len() as u64);
        for (at, (byte, base)) in (0..).zip(bytes.iter().zip(base)) {
            let mark = byte ^ base;
            let count = match mark {
                0x00 => &mut census.failed,
                0x55 => &mut census.caller,
                0xAA => &mut census.other,
                _ => &mut census.unknown,
            };
            *count += 1;
            if mark == owner as u8 {
                continue;
            }
            match census.wrong.last_mut() {
                Some((_, to)) if *to == at => *to += 1,
                _ => census.wrong.push((at, at + 1)),
            }
        }
        census
    }

    /// How many bytes are not of whom they should be.
    pub(super) fn wrong_bytes(&self) -> u64 {
        self.wrong.iter().map(|(from, to)| to - from).sum()
    }

    /// The ranges in words.
    pub(super) fn places(&self) -> String {
        const SHOWN: usize = 8;
        let shown: Vec<String> = self
            .wrong
            .iter()
            .take(SHOWN)
            .map(|(from, to)| format!("[{from}, {to})"))
            .collect();
        let more = self.wrong.len().saturating_sub(SHOWN);
        let more = if more > 0 {
            format!(" and {more} more ranges")
        } else {
            String::new()
        };
        format!("{}{more}", shown.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_tells_whose_it_is() {
        let mut bytes = Whose::Caller.bytes(1_000);
        assert_eq!(Census::of(&bytes, Whose::Caller).wrong_bytes(), 0);
        bytes[10..20].copy_from_slice(&Whose::Failed.bytes(1_000)[10..20]);
        bytes[500..501].copy_from_slice(&Whose::Other.bytes(1_000)[500..501]);
        bytes[999] ^= 1;
        let census = Census::of(&bytes, Whose::Caller);
        assert_eq!((census.failed, census.other, census.unknown), (10, 1, 1));
        assert_eq!(census.caller, 988);
        assert_eq!(census.places(), "[10, 20) [500, 501) [999, 1000)");
        assert_eq!(census.wrong_bytes(), 12);
    }
}
