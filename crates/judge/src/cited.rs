//! A statement that names the events it rests on.

use moonquake_evidence::EventId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A statement with at least one event id. There is no way to make one without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub struct Cited {
    text: String,
    ids: Vec<EventId>,
}

impl Cited {
    /// The statement `text`, shown by the event `first`.
    pub fn new(text: impl Into<String>, first: EventId) -> Cited {
        Cited {
            text: text.into(),
            ids: vec![first],
        }
    }

    /// The same statement, shown by one more event.
    #[must_use]
    pub fn and(mut self, id: EventId) -> Cited {
        if !self.ids.contains(&id) {
            self.ids.push(id);
        }
        self
    }

    /// The same statement, shown by further events.
    #[must_use]
    pub fn and_all(self, ids: impl IntoIterator<Item = EventId>) -> Cited {
        ids.into_iter().fold(self, Cited::and)
    }

    /// The statement in words, without the ids.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The events that show it; never empty.
    pub fn ids(&self) -> &[EventId] {
        &self.ids
    }
}

/// Prints the statement and, in brackets, its events: `w1 is killed (e7, e9)`.
impl fmt::Display for Cited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.text)?;
        for (index, id) in self.ids.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{id}")?;
        }
        f.write_str(")")
    }
}

/// The form on disk, where the list could be empty.
#[derive(Serialize, Deserialize)]
struct Plain {
    text: String,
    ids: Vec<EventId>,
}

impl From<Cited> for Plain {
    fn from(cited: Cited) -> Plain {
        Plain {
            text: cited.text,
            ids: cited.ids,
        }
    }
}

impl TryFrom<Plain> for Cited {
    type Error = String;
    fn try_from(plain: Plain) -> Result<Cited, String> {
        let mut ids = plain.ids.into_iter();
        match ids.next() {
            Some(first) => Ok(Cited::new(plain.text, first).and_all(ids)),
            None => Err(format!("the statement {:?} cites no event", plain.text)),
        }
    }
}
