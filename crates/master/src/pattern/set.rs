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

/// The names of the characters of ASCII. Mirrors `regex_traits::lookup_collatename`, whose names are those of POSIX.
#[rustfmt::skip]
const NAMES: [&str; 128] = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "alert", "backspace", "tab", "newline", "vertical-tab", "form-feed",
    "carriage-return", "SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "IS4", "IS3",
    "IS2", "IS1", "space", "exclamation-mark", "quotation-mark", "number-sign", "dollar-sign", "percent-sign", "ampersand",
    "apostrophe", "left-parenthesis", "right-parenthesis", "asterisk", "plus-sign", "comma", "hyphen", "period", "slash", "zero",
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "colon", "semicolon", "less-than-sign", "equals-sign",
    "greater-than-sign", "question-mark", "commercial-at", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O",
    "P", "Q", "R", "S", "T", "U", "V", "W", "X", "Y", "Z", "left-square-bracket", "backslash", "right-square-bracket", "circumflex",
    "underscore", "grave-accent", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
    "u", "v", "w", "x", "y", "z", "left-curly-bracket", "vertical-line", "right-curly-bracket", "tilde", "DEL",
];

/// The character of a name in a bracket expression.
pub(crate) fn named_byte(name: &[u8]) -> Option<u8> {
    let place = NAMES.iter().position(|known| known.as_bytes() == name)?;
    u8::try_from(place).ok()
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
