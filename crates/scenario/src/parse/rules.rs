//! Rules that take more than one part of the file.

use super::names::{MOST, Names};
use super::problems::Problems;
use super::tree::Table;
use crate::error::ProblemKind;
use crate::forecast::{Conflict, Forecast, When, forecast, strikes_from};
use crate::instant::offset_ns;
use crate::{Action, ArgValue, ByteRange, Do, Plan, Step, Trigger, Verb, What, reach, words};
use moonquake_clock::Span;
use moonquake_faults::{Moment, PhaseId};
use std::ops::Range;

/// All segments of a world together: they are real memory.
pub(super) const MOST_SEGMENT_BYTES: u64 = 16 << 30;
/// What one instant may lie ahead: a week, which is 604,800 pings of each node.
const MOST_TIME: Span = Span::from_secs(7 * 24 * 3_600);
/// What a graceful unmount may ask for: a year. Where its end overflows a clock the real master's timer never rests.
const MOST_GRACE: Span = Span::from_secs(365 * 24 * 3_600);
/// One payload: it is made, moved and looked at byte by byte.
pub(super) const MOST_PAYLOAD_BYTES: u64 = 1 << 30;

/// Checks a plan whose parts are all right by themselves.
pub(super) fn check(plan: &Plan, fault: &Table<'_>, names: &Names<'_>, problems: &mut Problems) {
    let rules = Rules { plan, fault, names };
    rules.bounds(problems);
    rules.resumes(problems);
    rules.suspended(problems);
    let times = forecast(plan);
    rules.order(&times, problems);
    if times.conflicts.is_empty() {
        rules.both_sides(&times, problems);
    }
}

/// The bytes that an operation says it moves.
fn payload(action: &Do) -> Option<u64> {
    let add = |sum: u64, range: &ByteRange| sum.saturating_add(range.size_bytes);
    let of_one = action.ranges.iter().fold(0, add);
    let keys = u64::try_from(action.keys.len().max(1)).unwrap_or(u64::MAX);
    let ranged = (!action.ranges.is_empty()).then(|| of_one.saturating_mul(keys));
    action.size_bytes.or(ranged)
}

/// Where it says so.
fn payload_key(action: &Do) -> &'static str {
    if action.size_bytes.is_some() {
        "size"
    } else {
        "ranges"
    }
}

struct Rules<'p, 'a> {
    plan: &'p Plan,
    fault: &'p Table<'a>,
    names: &'p Names<'a>,
}

fn length(ns: i128) -> String {
    Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX)).to_string()
}

impl Rules<'_, '_> {
    fn span(&self, step: usize) -> Range<usize> {
        self.names.steps[step].table.span.clone()
    }

    fn at_span(&self, step: usize) -> Range<usize> {
        self.names.steps[step].table.value_span("at")
    }

    /// Repetitions and payload parts must come to an end that somebody can wait for.
    fn bounds(&self, problems: &mut Problems) {
        self.memory(problems);
        self.fills(problems);
        self.long_graces(problems);
        self.bystander(problems);
        self.far(problems);
        let mut total = 0_u128;
        for step in &self.plan.steps {
            let own = self.repetitions(step);
            total += own;
            if own > u128::from(MOST) {
                problems.add(
                    ProblemKind::Step,
                    format!("this step comes to {own} repetitions"),
                    self.names.steps[step.index].table.value_span("every"),
                    format!("at most {MOST}"),
                    "make `every` longer, `until` earlier or `times` smaller",
                );
                return;
            }
            self.parts(step, problems);
        }
        if total > u128::from(MOST) && self.plan.steps.len() < MOST as usize {
            let longest = self.plan.steps.iter().max_by_key(|step| self.repetitions(step));
            let index = longest.map_or(0, |step| step.index);
            problems.add(
                ProblemKind::Step,
                format!("the timeline comes to {total} operations"),
                self.span(index),
                format!("at most {MOST} in all; this step has the most"),
                "repeat less often",
            );
        }
    }

