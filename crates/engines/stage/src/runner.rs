//! The timeline: one step after the other.

use crate::memory::BufferKey;
use crate::ports::Ports;
use crate::setup::{baseline, stage};
use crate::state::{Stage, Staged};
use moonquake_client::{BufferPlace, ByteRange};
use moonquake_clock::{Span, Thread};
use moonquake_evidence::{Baseline, Evidence, Kind, Observer, Op};
use moonquake_scenario::{
    AwaitFor, Base, Do, EngineError, Instant, Length, Plan, RunOptions, Step, Verb, What,
};

/// A step beside the timeline that is not over.
#[derive(Clone, Debug)]
pub(crate) struct Repeater {
    step: usize,
    /// The next repetition, from 1.
    repetition: u32,
    /// When the round it belongs to began.
    round_at: Span,
    pub(crate) next_at: Span,
    until: Option<Span>,
}

/// Plays a plan on a stage and brings its evidence.
///
/// # Errors
/// When a port fails: the harness, not the store, is to blame, and no verdict can rest on the run.
pub fn run<P: Ports>(
    engine: &str,
    plan: &Plan,
    options: &RunOptions,
    ports: P,
) -> Result<Evidence, moonquake_scenario::EngineError> {
    let mut stage = stage(plan, options, ports);
    let mut baseline = baseline(&stage, engine);
    if let Err(error) = stage.play_all(&baseline) {
        return Err(stage.ports.ended().map_or(error, EngineError::Harness));
    }
    stage.log_unbound();
    baseline.real_time = stage.ports.real_time();
    Ok(stage.log.finish(baseline))
}

pub(crate) fn ended(outcome: &str, note: Option<String>) -> Kind {
    Kind::StepEnded {
        outcome: outcome.to_owned(),
        entries: Vec::new(),
        count: None,
        content: None,
        note,
    }
}

