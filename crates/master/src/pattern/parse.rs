//! From the text of a pattern to its parts.

use super::PatternError;
use super::set::{ByteSet, escaped_class, named_byte, named_class};

/// Deepest nesting of groups, and most quantifiers behind one part.
const MAX_DEPTH: usize = 200;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// One byte of a set.
    One(ByteSet),
    /// All of these, one after the other.
    Sequence(Vec<Part>),
    /// Any of these.
    Either(Vec<Part>),
    /// At least so often, and at most so often if that is bounded.
    Repeat(Box<Part>, Counts),
    /// A group that can be referred back to, by its number less one.
    Group(Box<Part>, usize),
    /// The same bytes as the group of that number less one took last.
    Back(usize),
    /// The begin of the key.
    Begin,
    /// The end of the key.
    End,
    /// Where a word begins or ends, or (false) where none does.
    Boundary(bool),
    /// What follows matches, or (false) does not.
    Ahead(Box<Part>, bool),
}

/// How often something is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// At least so often.
    pub(crate) least: usize,
    /// At most so often, if that is bounded.
    pub(crate) most: Option<usize>,
    /// Whether fewer rounds are tried first.
    pub(crate) lazy: bool,
    /// Whether the numbers are written in braces, for which the library needs other states.
    pub(crate) by_numbers: bool,
}

struct Parser<'a> {
    text: &'a [u8],
    next: usize,
    depth: usize,
    groups: usize,
    /// The groups whose end has not come yet.
    open: Vec<usize>,
}