    /// Every byte of a segment and of a payload is real memory of this machine.
    fn memory(&self, problems: &mut Problems) {
        let all = self
            .plan
            .world
            .segments
            .iter()
            .map(|(_, bytes)| u128::from(*bytes));
        let total: u128 = all.sum();
        if total > u128::from(MOST_SEGMENT_BYTES) {
            problems.add(
                ProblemKind::Value,
                format!("the segments have {total} bytes in all"),
                self.segments_span(),
                format!("at most {} in all", words::size(MOST_SEGMENT_BYTES)),
                "scale segments and objects down together; the store behaves the same",
            );
        }
        self.many_ranges(problems);
        for step in &self.plan.steps {
            let Some(action) = step.operation() else { continue };
            let moves = action.written_pattern().is_some() || !action.ranges.is_empty();
            let bytes = payload(action).unwrap_or(0);
            if moves && bytes > MOST_PAYLOAD_BYTES {
                problems.add(
                    ProblemKind::Step,
                    format!("a payload of {}", words::size(bytes)),
                    self.names.steps[step.index].table.value_span(payload_key(action)),
                    format!("at most {}", words::size(MOST_PAYLOAD_BYTES)),
                    "scale segments and objects down together; the store behaves the same",
                );
            }
        }
    }

    /// A batch reads each of its ranges of each of its keys.
    fn many_ranges(&self, problems: &mut Problems) {
        for step in &self.plan.steps {
            let Some(action) = step.operation() else { continue };
            let reads = action.keys.len().saturating_mul(action.ranges.len());
            if reads > MOST as usize {
                problems.add(
                    ProblemKind::Step,
                    format!("{reads} reads: each range of each key"),
                    self.names.steps[step.index].table.value_span("ranges"),
                    format!("at most {MOST}"),
                    "name fewer keys, or fewer ranges",
                );
            }
        }
    }

    /// A grace period longer than any timeline is one that does not end.
    fn long_graces(&self, problems: &mut Problems) {
        for step in &self.plan.steps {
            let asked = step
                .operation()
                .and_then(|action| action.args.get("grace_period_ms"));
            let Some(ArgValue::Int(ms)) = asked else { continue };
            if i128::from(*ms) * 1_000_000 > i128::from(MOST_GRACE.ns) {
                problems.add(
                    ProblemKind::Step,
                    "this segment is asked to leave too late".to_owned(),
                    self.names.steps[step.index].table.value_span("grace_period_ms"),
                    format!("at most {MOST_GRACE}"),
                    "use a shorter period; what never ends within the timeline behaves the same",
                );
            }
        }
    }

    /// A `fill` without a size fills what the buffer has; one that nothing has lent a byte yet has none.
    fn fills(&self, problems: &mut Problems) {
        let mut known: Vec<&str> = Vec::new();
        for step in &self.plan.steps {
            let Some(action) = step.operation() else { continue };
            let Some(into) = action.into.as_deref() else {
                known.extend(action.from.as_deref());
                continue;
            };
            if action.verb.registers() && action.size_bytes.is_none() {
                continue;
            }
            // Names that are counted up are told apart when they are filled in.
            let is_known = known.iter().any(|name| *name == into || name.contains('{'));
            let sizeless = action.verb == Verb::Fill && action.size_bytes.is_none();
            if sizeless && !is_known && !into.contains('{') {
                problems.add(
                    ProblemKind::Step,
                    format!("{into} has no byte yet that could be filled"),
                    self.names.steps[step.index].table.value_span("into"),
                    "no earlier step fills it, sends from it or reads into it",
                    "say how large it is: `size = \"1MiB\"`",
                );
            }
            known.push(into);
        }
    }

    /// What strikes a message or a stream strikes one of its ends: the client of the operation, a node or the master.
    fn bystander(&self, problems: &mut Problems) {
        let Plan { fault, steps, .. } = self.plan;
        let (Trigger::At { of: Some(step), .. }, Some(action)) = (&fault.trigger, &fault.action) else {
            return;
        };
        let on_the_way = !matches!(
            action,
            Action::Kill | Action::Freeze | Action::Restart(_) | Action::ClockStep { .. }
        );
        let who = steps[*step].operation().and_then(|action| action.who.as_deref());
        let is_client = self.plan.world.clients.contains(&fault.target);
        if on_the_way && is_client && who != Some(fault.target.as_str()) {
            problems.add(
                ProblemKind::Fault,
                format!("`{}` has no part in the operation of this step", fault.target),
                self.fault.value_span("target"),
                format!("the step is done by `{}`", who.unwrap_or("nobody")),
                "name the client of the operation, a node or `master`",
            );
        }
    }

    /// Every second of a timeline has its pings: it must come to an end that somebody can wait for.
    fn far(&self, problems: &mut Problems) {
        for step in &self.plan.steps {
            let instants = step.at.iter().chain(&step.until);
            let terms = instants.filter_map(|instant| offset_ns(&instant.terms, &self.plan.world.timeouts));
            let within = match &step.what {
                What::Await { within, .. } => i128::from(within.ns),
                _ => 0,
            };
            if terms.chain([within]).any(|ns| ns > i128::from(MOST_TIME.ns)) {
                problems.add(
                    ProblemKind::Time,
                    "this step takes the timeline too far".to_owned(),
                    self.span(step.index),
                    format!("at most {MOST_TIME} at a time"),
                    "use shorter timeouts; the store behaves the same",
                );
            }
        }
    }

