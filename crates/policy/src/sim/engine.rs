//! The events, in their order.
//!
//! A request arrives, looks its prefix up, fetches it or not, waits for a server, computes, and stores what it computed. At
//! one instant things happen in this order, each until none is left: servers end (in the order in which they began; what was
//! computed is stored, and requests that waited for it look again), transfers end, fetches are given up, lookups end (in the
//! order of arrival). When nothing is left to happen, free servers take requests.

use super::cache::Cache;
use super::config::{Decision, Twins, Writes};
use super::future::Future;
use super::job::{Job, NOBODY};
use super::link::Link;
use super::observer::{Observer, Seen, Story};
use super::ready::Ready;
use super::saved::Saved;
use super::{Config, SimError};
use crate::{Outcome, Policy, Trace, Use};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// See the top of this file.
pub(super) struct Engine<'a, P, O> {
    trace: &'a Trace,
    config: &'a Config,
    observer: &'a mut O,
    now_ns: u64,
    jobs: Vec<Job>,
    cache: Cache<P>,
    capacity: usize,
    link: Link,
    ready: Ready,
    saved: Saved,
    future: Future,
    /// How many references have been looked up.
    looked_up: usize,
    /// For each block, the request that is about to compute it and those behind it; only the first one of a request.
    owners: Vec<u32>,
    /// The next request whose lookup ends.
    next_lookup: usize,
    /// Fetches by the instant at which they are given up; some are over by then.
    deadlines: VecDeque<(u64, u32)>,
    /// Computations by their end.
    computing: BinaryHeap<Reverse<(u64, u64, u32)>>,
    begun: u64,
    ended: usize,
    outcome: Outcome,
}

impl<'a, P: Policy, O: Observer> Engine<'a, P, O> {
    /// For a trace that was checked against the configuration.
    pub(super) fn new(trace: &'a Trace, config: &'a Config, observer: &'a mut O) -> Result<Self, SimError> {
        let blocks = trace.blocks();
        // A cache larger than all blocks is as good as one that holds them all.
        let fits = usize::try_from(config.capacity_blocks()?).unwrap_or(usize::MAX);
        let capacity = fits.min(blocks).max(1);
        Ok(Engine {
            trace,
            config,
            observer,
            now_ns: 0,
            jobs: vec![Job::default(); trace.requests.len()],
            cache: Cache::new(capacity, blocks),
            capacity,
            link: Link::new(config.link, config.bandwidth_bytes_per_s),
            ready: Ready::new(config.queue),
            saved: Saved::new(trace, config),
            future: if P::LOOKS_AHEAD {
                Future::of(trace)
            } else {
                Future::unknown()
            },
            looked_up: 0,
            owners: vec![NOBODY; blocks],
            next_lookup: 0,
            deadlines: VecDeque::new(),
            computing: BinaryHeap::new(),
            begun: 0,
            ended: 0,
            outcome: Outcome {
                policy: P::NAME.to_owned(),
                requests: trace.requests.len() as u64,
                servers: config.servers,
                slo_ns: config.slo_ns,
                ttft_ns: Vec::with_capacity(trace.requests.len()),
                ..Outcome::default()
            },
        })
    }

    /// Until the last request has ended.
    pub(super) fn run(mut self) -> Outcome {
        while let Some(next_ns) = self.next_ns() {
            let waiting = self.ready.len() as u128;
            self.outcome.queue_request_ns += waiting * u128::from(next_ns - self.now_ns);
            self.now_ns = next_ns;
            self.link.advance(next_ns);
            while self.event() {}
            self.dispatch();
            self.outcome.queue_max = self.outcome.queue_max.max(self.ready.len() as u64);
            self.tell();
        }
        let first = self.trace.requests.first();
        self.outcome.span_ns = self.now_ns - first.map_or(0, |request| request.arrival_ns);
        self.outcome.link_busy_ns = self.link.busy_ns();
        self.outcome.ttft_ns.sort_unstable();
        self.outcome
    }

    /// The next instant at which something happens; none when all requests have ended.
    fn next_ns(&mut self) -> Option<u64> {
        if self.ended == self.jobs.len() {
            return None;
        }
        while let Some(&(_, request)) = self.deadlines.front() {
            if self.jobs[request as usize].fetch.is_some() {
                break;
            }
            self.deadlines.pop_front();
        }
        let computed = self.computing.peek().map(|Reverse((end, _, _))| *end);
        let given_up = self.deadlines.front().map(|(due, _)| *due);
        let looked_up = self.lookup_ends();
        let instants = [computed, self.link.next_ns(), given_up, looked_up];
        instants.into_iter().flatten().min()
    }

