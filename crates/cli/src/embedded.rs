//! The scenario files that were in the repository when this binary was built.

/// Each file's path inside the folder `scenarios`, and its bytes.
pub(crate) static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