    fn segments_span(&self) -> Range<usize> {
        let largest = self.plan.world.segments.iter().max_by_key(|(_, bytes)| *bytes);
        let named = largest.and_then(|(name, _)| self.names.all.get(name));
        named.map_or(0..0, |named| named.span.clone())
    }

    fn repetitions(&self, step: &Step) -> u128 {
        let times = u128::from(step.times);
        let (Some(every), Some(until)) = (step.every, &step.until) else {
            return times;
        };
        let ns = offset_ns(&until.terms, &self.plan.world.timeouts).unwrap_or(0);
        let rounds = u128::try_from(ns).unwrap_or(0) / u128::from(every.ns.max(1)) + 1;
        rounds.saturating_mul(times)
    }

    fn parts(&self, step: &Step, problems: &mut Problems) {
        let Some(action) = step.operation() else { return };
        let Some(bytes) = payload(action) else { return };
        let parts = bytes.div_ceil(self.plan.world.chunk_bytes);
        if parts > u64::from(MOST) {
            problems.add(
                ProblemKind::Step,
                format!(
                    "a payload of {} has {parts} parts of {}",
                    words::size(bytes),
                    words::size(self.plan.world.chunk_bytes)
                ),
                self.names.steps[step.index].table.value_span(payload_key(action)),
                format!("at most {MOST} parts"),
                "make it smaller, or set a larger `chunk` in [world]",
            );
        }
    }

    /// `resume` ends a freeze or hold that can have begun.
    fn resumes(&self, problems: &mut Problems) {
        let is_resume = |step: &&Step| step.operation().is_some_and(|action| action.verb == Verb::Resume);
        for step in self.plan.steps.iter().filter(is_resume) {
            let place = self.names.steps[step.index].table.value_span("do");
            if !self.plan.is_resumable() {
                let action = match &self.plan.fault.action {
                    Some(action) => format!("the action is `{}`", action.kind().word()),
                    None => "the fault has no action".to_owned(),
                };
                problems.add_at(
                    ProblemKind::Step,
                    "there is nothing to resume",
                    vec![
                        (place, "ends a freeze or hold".to_owned()),
                        (self.fault.value_span("action"), action),
                    ],
                    "leave the step out; a `resume` goes with `action = \"freeze\"` or `action = \"hold\"`",
                );
            } else if let Some(strikes) = strikes_from(self.plan).filter(|strikes| *strikes >= step.index) {
                problems.add_at(
                    ProblemKind::Time,
                    "nothing is frozen or held yet",
                    vec![
                        (place, "resumed here".to_owned()),
                        (self.span(strikes), "but the fault strikes here".to_owned()),
                    ],
                    "move the resume below",
                );
            }
        }
    }

    /// A step that the fault suspends must be async, or the timeline would wait for it for ever.
    fn suspended(&self, problems: &mut Problems) {
        let action = match &self.plan.fault.action {
            Some(Action::Freeze) => "freeze",
            Some(Action::Hold) => "hold",
            _ => return,
        };
        let mut report = |step: &Step, message: String| {
            problems.add_at(
                ProblemKind::Step,
                message,
                vec![
                    (
                        self.span(step.index),
                        "waits for a result that cannot come".to_owned(),
                    ),
                    (self.fault.value_span("action"), format!("the {action}")),
                ],
                "add `async = true` to the step, and an `await` of it below",
            );
        };
        let name = |step: &Step| self.plan.step_name(step.index);
        let struck: Vec<&Step> = self.struck();
        if !struck.is_empty() && struck.iter().all(|step| !step.is_async) {
            let step = struck[0];
            report(
                step,
                format!("the fault suspends {}, which is not async", name(step)),
            );
            return;
        }
        let Some(strikes) = strikes_from(self.plan).filter(|_| action == "freeze") else {
            return;
        };
        for step in &self.plan.steps[strikes + 1..] {
            let Some(operation) = step.operation() else {
                continue;
            };
            if operation.verb == Verb::Resume {
                return;
            }
            if !step.is_async && operation.who.as_deref() == Some(self.plan.fault.target.as_str()) {
                let target = &self.plan.fault.target;
                report(
                    step,
                    format!("{target} is frozen and cannot finish {}", name(step)),
                );
                return;
            }
        }
    }

