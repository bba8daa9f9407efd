//! What has come from an agent: answers that were not asked for yet, its end, and the end of what it wrote.

use super::protocol::{self, Hello, LINE_LIMIT, Line};
use super::reply::Outcome;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of its words that are kept.
const TAIL_BYTES: usize = 64 << 10;

/// Why nothing more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The process has closed its way out, as it does when it ends.
    Closed,
    /// It said something that is not of the protocol.
    Broken(String),
}

/// What was waited for did not come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// And will not.
    Ended(End),
    /// Not within the limit.
    Late,
}

#[derive(Debug, Default)]
struct State {
    hello: Option<Hello>,
    outcomes: BTreeMap<u64, Outcome>,
    end: Option<End>,
}

/// Answers, put here by the thread that reads them and taken by whoever waits.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

impl Inbox {
    /// Reads until the other side closes or breaks the protocol.
    pub(crate) fn fill(&self, from: impl Read) {
        let mut lines = BufReader::new(from);
        let mut first = true;
        let end = loop {
            match next_line(&mut lines) {
                Ok(Some(line)) => match protocol::parse(&line, first) {
                    Ok(said) => self.take_in(said),
                    Err(what) => break End::Broken(what),
                },
                Ok(None) => break End::Closed,
                Err(what) => break End::Broken(what),
            }
            first = false;
        };
        self.lock().end = Some(end);
        self.changed.notify_all();
    }

    fn take_in(&self, said: Line) {
        let mut state = self.lock();
        match said {
            Line::Hello(hello) => state.hello = Some(hello),
            Line::Reply(reply) => drop(state.outcomes.insert(reply.id, reply.outcome)),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the hello, at most `limit` of real time.
    pub(crate) fn hello(&self, limit: Duration) -> Result<Hello, Missing> {
        self.wait_until(limit, |state| state.hello.clone())
    }

    /// Waits for the answer to a call, at most `limit` of real time.
    pub(crate) fn outcome(&self, id: u64, limit: Duration) -> Result<Outcome, Missing> {
        self.wait_until(limit, |state| state.outcomes.remove(&id))
    }

    /// What has come counts, also when the end came after it.
    fn wait_until<T>(
        &self,
        limit: Duration,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, Missing> {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            if let Some(end) = &state.end {
                return Err(Missing::Ended(end.clone()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Missing::Late);
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next line without its end; none when there is no more. No more is held than a line may have.
fn next_line(from: &mut impl BufRead) -> Result<Option<Vec<u8>>, String> {
    let mut line = Vec::new();
    let limit = u64::try_from(LINE_LIMIT).unwrap_or(u64::MAX);
    let read = from.by_ref().take(limit).read_until(b'\n', &mut line);
    match read {
        Ok(0) => Ok(None),
        Ok(_) if line.pop_if(|last| *last == b'\n').is_some() => Ok(Some(line)),
        Ok(length) if length < LINE_LIMIT => {
            Err(format!("it stopped in the middle of a line of {length} bytes"))
        }
        Ok(_) => Err(format!("it sent a line of more than {LINE_LIMIT} bytes")),
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}

/// The last of what an agent has written beside the protocol.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    words: Mutex<Words>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Words {
    bytes: VecDeque<u8>,
    closed: bool,
}

impl Tail {
    /// Reads until the other side closes.
    pub(crate) fn fill(&self, mut from: impl Read) {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let bytes = &mut self.lock().bytes;
            bytes.extend(&buffer[..length]);
            let surplus = bytes.len().saturating_sub(TAIL_BYTES);
            bytes.drain(..surplus);
            self.changed.notify_all();
        }
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// It as text, or a remark in its place.
    pub(crate) fn text(&self) -> String {
        let all: Vec<u8> = self.lock().bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&all).trim().to_owned();
        if text.is_empty() {
            "(it said nothing)".to_owned()
        } else {
            text
        }
    }

    /// The same when it is complete: when the other side has closed, or after `limit` of real time.
    pub(crate) fn whole(&self, limit: Duration) -> String {
        let words = self.lock();
        let open = |words: &mut Words| !words.closed;
        drop(self.changed.wait_timeout_while(words, limit, open));
        self.text()
    }

    /// Waits until something is found in its whole lines, at most `limit` of real time or until it closes.
    pub(crate) fn find<T>(&self, limit: Duration, look: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut found = None;
        let missing = |words: &mut Words| {
            let all: Vec<u8> = words.bytes.iter().copied().collect();
            let text = String::from_utf8_lossy(&all);
            found = text.rsplit_once('\n').and_then(|(whole, _)| look(whole));
            found.is_none() && !words.closed
        };
        drop(self.changed.wait_timeout_while(self.lock(), limit, missing));
        found
    }

    fn lock(&self) -> MutexGuard<'_, Words> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
