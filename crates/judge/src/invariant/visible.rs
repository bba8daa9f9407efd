//! `invisible-before-put-end`: a key is readable only once the PutEnd that its current attempt's own operation sent
//! was handled with success.
//!
//! An attempt begins with a PutStart handled with success. Its own operation is the put itself, or, for calls made one
//! by one, the client's calls on that key after its PutStart. Readable means that GetReplicaList was answered `ok`,
//! ExistKey was answered `true`, or the key stands in the state that the observer read. While an upsert writes on other
//! bytes the value before it may be readable. Bytes that a session reads with
//! descriptors from before show nothing about visibility.

use super::Judged;
use crate::attempts::{Attempt, Attempts};
use crate::rpc::{self, Family};
use crate::view::{Pos, View};
use moonquake_evidence::{Leg, Range};

pub(super) fn judge(view: &View<'_>, attempts: &Attempts) -> Judged {
    let mut failures = Vec::new();
    let sights = sights(view);
    let places: Vec<Pos> = sights.iter().map(|sight| sight.pos).collect();
    for sight in sights {
        let (pos, how) = (sight.pos, sight.how);
        let key = sight.key_of_attempts(attempts);
        if sight.shows_old_value(attempts, &key) {
            continue;
        }
        match attempts.latest(&key, pos) {
            None => {
                let text = format!("{key} was readable ({how}) and no PutStart of it had been handled");
                failures.push((text, vec![pos]));
            }
            Some(attempt) if attempt.own_end.is_none_or(|end| end > pos) => {
                let text = format!(
                    "{key} was readable ({how}) before {} had ended the attempt it began at {}",
                    attempt.client,
                    view.at(attempt.start)
                );
                failures.push((text, vec![attempt.start, pos]));
            }
            Some(_) => {}
        }
    }
    Judged::over(
        failures,
        &places,
        "sight| of readable keys",
        "no key was seen readable",
    )
}

/// A moment at which a key was seen readable.
struct Sight {
    pos: Pos,
    key: String,
    how: &'static str,
    /// Where it was said to be readable, if that was said.
    ranges: Vec<Range>,
}

impl Sight {
    /// The key under which attempts know what was seen. A master that ignores tenants shows the keys of all of them
    /// without; so a key that nobody wrote is that of the attempt which was given those bytes.
    fn key_of_attempts(&self, attempts: &Attempts) -> String {
        let of_tenant = format!("/{}", self.key);
        let same = |attempt: &&Attempt| {
            attempt.start < self.pos
                && attempt.key.ends_with(&of_tenant)
                && self.ranges.iter().any(|range| attempt.overlaps(range))
        };
        if attempts.latest(&self.key, self.pos).is_some() {
            return self.key.clone();
        }
        let found = attempts.all.iter().rev().find(same);
        found.map_or_else(|| self.key.clone(), |attempt| attempt.key.clone())
    }

    /// Whether what is readable is the old value, while an upsert writes the new one on other bytes.
    fn shows_old_value(&self, attempts: &Attempts, key: &str) -> bool {
        let Some(latest) = attempts.latest(key, self.pos) else {
            return false;
        };
        let old = attempts.of_key(key).rfind(|attempt| {
            attempt.start < latest.start && attempt.own_end.is_some_and(|end| end < latest.start)
        });
        old.is_some_and(|old| {
            let told = if self.ranges.is_empty() {
                &old.ranges
            } else {
                &self.ranges
            };
            !told.iter().any(|range| latest.overlaps(range)) && told.iter().all(|range| old.overlaps(range))
        }) && latest.upserts
    }
}

fn sights(view: &View<'_>) -> Vec<Sight> {
    let mut sights = Vec::new();
    for frame in view
        .frames
        .iter()
        .filter(|frame| frame.leg == Leg::RequestHandled)
    {
        let how = match rpc::family(frame.rpc) {
            Some(Family::Query) => "GetReplicaList",
            Some(Family::Exist) => "ExistKey",
            _ => continue,
        };
        for entry in rpc::entries(view, frame) {
            if rpc::granted(frame.rpc, entry.code) {
                sights.push(Sight {
                    pos: frame.pos,
                    key: entry.key,
                    how,
                    ranges: entry.ranges,
                });
            }
        }
    }
    for (pos, state) in &view.states {
        sights.extend(state.keys.iter().map(|(key, ranges)| Sight {
            pos: *pos,
            key: key.clone(),
            how: "the master's state",
            ranges: ranges.clone(),
        }));
    }
    sights.sort_by_key(|sight| sight.pos);
    sights
}