    /// The steps at one of whose phases the fault can strike so that they stand still.
    fn struck(&self) -> Vec<&Step> {
        let Trigger::At { phase, of, .. } = &self.plan.fault.trigger else {
            return Vec::new();
        };
        let target = self.plan.fault.target.as_str();
        let stands = |step: &&Step| {
            let Some(operation) = step.operation() else {
                return false;
            };
            let is_own = operation.who.as_deref() == Some(target);
            let is_meant = match of {
                Some(of) => *of == step.index,
                None => is_own && reach::reaches(operation.verb, *phase),
            };
            let stops = match &self.plan.fault.action {
                Some(Action::Hold) => true,
                _ => is_own || self.needs_target(*phase),
            };
            is_meant && stops
        };
        self.plan.steps.iter().filter(stands).collect()
    }

    /// Whether an operation at this phase still needs the frozen target, when that is not its own client.
    fn needs_target(&self, phase: PhaseId) -> bool {
        let target = self.plan.fault.target.as_str();
        if target == "master" {
            return match phase.row().moment {
                Moment::Before | Moment::Sent => true,
                _ => match phase.row().operation {
                    "put" => phase < PhaseId::PutEndResponse,
                    // After its end comes the report on the task.
                    operation => operation == "copy",
                },
            };
        }
        self.plan.is_node(target)
            && match phase.row().operation {
                "put" => phase < PhaseId::PutPayloadDone,
                "get" => phase < PhaseId::GetPayloadDone,
                "copy" => phase < PhaseId::CopyPayloadDone,
                _ => false,
            }
    }

    /// Time never goes back.
    fn order(&self, times: &Forecast, problems: &mut Problems) {
        for conflict in &times.conflicts {
            match conflict {
                Conflict::Back { step, past, by_ns } => {
                    let gone = if self.plan.steps[*past].at.is_some() {
                        self.at_span(*past)
                    } else {
                        self.span(*past)
                    };
                    problems.add_at(
                        ProblemKind::Time,
                        "time would go back",
                        vec![
                            (
                                self.at_span(*step),
                                format!("{} before what is reached above", length(*by_ns)),
                            ),
                            (gone, "reached here".to_owned()),
                        ],
                        "put the steps in the order of their instants",
                    );
                }
                Conflict::BeforeStart { step } => problems.add(
                    ProblemKind::Time,
                    "this instant lies before the start",
                    self.at_span(*step),
                    "negative",
                    "the timeline begins at `start`: add instead of taking away",
                ),
                Conflict::FaultLater { step, strikes } => problems.add_at(
                    ProblemKind::Time,
                    "the fault has not struck when this instant is needed",
                    vec![
                        (self.at_span(*step), "counts from the fault".to_owned()),
                        (self.span(*strikes), "which strikes at this step".to_owned()),
                    ],
                    "move the step below, or count from `start` or from a step above",
                ),
            }
        }
    }

    /// A boundary is a fault only if steps visit both sides of it.
    fn both_sides(&self, times: &Forecast, problems: &mut Problems) {
        let (Trigger::Deadline(instant), Some((base, deadline))) = (&self.plan.fault.trigger, times.deadline)
        else {
            return;
        };
        let moving = |step: &Step| {
            step.every.is_some() || matches!(&step.what, What::Await { within, .. } if *within > Span::ZERO)
        };
        let visited: Vec<When> = self
            .plan
            .steps
            .iter()
            .filter(|step| step.at.is_some())
            .map(|step| times.runs[step.index])
            .collect();
        if self.plan.steps.iter().any(moving) || visited.iter().any(|when| when.root != deadline.root) {
            return;
        }
        let edge = deadline.offset_ns;
        let before = visited
            .iter()
            .map(|when| when.offset_ns)
            .filter(|ns| *ns <= edge && *ns > base.offset_ns)
            .min();
        let after = visited
            .iter()
            .map(|when| when.offset_ns)
            .filter(|ns| *ns >= edge)
            .max();
        let (side, sign) = match (before, after) {
            (None, _) => ("before", "- 1ns"),
            (_, None) => ("after", "+ 1ns"),
            (Some(before), Some(after)) if before == after => ("before or after", "- 1ns"),
            _ => return,
        };
        problems.add(
            ProblemKind::Time,
            format!("no step visits the side {side} the deadline"),
            self.fault.value_span("deadline"),
            "the boundary is the fault, so both sides must be seen",
            format!("add a step `at = \"{} {sign}\"`", instant.text),
        );
    }
}
