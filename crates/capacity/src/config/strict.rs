//! JSON in which no key stands twice: of two, any reader would drop one without a word.

use crate::number::shown;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// A value whose objects have each key once.
pub(super) struct Strict(pub(super) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(Any).map(Strict)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, found: bool) -> Result<Value, E> {
        Ok(found.into())
    }

    fn visit_u64<E: Error>(self, found: u64) -> Result<Value, E> {
        Ok(found.into())
    }

    fn visit_i64<E: Error>(self, found: i64) -> Result<Value, E> {
        Ok(found.into())
    }

    fn visit_f64<E: Error>(self, found: f64) -> Result<Value, E> {
        Ok(found.into())
    }

    fn visit_str<E: Error>(self, found: &str) -> Result<Value, E> {
        Ok(found.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut found = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            found.push(item);
        }
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if found.contains_key(&key) {
                return Err(A::Error::custom(format!("`{}` stands twice", shown(&key))));
            }
            let Strict(value) = entries.next_value()?;
            found.insert(key, value);
        }
        Ok(Value::Object(found))
    }
}
