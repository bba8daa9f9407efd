//! Histories on the disk.

use crate::compare::Difference;
use crate::error::DifferError;
use crate::operation::{History, Operation};
use crate::setup::Setup;
use crate::write::scenario;
use moonquake_clock::Span;
use moonquake_master::MasterConfig;
use serde::de::Error as _;
use std::path::{Path, PathBuf};

/// The longest name of a configuration.
const NAME_BYTES: usize = 64;
/// How far a history may set a clock, some three years: deadlines of the real master overflow when it comes near the end of
/// what its clocks can show, and its threads then never come to rest.
const FARTHEST_NS: i64 = 100_000_000_000_000_000;

/// What was written for one difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The scenario, for `moonquake diff FILE model master`.
    pub scenario: PathBuf,
    /// The exact history, for `moonquake diff --replay FILE`.
    pub history: PathBuf,
    /// What the scenario does not say, one line each.
    pub left_out: Vec<String>,
}

/// Writes a history that parts into a folder, under the name of its configuration and a seed.
///
/// # Errors
/// When the folder or a file cannot be written.
pub fn write(
    folder: &Path,
    history: &History,
    difference: &Difference,
    seed: u64,
) -> Result<Files, DifferError> {
    let name = format!("{}-{seed:016x}", history.setup.name);
    let said = scenario(history, difference, &format!("diff/{name}"));
    let files = Files {
        scenario: folder.join(format!("{name}.scenario.toml")),
        history: folder.join(format!("{name}.history.json")),
        left_out: said.left_out,
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    put(&files.scenario, &said.text)?;
    put_history(&files.history, history)?;
    Ok(files)
}

/// Writes a history alone, under the name of its configuration and its seed; where that is.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn write_history(folder: &Path, history: &History) -> Result<PathBuf, DifferError> {
    let seed = history.seed.unwrap_or_default();
    let path = folder.join(format!("{}-{seed:016x}.history.json", history.setup.name));
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    put_history(&path, history)?;
    Ok(path)
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> DifferError {
    let path = path.display().to_string();
    move |source| DifferError::File {
        doing: "write",
        path,
        source,
    }
}

fn put_history(path: &Path, history: &History) -> Result<(), DifferError> {
    let mut json = serde_json::to_string_pretty(history).map_err(|source| DifferError::History {
        path: path.display().to_string(),
        source,
    })?;
    json.push('\n');
    put(path, &json)
}

/// Puts a whole file there or none: a full disk leaves no half of one.
fn put(path: &Path, text: &str) -> Result<(), DifferError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)
        .and_then(|()| std::fs::rename(&beside, path))
        .inspect_err(|_| {
            // It may not even have come to be.
            let _ = std::fs::remove_file(&beside);
        })
        .map_err(failed(path))
}

/// The history that a file holds.
///
/// # Errors
/// When it cannot be read or is none.
pub fn read(path: &Path) -> Result<History, DifferError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| DifferError::File {
        doing: "read",
        path: shown.clone(),
        source,
    })?;
    let history = serde_json::from_str(&text).and_then(|history| match wrong(&history) {
        None => Ok(history),
        Some(what) => Err(serde_json::Error::custom(what)),
    });
    history.map_err(|source| DifferError::History { path: shown, source })
}

/// What is wrong with a history that somebody else may have written.
fn wrong(history: &History) -> Option<String> {
    let name = &history.setup.name;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(is_plain) {
        let rule = "1 to 64 small letters, digits and `-`, since files are named by it";
        return Some(format!("the name of the setup must be {rule}"));
    }
    if let Some(what) = wrong_flags(&history.setup) {
        return Some(what);
    }
    let mut sums = [0_i64; 2];
    for (index, operation) in history.operations.iter().enumerate() {
        let Operation::Clock {
            realtime_ns,
            monotonic_ns,
        } = operation
        else {
            continue;
        };
        for (sum, step) in sums.iter_mut().zip([realtime_ns, monotonic_ns]) {
            *sum = sum.saturating_add(*step);
        }
        if sums.iter().any(|sum| *sum > FARTHEST_NS) {
            let limit = format!("{FARTHEST_NS} ns after the start at most");
            return Some(format!("operation {index} sets a clock too far: {limit}"));
        }
    }
    None
}

