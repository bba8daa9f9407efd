//! The configuration of a master, with upstream's defaults. Mirrors `mooncake-store/src/master.cpp` (flags).

use crate::placement::Strategy;
use moonquake_clock::{Rules, Span};
use moonquake_faults::{Guards, Profile, Quirks};
use std::collections::BTreeMap;

/// How a master behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct MasterConfig {
    /// Length of a read lease (`default_kv_lease_ttl`).
    pub lease: Span,
    /// Length of a soft pin that a request leaves open (`default_kv_soft_pin_ttl`).
    pub soft_pin: Span,
    /// Longest soft pin that a request may ask for (`max_kv_soft_pin_ttl`).
    pub max_soft_pin: Span,
    /// Until then an unfinished put keeps other writers out (`put_start_discard_timeout_sec`).
    pub discard: Span,
    /// After that an unfinished put is given up, and so long a discarded range is kept (`put_start_release_timeout_sec`).
    pub release: Span,
    /// A client that does not ping for so long is dead (`client_ttl`).
    pub client_ttl: Span,
    /// Share of the objects that one eviction round aims at (`eviction_ratio`).
    pub eviction_ratio: f64,
    /// Share of the capacity above which rounds evict (`eviction_high_watermark_ratio`).
    pub eviction_high_watermark_ratio: f64,
    /// Whether eviction may take soft-pinned objects when nothing else is left (`allow_evict_soft_pinned_objects`).
    pub allow_evict_soft_pinned_objects: bool,
    /// How a write finds its segments (`allocation_strategy`).
    pub strategy: Strategy,
    /// Told to clients and otherwise without effect (`enable_disk_eviction`).
    pub enable_disk_eviction: bool,
    /// Told to clients and otherwise without effect (`quota_bytes`).
    pub quota_bytes: u64,
    /// Finished tasks that are remembered (`max_total_finished_tasks`).
    pub max_total_finished_tasks: u32,
    /// Tasks that may wait to be fetched (`max_total_pending_tasks`).
    pub max_total_pending_tasks: u32,
    /// Tasks that may be fetched and not finished (`max_total_processing_tasks`).
    pub max_total_processing_tasks: u32,
    /// A task that waits for longer has failed; zero for never (`pending_task_timeout_sec`).
    pub pending_task_timeout: Span,
    /// A fetched task that is not reported on for longer has failed; zero for never (`processing_task_timeout_sec`).
    pub processing_task_timeout: Span,
    /// How often an executor may try again, told with each task (`max_retry_attempts`).
    pub max_retry_attempts: u32,
    /// Seed of every placement: what the preload gives to `std::random_device` in the real process.
    pub placement_seed: u64,
    /// The behaviours of upstream that are on.
    pub quirks: Quirks,
    /// How each deadline is compared.
    pub rules: Rules,
    /// The checks that are made: all, but for a test that lifts one.
    pub guards: Guards,
}

impl Default for MasterConfig {
    fn default() -> Self {
        MasterConfig {
            lease: Span::from_secs(10),
            soft_pin: Span::from_secs(1_800),
            max_soft_pin: Span::from_secs(86_400),
            discard: Span::from_secs(30),
            release: Span::from_secs(600),
            client_ttl: Span::from_secs(10),
            eviction_ratio: 0.05,
            eviction_high_watermark_ratio: 0.90,
            allow_evict_soft_pinned_objects: true,
            strategy: Strategy::Random,
            enable_disk_eviction: true,
            quota_bytes: 0,
            max_total_finished_tasks: 10_000,
            max_total_pending_tasks: 10_000,
            max_total_processing_tasks: 10_000,
            pending_task_timeout: Span::from_secs(300),
            processing_task_timeout: Span::from_secs(300),
            max_retry_attempts: 10,
            placement_seed: 0,
            quirks: Profile::Upstream.quirks(),
            rules: Rules::default(),
            guards: Guards::default(),
        }
    }
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The release timeout does not exceed the discard timeout.
    #[error("the release timeout ({release}) must be longer than the discard timeout ({discard})")]
    ReleaseNotAboveDiscard {
        /// The release timeout.
        release: Span,
        /// The discard timeout.
        discard: Span,
    },
    /// The default soft pin exceeds the longest one.
    #[error("the default soft pin ({soft_pin}) must not be longer than the longest one ({max_soft_pin})")]
    SoftPinAboveMaximum {
        /// The default.
        soft_pin: Span,
        /// The maximum.
        max_soft_pin: Span,
    },
    /// No flag of upstream has that name.
    #[error("no flag of the master is called {name:?}; did you mean {nearest:?}?")]
    UnknownFlag {
        /// What was written.
        name: String,
        /// The nearest supported name.
        nearest: String,
    },
    /// Upstream has the flag, but it means nothing here.
    #[error("the flag {name:?} is not supported here (the nearest that is: {nearest:?})")]
    UnsupportedFlag {
        /// What was written.
        name: String,
        /// The nearest supported name.
        nearest: String,
    },
    /// The value of a flag does not fit.
    #[error("{value:?} is no value of the flag {name}; write {wanted}")]
    BadValue {
        /// The flag.
        name: String,
        /// What was written.
        value: String,
        /// What it takes.
        wanted: String,
    },
}

impl MasterConfig {
    /// Sets several flags and checks the whole as the constructor does.
    ///
    /// # Errors
    /// When a flag is unknown or not supported, a value does not fit, or the whole is refused.
    pub fn with_flags(mut self, flags: &BTreeMap<String, String>) -> Result<MasterConfig, ConfigError> {
        for (name, value) in flags {
            self.apply_flag(name, value)?;
        }
        self.validate()?;
        Ok(self)
    }

    /// What upstream's constructor demands.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if self.release <= self.discard {
            return Err(ConfigError::ReleaseNotAboveDiscard {
                release: self.release,
                discard: self.discard,
            });
        }
        if self.soft_pin > self.max_soft_pin {
            return Err(ConfigError::SoftPinAboveMaximum {
                soft_pin: self.soft_pin,
                max_soft_pin: self.max_soft_pin,
            });
        }
        Ok(())
    }

    /// The lease in the unit that clients are told.
    pub(crate) fn lease_ms(&self) -> u64 {
        self.lease.ns / 1_000_000
    }

    /// Compares on the monotonic clock what a quirk that is off would keep on the wall clock.
    pub(crate) fn apply_quirks_to_rules(&mut self) {
        self.quirks.apply_to(&mut self.rules);
    }
}
