//! What can be said about the times of a plan before it runs.
//!
//! Moments are kept as a root and an offset: exactly so long after `start`, or after a moment whose own time is only
//! known in a run. Two moments with one root can be compared; others cannot, and are never called wrong.

use crate::instant::offset_ns;
use crate::{Action, Base, Instant, Moment, Plan, Step, Trigger, Verb, What, reach};
use moonquake_clock::Span;
use moonquake_faults::Moment as PhaseMoment;
use std::collections::BTreeMap;

/// What a moment is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Root {
    /// The start of the timeline.
    Start,
    /// The injection, whose time only a run shows.
    Fault,
    /// The step of that index runs or its first request is handled.
    Handled(usize),
    /// The result of the step of that index is reported.
    Done(usize),
}

/// A moment: exactly so many nanoseconds after its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) root: Root,
    pub(crate) offset_ns: i128,
}

impl When {
    const START: When = When {
        root: Root::Start,
        offset_ns: 0,
    };

    fn at(root: Root) -> When {
        When { root, offset_ns: 0 }
    }

    fn plus(self, ns: i128) -> When {
        When {
            offset_ns: self.offset_ns.saturating_add(ns),
            ..self
        }
    }
}

/// An `at` that cannot be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// The timeline has already gone further, at the step `past`.
    Back { step: usize, past: usize, by_ns: i128 },
    /// It lies before the start.
    BeforeStart { step: usize },
    /// It counts from the fault, which strikes at `strikes` or later.
    FaultLater { step: usize, strikes: usize },
}

/// The moments of a plan.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// When each step runs.
    pub(crate) runs: Vec<When>,
    /// Where the fault is, for a trigger `deadline`: its base and itself.
    pub(crate) deadline: Option<(When, When)>,
    /// What cannot be.
    pub(crate) conflicts: Vec<Conflict>,
}

struct Walk<'p> {
    plan: &'p Plan,
    /// The present moment, where it is known relative to something.
    now: Option<When>,
    /// Lower bounds of the present, with the step that set them.
    floors: BTreeMap<Root, (i128, usize)>,
    handled: Vec<When>,
    done: Vec<When>,
    runs: Vec<When>,
    conflicts: Vec<Conflict>,
}

/// Walks through a plan.
pub(crate) fn forecast(plan: &Plan) -> Forecast {
    let mut walk = Walk {
        plan,
        now: Some(When::START),
        floors: BTreeMap::new(),
        handled: Vec::new(),
        done: Vec::new(),
        runs: Vec::new(),
        conflicts: Vec::new(),
    };
    for step in &plan.steps {
        walk.step(step);
    }
    let deadline = match &plan.fault.trigger {
        Trigger::Deadline(instant) => walk.deadline(instant),
        _ => None,
    };
    Forecast {
        runs: walk.runs,
        deadline,
        conflicts: walk.conflicts,
    }
}

/// The first step at or after which the fault can strike, if the plan says.
pub(crate) fn strikes_from(plan: &Plan) -> Option<usize> {
    match &plan.fault.trigger {
        Trigger::At { of, .. } => *of,
        Trigger::After(step) => Some(*step),
        Trigger::Steps(steps) => steps.first().copied(),
        Trigger::Deadline(instant) => match instant.base {
            Base::Step(step, _) => Some(step),
            _ => None,
        },
    }
}

