//! A chart of bytes over tokens.

use crate::ask::{Ask, wrong};
use crate::compare::compare;
use crate::error::CapacityError;
use crate::number::Limit;
use crate::shape::Keeps;
use crate::units::Tokens;
use moonquake_figures::{Axis, Chart, Computed, Point, Scale, Unit};

/// A line begins at this part of the tokens asked for.
const FIRST_PART: u64 = 1024;

impl Ask {
    /// Bytes of one request up to the tokens asked for: of one shape, or of the four kinds beside each other. Each point is a
    /// budget of its own, at every doubling and where a window is full.
    ///
    /// # Errors
    /// If the budget is refused, or is more than a chart can hold.
    pub fn chart(&self, is_comparison: bool) -> Result<Chart<Computed>, CapacityError> {
        let mut lines: Vec<(String, Vec<(u64, u64)>)> = Vec::new();
        for tokens in self.token_counts(is_comparison)? {
            let ask = Ask {
                tokens: Some(tokens),
                ..self.clone()
            };
            let budgets = match is_comparison {
                true => compare(&ask)?,
                false => vec![ask.budget()?],
            };
            for budget in budgets {
                let bytes = u64::try_from(budget.request_bytes.0).map_err(|_| {
                    wrong(
                        "a request is too large to be drawn",
                        "give smaller numbers, or leave out --svg",
                    )
                })?;
                match lines.iter_mut().find(|(name, _)| *name == budget.name) {
                    Some((_, points)) => points.push((tokens, bytes)),
                    None => lines.push((budget.name, vec![(tokens, bytes)])),
                }
            }
        }
        let lines = lines.iter().map(|(name, points)| (name.as_str(), points.clone()));
        let mut chart = bytes_over_tokens(lines);
        if let [only] = chart.series.as_slice() {
            // One line has no legend.
            chart.title = format!("{}: bytes of a KV cache over tokens", only.name);
        }
        Ok(chart)
    }

    fn token_counts(&self, is_comparison: bool) -> Result<Vec<u64>, CapacityError> {
        let last = self.load_or(1, 1, None).tokens.0;
        let mut counts: Vec<u64> = Vec::new();
        if !is_comparison {
            let groups = self.shape()?.groups;
            counts.extend(groups.iter().filter_map(|group| match group.keeps {
                Keeps::Window(Tokens(window)) => Some(window),
                Keeps::All => None,
            }));
        }
        let mut part = FIRST_PART;
        while part > 0 {
            counts.push(last / part);
            part /= 2;
        }
        counts.retain(|count| (1..=last).contains(count));
        counts.sort_unstable();
        counts.dedup();
        // A line needs two points.
        if let [only] = counts[..] {
            counts.push(only.saturating_add(1).min(Limit::TOKENS.most));
        }
        Ok(counts)
    }
}

/// Bytes of a request's cache over its tokens, a line for each name with its points (tokens, bytes). Both axes go by powers, so
/// that kinds which differ by a constant factor are lines side by side.
pub fn bytes_over_tokens<'a>(lines: impl IntoIterator<Item = (&'a str, Vec<(u64, u64)>)>) -> Chart<Computed> {
    let tokens = Axis::new("tokens of a request", Unit::Count).scale(Scale::Log);
    let bytes = Axis::new("bytes of its KV cache", Unit::Bytes).scale(Scale::Log);
    let mut chart = Chart::lines(
        "bytes_over_tokens",
        "Bytes of a KV cache over tokens",
        tokens,
        bytes,
    );
    for (name, points) in lines {
        chart.series(
            name,
            points
                .into_iter()
                .map(|(tokens, bytes)| Point::new(tokens, bytes)),
        );
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(model: &str, tokens: u64) -> Ask {
        Ask {
            model: Some(model.to_owned()),
            tokens: Some(tokens),
            ..Ask::default()
        }
    }

    #[test]
    fn a_line_ends_at_the_tokens_asked_for_and_bends_where_a_window_is_full() {
        let chart = ask("mistral-7b-v0.1", 10_000).chart(false).unwrap();
        let points = &chart.series[0].points;
        let at = |tokens: u64| points.iter().find(|point| point.x == tokens).map(|point| point.y);
        assert_eq!(points.last().map(|point| point.x), Some(10_000));
        assert_eq!(at(4_096), Some(512 << 20));
        assert_eq!(at(10_000), at(4_096));
        let before = points.iter().rfind(|point| point.x < 4_096).unwrap();
        assert_eq!(before.y, before.x * (128 << 10));
        assert_eq!(
            ask("llama-3-8b", 1).chart(false).unwrap().series[0].points.len(),
            2
        );
    }

    #[test]
    fn four_kinds_are_four_lines() {
        let chart = Ask::default().chart(true).unwrap();
        let ends: Vec<_> = chart
            .series
            .iter()
            .map(|series| (series.name.as_str(), series.points.last().unwrap().y >> 20))
            .collect();
        assert_eq!(ends, [("MHA", 4096), ("GQA", 1024), ("MQA", 128), ("MLA", 288)]);
    }

    #[test]
    fn every_kind_is_a_line_with_its_name() {
        let points = |per_token: u64| {
            [1_000, 8_192, 131_072]
                .map(|tokens| (tokens, tokens * per_token))
                .to_vec()
        };
        let svg = bytes_over_tokens([("MHA", points(524_288)), ("MLA", points(70_272))]).svg();
        assert!(svg.contains("MHA") && svg.contains("MLA"), "{svg}");
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 2, "{svg}");
        assert!(svg.contains("GiB"), "{svg}");
    }
}
