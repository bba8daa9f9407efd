//! Other text of the same length in an answer, such as the endpoint of a relay for that of an owner.

/// Why two texts cannot stand for each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubstitutionError {
    /// Lengths are part of the encoding, so they must stay.
    #[error("{from} bytes cannot be replaced with {to}: both must be equally long")]
    Length {
        /// Bytes that are looked for.
        from: usize,
        /// Bytes that would come in their place.
        to: usize,
    },
    /// Nothing to look for.
    #[error("an empty text cannot be replaced")]
    Empty,
}

/// Bytes that come in the place of others, in the body of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Substitution {
    /// `to` in the place of each `from`.
    ///
    /// # Errors
    /// [`SubstitutionError`]: the lengths differ, or there is nothing to look for.
    pub fn new(from: impl Into<Vec<u8>>, to: impl Into<Vec<u8>>) -> Result<Substitution, SubstitutionError> {
        let (from, to) = (from.into(), to.into());
        if from.is_empty() {
            return Err(SubstitutionError::Empty);
        }
        if from.len() != to.len() {
            let (from, to) = (from.len(), to.len());
            return Err(SubstitutionError::Length { from, to });
        }
        Ok(Substitution { from, to })
    }

    /// What is looked for.
    pub fn from(&self) -> &[u8] {
        &self.from
    }

    /// What comes in its place.
    pub fn to(&self) -> &[u8] {
        &self.to
    }
}

/// Replaces in one pass, so that what was put in is not replaced again. An occurrence counts only if no digit follows:
/// port 1561 is not the beginning of port 15613.
pub(super) fn substitute(bytes: &mut [u8], substitutions: &[Substitution]) {
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let found = substitutions.iter().find(|one| {
            rest.starts_with(&one.from) && !rest.get(one.from.len()).is_some_and(u8::is_ascii_digit)
        });
        match found {
            Some(one) => {
                let end = at + one.to.len();
                bytes[at..end].copy_from_slice(&one.to);
                at = end;
            }
            None => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Substitution, SubstitutionError, substitute};

    fn one(from: &str, to: &str) -> Substitution {
        Substitution::new(from, to).unwrap()
    }

    fn after(text: &str, substitutions: &[Substitution]) -> String {
        let mut bytes = text.as_bytes().to_vec();
        substitute(&mut bytes, substitutions);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_digit_behind_it_makes_it_another_port() {
        let all = [one("h:1561", "h:9999")];
        for (text, expected) in [
            ("h:1561", "h:9999"),
            ("h:15613", "h:15613"),
            ("h:1561h:1561 h:15610", "h:9999h:9999 h:15610"),
            ("h:156", "h:156"),
            ("", ""),
        ] {
            assert_eq!(after(text, &all), expected);
        }
    }

    #[test]
    fn what_was_put_in_stays() {
        assert_eq!(after("ab ba", &[one("a", "b"), one("b", "a")]), "ba ab");
        assert_eq!(after("aaa", &[one("aa", "xa")]), "xaa");
    }

    #[test]
    fn lengths_stay() {
        let unequal = Substitution::new("127.0.0.1:9999", "127.0.0.1:45231");
        assert_eq!(unequal, Err(SubstitutionError::Length { from: 14, to: 15 }));
        assert_eq!(Substitution::new("", ""), Err(SubstitutionError::Empty));
    }
}
