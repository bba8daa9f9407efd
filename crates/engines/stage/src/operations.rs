//! Operations under way: the client's machines, driven step by step.

use crate::actors::Chore;
use crate::clients::{Begun, SessionMeant};
use crate::closing::Stray;
use crate::connections::Connecting;
use crate::memory::BufferKey;
use crate::messages::{Message, Place};
use crate::ports::{Ending, Ports, Sending};
use crate::state::{Stage, Staged};
use crate::waves::Wave;
use moonquake_client::{
    BufferPart, BufferPlace, Call, Happened, Move, MoveFailure, NearMemory, Operation, Outcome, Want, Wire,
};
use moonquake_clock::{Clocks, Span};
use moonquake_evidence::{Content, Kind, Observer, Op};
use moonquake_protocol::checksum;
use moonquake_scenario::{Do, Verb};
use std::collections::VecDeque;

/// What a read has brought.
enum Brought {
    Nothing,
    One(Content),
    /// Each key of a batch that went well.
    Many(Vec<(String, Content)>),
}

/// What an operation does next, once its actor can act.
#[allow(clippy::large_enum_variant, reason = "one value lives at a time")]
pub(crate) enum Pending {
    /// It has not begun.
    Begin,
    /// It is about to send a request.
    Send(Call),
    /// It has something to hear.
    Hear(Happened),
    /// It has begun, and wants this.
    Want(Want),
}

/// An operation under way.
pub(crate) struct Running {
    pub(crate) actor: String,
    /// The step it belongs to; none for background work.
    pub(crate) op: Option<Op>,
    /// What its client does by itself, if it belongs to no step.
    pub(crate) chore: Option<Chore>,
    pub(crate) machine: Box<dyn Operation>,
    pub(crate) pending: Option<Pending>,
    /// The message it waits for, with its own clocks when that was sent.
    pub(crate) call: Option<(u64, Clocks)>,
    /// The connection of its client's pool that its call has.
    pub(crate) lent: Option<Wire>,
    /// Its call, while that has no connection and tries to make one.
    pub(crate) connecting: Option<Connecting>,
    /// The transfers of a batch that it waits for.
    pub(crate) wave: Wave,
    /// Transfers of a sequence that are submitted once the one before is over.
    pub(crate) queue: VecDeque<Move>,
    /// When the wait that it wanted is over.
    pub(crate) wakes_at: Option<Span>,
    /// Transfers that its limit gave up and that still run.
    pub(crate) given_up: Vec<u64>,
    pub(crate) buffer: BufferKey,
    /// The session that it means.
    pub(crate) session: Option<SessionMeant>,
    /// What the value of a staged write is, there in its blocks, until it has them.
    pub(crate) fill: Option<(String, Vec<BufferPlace>)>,
    pub(crate) size: u64,
    pub(crate) rate: Option<u64>,
    pub(crate) order: u64,
}