/// Parses a whole pattern.
pub(crate) fn parse(text: &str) -> Result<Part, PatternError> {
    let mut parser = Parser {
        text: text.as_bytes(),
        next: 0,
        depth: 0,
        groups: 0,
        open: Vec::new(),
    };
    let part = parser.either()?;
    // Whatever no rule took, such as a star with nothing before it, is an error.
    if parser.next == parser.text.len() {
        Ok(part)
    } else {
        Err(PatternError::Invalid)
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.next).copied()
    }

    fn take(&mut self) -> Result<u8, PatternError> {
        let byte = self.peek().ok_or(PatternError::Invalid)?;
        self.next += 1;
        Ok(byte)
    }

    fn takes(&mut self, expected: &str) -> bool {
        let found = self.text[self.next..].starts_with(expected.as_bytes());
        self.next += if found { expected.len() } else { 0 };
        found
    }

    fn either(&mut self) -> Result<Part, PatternError> {
        let mut branches = vec![self.sequence()?];
        while self.takes("|") {
            branches.push(self.sequence()?);
        }
        Ok(Part::Either(branches))
    }

    fn sequence(&mut self) -> Result<Part, PatternError> {
        let mut parts = Vec::new();
        while let Some(byte) = self.peek() {
            if let Some(assertion) = self.assertion()? {
                parts.push(assertion);
            } else if matches!(byte, b'|' | b')' | b'*' | b'+' | b'?' | b'{') {
                break;
            } else {
                let atom = self.atom()?;
                parts.push(self.repeated(atom)?);
            }
        }
        Ok(Part::Sequence(parts))
    }

    fn assertion(&mut self) -> Result<Option<Part>, PatternError> {
        Ok(Some(if self.takes("^") {
            Part::Begin
        } else if self.takes("$") {
            Part::End
        } else if self.takes("\\b") {
            Part::Boundary(true)
        } else if self.takes("\\B") {
            Part::Boundary(false)
        } else if self.takes("(?=") {
            Part::Ahead(Box::new(self.group()?), true)
        } else if self.takes("(?!") {
            Part::Ahead(Box::new(self.group()?), false)
        } else {
            return Ok(None);
        }))
    }

    /// The rest of a group, its opening already taken.
    fn group(&mut self) -> Result<Part, PatternError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(PatternError::Invalid);
        }
        let part = self.either()?;
        self.depth -= 1;
        if self.takes(")") {
            Ok(part)
        } else {
            Err(PatternError::Invalid)
        }
    }

    fn atom(&mut self) -> Result<Part, PatternError> {
        match self.take()? {
            b'.' => Ok(Part::One(ByteSet::of(|byte| byte != b'\n' && byte != b'\r'))),
            b'(' => {
                if self.takes("?:") {
                    return Ok(Part::Sequence(vec![self.group()?]));
                }
                if self.peek() == Some(b'?') {
                    return Err(PatternError::Invalid);
                }
                let number = self.groups;
                self.groups += 1;
                self.open.push(number);
                let part = self.group()?;
                self.open.pop();
                Ok(Part::Group(Box::new(part), number))
            }
            b'[' => self.bracket(),
            b'\\' => match self.peek() {
                Some(letter) if escaped_class(letter).is_some() => {
                    self.next += 1;
                    Ok(Part::One(escaped_class(letter).unwrap_or_default()))
                }
                Some(b'1'..=b'9') => self.back_reference(),
                _ => self.escaped(false).map(single),
            },
            byte => Ok(single(byte)),
        }
    }

    /// A reference to a group, which must have ended before.
    fn back_reference(&mut self) -> Result<Part, PatternError> {
        let group = self.number()?.checked_sub(1).ok_or(PatternError::Invalid)?;
        if group >= self.groups || self.open.contains(&group) {
            return Err(PatternError::Invalid);
        }
        Ok(Part::Back(group))
    }

    /// The byte that an escape stands for, the backslash already taken.
    fn escaped(&mut self, in_bracket: bool) -> Result<u8, PatternError> {
        match self.take()? {
            b'0' => Ok(0),
            b'b' if in_bracket => Ok(8),
            // A reference to a group and the end of no word, which cannot stand here.
            b'1'..=b'9' | b'B' if in_bracket => Err(PatternError::Invalid),
            b'f' => Ok(0x0C),
            b'n' => Ok(b'\n'),
            b'r' => Ok(b'\r'),
            b't' => Ok(b'\t'),
            b'v' => Ok(0x0B),
            // The library takes the letter of a control escape for itself.
            b'c' => self.take(),
            b'x' => self.hex(2),
            b'u' => self.hex(4),
            other => Ok(other),
        }
    }

    fn hex(&mut self, digits: usize) -> Result<u8, PatternError> {
        let mut value = 0_u32;
        for _ in 0..digits {
            let digit = char::from(self.take()?)
                .to_digit(16)
                .ok_or(PatternError::Invalid)?;
            value = value << 4 | digit;
        }
        // A key is a string of bytes; of a larger code the library takes the last one.
        Ok(value as u8)
    }

    /// The quantifiers behind an atom.
    fn repeated(&mut self, mut part: Part) -> Result<Part, PatternError> {
        for _ in 0..=MAX_DEPTH {
            let by_numbers = self.peek() == Some(b'{');
            let (least, most) = match self.peek() {
                Some(b'*') => (0, None),
                Some(b'+') => (1, None),
                Some(b'?') => (0, Some(1)),
                Some(b'{') => {
                    self.next += 1;
                    self.counts()?
                }
                _ => return Ok(part),
            };
            // The last byte of the quantifier, and the mark of a lazy one.
            self.next += 1;
            let lazy = self.takes("?");
            let counts = Counts {
                least,
                most,
                lazy,
                by_numbers,
            };
            part = Part::Repeat(Box::new(part), counts);
        }
        Err(PatternError::Invalid)
    }

    /// The numbers of `{n}`, `{n,}` or `{n,m}`, up to the closing brace.
    fn counts(&mut self) -> Result<(usize, Option<usize>), PatternError> {
        let least = self.number()?;
        let most = if !self.takes(",") {
            Some(least)
        } else if self.peek() == Some(b'}') {
            None
        } else {
            Some(self.number()?)
        };
        let ordered = most.is_none_or(|most| least <= most);
        if ordered && self.peek() == Some(b'}') {
            Ok((least, most))
        } else {
            Err(PatternError::Invalid)
        }
    }

    fn number(&mut self) -> Result<usize, PatternError> {
        let digits = self.text[self.next..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let text = std::str::from_utf8(&self.text[self.next..self.next + digits]).unwrap_or_default();
        self.next += digits;
        text.parse().map_err(|_| PatternError::Invalid)
    }

    /// The rest of a bracket expression. An empty one matches nothing, `[^]` everything.
    fn bracket(&mut self) -> Result<Part, PatternError> {
        let negated = self.takes("^");
        let mut set = ByteSet::default();
        while !self.takes("]") {
            let item = self.bracket_item(&mut set)?;
            let ranges =
                self.peek() == Some(b'-') && self.text.get(self.next + 1).is_some_and(|byte| *byte != b']');
            let Some(first) = item else {
                // A class cannot begin a range.
                if ranges {
                    return Err(PatternError::Invalid);
                }
                continue;
            };
            if !ranges {
                set.insert(first);
                continue;
            }
            self.next += 1;
            let last = self.bracket_item(&mut set)?.ok_or(PatternError::Invalid)?;
            // The library's bytes have a sign: those beyond ASCII come before it.
            let (first, last) = (first.cast_signed(), last.cast_signed());
            if first > last {
                return Err(PatternError::Invalid);
            }
            (first..=last).for_each(|byte| set.insert(byte.cast_unsigned()));
        }
        Ok(Part::One(if negated { set.complement() } else { set }))
    }

    /// One byte of a bracket expression, or nothing if it was a class that is now in the set.
    fn bracket_item(&mut self, set: &mut ByteSet) -> Result<Option<u8>, PatternError> {
        for (open, close) in [("[:", ":]"), ("[=", "=]"), ("[.", ".]")] {
            if self.takes(open) {
                let name = self.until(close)?;
                return match (open, name) {
                    ("[:", name) => {
                        set.union(named_class(&name.to_ascii_lowercase()).ok_or(PatternError::Invalid)?);
                        Ok(None)
                    }
                    ("[=", name) => {
                        // Equivalent are the two cases of a letter, in the locale of a server.
                        let byte = named_byte(name).ok_or(PatternError::Invalid)?;
                        set.insert(byte.to_ascii_lowercase());
                        set.insert(byte.to_ascii_uppercase());
                        Ok(None)
                    }
                    ("[.", name) => named_byte(name).map(Some).ok_or(PatternError::Invalid),
                    _ => Err(PatternError::Invalid),
                };
            }
        }
        match self.take()? {
            b'\\' => match self.peek().and_then(escaped_class) {
                Some(class) => {
                    self.next += 1;
                    set.union(class);
                    Ok(None)
                }
                None => self.escaped(true).map(Some),
            },
            byte => Ok(Some(byte)),
        }
    }

    fn until(&mut self, close: &str) -> Result<&[u8], PatternError> {
        let rest = &self.text[self.next..];
        let length = rest
            .windows(2)
            .position(|pair| pair == close.as_bytes())
            .ok_or(PatternError::Invalid)?;
        self.next += length + close.len();
        Ok(&rest[..length])
    }
}

fn single(byte: u8) -> Part {
    Part::One(ByteSet::of(|other| other == byte))
}
