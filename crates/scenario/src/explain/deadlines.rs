//! The deadlines that a plan is about.

use super::layout::Page;
use crate::{Action, Instant, Length, Plan, Timeouts, Trigger, What};
use moonquake_clock::{Actor, Compare, DEADLINES, Deadline, Domain, Length as DeadlineLength, Span, Thread};
use moonquake_faults::Moment;
use std::collections::BTreeSet;

/// Tells each deadline in play with the expression of upstream that it mirrors.
pub(super) fn tell(plan: &Plan, page: &mut Page) {
    let names = in_play(plan);
    let length = |row: &'static Deadline| Some((row, length_in_play(plan, &names, row.length)?));
    let rows: Vec<(&Deadline, String)> = DEADLINES.iter().filter_map(length).collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Deadlines in play");
    for (row, length) in rows {
        let actor = match row.actor {
            Actor::Master => "the master",
            Actor::Client => "the client",
        };
        let clock = match row.domain {
            Domain::Realtime => "wall clock",
            Domain::Monotonic => "monotonic clock",
        };
        let compare = match row.compare {
            Compare::Inclusive => "At that instant",
            Compare::Strict => "1ns after that instant",
            Compare::StrictMs => "When more whole milliseconds than that have passed",
        };
        page.item(
            "  - ",
            &format!(
                "{} is {length}, counted from: {}. {compare} {}. Compared by {actor} on its {clock}; mirrors `{}`.",
                row.name, row.base, row.effect, row.mirrors
            ),
        );
    }
}

/// How long a deadline is, in words; none if it is not in play.
fn length_in_play(plan: &Plan, names: &BTreeSet<&str>, length: DeadlineLength) -> Option<String> {
    let timeout = |name| {
        let named = names.contains(name);
        named.then(|| plan.world.timeouts.get(name).unwrap_or_default())
    };
    match length {
        DeadlineLength::Timeout(name) => Some(timeout(name)?.to_string()),
        // Of a lease, and only groups have it.
        DeadlineLength::Half(name) => {
            let half = Span::from_ms(timeout(name)?.ns / 2_000_000);
            plan.gives("group_ids").then(|| half.to_string())
        }
        DeadlineLength::Asked(arg) => plan.gives(arg).then(|| format!("as long as {arg} says")),
        DeadlineLength::FixedNs(_) => None,
    }
}

/// The keys of `timeouts` that a plan names, sets, waits for, or runs into by its fault.
fn in_play(plan: &Plan) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    let mut instants: Vec<&Instant> = plan
        .steps
        .iter()
        .flat_map(|step| step.at.iter().chain(&step.until))
        .collect();
    if let Trigger::Deadline(instant) = &plan.fault.trigger {
        instants.push(instant);
    }
    let named = |name: &str| {
        instants
            .iter()
            .flat_map(|instant| &instant.terms)
            .any(|term| matches!(&term.length, Length::Deadline(found, _) if found == name))
    };
    let usual = Timeouts::default();
    for name in Timeouts::NAMES {
        if named(name) || plan.world.timeouts.get(name) != usual.get(name) {
            names.insert(name);
        }
    }
    if plan
        .steps
        .iter()
        .any(|step| matches!(step.what, What::Tick(Thread::ClientMonitor)))
    {
        names.insert("client_ttl");
    }
    if let (Some(phase), Some(action)) = (plan.fault_phase(), &plan.fault.action) {
        let is_stream = matches!(phase.row().moment, Moment::Part | Moment::Done);
        let slows = matches!(action, Action::Rate(_));
        let stops = matches!(
            action,
            Action::Hold | Action::Freeze | Action::Drop | Action::Delay(_)
        );
        if slows || (stops && is_stream) {
            names.extend(["transfer", "progress"]);
        } else if stops {
            names.insert("rpc");
        }
    }
    names
}
