//! The master's flags by upstream's names. Mirrors `master.cpp`.

use crate::{ConfigError, MasterConfig, Strategy};
use moonquake_clock::Span;

/// What a flag sets, and how its value is written.
#[derive(Clone, Copy)]
enum Setter {
    /// Milliseconds, or a number with ms, s, m or h.
    Milliseconds(fn(&mut MasterConfig, Span)),
    /// Whole seconds.
    Seconds(fn(&mut MasterConfig, Span)),
    /// A number from 0 to 1.
    Share(fn(&mut MasterConfig, f64)),
    /// true or false.
    Switch(fn(&mut MasterConfig, bool)),
    /// A whole number.
    Number(fn(&mut MasterConfig, u64)),
    /// A whole number below 2^32.
    Count(fn(&mut MasterConfig, u32)),
    /// One of some words; the index of the word is handed on.
    Word(&'static [&'static str], fn(&mut MasterConfig, usize)),
}

/// The flags that mean something to this master.
const SUPPORTED: &[(&str, Setter)] = &[
    (
        "default_kv_lease_ttl",
        Setter::Milliseconds(|config, span| config.lease = span),
    ),
    (
        "default_kv_soft_pin_ttl",
        Setter::Milliseconds(|config, span| config.soft_pin = span),
    ),
    (
        "max_kv_soft_pin_ttl",
        Setter::Milliseconds(|config, span| config.max_soft_pin = span),
    ),
    (
        "allow_evict_soft_pinned_objects",
        Setter::Switch(|config, on| config.allow_evict_soft_pinned_objects = on),
    ),
    (
        "eviction_ratio",
        Setter::Share(|config, share| config.eviction_ratio = share),
    ),
    (
        "eviction_high_watermark_ratio",
        Setter::Share(|config, share| config.eviction_high_watermark_ratio = share),
    ),
    (
        "client_ttl",
        Setter::Seconds(|config, span| config.client_ttl = span),
    ),
    (
        "put_start_discard_timeout_sec",
        Setter::Seconds(|config, span| config.discard = span),
    ),
    (
        "put_start_release_timeout_sec",
        Setter::Seconds(|config, span| config.release = span),
    ),
    ("memory_allocator", Setter::Word(&["offset"], |_, _| {})),
    (
        "allocation_strategy",
        Setter::Word(&Strategy::WORDS, |config, word| {
            config.strategy = Strategy::ALL[word];
        }),
    ),
    (
        "enable_disk_eviction",
        Setter::Switch(|config, on| config.enable_disk_eviction = on),
    ),
    (
        "quota_bytes",
        Setter::Number(|config, bytes| config.quota_bytes = bytes),
    ),
    (
        "max_total_finished_tasks",
        Setter::Count(|config, count| config.max_total_finished_tasks = count),
    ),
    (
        "max_total_pending_tasks",
        Setter::Count(|config, count| config.max_total_pending_tasks = count),
    ),
    (
        "max_total_processing_tasks",
        Setter::Count(|config, count| config.max_total_processing_tasks = count),
    ),
    (
        "pending_task_timeout_sec",
        Setter::Seconds(|config, span| config.pending_task_timeout = span),
    ),
    (
        "processing_task_timeout_sec",
        Setter::Seconds(|config, span| config.processing_task_timeout = span),
    ),
    (
        "max_retry_attempts",
        Setter::Count(|config, count| config.max_retry_attempts = count),
    ),
];

/// The other flags of upstream, so that a person who uses one is told that it is known and does nothing here.
#[rustfmt::skip]
const UNSUPPORTED: &[&str] = &[
    "nof_eviction_ratio", "nof_eviction_high_watermark_ratio", "rpc_port", "port", "rpc_thread_num", "max_threads",
    "rpc_address", "rpc_conn_timeout_seconds", "rpc_enable_tcp_no_delay", "metrics_port", "metrics_host",
    "enable_metric_reporting", "enable_http_metadata_server", "http_metadata_server_host", "http_metadata_server_port",
    "enable_metadata_cleanup_on_timeout", "root_fs_dir", "global_file_segment_size", "cluster_id", "enable_ha",
    "ha_backend_type", "enable_oplog", "oplog_poll_interval_ms", "oplog_batch_max_entries",
    "batch_oplog_retry_timeout_sec", "enable_snapshot", "enable_snapshot_restore", "snapshot_object_store_type",
    "snapshot_interval_seconds", "snapshot_child_timeout_seconds", "snapshot_retention_count", "enable_multi_tenants",
    "tenant_quota_connector_type", "tenant_quota_connector_uri", "enable_offload", "offload_on_evict",
    "offload_force_evict", "offloading_queue_limit", "offload_cap_ratio", "promotion_on_hit",
    "promotion_admission_threshold", "promotion_queue_limit", "promotion_max_per_heartbeat",
    "dynamic_replication_mode", "enable_kv_events", "kv_events_queue_capacity", "enable_cxl", "cxl_path", "cxl_size", "nof_heartbeat_interval_sec",
    "nof_heartbeat_probe_timeout_ms", "nof_heartbeat_failures_threshold",
];

