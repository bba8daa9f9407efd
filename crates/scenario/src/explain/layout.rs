//! Lines of a page that is pleasant to read in a terminal.

/// The longest line, in characters.
const WIDTH: usize = 100;

/// A page under construction.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// A line as it is.
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// An empty line, unless one is there already.
    pub(super) fn gap(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A heading with a gap above it.
    pub(super) fn heading(&mut self, text: &str) {
        self.gap();
        self.line(text);
    }

    /// An indented paragraph; empty lines of the text begin another one.
    pub(super) fn paragraph(&mut self, text: &str) {
        for part in text.trim().split("\n\n") {
            self.item("  ", part);
        }
    }

    /// A paragraph with something in front of its first line.
    pub(super) fn item(&mut self, front: &str, text: &str) {
        let indent = " ".repeat(front.chars().count());
        let mut line = front.to_owned();
        let mut length = indent.len();
        let mut is_fresh = true;
        for word in text.split_whitespace() {
            let letters = word.chars().count();
            if !is_fresh && length + 1 + letters > WIDTH {
                self.line(&line);
                line.clone_from(&indent);
                length = indent.len();
                is_fresh = true;
            }
            if !is_fresh {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += letters;
            is_fresh = false;
        }
        self.line(&line);
    }

    /// The whole page.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list<T: AsRef<str>>(words: &[T], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [firsts @ .., end] => {
            let firsts: Vec<&str> = firsts.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", firsts.join(", "), end.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words_and_keep_their_indent() {
        let mut page = Page::default();
        page.item(" 1. ", &"word ".repeat(30));
        let text = page.finish();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].len() <= WIDTH && lines[1].starts_with("    word"));
        assert_eq!(list(&["a", "b", "c"], "or"), "a, b or c");
    }
}
