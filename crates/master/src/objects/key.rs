//! The key of an object, kept beside it: one miss of the cache less than behind a pointer.

use arrayvec::ArrayString;

/// Longest key that is kept in place, in bytes. Together with its length it fills what a short enumeration takes anyway.
const IN_PLACE: usize = 40;

/// A key.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    /// Up to 40 bytes.
    Short(ArrayString<IN_PLACE>),
    /// More.
    Long(Box<str>),
}

impl Key {
    /// The key as text.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Key::Short(key) => key,
            Key::Long(key) => key,
        }
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Key {
        ArrayString::from(key).map_or_else(|_| Key::Long(Box::from(key)), Key::Short)
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn keys_of_any_length_come_back() {
        for length in [0, 1, 39, 40, 41, 5_000] {
            let text = "k".repeat(length);
            let key = Key::from(text.as_str());
            assert_eq!(key.as_str(), text);
            assert_eq!(matches!(key, Key::Short(_)), length <= 40);
        }
        assert_eq!(size_of::<Key>(), 48);
    }
}