impl MasterConfig {
    /// Sets a flag by upstream's name, such as `eviction_ratio`.
    ///
    /// # Errors
    /// When the flag is unknown or does nothing here, or its value does not fit.
    pub fn apply_flag(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let Some((_, setter)) = SUPPORTED.iter().find(|(supported, _)| *supported == name) else {
            let supported = SUPPORTED.iter().map(|(supported, _)| *supported);
            let nearest = nearest(name, supported);
            let name = name.to_owned();
            return Err(if UNSUPPORTED.contains(&name.as_str()) {
                ConfigError::UnsupportedFlag { name, nearest }
            } else {
                ConfigError::UnknownFlag { name, nearest }
            });
        };
        let bad = |wanted: String| ConfigError::BadValue {
            name: name.to_owned(),
            value: value.to_owned(),
            wanted,
        };
        match setter {
            Setter::Milliseconds(set) => {
                let span = parse_milliseconds(value);
                set(
                    self,
                    span.ok_or_else(|| bad("milliseconds, or a number with ms, s, m or h".into()))?,
                );
            }
            Setter::Seconds(set) => {
                let seconds = parse_number(value);
                set(
                    self,
                    Span::from_secs(seconds.ok_or_else(|| bad("a whole number of seconds".into()))?),
                );
            }
            Setter::Share(set) => {
                let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                set(self, share.ok_or_else(|| bad("a number from 0 to 1".into()))?);
            }
            Setter::Switch(set) => {
                set(self, value.parse().map_err(|_| bad("true or false".into()))?);
            }
            Setter::Number(set) => {
                set(
                    self,
                    parse_number(value).ok_or_else(|| bad("a whole number".into()))?,
                );
            }
            Setter::Count(set) => {
                let count = parse_number(value).and_then(|count| u32::try_from(count).ok());
                set(
                    self,
                    count.ok_or_else(|| bad("a whole number below 2^32".into()))?,
                );
            }
            Setter::Word(words, set) => {
                let word = words.iter().position(|word| *word == value);
                set(
                    self,
                    word.ok_or_else(|| bad(format!("one of {}", words.join(", "))))?,
                );
            }
        }
        Ok(())
    }
}

fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    names
        .min_by_key(|known| strsim::damerau_levenshtein(known, name))
        .unwrap_or_default()
        .to_owned()
}

/// Digits only: `u64::from_str` alone would also take a leading `+`.
fn parse_number(value: &str) -> Option<u64> {
    value
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| value.parse().ok())
        .flatten()
}

fn parse_milliseconds(value: &str) -> Option<Span> {
    if let Some(ms) = parse_number(value) {
        return Some(Span::from_ms(ms));
    }
    // Upstream writes minutes as m.
    let spelt = value.strip_suffix('m').map(|number| format!("{number}min"));
    Span::parse(spelt.as_deref().unwrap_or(value))
        .ok()
        .filter(|span| span.ns.is_multiple_of(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_set_what_their_names_say() {
        let mut config = MasterConfig::default();
        for (name, value) in [
            ("default_kv_lease_ttl", "5s"),
            ("default_kv_soft_pin_ttl", "2m"),
            ("max_kv_soft_pin_ttl", "7200000"),
            ("allow_evict_soft_pinned_objects", "false"),
            ("eviction_ratio", "0.25"),
            ("eviction_high_watermark_ratio", "1"),
            ("client_ttl", "3"),
            ("put_start_discard_timeout_sec", "4"),
            ("put_start_release_timeout_sec", "5"),
            ("memory_allocator", "offset"),
            ("allocation_strategy", "local_first"),
            ("enable_disk_eviction", "false"),
            ("quota_bytes", "9"),
            ("max_total_finished_tasks", "10"),
            ("max_total_pending_tasks", "11"),
            ("max_total_processing_tasks", "12"),
            ("pending_task_timeout_sec", "13"),
            ("processing_task_timeout_sec", "0"),
            ("max_retry_attempts", "4294967295"),
        ] {
            config.apply_flag(name, value).unwrap();
        }
        let expected = MasterConfig {
            lease: Span::from_secs(5),
            soft_pin: Span::from_secs(120),
            max_soft_pin: Span::from_secs(7_200),
            discard: Span::from_secs(4),
            release: Span::from_secs(5),
            client_ttl: Span::from_secs(3),
            eviction_ratio: 0.25,
            eviction_high_watermark_ratio: 1.0,
            allow_evict_soft_pinned_objects: false,
            strategy: Strategy::LocalFirst,
            enable_disk_eviction: false,
            quota_bytes: 9,
            max_total_finished_tasks: 10,
            max_total_pending_tasks: 11,
            max_total_processing_tasks: 12,
            pending_task_timeout: Span::from_secs(13),
            processing_task_timeout: Span::ZERO,
            max_retry_attempts: u32::MAX,
            ..MasterConfig::default()
        };
        assert_eq!(config, expected);
    }

    #[test]
    fn wrong_flags_and_values_are_refused_with_the_nearest() {
        let mut config = MasterConfig::default();
        let message =
            |config: &mut MasterConfig, name, value| config.apply_flag(name, value).unwrap_err().to_string();
        assert_eq!(
            message(&mut config, "evction_ration", "0.1"),
            "no flag of the master is called \"evction_ration\"; did you mean \"eviction_ratio\"?"
        );
        assert!(matches!(
            config.apply_flag("enable_ha", "true"),
            Err(ConfigError::UnsupportedFlag { name, .. }) if name == "enable_ha"
        ));
        for (name, value) in [
            ("eviction_ratio", "1.1"),
            ("eviction_ratio", "NaN"),
            ("client_ttl", "+3"),
            ("client_ttl", ""),
            ("default_kv_lease_ttl", "5 s"),
            ("default_kv_lease_ttl", "1ns"),
            ("memory_allocator", "cachelib"),
            ("max_retry_attempts", "4294967296"),
            ("allow_evict_soft_pinned_objects", "yes"),
        ] {
            assert!(
                matches!(config.apply_flag(name, value), Err(ConfigError::BadValue { .. })),
                "{name}={value}"
            );
        }
        assert_eq!(config, MasterConfig::default());
    }
}