    fn lookup_ends(&self) -> Option<u64> {
        let request = self.trace.requests.get(self.next_lookup)?;
        Some(request.arrival_ns + self.config.lookup_ns)
    }

    /// One thing that happens now; false if there is none.
    fn event(&mut self) -> bool {
        let now = self.now_ns;
        if let Some(&Reverse((end, _, request))) = self.computing.peek()
            && end == now
        {
            self.computing.pop();
            self.end(request);
            return true;
        }
        if let Some(key) = self.link.finished() {
            // A write has a number above those of the requests, and nobody waits for it.
            if (key as usize) < self.jobs.len() {
                self.fetched(key);
            }
            return true;
        }
        if let Some(&(due, request)) = self.deadlines.front()
            && due <= now
        {
            self.deadlines.pop_front();
            self.give_up(request);
            return true;
        }
        if self.lookup_ends() == Some(now) {
            let request = self.next_lookup as u32;
            self.next_lookup += 1;
            self.look_up(request);
            return true;
        }
        false
    }

    /// What is told to the policy about the reference `place` of a request.
    fn used(&self, request: u32, place: usize) -> Use {
        let asked = &self.trace.requests[request as usize];
        let at = asked.first as usize + place;
        let tokens = self.trace.tokens_at(asked, place as u32);
        Use {
            // Blocks of a request are told from the deepest to the first, and numbered in that order.
            seq: u64::from(asked.first) + u64::from(asked.count) - 1 - place as u64,
            next: self.future.after(at, self.looked_up),
            saved_ns: self.saved.ns(place, tokens),
            bytes: tokens * self.config.bytes_per_token,
        }
    }

    fn look_up(&mut self, request: u32) {
        let trace = self.trace;
        let asked = &trace.requests[request as usize];
        let chain = trace.chain(asked);
        let found = self.cache.prefix(chain);
        self.looked_up = self.looked_up.max(asked.first as usize + chain.len());
        let waits = self.config.twins == Twins::Wait && self.config.decision != Decision::Recompute;
        if waits && let Some(missing) = chain.get(found) {
            let owner = &mut self.owners[missing.index()];
            if *owner != NOBODY {
                let owner = *owner;
                Job::wait_for(&mut self.jobs, request, owner);
                return;
            }
            *owner = request;
        }
        // The deepest block first: whoever evicts the least recently used one finds leaves.
        for place in (0..found).rev() {
            let used = self.used(request, place);
            self.cache.hit(chain[place], &used);
        }
        if let Some(tip) = found.checked_sub(1) {
            self.cache.pin(chain[tip]);
        }
        let full = found as u64 * self.config.block_tokens;
        let job = &mut self.jobs[request as usize];
        job.found = found as u32;
        // The last token is always computed: what it says next is what the request is for.
        job.found_tokens = full.min(asked.input_tokens - 1);
        job.found_bytes = full.min(asked.input_tokens) * self.config.bytes_per_token;
        if job.found_tokens > 0 {
            self.decide(request);
        } else {
            self.ready(request, 0);
        }
    }

    /// Fetches what was found, or passes it by.
    fn decide(&mut self, request: u32) {
        let Job {
            found_tokens,
            found_bytes,
            ..
        } = self.jobs[request as usize];
        let fetches = match self.config.decision {
            Decision::Fetch => true,
            Decision::Recompute => false,
            Decision::Faster => {
                let input = self.trace.requests[request as usize].input_tokens;
                let prefill = &self.config.prefill;
                let fetch = self.link.expected_ns(found_bytes);
                let deadline = self.config.prefetch_deadline_ns.map(u128::from);
                deadline.is_none_or(|deadline| fetch <= deadline)
                    && fetch + prefill.ns(input - found_tokens, found_tokens) <= prefill.ns(input, 0)
            }
        };
        if !fetches {
            self.outcome.passed_by_tokens += found_tokens;
            self.ready(request, 0);
            return;
        }
        self.jobs[request as usize].fetch = Some(self.link.submit(request, found_bytes));
        if let Some(wait_ns) = self.config.prefetch_deadline_ns {
            self.deadlines.push_back((self.now_ns + wait_ns, request));
        }
    }

    fn fetched(&mut self, request: u32) {
        let job = &mut self.jobs[request as usize];
        job.fetch = None;
        self.outcome.fetched_bytes += job.found_bytes;
        let hit = job.found_tokens;
        self.ready(request, hit);
    }

    fn give_up(&mut self, request: u32) {
        let job = &mut self.jobs[request as usize];
        let Some(ticket) = job.fetch.take() else {
            return;
        };
        self.outcome.passed_by_tokens += job.found_tokens;
        self.outcome.fetched_bytes += self.link.abandon(ticket);
        self.ready(request, 0);
    }

