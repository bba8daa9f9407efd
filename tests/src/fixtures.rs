//! The lists in `fixtures/` that tables are made of.

use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a list.
///
/// # Panics
/// When the file is not there or does not parse.
pub(crate) fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
