//! Patterns: which are refused, and which keys they find.

use super::twin::{MIB, Twin};
use moonquake_protocol::{ReplicateConfig, Request, Response};
use proptest::prelude::*;
use proptest::sample::select;

/// How many patterns are made at random.
const PATTERNS: usize = 6_000;

/// Short, because the real master searches some patterns in exponential time.
const KEYS: [&str; 22] = [
    "a",
    "b",
    "ab",
    "aab",
    "aabb",
    "abab",
    "key_1",
    "key_12",
    "obj/key",
    "a b",
    "line\nbreak",
    "cr\rlf",
    "A-Z",
    "[x]",
    "ab\\c",
    "0001",
    "k_\u{e9}",
    "\u{4e16}",
    "a.b",
    "x{2}",
    "tab\t",
    "nul\0nul",
];

/// Every kind of thing that the library has, and things that it does not have.
#[rustfmt::skip]
const CORPUS: &[&str] = &[
    "", ".", "^", "$", "^$", "a|b", "|", "a||b", "()", "(|a)", "(?:a|b)+", "(a", "a)", "[", "]", "[]", "[^]", "[]a]", "[^]a]", "[a-", "[a-]",
    "[-a]", "[b-a]", "[a-c-e]", "[a-\\d]", "[\\d-a]", "[[:alpha:]]", "[[:digit:]]+", "[[:ALPHA:]]", "[[:word:]]", "[[:d:]]", "[[:w:]]", "[[:s:]]",
    "[[:nope:]]", "[[:alpha:", "[[.a.]]", "[[.space.]]", "[[.hyphen.]]", "[[.nope.]]", "[[=a=]]", "[[=ab=]]", "[[.a.]-c]", "[[:alpha:]-z]", "[:alpha:]",
    "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "[\\d]", "[^\\D]", "[\\w-]", "\\b", "\\B", "\\ba", "a\\b", "\\Bb", "[\\b]", "\\bkey\\b", "^key", "y$",
    "^break", "line$", "line.break", "line[^]break", "line\\nbreak", "cr.lf", "\\t", "\\r", "\\v", "\\f", "\\0", "nul\\0nul", "\\x41", "\\x4", "\\xg1",
    "\\u0041", "\\u004", "\\u00e9", "\\u4e16", "\\cA", "\\ca", "\\c1", "\\c", "\\", "\\.", "\\-", "\\/", "\\a", "\\z", "\\_", "\\{", "\\}", "a{2}",
    "a{2,}", "a{0,1}b", "a{2,1}", "a{,2}", "a{", "a{x}", "a{1", "{2}", "x{2}", "x\\{2\\}", "}", "a}", "*", "+", "?", "*a", "a**", "a+*", "a*?", "a+?",
    "a??", "a{1,2}?", "a?*", "^*", "$+", "\\b*", "(?=a)", "(?!a)", "(?=a)*", "a(?=b)", "a(?!b)", "(?=a)b", "(?:)", "(?<=a)b", "(?<n>a)", "(?i)A", "(?#c)",
    "(?a)", "(?", "(?:", "(?=", "(a)\\1", "(a)\\2", "\\1", "(a\\1)", "\\1(a)", "(a)|\\1", "(?:(a)|b)\\1", "(a|(b))+\\2", "(.)\\1", "(.)(.)\\2\\1",
    "(.)(.)\\1\\2", "([ab])\\12", "(a)\\01", "[\\1]", "(0)\\1\\1", "^(.*)(.)\\2", "(?=(a))\\1", "(?!(a))\\1", "(?=(a*))\\1b", "(?=(a*?))\\1b", "(a*)*\\1b",
    "a(?=^b)", "a(?=\\bb)", "a(?=\\Bb)", "(?=b$)", "(?!^)", "(?!$)", "a(?!^)", "((a)b)\\2", "((a)b)\\1", "(a)?\\1b", "(a){0}\\1", "(a){2}\\1", "(a)\\1{2}",
    "(?:(?=(a))x|\\1b)", "(?:(?!(a))x|\\1b)", "^(?:(?=(a))|\\1b)*$", "^(?:(?=(a))|(?=\\1(a))|\\1\\2b)*$", "^(?:(?=(?=(a)))x|\\1a)",
    "^(?:(?!(?!(a)))x|\\1a)", "^((?=(a))x|\\2)ab", "(?:(?=(a)(b))x|a\\2)", "(?:(?=(?:(k)|(o)))x|\\1e|\\2b)",
    "\u{e9}", "[\u{e9}]", "k_[\u{e9}]$", "k_..$", "k_.$", "\u{4e16}+", "[\u{4e00}-\u{4fff}]", "\\\u{e9}", "\\w$", "a{100000}", "a{100001}", "a{99999999999999999999}",
    "(a{50}){50}", "((a{100}){100}){100}", "a{65536}", "[a-z]{1000}", "(?:a|ab)(?:c|bcd)", "key_(1|12)$", "\n", "nul\0nul", "[\0]", "\\\0", "\\\n", "a\\", "[\\",
    "[a\\]", "(?:a|b", "(((((((((a)))))))))\\9", "((((((((((a))))))))))\\10", "^^a", "a$$", "(^a)", "(a$)", "[^a", "[a-a]", "[--a]", "[a--]", "[+--]", "[.]", "[*+?{}()|$]",
];

