//! From the text of a scenario to a [`Plan`].

mod action;
mod checks;
mod claims;
mod fault;
mod head;
mod instants;
mod keys;
mod names;
mod operation;
mod problems;
mod results;
mod rules;
mod segments;
mod steps;
#[cfg(test)]
mod tests;
mod tree;
mod values;
mod verbs;
mod world;

pub(crate) use verbs::arguments;

use crate::error::{ProblemKind, ScenarioErrors};
use crate::{Plan, ReportText};
use names::Names;
use problems::{Problems, did_you_mean, shown};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tree::Table;

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

const SMALLER: &str =
    "a scenario is a page of text: split the story, or shorten it with `times` and `{1..15}`";

/// Reads and checks a scenario file.
///
/// # Errors
/// Everything that is wrong with the file, each with its place and a mend.
pub fn from_path(path: &Path) -> Result<Plan, ScenarioErrors> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| {
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => "check the path; `moonquake check` without a file checks all",
            std::io::ErrorKind::PermissionDenied => "make the file readable, such as with `chmod u+r`",
            std::io::ErrorKind::IsADirectory => "name a `*.scenario.toml` file in it",
            _ => "name a readable `*.scenario.toml` file",
        };
        ScenarioErrors::of_file(&name, format!("the file cannot be read: {error}"), help)
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(ScenarioErrors::of_file(
            &name,
            "this is a directory".to_owned(),
            "name a `*.scenario.toml` file in it",
        ));
    }
    if !metadata.is_file() {
        return Err(ScenarioErrors::of_file(
            &name,
            "this is no regular file".to_owned(),
            "name a `*.scenario.toml` file",
        ));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(&name, metadata.len()));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    from_str(&name, &text)
}

fn too_large(path: &str, bytes: u64) -> ScenarioErrors {
    let message = format!("the file has {bytes} bytes, at most {MAX_FILE_BYTES} are read");
    ScenarioErrors::of_file(path, message, SMALLER)
}

/// Checks the text of a scenario. `path` is what messages call it.
///
/// # Errors
/// Everything that is wrong with the text, each with its place and a mend.
pub fn from_str(path: &str, text: &[u8]) -> Result<Plan, ScenarioErrors> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(path, text.len() as u64));
    }
    let text = readable(path, text)?;
    // Editors on Windows put a mark of the encoding in front.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => return Err(syntax(path, text, &error)),
    };
    let mut problems = Problems::default();
    let plan = head::read(document.get_ref(), path, text, &mut problems);
    match plan {
        Some(plan) if problems.is_empty() => Ok(plan),
        _ => {
            if problems.is_empty() {
                problems.add(
                    ProblemKind::Value,
                    "the file could not be understood",
                    0..text.len().min(1),
                    "somewhere below",
                    "compare it with an example; this message is a defect of the parser",
                );
            }
            Err(ScenarioErrors::new(path, text, problems.found))
        }
    }
}

/// The bytes as text that a person can have written.
fn readable<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, ScenarioErrors> {
    let help = "a scenario is TOML in UTF-8: open it in an editor and save it as UTF-8";
    let line_of = |offset: usize| bytes[..offset].iter().filter(|byte| **byte == b'\n').count() + 1;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let message = match bytes.len() {
            0 => "the file is empty".to_owned(),
            many => format!("the file holds nothing but {many} blank bytes"),
        };
        return Err(ScenarioErrors::of_file(
            path,
            message,
            "begin with `schema = 1`, and compare with an example",
        ));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "the file is UTF-16 text, as its first two bytes say".to_owned();
        return Err(ScenarioErrors::of_file(path, message, help));
    }
    if let Some(offset) = bytes.iter().position(|byte| *byte == 0) {
        let message = format!(
            "the file is binary: a zero byte at offset {offset}, line {}",
            line_of(offset)
        );
        return Err(ScenarioErrors::of_file(path, message, help));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let message = format!(
            "the file is no UTF-8 text: byte 0x{:02x} at offset {offset}, line {}",
            bytes[offset],
            line_of(offset)
        );
        ScenarioErrors::of_file(path, message, help)
    })
}

/// A text that is no TOML.
fn syntax(path: &str, text: &str, error: &toml::de::Error) -> ScenarioErrors {
    let mut problems = Problems::default();
    let span = error.span().unwrap_or(0..text.len().min(1));
    let message = error.message();
    let line = text[..floor(text, span.start)].rfind('\n').map_or(0, |at| at + 1);
    let header = text[line..].trim_start();
    let second_fault = header.starts_with("[fault]") || header.starts_with("[[fault]]");
    if message.contains("recurs") {
        problems.add(
            ProblemKind::Syntax,
            "brackets nest too deeply",
            span,
            "no deeper than this",
            "no key of a scenario needs more than three levels: remove the brackets",
        );
    } else if message.contains("duplicate key") && second_fault {
        head::second_fault(&mut problems, span);
    } else {
        let help = if message.contains("duplicate key") {
            "keep one of the two"
        } else {
            "mend it here or just above: texts stand in quotes, brackets close, a step is `{ ... },` on one line"
        };
        problems.add(
            ProblemKind::Syntax,
            format!("this is no TOML: {}", shown(message)),
            span,
            "here",
            help,
        );
    }
    ScenarioErrors::new(path, text, problems.found)
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
