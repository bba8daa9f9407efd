//! What bytes are: which pattern they follow, run by run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A stretch of bytes that follow one pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The first byte, counted from the start of the buffer or object.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// The name of the pattern; `zero` for memory that nobody wrote, `unknown` for anything else.
    pub pattern: String,
}

/// The bytes of a buffer or object as runs, in order, without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content(pub Vec<Run>);

impl Content {
    /// Whether every byte follows `pattern`.
    pub fn is_all(&self, pattern: &str) -> bool {
        !self.0.is_empty() && self.0.iter().all(|run| run.pattern == pattern)
    }

    /// Several contents one behind the other, neighbours of one pattern as one run; none if there are none.
    pub fn joined<'a>(contents: impl IntoIterator<Item = &'a Content>) -> Option<Content> {
        let (mut runs, mut at): (Vec<Run>, u64) = (Vec::new(), 0);
        for content in contents {
            for run in &content.0 {
                let to = at + (run.to - run.from);
                match runs.last_mut() {
                    Some(last) if last.pattern == run.pattern => last.to = to,
                    _ => runs.push(Run {
                        from: at,
                        to,
                        pattern: run.pattern.clone(),
                    }),
                }
                at = to;
            }
        }
        (!runs.is_empty()).then_some(Content(runs))
    }

    /// The first run that does not follow `pattern`.
    pub fn first_other(&self, pattern: &str) -> Option<&Run> {
        self.0.iter().find(|run| run.pattern != pattern)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("no bytes"),
            [run] => write!(f, "all {} bytes are {}", run.to - run.from, run.pattern),
            runs => {
                for (index, run) in runs.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}[{}, {}) is {}", run.from, run.to, run.pattern)?;
                }
                Ok(())
            }
        }
    }
}
