//! The captures and this crate write the same value as different JSON.

use serde_json::{Map, Value};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One form for what the capture decoded and for what this crate's types serialise to: an id is its text, a variant
/// its value alone, a result `{"ok": ..}` or `{"err": name}`, a map from ids an object.
pub(crate) fn comparable(value: &Value) -> Value {
    match value {
        Value::Array(items) => match id_text(items) {
            Some(id) => Value::String(id),
            None => array_or_map(items),
        },
        Value::Object(fields) => object(fields),
        other => other.clone(),
    }
}

fn object(fields: &Map<String, Value>) -> Value {
    if fields.contains_key("alternative") {
        return comparable(&fields["value"]);
    }
    if fields.len() == 1 {
        let (key, inner) = fields.iter().next().expect("one field");
        match key.as_str() {
            "Memory" | "NoF" | "Disk" | "LocalDisk" | "DistributedFs" => return comparable(inner),
            "Ok" => return wrapped("ok", comparable(inner)),
            "Err" => return wrapped("err", inner.clone()),
            _ => {}
        }
    }
    if fields.contains_key("err") {
        return wrapped("err", fields["err"].clone());
    }
    let list_of_numbers = |key: &str| key == "slice_lengths";
    let field = |(key, inner): (&String, &Value)| {
        (
            key.clone(),
            if list_of_numbers(key) {
                inner.clone()
            } else {
                comparable(inner)
            },
        )
    };
    Value::Object(fields.iter().map(field).collect())
}

fn wrapped(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// `[first, second]`, as the capture writes an id.
fn id_text(items: &[Value]) -> Option<String> {
    match items {
        [Value::Number(first), Value::Number(second)] => Some(format!("{first}-{second}")),
        _ => None,
    }
}

/// `[[id, value], ...]`, as the capture writes a map from ids.
fn array_or_map(items: &[Value]) -> Value {
    let entry = |item: &Value| match item.as_array().map(Vec::as_slice) {
        Some([Value::Array(id), value]) => Some((id_text(id)?, comparable(value))),
        _ => None,
    };
    match items.iter().map(entry).collect::<Option<Map<String, Value>>>() {
        Some(map) if !map.is_empty() => Value::Object(map),
        _ => Value::Array(items.iter().map(comparable).collect()),
    }
}
