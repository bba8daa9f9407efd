//! The law of the bytes lane: whatever the master counts as allocated has an owner or is in quarantine, and nothing else.
//!
//! The epochs are what a reader of a report sees. At every state that the observer read, the bytes of all epochs that
//! last, those that are free left out, are as many as the master has allocated; and no byte is in two of them.

use moonquake_evidence::{EventId, Evidence, Kind, Observer, State};
use moonquake_faults::Profile;
use moonquake_judge::{Epoch, Idle, Place, regions};
use moonquake_report::html::html;
use moonquake_report::{PlaceLane, Postmortem, Touched};
use moonquake_scenario::{Plan, RunOptions};
use moonquake_tests::{PROFILES, judged, plans};
use std::collections::BTreeSet;

/// Scenarios in which the lane cannot follow the master, each with its reason.
const EXCUSED: [(&str, &str); 0] = [];

fn states(evidence: &Evidence) -> impl Iterator<Item = (EventId, &State)> {
    evidence.events.iter().filter_map(|event| match &event.kind {
        Kind::State(state) if event.observer == Observer::Master => Some((event.id, state)),
        _ => None,
    })
}

/// Whether an epoch lasts where a state was read.
fn lasts(epoch: &Epoch, at: EventId) -> bool {
    epoch.since.1 < at && epoch.until.is_none_or(|(_, until)| until > at)
}

/// The epochs of segments that last at a state, those of free memory left out.
fn held<'a>(places: &'a [Place], state: &State, at: EventId) -> Vec<(&'a Place, &'a Epoch)> {
    let segments = places
        .iter()
        .filter(|place| state.segments.contains_key(&place.name));
    let epochs = segments.flat_map(|place| place.epochs.iter().map(move |epoch| (place, epoch)));
    epochs
        .filter(|(_, epoch)| lasts(epoch, at) && !matches!(epoch.idle, Some(Idle::Free | Idle::Unknown)))
        .collect()
}

fn against_the_law(plan: &Plan, profile: Profile) -> Vec<String> {
    let (evidence, _) = judged(plan, &RunOptions::new(profile));
    let places = regions(plan, &evidence);
    let mut wrong = Vec::new();
    for (at, state) in states(&evidence) {
        let held = held(&places, state, at);
        let bytes: u64 = held.iter().map(|(_, epoch)| epoch.to - epoch.from).sum();
        if bytes != state.allocated_bytes {
            let owners: Vec<String> = held
                .iter()
                .map(|(place, epoch)| format!("{}[{}, {}) {}", place.name, epoch.from, epoch.to, epoch.owner))
                .collect();
            wrong.push(format!(
                "{} {}: {} allocated at {at}, the lane has {bytes}: {owners:?}",
                plan.id,
                profile.name(),
                state.allocated_bytes
            ));
        }
        for (index, (place, epoch)) in held.iter().enumerate() {
            let twice = held[..index].iter().any(|(other, before)| {
                other.name == place.name && before.from < epoch.to && epoch.from < before.to
            });
            if twice {
                wrong.push(format!(
                    "{} {}: bytes of {} by {} have two owners at {at}",
                    plan.id,
                    profile.name(),
                    place.name,
                    epoch.owner
                ));
            }
        }
    }
    wrong
}

#[test]
fn model_every_allocated_byte_has_an_owner_or_is_in_quarantine() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for plan in plans() {
        for profile in PROFILES {
            let found = against_the_law(&plan, profile);
            let excused = EXCUSED.iter().any(|(id, _)| *id == plan.id);
            if !found.is_empty() && excused {
                seen.insert(plan.id.clone());
            } else {
                wrong.extend(found);
            }
        }
    }
    assert!(wrong.is_empty(), "{} breaches\n{}", wrong.len(), wrong.join("\n"));
    let named: BTreeSet<String> = EXCUSED.iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(seen, named, "an excuse that no scenario needs any more");
}

/// What the lanes draw as late is named wherever a reader looks: on a phone, and in the answer about the buffer.
#[test]
fn model_whatever_is_drawn_late_is_said_to_be_late() {
    let mut seen = 0;
    for plan in plans() {
        for profile in PROFILES {
            let (evidence, judgement) = judged(&plan, &RunOptions::new(profile));
            let postmortem =
                Postmortem::new(&plan, &evidence, &judgement, "replay").expect("it cites its run");
            let late = |place: &PlaceLane| {
                let accesses = place.epochs.iter().flat_map(|epoch| &epoch.accesses);
                accesses.filter(|access| access.late).count()
            };
            let places = &postmortem.lanes.places;
            if places.iter().map(late).sum::<usize>() == 0 {
                continue;
            }
            seen += 1;
            let id = format!("{} {}", plan.id, profile.name());
            let page = html(&postmortem);
            assert!(page.contains(">LATE "), "{id}: a phone does not show it");
            for watched in &postmortem.buffer.watched {
                let own = places.iter().find(|place| place.name == watched.name);
                let is_named = watched.touched == Touched::Yes || !watched.late_by_others.is_empty();
                assert!(own.map_or(0, late) == 0 || is_named, "{id}: {}", watched.name);
                // One access is not late on one list and rightful on another.
                for claim in &watched.by_others {
                    let is_late = watched
                        .late_by_others
                        .iter()
                        .any(|late| late.text().starts_with(claim.text()));
                    assert!(!is_late, "{id}: {}", claim.text());
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} runs have late accesses");
}
