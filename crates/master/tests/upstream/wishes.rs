//! What the writers of the cases wish for.

use moonquake_protocol::{ObjectMeta, ReplicateConfig, SoftPinAction};

pub(crate) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) fn meta(key: &str, object_checksum: Option<u64>) -> ObjectMeta {
    ObjectMeta {
        key: key.to_owned(),
        object_checksum,
    }
}

/// One replica, nothing else wanted.
pub(crate) fn plain() -> ReplicateConfig {
    ReplicateConfig::default()
}

/// That many replicas.
pub(crate) fn replicas(replica_num: u64) -> ReplicateConfig {
    ReplicateConfig {
        replica_num,
        ..plain()
    }
}

/// One replica, on that segment if possible.
pub(crate) fn on(name: &str) -> ReplicateConfig {
    ReplicateConfig {
        preferred_segment: name.to_owned(),
        ..plain()
    }
}

/// A member of a group.
pub(crate) fn in_group(group: &str) -> ReplicateConfig {
    groups(&[group])
}

/// A group for each key.
pub(crate) fn groups(groups: &[&str]) -> ReplicateConfig {
    ReplicateConfig {
        group_ids: Some(owned(groups)),
        ..plain()
    }
}

/// What to do with the soft pin; the time in milliseconds is the master's own if none is given.
pub(crate) fn pin(action: SoftPinAction, ttl_ms: Option<u64>) -> ReplicateConfig {
    ReplicateConfig {
        soft_pin_action: action,
        soft_pin_ttl_ms: ttl_ms,
        ..plain()
    }
}

/// A soft pin of the master's own length.
pub(crate) fn soft_pinned() -> ReplicateConfig {
    pin(SoftPinAction::Enable, None)
}

/// A hard pin.
pub(crate) fn hard_pinned() -> ReplicateConfig {
    ReplicateConfig {
        with_hard_pin: true,
        ..plain()
    }
}