    /// A request has `hit_tokens` and computes the others as soon as a server takes it.
    fn ready(&mut self, request: u32, hit_tokens: u64) {
        let asked = &self.trace.requests[request as usize];
        let job = &mut self.jobs[request as usize];
        let computes = asked.input_tokens - hit_tokens;
        job.ready_ns = self.now_ns;
        job.hit_tokens = hit_tokens;
        // The check before the run has it in 62 bits: this is no more than all of the prompt takes.
        job.compute_ns = self.config.prefill.ns(computes, hit_tokens) as u64;
        self.outcome.hit_tokens += hit_tokens;
        self.outcome.computed_tokens += computes;
        self.outcome.input_tokens += asked.input_tokens;
        let due_ns = asked.arrival_ns + self.config.slo_ns;
        self.ready.push(request, job.compute_ns, due_ns);
    }

    /// Free servers take requests.
    fn dispatch(&mut self) {
        while (self.computing.len() as u64) < self.config.servers
            && let Some(request) = self.ready.pop()
        {
            let job = &mut self.jobs[request as usize];
            job.start_ns = self.now_ns;
            let end = self.now_ns + job.compute_ns;
            self.outcome.servers_busy_ns += job.compute_ns;
            self.computing.push(Reverse((end, self.begun, request)));
            self.begun += 1;
        }
    }

    fn end(&mut self, request: u32) {
        let asked = &self.trace.requests[request as usize];
        let job = &self.jobs[request as usize];
        let ttft = self.now_ns - asked.arrival_ns;
        self.outcome.ttft_ns.push(ttft);
        self.outcome.within_slo += u64::from(ttft <= self.config.slo_ns);
        self.ended += 1;
        self.observer.ended(&Story {
            request,
            arrival_ns: asked.arrival_ns,
            ready_ns: job.ready_ns,
            start_ns: job.start_ns,
            end_ns: self.now_ns,
            hit_tokens: job.hit_tokens,
            computed_tokens: asked.input_tokens - job.hit_tokens,
        });
        self.store(request);
        let mut waiter = Job::take_waiters(&mut self.jobs, request);
        while waiter != NOBODY {
            let next = Job::after(&mut self.jobs, waiter);
            self.look_up(waiter);
            waiter = next;
        }
    }

    /// Puts the blocks that a request computed into the cache, as far from the beginning as there is room.
    fn store(&mut self, request: u32) {
        let trace = self.trace;
        let asked = &trace.requests[request as usize];
        let chain = trace.chain(asked);
        let found = self.jobs[request as usize].found as usize;
        if let Some(missed) = chain.get(found)
            && self.owners[missed.index()] == request
        {
            self.owners[missed.index()] = NOBODY;
        }
        // Another request may have stored some of them in the meantime; none of those may go to make room for the others.
        let there = found + self.cache.prefix(&chain[found..]);
        let tip = there.checked_sub(1).map(|at| chain[at]);
        if let Some(tip) = tip {
            self.cache.pin(tip);
        }
        let room = self.cache.make_room(chain.len() - there);
        let mut bytes = 0;
        // All at one instant, and the deepest first, as in a lookup.
        for place in (there..there + room).rev() {
            let used = self.used(request, place);
            let parent = place.checked_sub(1).map(|at| chain[at]);
            self.cache.insert(chain[place], parent, &used);
            bytes += used.bytes;
        }
        let before = found.checked_sub(1).map(|at| chain[at]);
        for pinned in [tip, before].into_iter().flatten() {
            self.cache.unpin(pinned);
        }
        self.outcome.stored_bytes += bytes;
        if self.config.writes == Writes::SameWay && bytes > 0 {
            let key = self.jobs.len() as u32 + request;
            self.link.submit(key, bytes);
        }
    }

    /// Tells an observer that audits what there is now.
    fn tell(&mut self) {
        if !O::AUDITS {
            return;
        }
        if let Some(wrong) = self.cache.audit() {
            self.observer.wrong(&wrong);
        }
        let requests = &self.trace.requests;
        let arrived = requests.partition_point(|request| request.arrival_ns <= self.now_ns);
        self.observer.instant(&Seen {
            now_ns: self.now_ns,
            cached_blocks: self.cache.len() as u64,
            capacity_blocks: self.capacity as u64,
            waiting: self.ready.len() as u64,
            computing: self.computing.len() as u64,
            transfers: self.link.len() as u64,
            inside: (arrived - self.ended) as u64,
            link_busy_ns: self.link.busy_ns(),
            link_moved_units: self.link.moved_units(),
        });
    }
}
