//! The end of a client: its segments are unmounted. Whoever drives it closes its transport after that. Mirrors
//! `client_service.cpp:~Client`.

use crate::{Call, CallPhases, Happened, Operation, Outcome, Want};
use moonquake_clock::Clocks;
use moonquake_protocol::{Request, Uuid};

/// Unmounts the segments one after the other; failures do not stop it.
#[derive(Clone, Debug)]
pub struct Close {
    client_id: Uuid,
    segment_ids: Vec<Uuid>,
    unmounted: usize,
}

impl Close {
    /// Closes `client_id`, which owns `segment_ids`.
    pub fn new(client_id: Uuid, segment_ids: Vec<Uuid>) -> Close {
        Close {
            client_id,
            segment_ids,
            unmounted: 0,
        }
    }

    fn unmount_on(&mut self) -> Want {
        match self.segment_ids.get(self.unmounted) {
            Some(&segment_id) => {
                self.unmounted += 1;
                let request = Request::UnmountSegment {
                    segment_id,
                    client_id: self.client_id,
                };
                Want::Call(Call {
                    request,
                    fences: Vec::new(),
                    phases: CallPhases::default(),
                })
            }
            None => Want::Done(Outcome::Ok),
        }
    }
}

impl Operation for Close {
    fn begin(&mut self, _now: Clocks) -> Want {
        self.unmount_on()
    }

    fn next(&mut self, _now: Clocks, _happened: Happened) -> Want {
        self.unmount_on()
    }
}
