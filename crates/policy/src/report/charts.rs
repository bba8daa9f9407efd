//! Charts of a load.

use super::measure::{FETCHED, GOODPUT, HIT_RATE, P99};
use super::{Case, Load, Measure, nearest_rank};
use moonquake_figures::{Axis, Chart, Point, Scale, Simulated, Unit};

/// At which percentiles a curve of times has points.
const CURVE: [u64; 15] = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 97, 99, 100];

impl Load {
    /// One for each figure that matters, that of goodput over hit rate first.
    pub fn charts(&self) -> Vec<Chart<Simulated>> {
        vec![
            self.goodput(),
            self.bars("hit_rate", "tokens hit", HIT_RATE),
            self.bars("ttft_p99", "time to first token, P99", P99),
            self.bars("fetched", "bytes fetched", FETCHED),
        ]
    }

    /// Shares of requests over their times to first token, a chart for each decision that makes a difference.
    pub fn curves(&self) -> Vec<Chart<Simulated>> {
        let mut curves: Vec<Chart<Simulated>> = Vec::new();
        for decision in self.decisions() {
            let curve = self.curve(decision);
            match curves.iter_mut().find(|other| other.series == curve.series) {
                Some(same) => same.notes.push(format!("The same with {decision}.")),
                None => curves.push(curve),
            }
        }
        curves
    }

    /// Goodput over hit rate: where the two part, a point lies right and low.
    pub fn goodput(&self) -> Chart<Simulated> {
        let title = format!("{}: goodput over hit rate", self.workload);
        let across = Axis::new("tokens hit", Unit::Ppm);
        let up = Axis::new("requests/s within the SLO", Unit::Milli);
        let mut chart = Chart::points("goodput", &title, across, up);
        for decision in self.decisions() {
            let cases = self.cases.iter().filter(|case| case.decision == decision);
            let points = cases.map(|case| {
                let goodput = case.spread(GOODPUT);
                let point = Point::new(case.spread(HIT_RATE).mean, goodput.mean);
                (point.spread(goodput.min, goodput.max), self.label(case))
            });
            chart.series(decision, one_each(points));
        }
        chart.notes.push(
            "Right: more hits. Up: more goodput. +2 behind a name: two more policies have the same mark. Where marks of two kinds coincide, \
             the later one in the legend is seen; what has no room for its name is in the tables."
                .to_owned(),
        );
        chart
    }

    fn bars(&self, name: &str, title: &str, measure: Measure) -> Chart<Simulated> {
        let labels = self.labels();
        let title = format!("{}: {}", self.workload, title);
        let mut chart = Chart::bars(name, &title, Axis::new("", measure.unit), labels.clone());
        for decision in self.decisions() {
            let places = labels.iter().enumerate();
            let points = places.filter_map(|(place, label)| {
                let spread = self.case(label, decision)?.spread(measure);
                Some(Point::new(place as u64, spread.mean).spread(spread.min, spread.max))
            });
            chart.series(decision, points);
        }
        chart
    }

    fn curve(&self, decision: &str) -> Chart<Simulated> {
        let title = format!("{}: time to first token with {decision}", self.workload);
        let across = Axis::new("time to first token", Unit::Nanoseconds).scale(Scale::Log);
        let up = Axis::new("share of requests that have it by then", Unit::Ppm);
        let mut chart = Chart::lines("ttft", &title, across, up);
        let cases = self.cases.iter().filter(|case| case.decision == decision);
        for case in cases {
            chart.series(self.label(case), times(case));
        }
        if self.has_several_seeds() {
            chart.notes.push("Of the first seed.".to_owned());
        }
        chart
    }
}

/// One mark where several are the same, with the first name and how many more there are.
fn one_each(points: impl Iterator<Item = (Point, String)>) -> Vec<Point> {
    let mut marks: Vec<(Point, String, usize)> = Vec::new();
    for (point, name) in points {
        match marks.iter_mut().find(|(mark, ..)| *mark == point) {
            Some((.., more)) => *more += 1,
            None => marks.push((point, name, 0)),
        }
    }
    let named = marks.into_iter().map(|(point, name, more)| match more {
        0 => point.label(name),
        more => point.label(format!("{name} +{more}")),
    });
    named.collect()
}

/// Times of the first seed.
fn times(case: &Case) -> Vec<Point> {
    let Some(first) = case.outcomes.first() else {
        return Vec::new();
    };
    let points = CURVE.iter().filter_map(|percent| {
        let time = nearest_rank(&first.ttft_ns, *percent)?;
        Some(Point::new(time, percent * 10_000))
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_coincide_are_one_with_a_number() {
        let points = [(1, "lru"), (2, "fifo"), (1, "sieve"), (1, "belady")];
        let marks = one_each(
            points
                .into_iter()
                .map(|(x, name)| (Point::new(x, 5), name.to_owned())),
        );
        assert_eq!(
            marks,
            [Point::new(1, 5).label("lru +2"), Point::new(2, 5).label("fifo")]
        );
    }
}
