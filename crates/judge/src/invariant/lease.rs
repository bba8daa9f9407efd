//! `lease-protects-bytes`: while a reader's lease lives nobody else gets or writes its bytes.
//!
//! The lease is the one that the reader was told by an answer to GetReplicaList, counted as the reader counts it: from
//! the moment the query left it, on the timeline's own time, up to and not including its end. To get bytes is to be
//! given an overlapping range by the answer of PutStart, UpsertStart, CopyStart or MoveStart; to write them is a part of
//! a payload that lands there. The reader itself may do both.

use super::Judged;
use crate::lease::{self, Told};
use crate::overlaps::InSegments;
use crate::rpc::{self, Family};
use crate::view::{Pos, View};
use moonquake_evidence::{Leg, Range};

pub(super) fn judge(view: &View<'_>) -> Judged {
    let told = lease::all_told(view);
    let places: Vec<Pos> = told.iter().map(|told| told.told).collect();
    let takers = takers(view);
    let mut failures = Vec::new();
    for lease in &told {
        let leased = InSegments::of(lease.ranges.iter().zip(0..));
        let taken = takers.iter().find(|taker| {
            taker.pos > lease.granted
                && taker.who != lease.reader
                && view.at(taker.pos) < lease.until
                && taker.ranges.iter().any(|range| !leased.over(range).is_empty())
        });
        if let Some(taker) = taken {
            failures.push((words(view, lease, taker), vec![lease.sent, lease.told, taker.pos]));
        }
    }
    Judged::over(failures, &places, "lease|", "no reader was told a lease")
}

struct Taker<'a> {
    pos: Pos,
    who: &'a str,
    how: &'static str,
    ranges: Vec<&'a Range>,
}

fn takers<'a>(view: &View<'a>) -> Vec<Taker<'a>> {
    let grants = view.frames.iter().filter(|frame| {
        let allocates = rpc::family(frame.rpc) == Some(Family::Start) || rpc::is_replication_start(frame.rpc);
        frame.leg == Leg::RequestHandled && allocates
    });
    let mut takers: Vec<Taker<'a>> = grants
        .map(|frame| Taker {
            pos: frame.pos,
            who: &frame.event.actor,
            how: "was given",
            ranges: frame.ranges.iter().collect(),
        })
        .collect();
    let writes = view.landed().into_iter().filter(|landed| landed.write);
    takers.extend(writes.map(|landed| Taker {
        pos: landed.pos,
        who: &landed.event.actor,
        how: "wrote",
        ranges: vec![landed.range],
    }));
    takers.sort_by_key(|taker| taker.pos);
    takers
}

fn words(view: &View<'_>, lease: &Told, taker: &Taker<'_>) -> String {
    let key = lease.key.as_deref().unwrap_or("its object");
    let ranges: Vec<String> = taker.ranges.iter().map(ToString::to_string).collect();
    format!(
        "{} was told a lease on {key} until {}, and {} {} {} at {}",
        lease.reader,
        lease.until,
        taker.who,
        taker.how,
        ranges.join(", "),
        view.at(taker.pos)
    )
}
