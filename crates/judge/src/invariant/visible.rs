//! `invisible-before-put-end`: a key is readable only once the PutEnd that its current attempt's own operation sent
//! was handled with success.
//!
//! An attempt begins with a PutStart handled with success. Its own operation is the put itself, or, for calls made one
//! by one, the client's calls on that key after its PutStart. Readable means that GetReplicaList was answered `ok`,
//! ExistKey was answered `true`, or the key stands in the state that the observer read. Bytes that a session reads with
//! descriptors from before show nothing about visibility.

use super::Judged;
use crate::attempts::Attempts;
use crate::rpc::{self, Family};
use crate::view::{Pos, View};
use moonquake_evidence::Leg;

pub(super) fn judge(view: &View<'_>, attempts: &Attempts) -> Judged {
    let mut failures = Vec::new();
    let sights = sights(view);
    let places: Vec<Pos> = sights.iter().map(|sight| sight.pos).collect();
    for Sight { pos, key, how } in sights {
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
                });
            }
        }
    }
    for (pos, state) in &view.states {
        sights.extend(state.keys.keys().map(|key| Sight {
            pos: *pos,
            key: key.clone(),
            how: "the master's state",
        }));
    }
    sights.sort_by_key(|sight| sight.pos);
    sights
}