/// How often may be what stands between these, at most: the library counts states, those included that it uses no more.
#[rustfmt::skip]
const BOUNDS: &[(&str, usize, &str)] = &[
    ("a{", 99_993, "}"), ("a{", 99_993, "}?"), ("a{", 99_992, ",}"), ("a{", 33_329, "}{2}"), ("a{0,", 49_996, "}"), ("a{3,", 49_998, "}"),
    ("(a){", 24_997, "}"), ("(?:a|b){", 14_283, "}"), ("(a|b|c){", 8_331, "}"), ("(?:(?=a)b){", 14_283, "}"),
    ("(?:(?!a|bc)b){", 8_331, "}"), ("(?:a*){", 24_997, "}"), ("(?:a+?b?){", 14_283, "}"), ("(?:a{2}){", 16_664, "}"),
    ("(?:a{1,}){", 16_664, "}"), ("(?:a{1,3}b{0}){", 9_089, "}"), ("[ab]\\d{", 99_990, "}^$"), ("(?:(?:a*)+){", 14_283, "}"),
    ("(?:(?:a|b)*c){0,", 8_331, "}x|y"), ("()|(?:ab){", 24_996, "}"),
];

impl Twin {
    /// Whether both masters take a pattern.
    fn takes(&mut self, pattern: &str) -> bool {
        let answer = self.call(&Request::GetReplicaListByRegex {
            regex: pattern.to_owned(),
            tenant_id: String::new(),
        });
        matches!(answer, Response::GetReplicaListByRegex(Ok(_)))
    }

    fn find(&mut self, pattern: &str) -> bool {
        let found = self.call(&Request::GetReplicaListByRegex {
            regex: pattern.to_owned(),
            tenant_id: String::new(),
        });
        matches!(found, Response::GetReplicaListByRegex(Ok(found)) if !found.is_empty())
    }
}

fn with_keys() -> Twin {
    let mut twin = Twin::start([]);
    assert_eq!(twin.mount(0, 64 * MIB, super::twin::owner(0)), 0);
    for key in KEYS {
        assert_eq!(twin.put(key, 1_000, &ReplicateConfig::default()), 0);
    }
    twin
}

pub(crate) fn corpus() {
    let mut twin = with_keys();
    let found = CORPUS.iter().filter(|pattern| twin.find(pattern)).count();
    assert!(found > 100 && found < CORPUS.len(), "{found} of {}", CORPUS.len());
}

/// Nothing empty is repeated, since the library's time goes with the square of a chain of nothing (17 s for 49,996). No
/// key is looked at: it searches by recursion, and some of these would exhaust its stack.
pub(crate) fn bounds() {
    let mut twin = Twin::start([]);
    for (before, most, after) in BOUNDS {
        for (times, fits) in [(*most, true), (most + 1, false)] {
            let pattern = format!("{before}{times}{after}");
            assert_eq!(twin.takes(&pattern), fits, "{pattern}");
        }
    }
    assert!(twin.takes(&"a".repeat(99_996)));
    assert!(!twin.takes(&"a".repeat(99_997)));
}

/// A pattern of a few pieces, most of which fit together.
fn pattern() -> impl Strategy<Value = String> {
    let atom = select(
        &[
            "a",
            "b",
            "ab",
            ".",
            "\\w",
            "\\d",
            "[ab]",
            "[^a]",
            "[[:alpha:]]",
            "(a)",
            "(b|a)",
            "(?:ab)",
            "(.)",
            "\\1",
            "\\2",
            "^",
            "$",
            "\\b",
            "\\B",
            "(?=a)",
            "(?!b)",
            "(?=(.))",
            "key",
            "_",
            "0",
            "\\n",
            "\u{e9}",
            "(",
            ")",
            "[",
            "]",
            "|",
            "\\",
            "-",
            "()",
            "(a*)",
        ][..],
    );
    let quantifier = prop_oneof![
        6 => Just(""),
        4 => select(&["*", "+", "?", "*?", "+?", "??", "{2}", "{0,1}", "{1,}", "{0}", "{2,1}", "{"][..]),
    ];
    prop::collection::vec((atom, quantifier), 1..6).prop_map(|pieces| {
        pieces
            .into_iter()
            .flat_map(|(atom, times)| [atom, times])
            .collect()
    })
}

pub(crate) fn at_random() {
    let mut twin = with_keys();
    let mut found = 0;
    for _ in 0..PATTERNS {
        let pattern = twin.draw(&pattern());
        found += usize::from(twin.find(&pattern));
    }
    assert!(
        found > PATTERNS / 20,
        "{found} of {PATTERNS} patterns find something"
    );
}
