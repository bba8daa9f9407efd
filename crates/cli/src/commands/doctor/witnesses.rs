//! The self-test of the witnesses as a table: ways of access x witness.

use moonquake_witness::selftest::{Cell, LEGEND, Row};
use moonquake_witness::{AccessKind, Way};

const NAME: usize = 34;
const WAY: usize = 24;

/// The whole section.
pub(super) fn lines(rows: &[Row]) -> Vec<String> {
    let columns = Way::ALL.map(|way| format!("{:<WAY$}", format!("{} read/write", way.name())));
    let mut lines = vec![
        "Witnesses tried (each kind of access was made on purpose, under each of them)".to_owned(),
        format!("  {:<NAME$} {}", "", columns.concat())
            .trim_end()
            .to_owned(),
    ];
    for row in rows {
        let what = match &row.cells {
            Ok(cells) => Way::ALL.map(|way| format!("{:<WAY$}", pair(cells, way))).concat(),
            Err(why) => format!("could not be tried: {why}"),
        };
        lines.push(format!("  {:<NAME$} {what}", row.witness).trim_end().to_owned());
    }
    for row in rows {
        let told = format!("tells {}", row.grain.words());
        let reasons = row.untried().into_iter().map(|why| format!("not planted: {why}"));
        let words: Vec<String> = std::iter::once(told).chain(reasons).collect();
        lines.push(format!("  {:<NAME$} {}", row.witness, words.join("; ")));
    }
    for broken in rows.iter().flat_map(Row::broken) {
        lines.push(format!("  BROKEN {broken}"));
    }
    lines.push(format!("  {LEGEND}"));
    lines
}

/// Reads and writes of one way.
fn pair(cells: &[Cell], way: Way) -> String {
    let cell = |kind: AccessKind| {
        let found = cells.iter().find(|cell| cell.kind == kind);
        found.map_or_else(|| "?".to_owned(), Cell::to_string)
    };
    format!("{}/{}", cell(AccessKind::read(way)), cell(AccessKind::write(way)))
}

#[cfg(test)]
mod tests {
    use super::lines;
    use moonquake_witness::selftest::{Cell, Claimed, Measured, Row, Unavailable};
    use moonquake_witness::{AccessKind, Grain, Way};

    #[test]
    fn what_was_missed_and_what_cannot_be_tried_is_told() {
        let missed = Cell {
            kind: AccessKind::write(Way::Socket),
            claimed: Claimed::Sees,
            measured: Measured::NotSeen,
        };
        let row = |witness: &str, cells| Row {
            witness: witness.to_owned(),
            grain: Grain::Page,
            cells,
        };
        let why = Unavailable {
            what: "no sight".to_owned(),
            cure: "glasses".to_owned(),
        };
        let text = lines(&[row("one", Ok(vec![missed])), row("two", Err(why))]).join("\n");
        assert!(text.contains("?/MISSED"), "{text}");
        assert!(
            text.contains("BROKEN one, socket write: claims Sees, measured NotSeen"),
            "{text}"
        );
        assert!(
            text.contains("could not be tried: no sight; to mend this: glasses"),
            "{text}"
        );
    }
}
