//! The configurations that are compared.

use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Span};
use moonquake_master::{ConfigError, MasterConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What both clocks show when a master starts: 2026-01-01 and ten days of uptime, no special numbers.
pub const START: Clocks = Clocks {
    realtime: RealtimeNs(1_767_225_600_000_000_000),
    monotonic: MonotonicNs(864_000_000_000_000),
};

/// What histories are mostly about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    /// A few keys and everything that can be done with them; some histories have one of the other themes.
    #[default]
    Mixed,
    /// Thousands of keys, written and read in large batches.
    Crowd,
    /// Copy and move tasks: created, fetched, executed, reported on, timed out.
    Tasks,
    /// Segments that are emptied by drain jobs.
    Drains,
}

impl Theme {
    fn is_mixed(&self) -> bool {
        *self == Theme::Mixed
    }
}

/// One configuration: a name, the flags that are not upstream's defaults, and what its histories are about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Its name in reports.
    pub name: String,
    /// Flags by upstream's name.
    pub flags: BTreeMap<String, String>,
    /// What most of its histories are about.
    #[serde(default, skip_serializing_if = "Theme::is_mixed")]
    pub theme: Theme,
}

/// Name and flags of each.
const SETUPS: &[(&str, &[(&str, &str)])] = &[
    ("defaults", &[]),
    (
        "short-leases",
        &[
            ("default_kv_lease_ttl", "5"),
            ("put_start_discard_timeout_sec", "0"),
        ],
    ),
    (
        "no-eviction-ratio",
        &[("eviction_ratio", "0"), ("eviction_high_watermark_ratio", "0.6")],
    ),
    (
        "low-watermark",
        &[
            ("eviction_high_watermark_ratio", "0.3"),
            ("eviction_ratio", "0.2"),
        ],
    ),
    (
        "soft-pins-stay",
        &[
            ("allow_evict_soft_pinned_objects", "false"),
            ("default_kv_soft_pin_ttl", "20000"),
            ("max_kv_soft_pin_ttl", "60000"),
            ("eviction_high_watermark_ratio", "0.5"),
        ],
    ),
    ("no-ttl", &[("client_ttl", "0")]),
    (
        "short-release",
        &[
            ("put_start_discard_timeout_sec", "3"),
            ("put_start_release_timeout_sec", "4"),
            ("default_kv_lease_ttl", "2000"),
            ("eviction_high_watermark_ratio", "0.7"),
        ],
    ),
    (
        "evict-all",
        &[
            ("eviction_ratio", "1"),
            ("eviction_high_watermark_ratio", "0.5"),
            ("default_kv_lease_ttl", "1000"),
        ],
    ),
    (
        "few-tasks",
        &[
            ("max_total_pending_tasks", "4"),
            ("max_total_processing_tasks", "3"),
            ("max_total_finished_tasks", "5"),
            ("pending_task_timeout_sec", "40"),
            ("processing_task_timeout_sec", "20"),
            ("max_retry_attempts", "2"),
        ],
    ),
    (
        "free-ratio-first",
        &[
            ("allocation_strategy", "free_ratio_first"),
            ("eviction_high_watermark_ratio", "0.8"),
        ],
    ),
    (
        "local-first",
        &[
            ("allocation_strategy", "local_first"),
            ("eviction_high_watermark_ratio", "0.8"),
        ],
    ),
    (
        "ssd-free-first",
        &[
            ("allocation_strategy", "ssd_free_ratio_first"),
            ("eviction_high_watermark_ratio", "0.8"),
        ],
    ),
    (
        "cxl",
        &[
            ("allocation_strategy", "cxl"),
            ("eviction_high_watermark_ratio", "0.8"),
        ],
    ),
    (
        "drains",
        &[
            ("pending_task_timeout_sec", "60"),
            ("max_total_finished_tasks", "20"),
            ("default_kv_lease_ttl", "1000"),
        ],
    ),
    (
        "crowd",
        &[
            ("eviction_high_watermark_ratio", "0.7"),
            ("default_kv_lease_ttl", "3000"),
        ],
    ),
];

/// The configurations whose histories are mostly about one thing.
const THEMES: [(&str, Theme); 3] = [
    ("few-tasks", Theme::Tasks),
    ("drains", Theme::Drains),
    ("crowd", Theme::Crowd),
];

impl Setup {
    /// All of them.
    pub fn all() -> Vec<Setup> {
        SETUPS
            .iter()
            .map(|(name, flags)| Setup::new(name, flags))
            .collect()
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Setup> {
        Setup::all().into_iter().find(|setup| setup.name == name)
    }

    /// Upstream's defaults.
    pub fn defaults() -> Setup {
        Setup::new("defaults", &[])
    }

    fn new(name: &str, flags: &[(&str, &str)]) -> Setup {
        Setup {
            name: name.to_owned(),
            flags: flags
                .iter()
                .map(|(flag, value)| ((*flag).to_owned(), (*value).to_owned()))
                .collect(),
            theme: THEMES
                .iter()
                .find(|(themed, _)| *themed == name)
                .map(|(_, theme)| *theme)
                .unwrap_or_default(),
        }
    }

    /// The same for the Rust master.
    ///
    /// # Errors
    /// When it does not know a flag, or not this value of it.
    pub fn config(&self) -> Result<MasterConfig, ConfigError> {
        MasterConfig::default().with_flags(&self.flags)
    }
}

/// The lengths of time that a history aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) lease: Span,
    pub(crate) soft_pin: Span,
    pub(crate) discard: Span,
    pub(crate) release: Span,
    pub(crate) client_ttl: Span,
    pub(crate) pending_task: Span,
    pub(crate) processing_task: Span,
}

impl Lengths {
    pub(crate) fn of(config: &MasterConfig) -> Lengths {
        Lengths {
            lease: config.lease,
            soft_pin: config.soft_pin,
            discard: config.discard,
            release: config.release,
            client_ttl: config.client_ttl,
            pending_task: config.pending_task_timeout,
            processing_task: config.processing_task_timeout,
        }
    }
}