impl<P: Ports> Stage<'_, P> {
    fn play_all(&mut self, baseline: &Baseline) -> Staged<()> {
        self.set_up()?;
        self.tell_ready(baseline);
        for step in &self.plan.steps {
            self.go_on()?;
            self.play(step)?;
        }
        // Operations beside the timeline that no step awaits still get their end.
        self.settle()
    }

    /// An instant on the timeline; none if its base never came to be, or if it lies before the start.
    pub(crate) fn resolve(&self, instant: &Instant) -> Option<Span> {
        let base = match &instant.base {
            Base::Start => Span::ZERO,
            Base::Fault => self.fault.at?,
            Base::Step(step, moment) => self.moment(*step, *moment)?,
        };
        let mut at = i128::from(base.ns);
        for term in &instant.terms {
            let length = match &term.length {
                Length::Span(span) => *span,
                Length::Deadline(name, times) => self.plan.world.timeouts.get(name)? * *times,
            };
            at += if term.minus {
                -i128::from(length.ns)
            } else {
                i128::from(length.ns)
            };
        }
        u64::try_from(at).ok().map(Span::from_ns)
    }

    /// Ends the run if that was asked for.
    pub(crate) fn go_on(&self) -> Staged<()> {
        match &self.options.interrupt {
            Some(interrupt) if interrupt.is_asked() => Err(EngineError::Interrupted),
            _ => Ok(()),
        }
    }

    fn op(step: &Step, repetition: u32) -> Op {
        Op {
            step: u32::try_from(step.index).unwrap_or(u32::MAX),
            repetition,
        }
    }

    fn actor_of(step: &Step) -> String {
        match &step.what {
            What::Do(action) => action.who.clone().unwrap_or_else(|| "master".to_owned()),
            _ => "master".to_owned(),
        }
    }

    fn play(&mut self, step: &Step) -> Staged<()> {
        if let Some(instant) = &step.at {
            // What steps beside the timeline have begun at this instant happens before it is left.
            self.settle()?;
            let why = match self.resolve(instant) {
                None => Some(format!("{} never came to be", instant.text)),
                Some(at) if at < self.now => Some(format!("{} lies before {}", instant.text, self.now)),
                Some(at) => {
                    self.advance(at)?;
                    None
                }
            };
            if let Some(why) = why {
                return self.not_run(step, why);
            }
        }
        match &step.what {
            What::Do(action) if action.verb == Verb::Resume => self.play_resume(step),
            What::Do(action) => self.play_do(step, action),
            What::Tick(thread) => self.play_tick(step, *thread),
            What::Await { until, within } => self.play_await(step, until, *within),
            What::Check(check) => {
                let op = self.begin_step(step, 1);
                self.mark_begun(step.index);
                self.look(check, op)?;
                self.ended("master", op, ended("ok", None))
            }
        }?;
        self.hear_witnesses()?;
        self.read_state()?;
        self.read_target_clock()
    }

    fn not_run(&mut self, step: &Step, why: String) -> Staged<()> {
        let op = Self::op(step, 1);
        let actor = Self::actor_of(step);
        self.note(
            &actor,
            Observer::Timeline,
            Some(op),
            Kind::StepBegan {
                text: step.text.clone(),
            },
        );
        self.note(&actor, Observer::Timeline, Some(op), ended("not run", Some(why)));
        Ok(())
    }

    fn begin_step(&mut self, step: &Step, repetition: u32) -> Op {
        let op = Self::op(step, repetition);
        let now = self.now;
        let record = &mut self.steps[step.index];
        record.ran_at.get_or_insert(now);
        record.open += 1;
        let actor = Self::actor_of(step);
        let text = Do::repeated(&step.text, repetition);
        self.note(&actor, Observer::Timeline, Some(op), Kind::StepBegan { text });
        op
    }

    fn mark_begun(&mut self, step: usize) {
        self.steps[step].all_begun = true;
    }

    fn play_resume(&mut self, step: &Step) -> Staged<()> {
        let op = self.begin_step(step, 1);
        self.mark_begun(step.index);
        self.resume()?;
        self.settle()?;
        self.ended("master", op, ended("ok", None))
    }

    fn play_do(&mut self, step: &Step, action: &Do) -> Staged<()> {
        if step.is_async {
            return self.play_beside(step);
        }
        let until = step.until.as_ref().and_then(|instant| self.resolve(instant));
        let mut round_at = self.now;
        loop {
            let next = round_at + step.every.unwrap_or(Span::ZERO);
            let last = until.is_none_or(|until| next > until);
            self.play_round(step, action, last)?;
            if last {
                return Ok(());
            }
            round_at = next;
            self.advance(round_at)?;
        }
    }

    /// All repetitions of a step, or those of one round; with rounds they follow each other without a distance.
    fn play_round(&mut self, step: &Step, action: &Do, last: bool) -> Staged<()> {
        let began = self.now;
        let every = step.every.filter(|_| step.until.is_none());
        for repetition in 1..=step.times {
            if let Some(every) = every.filter(|_| repetition > 1) {
                self.advance(began + every * u64::from(repetition - 1))?;
            }
            if last && repetition == step.times {
                self.mark_begun(step.index);
            }
            let running = self.begin_do(step, action, repetition)?;
            self.settle()?;
            self.run_out(step, running, repetition)?;
            let pause = self.now + self.plan.world.step;
            self.advance(pause)?;
        }
        Ok(())
    }

    /// An operation that the timeline waits for: time runs from timer to timer until it has its result.
    fn run_out(&mut self, step: &Step, running: Option<u64>, repetition: u32) -> Staged<()> {
        let Some(id) = running else { return Ok(()) };
        while let Some(running) = self.running.get(&id) {
            if self.acts(&running.actor) && self.next_timer(Span::from_ns(u64::MAX))? {
                continue;
            }
            let actor = running_actor(self, id);
            self.running.remove(&id);
            let why = "the fault suspends it; give the step async = true".to_owned();
            return self.ended(&actor, Self::op(step, repetition), ended("no result", Some(why)));
        }
        Ok(())
    }

    fn play_beside(&mut self, step: &Step) -> Staged<()> {
        let until = step.until.as_ref().and_then(|instant| self.resolve(instant));
        let repeater = Repeater {
            step: step.index,
            repetition: 1,
            round_at: self.now,
            next_at: self.now,
            until,
        };
        self.repeaters.push(repeater);
        // What is due now begins now, and moves together with whatever the timeline does next.
        while let Some(index) = self.repeaters.iter().position(|other| other.step == step.index) {
            if self.repeaters[index].next_at > self.now {
                break;
            }
            self.begin_repetition(index)?;
        }
        match self.plan.world.step {
            Span::ZERO => Ok(()),
            pause => self.advance(self.now + pause),
        }
    }

    /// Begins the next repetition of a step beside the timeline, and says when the one after it is due.
    pub(crate) fn repeat(&mut self, index: usize) -> Staged<()> {
        self.begin_repetition(index)?;
        self.settle()
    }

    fn begin_repetition(&mut self, index: usize) -> Staged<()> {
        let repeater = self.repeaters[index].clone();
        let step = &self.plan.steps[repeater.step];
        let What::Do(action) = &step.what else {
            return Ok(());
        };
        let next = self.after_repetition(step, &repeater);
        match next {
            Some(next) => self.repeaters[index] = next,
            None => {
                self.repeaters.remove(index);
                self.mark_begun(step.index);
            }
        }
        self.begin_do(step, action, repeater.repetition).map(|_| ())
    }

    fn after_repetition(&self, step: &Step, repeater: &Repeater) -> Option<Repeater> {
        let every = step.every.unwrap_or(Span::ZERO);
        let mut next = repeater.clone();
        next.repetition += 1;
        if next.repetition <= step.times {
            // Inside a round repetitions follow each other at the world's step; without rounds at `every`.
            let gap = if step.until.is_some() {
                self.plan.world.step
            } else {
                every.max(self.plan.world.step)
            };
            next.next_at = repeater.next_at + gap;
            return Some(next);
        }
        let until = repeater.until?;
        next.repetition = 1;
        next.round_at = repeater.round_at + every;
        next.next_at = next.round_at;
        (every > Span::ZERO && next.next_at <= until).then_some(next)
    }

    /// Begins one repetition of an operation.
    fn begin_do(&mut self, step: &Step, action: &Do, repetition: u32) -> Staged<Option<u64>> {
        let who = action.who.clone().unwrap_or_default();
        let op = self.begin_step(step, repetition);
        self.stimulus(op)?;
        if self.fault.claims_only() && self.is_stimulus(step.index) {
            let note = Some("claimed and left out".to_owned());
            return self.ended(&who, op, ended("no result", note)).map(|()| None);
        }
        if !self.actors.get(&who).is_some_and(|actor| actor.alive) {
            let note = Some(format!("{who} is gone"));
            return self.ended(&who, op, ended("no result", note)).map(|()| None);
        }
        if action.verb == Verb::Fill {
            return self.play_fill(action, &who, op).map(|()| None);
        }
        if let Some(begun) = self.play_after_close(action, &who, op)? {
            return Ok(begun);
        }
        if action.verb == Verb::Close {
            self.begin_close(&who)?;
        }
        if action.verb.registers() {
            return self.play_registration(action, &who, op).map(Some);
        }
        if let (Verb::GetStart, Some(key), Some(actor)) =
            (action.verb, &action.key, self.actors.get_mut(&who))
        {
            actor
                .get_sessions
                .start(step.index, Do::repeated(key, repetition));
        }
        let task = match action.verb {
            Verb::RunTask => self.take_task(&who),
            _ => None,
        };
        match self.prepare(action, &who, repetition, task) {
            Err(why) => self.ended(&who, op, ended("not run", Some(why))).map(|()| None),
            Ok(prepared) => {
                let id = self.begin(
                    &who,
                    Some(op),
                    prepared.machine,
                    prepared.buffer.clone(),
                    prepared.size,
                )?;
                if let Some(running) = self.running.get_mut(&id) {
                    running.session = prepared.session;
                }
                if let Some(buffer) = &prepared.buffer {
                    self.buffers.imply_registration(&who, buffer);
                    self.buffers.lay_plain(buffer);
                }
                if let Some(BufferKey::Named(name)) =
                    prepared.buffer.as_ref().filter(|_| prepared.sizes_buffer)
                {
                    self.buffers.size(name, prepared.size);
                }
                if let Some((pattern, places)) = prepared.fill {
                    match prepared.buffer {
                        Some(buffer) => {
                            for place in places {
                                self.fill_buffer(&who, &buffer, place, &pattern)?;
                            }
                        }
                        // It has no block yet.
                        None => {
                            if let Some(running) = self.running.get_mut(&id) {
                                running.fill = Some((pattern, places));
                            }
                            self.copy_in(id)?;
                        }
                    }
                }
                Ok(Some(id))
            }
        }
    }

    fn play_fill(&mut self, action: &Do, who: &str, op: Op) -> Staged<()> {
        let name = action
            .into
            .as_deref()
            .map(|name| Do::repeated(name, op.repetition))
            .unwrap_or_default();
        let size = action
            .size_bytes
            .or_else(|| self.buffers.size_of(&name))
            .unwrap_or(0);
        let pattern = action.written_pattern().unwrap_or(who).to_owned();
        self.note_reuse(who, Some(op), &name, (0, size));
        self.buffers.size(&name, size);
        let whole = BufferPlace {
            at: 0,
            range: ByteRange { from: 0, size },
        };
        self.fill_buffer(who, &BufferKey::Named(name.clone()), whole, &pattern)?;
        self.witness_fill(who, Some(op), &name, size);
        self.ended(who, op, ended("ok", None))
    }

    fn play_tick(&mut self, step: &Step, thread: Thread) -> Staged<()> {
        let until = step.until.as_ref().and_then(|instant| self.resolve(instant));
        let mut round_at = self.now;
        loop {
            let next = round_at + step.every.unwrap_or(Span::ZERO);
            let last = until.is_none_or(|until| next > until);
            let every = step.every.filter(|_| step.until.is_none());
            for repetition in 1..=step.times {
                if let Some(every) = every.filter(|_| repetition > 1) {
                    self.advance(round_at + every * u64::from(repetition - 1))?;
                }
                if last && repetition == step.times {
                    self.mark_begun(step.index);
                }
                self.tick_once(step, thread, repetition)?;
            }
            if last {
                return Ok(());
            }
            round_at = next;
            self.advance(round_at)?;
        }
    }

    fn tick_once(&mut self, step: &Step, thread: Thread, repetition: u32) -> Staged<()> {
        let op = self.begin_step(step, repetition);
        if !self.master_up || self.master_frozen {
            let note = Some("the master does not run".to_owned());
            return self.ended("master", op, ended("not run", note));
        }
        self.ports.tick(thread)?;
        let kind = Kind::Tick {
            thread: thread.name().to_owned(),
        };
        self.note("master", Observer::Master, Some(op), kind);
        self.ended("master", op, ended("ok", None))?;
        self.settle()
    }

    fn play_await(&mut self, step: &Step, until: &AwaitFor, within: Span) -> Staged<()> {
        let op = self.begin_step(step, 1);
        self.mark_begun(step.index);
        let limit = self.now + within;
        self.settle()?;
        let mut holds = self.holds(until)?;
        while !holds && self.next_timer(limit)? {
            holds = self.holds(until)?;
        }
        if !holds {
            self.move_time(limit)?;
            self.settle()?;
            holds = self.holds(until)?;
        }
        let outcome = if holds {
            ended("ok", None)
        } else {
            ended("not yet", Some(format!("not within {within}")))
        };
        self.ended("master", op, outcome)
    }

    fn holds(&mut self, until: &AwaitFor) -> Staged<bool> {
        match until {
            AwaitFor::Step(index) => Ok(self
                .steps
                .get(*index)
                .is_some_and(|record| record.all_begun && record.open == 0)),
            AwaitFor::Quiet => Ok(self.quiet()),
            AwaitFor::Mounted(node) => self.mounted(node),
        }
    }
}

fn running_actor<P: Ports>(stage: &Stage<'_, P>, id: u64) -> String {
    stage
        .running
        .get(&id)
        .map(|running| running.actor.clone())
        .unwrap_or_default()
}
