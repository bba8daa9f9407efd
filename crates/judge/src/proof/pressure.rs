//! Pressure: the stimulus in the frame log, and the allocator before and after it.

use super::{Gathered, stimulus};
use crate::view::Pos;

pub(crate) fn prove(gathered: &mut Gathered<'_, '_>, steps: &[usize]) {
    let view = gathered.view;
    let mut all: Vec<Pos> = Vec::new();
    for step in steps {
        let runs = view.repetitions(*step);
        let name = view.name(*step);
        let idle = runs
            .iter()
            .find(|(op, _)| stimulus::handled(view, *op).is_empty());
        let mut places: Vec<Pos> = runs
            .iter()
            .flat_map(|(op, _)| stimulus::handled(view, *op))
            .collect();
        if runs.is_empty() {
            gathered.lacks(format!("{name} never ran"), None);
        } else if let Some((op, run)) = idle {
            let text = format!("no call of {} was seen to reach the master", view.op_name(*op));
            gathered.lacks(text, run.ended);
        } else if let (Some(first), Some(last)) = (places.first(), places.last()) {
            let text = format!("{} calls of {name} reached the master", places.len());
            gathered.saw(text, [*first, *last]);
        }
        all.append(&mut places);
    }
    let (Some(first), Some(last)) = (all.iter().min(), all.iter().max()) else {
        return;
    };
    let before = view.state_before(*first);
    let after = view.states.iter().find(|(pos, _)| pos > last).copied();
    match (before, after) {
        (Some((was, old)), Some((now, new))) => {
            let text = format!(
                "the allocator held {} of {} bytes before and {} of {} after",
                old.allocated_bytes, old.capacity_bytes, new.allocated_bytes, new.capacity_bytes
            );
            gathered.saw(text, [was, now]);
        }
        (None, _) => gathered.lacks("the allocator was not seen before the stimulus", [*first]),
        (_, None) => gathered.lacks("the allocator was not seen after the stimulus", [*last]),
    }
}
