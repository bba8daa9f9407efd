//! One request on its way.

use super::link::Ticket;

/// No request.
pub(super) const NOBODY: u32 = u32::MAX;

/// What is known of a request so far. Those that wait for it are a list through the jobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Blocks found in the cache; the last of them is pinned until the request ends.
    pub(super) found: u32,
    pub(super) found_tokens: u64,
    pub(super) found_bytes: u64,
    /// What is moving for it.
    pub(super) fetch: Option<Ticket>,
    pub(super) hit_tokens: u64,
    pub(super) ready_ns: u64,
    pub(super) compute_ns: u64,
    pub(super) start_ns: u64,
    first_waiter: u32,
    last_waiter: u32,
    next: u32,
}

impl Default for Job {
    fn default() -> Job {
        Job {
            found: 0,
            found_tokens: 0,
            found_bytes: 0,
            fetch: None,
            hit_tokens: 0,
            ready_ns: 0,
            compute_ns: 0,
            start_ns: 0,
            first_waiter: NOBODY,
            last_waiter: NOBODY,
            next: NOBODY,
        }
    }
}

impl Job {
    /// Puts `request` at the end of those that wait for `owner`.
    pub(super) fn wait_for(jobs: &mut [Job], request: u32, owner: u32) {
        let last = jobs[owner as usize].last_waiter;
        if last == NOBODY {
            jobs[owner as usize].first_waiter = request;
        } else {
            jobs[last as usize].next = request;
        }
        jobs[owner as usize].last_waiter = request;
    }

    /// The first of those that wait for `owner`, which has none from now on.
    pub(super) fn take_waiters(jobs: &mut [Job], owner: u32) -> u32 {
        let owner = &mut jobs[owner as usize];
        owner.last_waiter = NOBODY;
        std::mem::replace(&mut owner.first_waiter, NOBODY)
    }

    /// The one behind `waiter` in the list, which `waiter` leaves.
    pub(super) fn after(jobs: &mut [Job], waiter: u32) -> u32 {
        std::mem::replace(&mut jobs[waiter as usize].next, NOBODY)
    }
}
