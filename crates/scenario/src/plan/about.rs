//! Questions that engines, judge and report ask a plan.

use super::{AwaitFor, Do, Name, Plan, Step, Trigger, What};
use moonquake_faults::PhaseId;
use std::collections::BTreeMap;

/// The invariants that are judged on every run, in the order of the report.
pub const INVARIANTS: [&str; 8] = [
    "no-foreign-bytes",
    "invisible-before-put-end",
    "lease-protects-bytes",
    "no-success-after-lease",
    "one-writer-per-key",
    "bytes-accounted",
    "crash-is-bounded",
    "no-access-after-failure",
];

impl Step {
    /// The operation, if the step does one.
    pub fn operation(&self) -> Option<&Do> {
        match &self.what {
            What::Do(action) => Some(action),
            _ => None,
        }
    }
}

impl Plan {
    /// Every client and node: the nodes first, each in the file's order. The master is none of them.
    pub fn actors(&self) -> Vec<&str> {
        let nodes = self.world.segments.iter().map(|(name, _)| name.as_str());
        nodes
            .chain(self.world.clients.iter().map(String::as_str))
            .collect()
    }

    /// Whether the actor mounts a segment, and so pings.
    pub fn is_node(&self, name: &str) -> bool {
        self.world.segments.iter().any(|(node, _)| node == name)
    }

    /// The step with that id.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.step_index(id).map(|index| &self.steps[index])
    }

    /// What a step is called: its id, or its number from 1.
    pub fn step_name(&self, index: usize) -> String {
        match self.steps.get(index).and_then(|step| step.id.as_deref()) {
            Some(id) => id.to_owned(),
            None => format!("step {}", index + 1),
        }
    }

    /// The phase at which the fault strikes, if it strikes at one.
    pub fn fault_phase(&self) -> Option<PhaseId> {
        match self.fault.trigger {
            Trigger::At { phase, .. } => Some(phase),
            _ => None,
        }
    }

    /// The `await` steps of an async step, by index.
    pub fn awaits_of(&self, index: usize) -> Vec<usize> {
        let waits = |step: &&Step| matches!(&step.what, What::Await { until: AwaitFor::Step(found), .. } if *found == index);
        self.steps.iter().filter(waits).map(|step| step.index).collect()
    }

    /// Every buffer that a step names, with the actor whose memory it is.
    pub fn buffers(&self) -> BTreeMap<Name, Name> {
        let mut buffers = BTreeMap::new();
        for step in &self.steps {
            let Some(action) = step.operation() else {
                continue;
            };
            for template in action.into.iter().chain(&action.from) {
                for name in repeated(template, step.times) {
                    buffers.insert(name, action.who.clone().unwrap_or_default());
                }
            }
        }
        buffers
    }

    /// Every range that a step binds, with the index of the step.
    pub fn ranges(&self) -> BTreeMap<Name, usize> {
        let mut ranges = BTreeMap::new();
        for step in &self.steps {
            let bound = step.operation().map_or(&[][..], |action| &action.bind);
            for template in bound {
                for name in repeated(template, step.times) {
                    ranges.insert(name, step.index);
                }
            }
        }
        ranges
    }

    /// Whether a fault holds something that a `resume` ends.
    pub fn is_resumable(&self) -> bool {
        matches!(
            self.fault.action,
            Some(super::Action::Freeze | super::Action::Hold)
        )
    }
}

/// A name in each of its repetitions.
fn repeated(template: &str, times: u32) -> Vec<Name> {
    if !template.contains("{i}") {
        return vec![template.to_owned()];
    }
    (1..=times)
        .map(|repetition| Do::repeated(template, repetition))
        .collect()
}