/// What is wrong with the flags of a configuration, and with which.
fn wrong_flags(setup: &Setup) -> Option<String> {
    for (name, value) in &setup.flags {
        let mut config = MasterConfig::default();
        if let Err(error) = config.apply_flag(name, value) {
            return Some(format!("setup.flags.{name}: {error}"));
        }
        if longest(&config).ns > FARTHEST_NS.unsigned_abs() {
            let limit = format!("{FARTHEST_NS} ns at most, since the real master's deadlines overflow");
            return Some(format!(
                "setup.flags.{name}: {value:?} is too long a time: {limit}"
            ));
        }
    }
    let whole = setup.config().err();
    whole.map(|error| format!("setup.flags: {error}"))
}

/// The longest time that a configuration has.
fn longest(config: &MasterConfig) -> Span {
    let reads = [config.lease, config.soft_pin, config.max_soft_pin];
    let writes = [config.discard, config.release, config.client_ttl];
    let tasks = [config.pending_task_timeout, config.processing_task_timeout];
    let all = reads.into_iter().chain(writes).chain(tasks);
    all.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{put, read};

    #[test]
    fn what_cannot_be_written_leaves_nothing_and_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let taken = folder.path().join("taken");
        std::fs::create_dir(&taken).expect("a folder");
        let error = put(&taken, "text").expect_err("a folder is there");
        assert!(
            error.to_string().contains(&taken.display().to_string()),
            "{error}"
        );
        let names = std::fs::read_dir(folder.path()).expect("the folder").count();
        assert_eq!(names, 1, "only the folder is left");
        assert!(read(&taken).is_err());
    }

    #[test]
    fn a_history_of_somebody_else_is_looked_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.history.json");
        let flagged = |name: &str, flags: &str, more: &str, operations: &str| {
            let setup = format!(r#""setup":{{"name":"{name}","flags":{{{flags}}}}}"#);
            let text = format!(r#"{{{setup},"seed":null,"operations":[{operations}]{more}}}"#);
            std::fs::write(&path, text).expect("a file");
            read(&path).map(|_| ()).map_err(|error| format!("{error:?}"))
        };
        let told = |name: &str, more: &str, operations: &str| flagged(name, "", more, operations);
        let clock = |ns: i64| format!(r#"{{"clock":{{"realtime_ns":{ns},"monotonic_ns":0}}}}"#);
        let far = 100_000_000_000_000_000;
        assert_eq!(told("a-1", "", &clock(far)), Ok(()));
        assert_eq!(flagged("a", r#""client_ttl":"100000000""#, "", ""), Ok(()));
        let twice = format!("{},{}", clock(far), clock(1));
        for (wrong, says) in [
            (told("../x", "", ""), "name of the setup"),
            (told("", "", ""), "name of the setup"),
            (told(&"x".repeat(65), "", ""), "name of the setup"),
            (told("a", r#","zzz":1"#, ""), "zzz"),
            (told("a", "", &twice), "operation 1 sets a clock too far"),
            (
                flagged("a", r#""client_tll":"1""#, "", ""),
                "setup.flags.client_tll: no flag",
            ),
            (
                flagged("a", r#""client_ttl":"x""#, "", ""),
                "setup.flags.client_ttl: \\\"x\\\" is no value",
            ),
            (
                flagged("a", r#""default_kv_lease_ttl":"18446744073709551615""#, "", ""),
                "setup.flags.default_kv_lease_ttl: \\\"18446744073709551615\\\" is too long",
            ),
            (
                flagged("a", r#""client_ttl":"100000001""#, "", ""),
                "setup.flags.client_ttl: \\\"100000001\\\" is too long",
            ),
            (
                flagged("a", r#""put_start_release_timeout_sec":"1""#, "", ""),
                "setup.flags: the release timeout",
            ),
        ] {
            let error = wrong.expect_err(says);
            assert!(error.contains(says), "{error}");
        }
    }
}
