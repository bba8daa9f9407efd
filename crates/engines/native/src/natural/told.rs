//! What the reports of the natural forms have in common.

use super::Natural;
use super::rig::Rig;
use moonquake_scenario::{
    EngineKind, Measure, MeasuredBuffer, MeasuredClaim, MeasuredFigure, MeasuredRun, SeenId, Verdict,
};
use std::time::Duration;

/// What the proxy sees of a buffer.
pub(super) const SIGHT: &str = "The proxy sees each byte that passes on a socket, and when; the contents of the buffer tell what was \
    written in the end and by whom. Blind: a write of bytes that were there before, and a read that sends nothing.";

/// A report in the making.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) injected: Vec<MeasuredClaim>,
    pub(super) found: Vec<MeasuredClaim>,
    pub(super) buffers: Vec<MeasuredBuffer>,
    pub(super) figures: Vec<MeasuredFigure>,
    pub(super) deviations: Vec<String>,
    pub(super) setting: Vec<(String, String)>,
    /// Whether the injection was seen.
    pub(super) is_proven: bool,
    /// Whether the contract was broken.
    pub(super) is_broken: bool,
}

/// The human parts of a report.
pub(super) struct Prose {
    pub(super) title: &'static str,
    pub(super) why: &'static str,
    pub(super) expected: &'static str,
    pub(super) repair: &'static str,
}

pub(super) fn claim(words: impl Into<String>, rests_on: &[SeenId]) -> MeasuredClaim {
    MeasuredClaim {
        words: words.into(),
        rests_on: rests_on.to_vec(),
    }
}

/// A time for people.
pub(super) fn seconds(at: Duration) -> String {
    format!("{}.{:03} s", at.as_secs(), at.subsec_millis())
}

impl Told {
    pub(super) fn bytes(&mut self, name: &str, bytes: u64) {
        self.figures.push(MeasuredFigure {
            name: name.to_owned(),
            value: Measure::Bytes(bytes),
        });
    }

    pub(super) fn time(&mut self, name: &str, time: Duration) {
        self.figures.push(MeasuredFigure {
            name: name.to_owned(),
            value: Measure::Time(time),
        });
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.setting.push((name.to_owned(), value.into()));
    }

    /// Notes what is not as known.
    pub(super) fn demand(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.deviations.push(otherwise());
        }
    }

    /// The whole report.
    pub(super) fn finish(self, form: Natural, rig: Rig, prose: &Prose, said: Verdict) -> MeasuredRun {
        let engine = rig.engine;
        let verdict = match (self.is_proven, self.is_broken) {
            (false, _) => Verdict::NotReproduced,
            (true, true) => Verdict::Violated,
            (true, false) => Verdict::Holds,
        };
        let master = if engine == EngineKind::Native {
            "unmodified mooncake_master, default flags"
        } else {
            "the Rust master of Moonquake, default flags"
        };
        let mut setting = vec![
            (
                "Client".to_owned(),
                "unmodified C++ client, default settings, one process each, nothing preloaded".to_owned(),
            ),
            ("Master".to_owned(), master.to_owned()),
            (
                "Clock".to_owned(),
                "of this machine; nothing is steered".to_owned(),
            ),
        ];
        setting.extend(self.setting);
        MeasuredRun {
            id: form.id().to_owned(),
            title: prose.title.to_owned(),
            why: prose.why.to_owned(),
            engine,
            setting,
            seen: rig.into_seen(),
            injected: self.injected,
            expected: prose.expected.to_owned(),
            found: self.found,
            repair: prose.repair.to_owned(),
            buffers: self.buffers,
            figures: self.figures,
            verdict,
            said,
            deviations: self.deviations,
            replay: format!("moonquake run {} --long --engine {engine}", form.id()),
        }
    }
}
