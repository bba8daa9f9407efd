//! Instants in words.

use crate::forecast::{Root, When};
use crate::instant::offset_ns;
use crate::{Base, Instant, Moment, Plan, Step};
use moonquake_clock::Span;

/// A length that may be beyond what a [`Span`] holds.
fn length(ns: u128) -> String {
    match u64::try_from(ns) {
        Ok(ns) => Span::from_ns(ns).to_string(),
        Err(_) => format!("{ns}ns"),
    }
}

/// An instant counted from its base: `30s - 1ns after p1`.
pub(super) fn relative(plan: &Plan, instant: &Instant) -> String {
    let base = match &instant.base {
        Base::Start => "the start".to_owned(),
        Base::Fault => "the fault".to_owned(),
        Base::Step(step, moment) => {
            let name = plan.step_name(*step);
            match moment {
                Moment::Handled => name,
                Moment::Sent => format!("the request of {name} is sent"),
                Moment::Done => format!("{name} is done"),
            }
        }
    };
    let Some(offset) = offset_ns(&instant.terms, &plan.world.timeouts) else {
        return format!("at {}", instant.text);
    };
    let is_moment = matches!(instant.base, Base::Step(_, Moment::Sent | Moment::Done));
    match offset {
        0 if is_moment => format!("when {base}"),
        0 => format!("at {base}"),
        _ if offset < 0 => format!("{} before {base}", length(offset.unsigned_abs())),
        _ => format!("{} after {base}", length(offset.unsigned_abs())),
    }
}

/// When a step runs, if it says so: relative to its base, and on the timeline where that is known.
pub(super) fn of_step(plan: &Plan, step: &Step, run: Option<When>) -> Option<String> {
    let at = step.at.as_ref()?;
    let words = relative(plan, at);
    Some(match run {
        Some(When {
            root: Root::Start,
            offset_ns,
        }) if at.base != Base::Start && offset_ns > 0 => {
            format!("{words} (t = {})", length(offset_ns.unsigned_abs()))
        }
        _ => words,
    })
}
