//! A chart of bytes over tokens.

use moonquake_figures::{Axis, Chart, Computed, Point, Scale, Unit};

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
