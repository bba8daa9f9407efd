//! Text of users, peers and operating systems inside Markdown: it stays what it is and where it is.
//!
//! Everything here is safe in a table cell of GitHub's Markdown: no pipe, no line break, no HTML, no link, no emphasis
//! and no mention comes out of it.

use std::fmt::Write as _;

/// The most characters of one event that are shown in a cell; JSON has the rest.
pub(crate) const EVENT_CHARS: usize = 240;
/// The most characters of a claim.
pub(crate) const CLAIM_CHARS: usize = 600;
/// The most characters of a human column.
pub(crate) const PROSE_CHARS: usize = 2_000;
/// The most characters of a name or a heading.
pub(crate) const NAME_CHARS: usize = 120;

/// Text of an event: exact, line breaks and control characters are made visible.
pub(crate) fn inline(text: &str) -> String {
    escape(&shorten(text, EVENT_CHARS))
}

/// A claim: exact like the text of an event, and longer.
pub(crate) fn sentence(text: &str) -> String {
    escape(&shorten(text, CLAIM_CHARS))
}

/// Text for people: line breaks and runs of blanks become one blank.
pub(crate) fn prose(text: &str) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    escape(&shorten(&flat.join(" "), PROSE_CHARS))
}

/// Text for people that starts a block: what would open a heading, list or quote there is escaped.
pub(crate) fn block(text: &str) -> String {
    opening(prose(text))
}

/// A claim that starts a block.
pub(crate) fn block_sentence(text: &str) -> String {
    opening(sentence(text).trim_start().to_owned())
}

/// Markdown without its power to open a heading, a list, a quote or a code block at the start of a line.
fn opening(text: String) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match text.as_bytes().get(digits) {
        Some(b'.' | b')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        Some(b'#' | b'-' | b'+' | b'=') if digits == 0 => format!("\\{text}"),
        _ => text,
    }
}

/// A name or a value in monospace.
pub(crate) fn code(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _.,:;/+-=()[{}?!%#^'\"".contains(c);
    if text.is_empty() {
        return String::new();
    }
    let text = shorten(text, NAME_CHARS);
    if text.chars().all(plain) && text.trim() == text {
        format!("`{text}`")
    } else {
        format!("<code>{}</code>", escape(&text))
    }
}

/// At most `max_chars` characters, and how many are left out.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => {
            let rest = text[end..].chars().count();
            format!("{}… (+{rest} characters)", &text[..end])
        }
    }
}

/// Where a reference leads, if it is plainly `owner/repo#n` or an `https` address.
pub(crate) fn target(see: &str) -> Option<String> {
    let plain = |text: &str, more: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    if let Some(rest) = see.strip_prefix("https://") {
        return plain(rest, "-._~/#?=&%+:").then(|| see.to_owned());
    }
    let (repository, number) = see.split_once('#')?;
    let (owner, name) = repository.split_once('/')?;
    let is_issue = plain(owner, "-")
        && plain(name, "-._")
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit());
    is_issue.then(|| format!("https://github.com/{repository}/issues/{number}"))
}

fn escape(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    for (index, &c) in chars.iter().enumerate() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '|' => out += "&#124;",
            '@' => out += "&#64;",
            '\\' | '`' | '*' | '~' | '$' | ']' => {
                out.push('\\');
                out.push(c);
            }
            '_' => {
                let word = |at: Option<&char>| at.is_some_and(|c| c.is_alphanumeric());
                let before = index.checked_sub(1).and_then(|before| chars.get(before));
                if !(word(before) && word(chars.get(index + 1))) {
                    out.push('\\');
                }
                out.push('_');
            }
            '\n' => out.push('⏎'),
            '\t' => out.push('⇥'),
            c if is_invisible(c) => {
                let _infallible = write!(out, "\\\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Characters that a reader cannot see, or that turn the direction of the text around them.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_markdown_is_shown_as_it_is() {
        assert_eq!(inline("a|b\nc"), "a&#124;b⏎c");
        assert_eq!(inline("<script>&`"), "&lt;script&gt;&amp;\\`");
        assert_eq!(inline("[x](y) **b** @you"), "[x\\](y) \\*\\*b\\*\\* &#64;you");
        assert_eq!(inline("OBJECT_HAS_LEASE _x_"), "OBJECT_HAS_LEASE \\_x\\_");
        assert_eq!(inline("__x__ a__b"), "\\_\\_x\\_\\_ a\\_\\_b");
        assert_eq!(inline("n1[0, 10)"), "n1[0, 10)");
        assert_eq!(inline("\u{202e}\0"), "\\\\u{202e}\\\\u{0}");
    }

    #[test]
    fn prose_is_one_line_and_opens_no_block() {
        assert_eq!(prose("  a\n\n b  "), "a b");
        assert_eq!(block("# a"), "\\# a");
        assert_eq!(block("12. a"), "12\\. a");
        assert_eq!(block("30 s"), "30 s");
        assert_eq!(block("- a"), "\\- a");
        assert_eq!(block("> a"), "&gt; a");
    }

    #[test]
    fn code_never_ends_early() {
        assert_eq!(code("client.put.end_sent"), "`client.put.end_sent`");
        assert_eq!(code("a`b"), "<code>a\\`b</code>");
        assert_eq!(code("a|b"), "<code>a&#124;b</code>");
        assert_eq!(code(""), "");
    }

    #[test]
    fn long_text_is_cut_between_characters_and_says_so() {
        assert_eq!(shorten("ääää", 2), "ää… (+2 characters)");
        assert_eq!(shorten("ää", 2), "ää");
    }
}