impl<P: Ports> Stage<'_, P> {
    /// Begins background work of an actor.
    pub(crate) fn begin_background(
        &mut self,
        actor: &str,
        chore: Chore,
        machine: Box<dyn Operation>,
    ) -> Staged<()> {
        let id = self.number();
        self.begin_as(id, actor, (None, Some(chore)), machine, None, 0);
        Ok(())
    }

    /// Begins background work that takes the place of other work that is over: under its number, and at once.
    pub(crate) fn go_on_in_background(
        &mut self,
        id: u64,
        actor: &str,
        chore: Chore,
        machine: Box<dyn Operation>,
    ) -> Staged<()> {
        self.begin_as(id, actor, (None, Some(chore)), machine, None, 0);
        self.move_running(id)
    }

    /// Puts an operation on the stage; its first step is taken when the stage settles.
    pub(crate) fn begin(
        &mut self,
        actor: &str,
        op: Option<Op>,
        machine: Box<dyn Operation>,
        buffer: Option<BufferKey>,
        size: u64,
    ) -> Staged<u64> {
        let id = self.number();
        self.begin_as(id, actor, (op, None), machine, buffer, size);
        Ok(id)
    }

    fn begin_as(
        &mut self,
        id: u64,
        actor: &str,
        (op, chore): (Option<Op>, Option<Chore>),
        machine: Box<dyn Operation>,
        buffer: Option<BufferKey>,
        size: u64,
    ) {
        let order = self.enqueue();
        let running = Running {
            actor: actor.to_owned(),
            op,
            chore,
            machine,
            pending: Some(Pending::Begin),
            call: None,
            lent: None,
            connecting: None,
            wave: Wave::default(),
            queue: VecDeque::new(),
            wakes_at: None,
            given_up: Vec::new(),
            buffer: buffer.unwrap_or(BufferKey::Staging(id)),
            session: None,
            fill: None,
            size,
            rate: None,
            order,
        };
        self.running.insert(id, running);
    }

    /// Whether an operation has something to do now.
    pub(crate) fn running_ready(&self, running: &Running) -> bool {
        running.pending.is_some() && self.acts(&running.actor)
    }

    /// An operation is told something; it acts on it when its actor can.
    pub(crate) fn tell(&mut self, id: u64, happened: Happened) -> Staged<()> {
        let order = self.enqueue();
        if let Happened::Answered(answer) = &happened {
            self.return_connection(id, answer.is_ok());
        }
        if let Some(running) = self.running.get_mut(&id) {
            running.call = None;
            running.pending = Some(Pending::Hear(happened));
            running.order = order;
        }
        Ok(())
    }

    /// The next step of an operation.
    pub(crate) fn move_running(&mut self, id: u64) -> Staged<()> {
        let Some(actor) = self.running.get(&id).map(|running| running.actor.clone()) else {
            return Ok(());
        };
        match self.goes_on_without_its_client(id) {
            Some(Stray::Crashes) => return self.ends_with_its_client(&actor),
            Some(Stray::Hangs) => {
                if let Some(running) = self.running.get_mut(&id) {
                    running.pending = None;
                }
                return Ok(());
            }
            None => {}
        }
        let now = self.clocks(&actor);
        let begins = |running: &Running| matches!(running.pending, Some(Pending::Begin));
        if self.running.get(&id).is_some_and(begins) {
            self.tell_client(id)?;
        }
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(());
        };
        let want = match running.pending.take() {
            None => return Ok(()),
            Some(Pending::Send(call)) => return self.find_connection(id, call),
            Some(Pending::Begin) => running.machine.begin(now),
            Some(Pending::Want(want)) => want,
            Some(Pending::Hear(happened)) => running.machine.next(now, happened),
        };
        self.keep_session(id);
        self.want(id, want)
    }

    fn want(&mut self, id: u64, want: Want) -> Staged<()> {
        match want {
            Want::Call(call) => self.before_call(id, call),
            Want::Stage { blocks, all } => self.stage_blocks(id, &blocks, all),
            Want::Sum(parts) => self.sum(id, &parts),
            Want::Move(wanted) => match self.submit(id, &wanted)? {
                Ok(_) => Ok(()),
                Err(failure) => self.tell(id, Happened::Moved(Err(failure))),
            },
            Want::Moves(wanted) => self.submit_all(id, &wanted),
            Want::Sequence { moves, look_after } => self.begin_sequence(id, moves, look_after),
            Want::Await(look_after) => {
                self.look_after(id, look_after);
                self.wave_over(id)
            }
            Want::FenceThen(then) => {
                let running = self.running.get_mut(&id);
                for transfer in running
                    .map(|running| std::mem::take(&mut running.given_up))
                    .unwrap_or_default()
                {
                    if self.transfers.get(transfer).is_some() {
                        self.end_transfer(transfer, Ending::Fenced, Err(MoveFailure::Closed))?;
                    }
                }
                self.want(id, *then)
            }
            Want::Wait(length) => {
                self.look_after(id, Some(length));
                Ok(())
            }
            Want::Done(outcome) => self.finish(id, &outcome),
        }
    }

    /// A staged write copies the value of its caller when it is called, before anything else can happen; what follows comes in
    /// its turn.
    pub(crate) fn copy_in(&mut self, id: u64) -> Staged<()> {
        let Some(actor) = self.running.get(&id).map(|running| running.actor.clone()) else {
            return Ok(());
        };
        if !self.acts(&actor) {
            return Ok(());
        }
        self.tell_client(id)?;
        let now = self.clocks(&actor);
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(());
        };
        let pending = match running.machine.begin(now) {
            Want::Stage { blocks, all } => {
                Pending::Hear(Happened::Staged(self.take_staging(id, &blocks, all)))
            }
            want => Pending::Want(want),
        };
        if let Some(running) = self.running.get_mut(&id) {
            running.pending = Some(pending);
        }
        Ok(())
    }

    /// A client that is a process of its own is told what to do.
    pub(crate) fn tell_client(&mut self, id: u64) -> Staged<()> {
        let Some((running, op)) = self
            .running
            .get(&id)
            .and_then(|running| Some((running, running.op?)))
        else {
            return Ok(());
        };
        let step = op.step as usize;
        let Some(action) = self.plan.steps.get(step).and_then(|step| step.operation()) else {
            return Ok(());
        };
        let repeated = |text: &String| Do::repeated(text, op.repetition);
        let begun = Begun {
            id,
            actor: &running.actor,
            action,
            step,
            repetition: op.repetition,
            key: action.key.as_ref().map(repeated).unwrap_or_default(),
            keys: action.keys.iter().map(repeated).collect(),
            buffer: match &running.buffer {
                BufferKey::Named(name) => Some(name.clone()),
                BufferKey::Staging(_) | BufferKey::Own(_) => None,
            },
            capacity: match self.buffers.near(Some(&running.buffer)) {
                NearMemory::Caller { bytes } => bytes,
                NearMemory::Staging => None,
            },
            value: running.fill.clone(),
            session: running.session.clone(),
        };
        Ok(self.ports.begin_operation(&begun)?)
    }

    /// Taking memory is no event: the operation goes on at once.
    fn stage_blocks(&mut self, id: u64, blocks: &[u64], all: bool) -> Staged<()> {
        let taken = self.take_staging(id, blocks, all);
        let Some(actor) = self.running.get(&id).map(|running| running.actor.clone()) else {
            return Ok(());
        };
        let now = self.clocks(&actor);
        match self.running.get_mut(&id) {
            Some(running) => {
                let want = running.machine.next(now, Happened::Staged(taken));
                self.want(id, want)
            }
            None => Ok(()),
        }
    }

    /// Looking at memory is no event either.
    fn sum(&mut self, id: u64, parts: &[BufferPart]) -> Staged<()> {
        let Some((actor, buffer)) = self
            .running
            .get(&id)
            .map(|running| (running.actor.clone(), running.buffer.clone()))
        else {
            return Ok(());
        };
        let sum = |part: &BufferPart| checksum(&self.buffers.read(&buffer, part.at, part.size));
        let summed = Happened::Summed(parts.iter().map(sum).collect());
        let now = self.clocks(&actor);
        match self.running.get_mut(&id) {
            Some(running) => {
                let want = running.machine.next(now, summed);
                self.want(id, want)
            }
            None => Ok(()),
        }
    }

    /// The wait of an operation is over.
    pub(crate) fn wake(&mut self, id: u64) -> Staged<()> {
        if let Some(running) = self.running.get_mut(&id) {
            running.wakes_at = None;
        }
        self.ports.wait_over(id)?;
        self.tell(id, Happened::Waited)
    }

    fn before_call(&mut self, id: u64, call: Call) -> Staged<()> {
        let phase = call.phases.before;
        let order = self.enqueue();
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(());
        };
        let (actor, op) = (running.actor.clone(), running.op);
        running.pending = Some(Pending::Send(call));
        running.order = order;
        match phase {
            Some(phase) => self.actor_phase(phase, &actor, op, None, None),
            None => Ok(()),
        }
    }

    /// A call that has a connection is sent.
    pub(crate) fn send(&mut self, id: u64, call: Call) -> Staged<()> {
        let Some(running) = self.running.get(&id) else {
            return Ok(());
        };
        let (actor, op) = (running.actor.clone(), running.op);
        let (message, order) = (self.number(), self.enqueue());
        self.messages.insert(
            message,
            Message {
                actor: actor.clone(),
                op,
                waiter: Some(id),
                phases: call.phases,
                place: Place::Underway,
                held: false,
                not_before: Span::ZERO,
                duplicate: false,
                response_phase_done: false,
                order,
            },
        );
        let (now, sent_at) = (self.now, self.clocks(&actor));
        if let Some(record) = op.and_then(|op| self.steps.get_mut(op.step as usize)) {
            record.sent_at.get_or_insert(now);
        }
        if let Some(running) = self.running.get_mut(&id) {
            running.call = Some((message, sent_at));
        }
        let seen = self.ports.send(&Sending {
            actor: &actor,
            message,
            operation: id,
            request: &call.request,
            fences: &call.fences,
        })?;
        self.log_frames(seen)?;
        match call.phases.sent {
            Some(phase) => self.sent_phase(phase, message),
            None => Ok(()),
        }
    }

    /// An operation has its result.
    pub(crate) fn finish(&mut self, id: u64, outcome: &Outcome) -> Staged<()> {
        if self.closes_under_a_transfer(id) {
            let actor = self.running.get(&id).map(|running| running.actor.clone());
            return actor.map_or(Ok(()), |actor| self.ends_with_its_client(&actor));
        }
        let Some(running) = self.running.remove(&id) else {
            return Ok(());
        };
        let told = match running.op {
            Some(_) => self.ports.end_operation(id, outcome)?,
            None => None,
        };
        if self.closes(&running) {
            self.end_close(&running.actor)?;
        }
        // What was touched by then comes before the result.
        self.hear_witnesses()?;
        let (outcome, note) = match &told {
            Some(told) => (&told.outcome, told.note.clone()),
            None => (outcome, None),
        };
        let content = self.read_content(&running, outcome)?;
        self.end_session(&running, outcome);
        self.buffers.staging.give_back(id);
        if let Some(actor) = self.actors.get_mut(&running.actor) {
            actor.tasks.extend(running.machine.tasks_left());
        }
        let staged = matches!(running.buffer, BufferKey::Staging(_)) && self.buffers.staging.has_blocks(id);
        if staged && outcome.is_failure() {
            self.witness_staging(&running.actor);
        }
        let Some(op) = running.op else {
            return match running.chore {
                Some(Chore::Ping) => self.ping_over(id, &running, outcome),
                Some(Chore::Mount) => self.mount_over(&running.actor, outcome),
                _ => Ok(()),
            };
        };
        let content = match content {
            Brought::Nothing => None,
            Brought::One(content) => Some(content),
            Brought::Many(entries) => {
                let whole = Content::joined(entries.iter().map(|(_, content)| content));
                for (key, content) in entries {
                    self.note(
                        &running.actor,
                        Observer::Timeline,
                        Some(op),
                        Kind::Brought { key, content },
                    );
                }
                whole
            }
        };
        let entries = match outcome {
            Outcome::Batch(entries) => entries.iter().map(Outcome::to_string).collect(),
            _ => Vec::new(),
        };
        let count = if let Outcome::Count(count) = outcome {
            Some(*count)
        } else {
            None
        };
        let ended = Kind::StepEnded {
            outcome: outcome.to_string(),
            entries,
            count,
            content,
            note,
        };
        self.ended(&running.actor, op, ended)
    }

    /// Whether an operation is the close of its client.
    pub(crate) fn closes(&self, running: &Running) -> bool {
        self.action_of(running)
            .is_some_and(|action| action.verb == Verb::Close)
    }

    /// The step that an operation plays. `None`: it is none of a caller.
    pub(crate) fn action_of(&self, running: &Running) -> Option<&Do> {
        let step = running.op.and_then(|op| self.plan.steps.get(op.step as usize));
        step.and_then(moonquake_scenario::Step::operation)
    }

    /// What a read has brought: the bytes of the object, or those of each entry or range that went well.
    fn read_content(&mut self, running: &Running, outcome: &Outcome) -> Staged<Brought> {
        let action = running
            .op
            .and_then(|op| Some((op, &self.plan.steps.get(op.step as usize)?.what)));
        let Some((op, moonquake_scenario::What::Do(action))) = action else {
            return Ok(Brought::Nothing);
        };
        let places = running.machine.places();
        Ok(match (action.verb, outcome) {
            (Verb::Get, Outcome::Batch(outcomes)) => {
                let went_well = places.into_iter().zip(outcomes);
                let went_well = went_well.filter(|(_, outcome)| **outcome == Outcome::Ok);
                self.content_of_ranges(running, went_well.filter_map(|(place, _)| place))?
            }
            (Verb::GetRead, Outcome::Ok) => self.content_of_ranges(running, places.into_iter().flatten())?,
            (Verb::Get, Outcome::Ok) => Brought::One(self.content_of(&running.buffer, running.size)?),
            (Verb::BatchGet, Outcome::Batch(outcomes)) => {
                let results: Vec<(Option<BufferPlace>, &Outcome)> =
                    places.into_iter().zip(outcomes).collect();
                let mut brought = Vec::new();
                // Without ranges, each key has one result.
                for (key, results) in action.keys.iter().zip(results.chunks(action.ranges.len().max(1))) {
                    let went_well = results.iter().filter(|(_, outcome)| **outcome == Outcome::Ok);
                    let contents: Vec<Content> = went_well
                        .filter_map(|(place, _)| *place)
                        .map(|place| self.content_at(&running.buffer, place))
                        .collect::<Staged<_>>()?;
                    let whole = Content::joined(&contents);
                    brought.extend(whole.map(|content| (Do::repeated(key, op.repetition), content)));
                }
                Brought::Many(brought)
            }
            _ => Brought::Nothing,
        })
    }

    /// Ranges of one object, one behind the other.
    fn content_of_ranges(
        &mut self,
        running: &Running,
        places: impl Iterator<Item = BufferPlace>,
    ) -> Staged<Brought> {
        let contents: Vec<Content> = places
            .map(|place| self.content_at(&running.buffer, place))
            .collect::<Staged<_>>()?;
        Ok(Content::joined(&contents).map_or(Brought::Nothing, Brought::One))
    }

    /// Every operation of an actor that is gone ends without a result.
    pub(crate) fn end_operations_of(&mut self, actor: &str) -> Staged<()> {
        let mine = |(id, running): (&u64, &Running)| (running.actor == actor).then_some(*id);
        let ids: Vec<u64> = self.running.iter().filter_map(mine).collect();
        for id in ids {
            let Some(running) = self.running.remove(&id) else {
                continue;
            };
            if let Some(message) = running.call.and_then(|(call, _)| self.messages.get_mut(&call)) {
                message.waiter = None;
            }
            if let Some(op) = running.op {
                let note = Some("its actor is gone".to_owned());
                let ended = Kind::StepEnded {
                    outcome: "no result".to_owned(),
                    entries: Vec::new(),
                    count: None,
                    content: None,
                    note,
                };
                self.ended(&running.actor, op, ended)?;
            }
        }
        Ok(())
    }

    /// Writes the end of a repetition and notes it.
    pub(crate) fn ended(&mut self, actor: &str, op: Op, kind: Kind) -> Staged<()> {
        self.note(actor, Observer::Timeline, Some(op), kind);
        let now = self.now;
        if let Some(record) = self.steps.get_mut(op.step as usize) {
            record.done_at.get_or_insert(now);
            record.open = record.open.saturating_sub(1);
        }
        self.after_phase(op)
    }
}
