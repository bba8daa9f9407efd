//! Where a symbolic instant came to lie in a run.

use crate::view::{Pos, View};
use moonquake_clock::Span;
use moonquake_evidence::{Kind, Leg, Observer, Op};
use moonquake_scenario::{Base, Instant, Length, Moment, Trigger};

/// An instant on the timeline's own time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    /// When.
    pub(crate) at: Span,
    /// The event that the instant counts from; none for the start.
    pub(crate) base: Option<Pos>,
    /// Whether anything was added to the base.
    pub(crate) moved: bool,
}

/// Resolves an instant from what was seen; nothing if its base never came to be.
pub(crate) fn resolve(view: &View<'_>, instant: &Instant) -> Option<Resolved> {
    let (from, base) = match instant.base {
        Base::Start => (Span::ZERO, None),
        Base::Fault => fault(view)?,
        Base::Step(step, moment) => at_place(view, of_step(view, step, moment)?),
    };
    let mut ns = i128::from(from.ns);
    for term in &instant.terms {
        let length = match &term.length {
            Length::Span(span) => *span,
            Length::Deadline(name, factor) => view.plan.world.timeouts.get(name)? * *factor,
        };
        let length = i128::from(length.ns);
        ns += if term.minus { -length } else { length };
    }
    Some(Resolved {
        at: Span::from_ns(u64::try_from(ns.max(0)).unwrap_or(u64::MAX)),
        base,
        moved: !instant.terms.is_empty(),
    })
}

fn at_place(view: &View<'_>, pos: Pos) -> (Span, Option<Pos>) {
    (view.at(pos), Some(pos))
}

/// The instant of the fault: the injection; with `deadline` that instant, with `step` the first run of the first step
/// named.
fn fault(view: &View<'_>) -> Option<(Span, Option<Pos>)> {
    match &view.plan.fault.trigger {
        Trigger::Steps(steps) => Some(at_place(view, of_step(view, *steps.first()?, Moment::Handled)?)),
        Trigger::Deadline(instant) if instant.base == Base::Fault => None,
        Trigger::Deadline(instant) => resolve(view, instant).map(|deadline| (deadline.at, deadline.base)),
        Trigger::At { .. } | Trigger::After(_) => Some(at_place(view, view.injected()?)),
    }
}

fn of_step(view: &View<'_>, step: usize, moment: Moment) -> Option<Pos> {
    let (op, run) = view.repetitions(step).into_iter().next()?;
    let first = |leg: Leg| {
        let frame = view.frames_of(op).find(|frame| frame.leg == leg);
        frame.map(|frame| frame.pos)
    };
    let no_request = view.frames_of(op).next().is_none();
    match moment {
        Moment::Done => run.ended,
        Moment::Handled => {
            first(Leg::RequestHandled).or_else(|| if no_request { ran(view, op) } else { None })
        }
        Moment::Sent => first(Leg::RequestSent).or_else(|| if no_request { ran(view, op) } else { None }),
    }
}

/// The place at which an operation without a request ran: its tick if it is one, else where it began.
pub(crate) fn ran(view: &View<'_>, op: Op) -> Option<Pos> {
    let tick = view.events.iter().position(|event| {
        event.op == Some(op)
            && event.observer != Observer::Injector
            && matches!(event.kind, Kind::Tick { .. })
    });
    let run = view.runs.get(&op)?;
    tick.or(run.began).or(run.ended)
}
