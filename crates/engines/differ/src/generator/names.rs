//! The texts that a history gives to its keys, segments, groups and patterns. Most histories have plain ones; others have texts of
//! the lengths around which strings and tables change, or texts that parsers, patterns and files like to trip over.

use super::draw::Draw;

/// Lengths in bytes around those at which a string moves to the heap (15, 22) or a length needs another byte (255), and long ones.
const LENGTHS: [usize; 20] = [
    8, 14, 15, 16, 17, 21, 22, 23, 24, 31, 32, 33, 63, 64, 127, 128, 255, 256, 257, 700,
];
/// What odd keys look like; `#` stands for their number.
const ODD_KEYS: [&str; 34] = [
    "k#\0",
    "\0k#",
    "k\0#",
    "\0k\0#",
    "ta\0k#",
    "k#\n",
    "\nk#",
    "k\r\n#",
    "\"k#\"",
    "k#\\",
    "'k#",
    "k#.*",
    "^k#$",
    "[k#]",
    "(k#",
    "k#|k",
    "k#+",
    "{k#}",
    "k\u{e4}#",
    "\u{4e2d}\u{6587}#",
    "\u{1f600}k#",
    " k # ",
    "\t#",
    "k#,k",
    "k#%00",
    "a/k#/b",
    "default/k#",
    "\u{7f}#",
    "\u{85}k#",
    "\u{2028}#\u{feff}",
    "k#:1",
    "K#",
    "#",
    "<k#>&amp;",
];
/// What odd segments are called; `#` stands for their number.
const ODD_SEGMENTS: [&str; 14] = [
    "10.0.0.#:12345",
    "[fe80::#]:17",
    "fe80::#%eth0:17",
    "host-#.example.com:12345",
    "n #",
    "n\u{e4}#",
    "\u{1f600}#",
    "n\"#\"",
    "n\\#",
    "n,#",
    "/n#/",
    "n#\n",
    "n\0#",
    "{n#}",
];
/// What odd groups are called.
const ODD_GROUPS: [&str; 10] = [
    "g",
    "g\0",
    "\0g",
    "g\n",
    "\u{e4}",
    "g,h",
    "0123456789abcde",
    "0123456789abcdef",
    "k1",
    " ",
];
/// Patterns, some of which do not compile.
const PATTERNS: [&str; 18] = [
    "^k", "k1", "k[0-3]$", "^k1?$", "(k2|k5)", "k\\d", ".*", "", "[", "(", "*", "k{2,1}", "^$", "k1.",
    "[^k]", "\\", "k\\d{3}$", "9.*9$",
];
/// Patterns about lengths, bytes and classes.
const ODD_PATTERNS: [&str; 30] = [
    "^.{15}$",
    "^.{16,22}$",
    "^.{23,}$",
    ".{255}",
    "^.{256}$",
    "^.$",
    "^.{3}$",
    "\\x00",
    "\\0",
    "[\\0]",
    "\0",
    "\n",
    "\\n",
    "\\s",
    "\\S$",
    "\\W",
    "\\bk",
    "k\\b",
    "\\u00e4",
    "\u{e4}",
    "[\u{e4}]",
    "[^\u{e4}]$",
    "[a-\u{e4}]",
    "[[:cntrl:]]",
    "[[:alpha:]]$",
    "(.)\\1",
    "^[^/]*$",
    "[[.NUL.]]",
    "\\cJ",
    "(?!k)^.",
];

/// What the names of a history are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A letter and a number.
    Plain,
    /// Plain ones made as long as one of the lengths.
    Long,
    /// Odd ones.
    Odd,
    /// Some of each.
    Any,
}

impl Style {
    /// Plain in so many of a hundred histories.
    pub(super) fn draw(draw: &mut Draw, plain: u64) -> Style {
        if draw.chance(plain) {
            return Style::Plain;
        }
        *draw.pick(&[Style::Long, Style::Odd, Style::Any])
    }

    /// Which of the definite ones it is this time.
    fn settle(self, draw: &mut Draw) -> Style {
        match self {
            Style::Any => *draw.pick(&[Style::Plain, Style::Long, Style::Odd]),
            definite => definite,
        }
    }

    /// A key with a number.
    pub(super) fn key(self, draw: &mut Draw, number: u64) -> String {
        self.name(draw, 'k', &ODD_KEYS, number)
    }

    /// A segment with a number.
    pub(super) fn segment(self, draw: &mut Draw, number: u64) -> String {
        self.name(draw, 'n', &ODD_SEGMENTS, number)
    }

    fn name(self, draw: &mut Draw, letter: char, odd: &[&str], number: u64) -> String {
        let plain = format!("{letter}{number}");
        match self.settle(draw) {
            Style::Long => lengthened(draw, plain),
            Style::Odd => filled(draw.pick::<&str>(odd), number),
            _ => plain,
        }
    }

    /// A group with a number.
    pub(super) fn group(self, draw: &mut Draw, number: u64) -> String {
        match self.settle(draw) {
            Style::Plain => format!("g{number}"),
            Style::Long => lengthened(draw, format!("g{number}")),
            _ => format!("{}{number}", draw.pick::<&str>(&ODD_GROUPS)),
        }
    }
}

fn filled(form: &str, number: u64) -> String {
    form.replace('#', &number.to_string())
}

/// As long as one of the lengths; the number stands at the start or at the end, so that two of them differ early or late.
fn lengthened(draw: &mut Draw, plain: String) -> String {
    let filler = "x".repeat(draw.pick(&LENGTHS).saturating_sub(plain.len()));
    if draw.chance(50) {
        plain + &filler
    } else {
        filler + &plain
    }
}

/// A pattern: one of a list, or one made of a key.
pub(super) fn pattern(draw: &mut Draw, style: Style, key: &str) -> String {
    let odd = style != Style::Plain;
    match draw.below(100) {
        0..=19 if odd => (*draw.pick(&ODD_PATTERNS)).to_owned(),
        20..=49 if odd => pattern_of(draw, key),
        0..=3 => (*draw.pick(&ODD_PATTERNS)).to_owned(),
        _ => (*draw.pick(&PATTERNS)).to_owned(),
    }
}

fn pattern_of(draw: &mut Draw, key: &str) -> String {
    let first = key.chars().next().unwrap_or('k');
    let last = key.chars().last().unwrap_or('k');
    match draw.below(8) {
        0 => key.to_owned(),
        1 => format!("^{key}$"),
        2 => escaped(key),
        3 => format!("^{first}"),
        4 => format!("{last}$"),
        5 => format!("[{first}{last}]"),
        6 => format!("^[^{last}]*$"),
        _ => format!("^.{{{}}}$", key.len()),
    }
}

/// Each sign of punctuation behind a backslash.
fn escaped(key: &str) -> String {
    let mut text = String::new();
    for letter in key.chars() {
        if letter.is_ascii_punctuation() {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}
