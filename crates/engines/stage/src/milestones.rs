//! Telling whoever listens what stood before the fault, so that it is kept if the run never ends.

use crate::ports::Ports;
use crate::state::Stage;
use moonquake_evidence::{Baseline, Kind, State};
use moonquake_scenario::Milestone;

impl<P: Ports> Stage<'_, P> {
    /// The world stands.
    pub(crate) fn tell_ready(&self, baseline: &Baseline) {
        if let Some(listener) = &self.options.listener {
            listener.tell(Milestone::Ready {
                baseline,
                state: self.last_state(),
            });
        }
    }

    /// The fault strikes next.
    pub(crate) fn tell_before_fault(&self) {
        if let Some(listener) = &self.options.listener {
            listener.tell(Milestone::BeforeFault {
                at: self.now,
                events: self.log.events().len(),
                state: self.last_state(),
            });
        }
    }

    fn last_state(&self) -> Option<&State> {
        let events = self.log.events().iter().rev();
        let mut states = events.filter_map(|event| match &event.kind {
            Kind::State(state) => Some(state),
            _ => None,
        });
        states.next()
    }
}
