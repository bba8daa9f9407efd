//! Tests that tables name, as `path of a source file:name of the function`.

use std::collections::BTreeSet;
use std::path::Path;

/// What is wrong with the name of a test, if anything: there must be a function of that name in that file, and it must be
/// run as a test.
pub fn problem(reference: &str) -> Option<String> {
    let Some((path, name)) = reference.rsplit_once(':') else {
        return Some(format!("{reference} is no `path:name`"));
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    match std::fs::read_to_string(file) {
        Err(error) => Some(format!("{path}: {error}")),
        Ok(source) if is_test(&source, name) => None,
        Ok(_) => Some(format!("{path} has no test {name}")),
    }
}

/// Whether the source has a test of that name: a function with the attribute of one, or a row of a table of tests.
fn is_test(source: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let row = format!("(\"{name}\",");
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let registered = |at: usize| {
        lines[at].starts_with(&row)
            || (lines[at] == "(" && lines.get(at + 1) == Some(&&*format!("\"{name}\",")))
    };
    (0..lines.len()).any(|at| registered(at) || (lines[at].contains(&head) && has_attribute(&lines[..at])))
}

/// Whether the lines end with the attribute of a test, other attributes and comments aside.
fn has_attribute(before: &[&str]) -> bool {
    let mut attributes = before
        .iter()
        .rev()
        .take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    attributes.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
}

/// The names of all tests in a file.
///
/// # Panics
/// When the file cannot be read.
pub fn tests_of(path: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let source = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}"));
    let names = source.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("fn ")?;
        Some(rest.split_once('(')?.0.to_owned())
    });
    names.filter(|name| is_test(&source, name)).collect()
}

/// The names with a beginning in the tables of tests of a file. Without it other pairs that begin with a text would count.
///
/// # Panics
/// When the file cannot be read.
pub fn rows_of(path: &str, beginning: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let source = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}"));
    let quoted = source.split('"').skip(1).step_by(2);
    let names: BTreeSet<&str> = quoted
        .filter(|name| name.starts_with(beginning) && is_test(&source, name))
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_as_a_test_is_one() {
        let source = r#"
const TESTS: &[Test] = &[
    ("real_row", row),
    (
        "real_long_row",
        long_row,
    ),
];
/// A test.
#[test]
#[should_panic]
fn plain() {}
#[tokio::test(flavor = "multi_thread")]
async fn later() {}
#[test]
fn other() {}
fn helper() {}
fn plain_too() {}
"#;
        for name in ["real_row", "real_long_row", "plain", "later", "other"] {
            assert!(is_test(source, name), "{name}");
        }
        for name in ["row", "helper", "plain_too", "lain", "missing"] {
            assert!(!is_test(source, name), "{name}");
        }
    }

    #[test]
    fn a_bad_name_is_told() {
        let told = |reference| problem(reference).unwrap_or_default();
        assert!(told("nothing").contains("is no `path:name`"));
        assert!(told("no/such/file.rs:name").contains("no/such/file.rs"));
        assert!(told("tests/src/named.rs:is_test").contains("has no test is_test"));
        assert_eq!(problem("tests/src/named.rs:a_bad_name_is_told"), None);
        let real = rows_of("crates/engines/native/tests/real/boundaries.rs", "real_");
        assert!(
            real.len() > 6 && real.contains(&"real_boundary_lease".to_owned()),
            "{real:?}"
        );
        assert!(tests_of("tests/src/named.rs").contains(&"a_bad_name_is_told".to_owned()));
    }
}
