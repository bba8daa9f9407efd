//! The table of models, each row with its source.

use crate::config::{self, Beside};
use crate::error::CapacityError;
use crate::shape::Shape;
use serde::Deserialize;
use std::sync::LazyLock;

const TABLE: &str = include_str!("models.toml");

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// As `--model` takes it.
    pub name: String,
    /// The address of the published config.
    pub source: String,
    config: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    model: Vec<Model>,
}

static MODELS: LazyLock<Vec<Model>> =
    LazyLock::new(|| toml::from_str::<Table>(TABLE).map_or_else(|_| Vec::new(), |table| table.model));

/// Every row. A test reads the table, so it is there.
pub fn models() -> &'static [Model] {
    &MODELS
}

/// The cache of a model of the table. Capitals, `_` and spaces do not matter.
///
/// # Errors
/// If there is no such row; the message names the nearest.
pub fn model(name: &str) -> Result<Shape, CapacityError> {
    model_beside(name, Beside::default())
}

pub(crate) fn model_beside(name: &str, beside: Beside) -> Result<Shape, CapacityError> {
    let models = models();
    let plain = plain(name);
    let Some(row) = models.iter().find(|row| row.name == plain) else {
        return Err(unknown(name, &plain, models));
    };
    let mut shape = config::of_value(&row.source, "", &row.config, beside)?;
    shape.name.clone_from(&row.name);
    Ok(shape)
}

/// The name in the spelling of the table, if it is one of its names in another.
fn plain(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.to_ascii_lowercase().replace(['_', ' '], "-")
}

fn unknown(name: &str, plain: &str, models: &[Model]) -> CapacityError {
    let near = models
        .iter()
        .map(|row| {
            // Who leaves out the end of a name means it.
            let is_begun = plain.len() > 3 && row.name.starts_with(plain);
            let distance = if is_begun {
                0
            } else {
                strsim::damerau_levenshtein(plain, &row.name)
            };
            (distance, row)
        })
        .filter(|(distance, _)| plain.len() <= 64 && *distance <= 2 + plain.chars().count() / 4)
        .min_by_key(|(distance, _)| *distance);
    let known: Vec<&str> = models.iter().map(|row| row.name.as_str()).collect();
    CapacityError::NoSuchModel {
        name: crate::number::shown(name),
        near: near.map_or_else(String::new, |(_, row)| format!("; did you mean {}?", row.name)),
        known: known.join(", "),
    }
}
