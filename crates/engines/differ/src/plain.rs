//! Plain names for what a history calls oddly, so that a report of it can be read and said in the scenario language.

use crate::cast::Cast;
use crate::operation::Operation;
use serde_json::Value;
use std::collections::BTreeMap;

/// The longest plain name.
const PLAIN_BYTES: usize = 8;

fn is_plain(name: &str) -> bool {
    name.len() <= PLAIN_BYTES && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A plain name that is new to the history for each odd key and segment of it.
pub(crate) fn names(operations: &[Operation]) -> BTreeMap<String, String> {
    let mut cast = Cast::default();
    operations
        .iter()
        .for_each(|operation| cast.add_operation(operation));
    let keys = cast.keys.iter().map(|name| (name, "key"));
    let segments = cast.segment_names.iter().map(|name| (name, "node"));
    let odd = keys
        .chain(segments)
        .filter(|(name, _)| !name.is_empty() && !is_plain(name));
    let named = odd
        .enumerate()
        .map(|(number, (name, kind))| (name.clone(), format!("{kind}{number}")));
    named.collect()
}

/// The same operations with other names, wherever a text is one of them.
pub(crate) fn renamed(operations: &[Operation], names: &BTreeMap<String, String>) -> Vec<Operation> {
    let one = |operation: &Operation| {
        let mut value = serde_json::to_value(operation).ok()?;
        rename(&mut value, names);
        serde_json::from_value(value).ok()
    };
    let renamed = operations
        .iter()
        .map(|operation| one(operation).unwrap_or_else(|| operation.clone()));
    renamed.collect()
}

fn rename(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                text.clone_from(name);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, names)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moonquake_protocol::{ReplicateConfig, Request, Segment, Uuid};

    fn history(key: &str, segment: &str) -> Vec<Operation> {
        let mounted = Segment {
            name: segment.to_owned(),
            te_endpoint: segment.to_owned(),
            ..Segment::default()
        };
        let client_id = Uuid::new(1, 1);
        vec![
            Operation::Call(Request::MountSegment {
                segment: mounted,
                client_id,
            }),
            Operation::Call(Request::PutStart {
                client_id,
                key: key.to_owned(),
                slice_length: u64::MAX,
                config: ReplicateConfig {
                    preferred_segment: segment.to_owned(),
                    ..ReplicateConfig::default()
                },
                tenant_id: String::new(),
            }),
        ]
    }

    #[test]
    fn odd_names_become_plain_wherever_they_stand() {
        let odd = history("\0k\n", "10.0.0.1:5");
        let names = names(&odd);
        assert_eq!(names.len(), 2);
        assert_eq!(renamed(&odd, &names), history("key0", "node1"));
    }

    #[test]
    fn plain_names_stay() {
        assert!(names(&history("k1", "n1")).is_empty());
    }
}
