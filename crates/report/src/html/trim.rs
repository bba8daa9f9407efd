//! What a page leaves out so that it stays small enough to forward, whatever the run was.

use maud::{Markup, html};
use moonquake_evidence::EventId;
use std::collections::BTreeSet;

/// A page has fewer bytes than this.
pub(super) const LIMIT: usize = 300_000;

/// A page that leaves something out has no more than this.
pub(super) const ROOM: usize = 290_000;

/// A picture in which more owners have bytes is longer than a page, as each of them takes a hundred bytes at least: nobody draws
/// it to see that.
pub(super) const MAX_OWNERS_DRAWN: usize = LIMIT / 100;

/// The most rows of a table on a page that leaves nothing else out.
pub(super) const MAX_ROWS: usize = 120;

/// How much of the picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Picture {
    Whole,
    /// So many operations, messages, transfers and owners: those that failed, and those nearest to the fault.
    Near(usize),
    Nothing,
}

/// What a page leaves out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trim {
    /// The most rows of the record; without a number none is folded to save room.
    pub(super) rows: Option<usize>,
    /// Whether expectations that held have rows of their own.
    pub(super) held: bool,
    pub(super) picture: Picture,
    /// The most rows about owners of bytes.
    pub(super) owners: usize,
    /// The most entries of any other list.
    pub(super) list: usize,
}

impl Trim {
    /// The page of a run of usual length.
    pub(super) const NOTHING: Trim = Trim {
        rows: None,
        held: true,
        picture: Picture::Whole,
        owners: MAX_ROWS,
        list: usize::MAX,
    };

    /// The most names in a row of names: thousands of them are no reading where the page is cut anyway.
    pub(super) fn names(&self) -> usize {
        if self.rows.is_some() {
            self.list.min(40)
        } else {
            self.list
        }
    }

    /// One step after the other until the page fits: rows of the record, expectations that held, details of the picture,
    /// the picture; and where even that is not enough, everything that comes in lists.
    pub(super) fn steps() -> [Trim; 12] {
        let rows = |rows| Trim {
            rows: Some(rows),
            ..Trim::NOTHING
        };
        let failed = Trim {
            held: false,
            ..rows(150)
        };
        let near = |most| Trim {
            picture: Picture::Near(most),
            owners: 60,
            ..failed
        };
        let lists = |rows, list| Trim {
            rows: Some(rows),
            held: false,
            picture: Picture::Nothing,
            owners: list,
            list,
        };
        [
            rows(300),
            rows(200),
            rows(150),
            failed,
            near(90),
            near(40),
            lists(150, 60),
            lists(80, 30),
            lists(40, 12),
            lists(20, 4),
            lists(8, 1),
            lists(0, 0),
        ]
    }
}

/// The end of a list that is cut: how many entries are not in it.
pub(super) fn more(all: usize, shown: usize) -> Markup {
    html! {
        @if all > shown { span class="soft" { (all - shown) " more in the JSON next to this page" } }
    }
}

/// The events that a part of the page links to. Text of others cannot pass for a link: its quotes are escaped.
pub(super) fn linked(part: &Markup) -> BTreeSet<EventId> {
    let targets = part.0.split("href=\"#e").skip(1);
    targets
        .filter_map(|rest| rest.split('"').next()?.parse().ok().map(EventId))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_events_are_links() {
        let part = html! { a href="#e7" { "href=\"#e8\"" } a href="#proof" {} a href="#evidence" {} };
        assert_eq!(linked(&part), BTreeSet::from([EventId(7)]));
    }
}
