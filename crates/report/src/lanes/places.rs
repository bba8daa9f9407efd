//! Who owned, wrote and read which bytes, as the judge made it out.

use super::build::Source;
use super::{Epoch, PlaceLane, Point, RegionAccess};
use moonquake_clock::Span;
use moonquake_evidence::EventId;
use moonquake_judge::{Idle, regions};

/// The places whose bytes had an owner.
pub(super) fn places(source: &Source<'_>) -> Vec<PlaceLane> {
    let places = regions(source.plan, source.evidence);
    places
        .into_iter()
        .filter(|place| !place.epochs.is_empty())
        .map(|place| PlaceLane {
            epochs: place
                .epochs
                .into_iter()
                .map(|epoch| owned(source, epoch))
                .collect(),
            segment: is_segment(source, &place.name),
            name: place.name,
            size: place.size,
        })
        .collect()
}

/// A segment has the name of its node; after a restart a number follows.
fn is_segment(source: &Source<'_>, name: &str) -> bool {
    let node = name.split('.').next().unwrap_or_default();
    let mut segments = source.plan.world.segments.iter();
    segments.any(|(segment, _)| segment == node)
}

fn owned(source: &Source<'_>, epoch: moonquake_judge::Epoch) -> Epoch {
    let access = |access: moonquake_judge::RegionAccess| RegionAccess {
        step: access.op.map(|op| source.step_name(op)).unwrap_or_default(),
        who: access.who,
        write: access.write,
        from: access.from,
        to: access.to,
        at: point((access.at, access.id)),
        late: access.late,
    };
    Epoch {
        number: epoch.number,
        from: epoch.from,
        to: epoch.to,
        nobody: epoch.owner == moonquake_judge::NOBODY,
        owner: epoch.owner,
        idle: match epoch.idle {
            Some(Idle::Quarantined) => "in quarantine",
            Some(Idle::Free) => "free",
            Some(Idle::Unknown) => "free or in quarantine",
            None => "",
        },
        since: point(epoch.since),
        since_at_the_latest: epoch.since_at_the_latest,
        until: epoch.until.map(point),
        until_at_the_latest: epoch.until_at_the_latest,
        readable_at: epoch.readable_at.map(point),
        accesses: epoch.accesses.into_iter().map(access).collect(),
    }
}

fn point((at, event): (Span, EventId)) -> Point {
    Point { at_ns: at.ns, event }
}
