//! Sets of bytes, and the classes that patterns name.

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteSet([u64; 4]);

impl ByteSet {
    /// The bytes for which something holds.
    pub(crate) fn of(holds: impl Fn(u8) -> bool) -> ByteSet {
        let mut set = ByteSet::default();
        (0..=u8::MAX)
            .filter(|byte| holds(*byte))
            .for_each(|byte| set.insert(byte));
        set
    }

    pub(crate) fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte) / 64] |= 1 << (byte % 64);
    }

    pub(crate) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte) / 64] & (1 << (byte % 64)) != 0
    }

    pub(crate) fn union(&mut self, other: ByteSet) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(word, more)| *word |= more);
    }

    pub(crate) fn complement(self) -> ByteSet {
        ByteSet(self.0.map(|word| !word))
    }
}

/// Whether a byte counts as part of a word.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}

/// The class of an escape such as `\d`.
pub(crate) fn escaped_class(letter: u8) -> Option<ByteSet> {
    let class = match letter.to_ascii_lowercase() {
        b'd' => ByteSet::of(|byte| byte.is_ascii_digit()),
        b's' => ByteSet::of(is_space),
        b'w' => ByteSet::of(is_word),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() {
        class.complement()
    } else {
        class
    })
}

/// The class of a name such as `[:alpha:]`, in the C locale.
pub(crate) fn named_class(name: &[u8]) -> Option<ByteSet> {
    Some(ByteSet::of(match name {
        b"alnum" => |byte: u8| byte.is_ascii_alphanumeric(),
        b"alpha" => |byte: u8| byte.is_ascii_alphabetic(),
        b"blank" => |byte: u8| byte == b' ' || byte == b'\t',
        b"cntrl" => |byte: u8| byte.is_ascii_control(),
        b"digit" | b"d" => |byte: u8| byte.is_ascii_digit(),
        b"graph" => |byte: u8| byte.is_ascii_graphic(),
        b"lower" => |byte: u8| byte.is_ascii_lowercase(),
        b"print" => |byte: u8| byte.is_ascii_graphic() || byte == b' ',
        b"punct" => |byte: u8| byte.is_ascii_punctuation(),
        b"space" | b"s" => is_space,
        b"upper" => |byte: u8| byte.is_ascii_uppercase(),
        b"xdigit" => |byte: u8| byte.is_ascii_hexdigit(),
        b"w" => is_word,
        _ => return None,
    }))
}
