//! Steps in columns. A timeline is read down its instants: steps that begin with the same keys and name an instant stand
//! in columns, as long as no other step moves time in between. Steps at the same instant take no part.

/// The keys of which a step has exactly one.
const KINDS: [&str; 4] = ["do", "tick", "await", "check"];

/// An entry of a list.
#[derive(Clone, Debug)]
pub(super) enum Row {
    /// A step: its keys and values.
    Cells(Vec<(String, String)>),
    /// Anything else, as it is.
    Text(String),
}

/// Each row as its line. `breaks` says for each whether something stands before it that no column goes through.
pub(super) fn aligned(rows: &[Row], breaks: &[bool]) -> Vec<String> {
    let mut widths: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut block: Vec<usize> = Vec::new();
    let mut shape: Vec<&str> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if breaks.get(index) == Some(&true) {
            close(rows, &mut block, &mut widths);
        }
        let head = head(row);
        if !moves_time(row) {
            continue;
        }
        if head != shape || head.is_empty() {
            close(rows, &mut block, &mut widths);
            shape = head;
        }
        block.push(index);
    }
    close(rows, &mut block, &mut widths);
    let lines = rows.iter().zip(&widths);
    lines.map(|(row, widths)| line(row, widths)).collect()
}

/// Ends a block: each of its columns is as wide as its widest value.
fn close(rows: &[Row], block: &mut Vec<usize>, widths: &mut [Vec<usize>]) {
    let Some(first) = block.first() else {
        return;
    };
    let columns = head(&rows[*first]).len();
    let widest = |column| {
        let values = block.iter().map(|index| width(&rows[*index], column));
        values.max().unwrap_or(0)
    };
    let of_block: Vec<usize> = (0..columns).map(widest).collect();
    for index in block.drain(..) {
        widths[index].clone_from(&of_block);
    }
}

/// Whether a step names an instant. What is no step stands in the way of columns, too.
fn moves_time(row: &Row) -> bool {
    match row {
        Row::Cells(cells) => cells.iter().any(|(key, _)| key == "at"),
        Row::Text(_) => true,
    }
}

/// The keys at the start of a step, up to the one that says what it is; none if it has no columns.
fn head(row: &Row) -> Vec<&str> {
    let Row::Cells(cells) = row else {
        return Vec::new();
    };
    let Some(kind) = cells.iter().position(|(key, _)| KINDS.contains(&key.as_str())) else {
        return Vec::new();
    };
    let head = &cells[..=kind];
    if head.iter().any(|(_, value)| value.contains('\n')) {
        return Vec::new();
    }
    head.iter().map(|(key, _)| key.as_str()).collect()
}

fn width(row: &Row, column: usize) -> usize {
    match row {
        Row::Cells(cells) => cells.get(column).map_or(0, |(_, value)| value.chars().count()),
        Row::Text(_) => 0,
    }
}

fn line(row: &Row, widths: &[usize]) -> String {
    let cells = match row {
        Row::Text(text) => return text.clone(),
        Row::Cells(cells) => cells,
    };
    if cells.is_empty() {
        return "{}".to_owned();
    }
    let mut text = "{ ".to_owned();
    for (index, (key, value)) in cells.iter().enumerate() {
        text.push_str(&format!("{key} = {value}"));
        if index + 1 < cells.len() {
            let missing = widths.get(index).map_or(0, |width| width - value.chars().count());
            text.push(',');
            text.extend(std::iter::repeat_n(' ', missing + 1));
        }
    }
    text.push_str(" }");
    text
}