impl Walk<'_> {
    fn step(&mut self, step: &Step) {
        if let Some(at) = &step.at {
            self.move_to(step.index, at);
        }
        let run = self.now.unwrap_or(When::at(Root::Handled(step.index)));
        self.raise(run, step.index);
        self.runs.push(run);
        let disturbed = disturbed(self.plan, step);
        self.handled.push(if handled_at_once(self.plan, step) {
            run
        } else {
            When::at(Root::Handled(step.index))
        });
        let ends_at_once = !disturbed && !step.is_async && step.times == 1 && step.until.is_none();
        let waits = matches!(&step.what, What::Await { within, .. } if *within > Span::ZERO);
        self.done.push(if ends_at_once && !waits {
            run
        } else {
            When::at(Root::Done(step.index))
        });
        self.now = if waits || disturbed {
            None
        } else {
            self.passes(step, run)
        };
    }

    /// The moment after an undisturbed step.
    fn passes(&mut self, step: &Step, run: When) -> Option<When> {
        let each = match &step.what {
            What::Do(_) => i128::from(self.plan.world.step.ns),
            _ => 0,
        };
        let is_resume = step.operation().is_some_and(|action| action.verb == Verb::Resume);
        if step.is_async || is_resume {
            return (each == 0).then_some(run);
        }
        let times = i128::from(step.times);
        match (step.every, &step.until) {
            (_, Some(_)) => None,
            (Some(every), None) if step.times > 1 => {
                self.raise(run.plus(i128::from(every.ns) * (times - 1)), step.index);
                None
            }
            _ => Some(run.plus(each * times)),
        }
    }

    fn raise(&mut self, when: When, step: usize) {
        let floor = self.floors.entry(when.root).or_insert((when.offset_ns, step));
        if floor.0 < when.offset_ns {
            *floor = (when.offset_ns, step);
        }
    }

    fn move_to(&mut self, step: usize, at: &Instant) {
        let strikes = strikes_from(self.plan).filter(|strikes| *strikes >= step);
        if let (Base::Fault, Some(strikes)) = (&at.base, strikes) {
            self.conflicts.push(Conflict::FaultLater { step, strikes });
            self.now = None;
            return;
        }
        let Some(when) = self.resolve(at) else {
            self.now = None;
            return;
        };
        if when.root == Root::Start && when.offset_ns < 0 {
            self.conflicts.push(Conflict::BeforeStart { step });
        } else if let Some((floor, past)) = self.floors.get(&when.root)
            && *floor > when.offset_ns
        {
            self.conflicts.push(Conflict::Back {
                step,
                past: *past,
                by_ns: floor.saturating_sub(when.offset_ns),
            });
            // One step that runs ahead is one mistake: those behind it are compared with each other.
            self.floors.remove(&when.root);
        }
        self.now = Some(when);
        self.raise(when, step);
    }

    fn base(&self, base: &Base) -> When {
        let known = match base {
            Base::Start => Some(When::START),
            Base::Fault => return self.fault(),
            Base::Step(step, Moment::Handled) => self.handled.get(*step).copied(),
            // A request leaves when the step runs, whatever happens to it then.
            Base::Step(step, Moment::Sent) => self.runs.get(*step).copied(),
            Base::Step(step, Moment::Done) => self.done.get(*step).copied(),
        };
        known.unwrap_or(When::at(Root::Fault))
    }

    /// The injection, as far as it follows from the steps so far.
    fn fault(&self) -> When {
        let known = match &self.plan.fault.trigger {
            Trigger::At { .. } => None,
            Trigger::After(step) => self.done.get(*step).copied(),
            Trigger::Steps(steps) => steps.first().and_then(|step| self.handled.get(*step).copied()),
            Trigger::Deadline(instant) => self.deadline(instant).map(|(_, itself)| itself),
        };
        known.unwrap_or(When::at(Root::Fault))
    }

    fn deadline(&self, instant: &Instant) -> Option<(When, When)> {
        let known = match instant.base {
            Base::Fault => false,
            Base::Step(step, _) => step < self.handled.len(),
            Base::Start => true,
        };
        if !known {
            return None;
        }
        let base = self.base(&instant.base);
        let offset = offset_ns(&instant.terms, &self.plan.world.timeouts)?;
        Some((base, base.plus(offset)))
    }

    fn resolve(&self, at: &Instant) -> Option<When> {
        let offset = offset_ns(&at.terms, &self.plan.world.timeouts)?;
        Some(self.base(&at.base).plus(offset))
    }
}

/// Whether the fault may make this step take time.
fn disturbed(plan: &Plan, step: &Step) -> bool {
    let What::Do(action) = &step.what else {
        return false;
    };
    let who = action.who.as_deref();
    let can_strike = strikes_from(plan).is_none_or(|strikes| step.index >= strikes);
    match &plan.fault.action {
        None | Some(Action::ClockStep { .. }) => false,
        Some(Action::Kill | Action::Freeze | Action::Restart(_)) => {
            let is_own = who == Some(plan.fault.target.as_str());
            let of_all = plan.fault.target == "master" || plan.is_node(&plan.fault.target);
            can_strike && (is_own || of_all || is_at_step(plan, step))
        }
        Some(_) => is_at_step(plan, step),
    }
}

/// Whether the fault may strike at a phase of this step.
fn is_at_step(plan: &Plan, step: &Step) -> bool {
    match (&plan.fault.trigger, step.operation()) {
        (Trigger::At { of: Some(of), .. }, _) => *of == step.index,
        (Trigger::At { phase, of: None, .. }, Some(action)) => reach::reaches(action.verb, *phase),
        _ => false,
    }
}

/// Whether the first request of the step is handled at the instant it runs.
fn handled_at_once(plan: &Plan, step: &Step) -> bool {
    if !disturbed(plan, step) {
        return true;
    }
    match (&plan.fault.trigger, step.operation()) {
        (Trigger::At { phase, .. }, Some(action)) if is_at_step(plan, step) => {
            let before_it_is_handled = matches!(phase.row().moment, PhaseMoment::Before | PhaseMoment::Sent);
            !before_it_is_handled || !reach::is_first_request(action.verb, *phase)
        }
        _ => false,
    }
}
