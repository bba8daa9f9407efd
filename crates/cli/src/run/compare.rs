//! Where two engines part.

use super::entry::{Entry, Outcome, Ran};
use crate::select::Selected;
use moonquake_faults::Profile;
use moonquake_scenario::EngineKind;

/// Two engines that part in one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The scenario.
    pub(crate) id: String,
    /// The profile.
    pub(crate) profile: Profile,
    /// The two engines.
    pub(crate) engines: [EngineKind; 2],
    /// The first line of the projection that differs, from 1.
    pub(crate) line: usize,
    /// What each says there; none where its projection has ended.
    pub(crate) says: [Option<String>; 2],
    /// The verdict lines of the file tell the two apart, and both came out as they say.
    pub(crate) is_declared: bool,
}

/// The differences between the first engine that ran and each other one.
pub(crate) fn differences(selected: &Selected, profile: Profile, entries: &[Entry]) -> Vec<Difference> {
    let mut ran = entries.iter().filter_map(|entry| match &entry.outcome {
        Outcome::Ran(ran) => Some((entry.engine, &**ran)),
        _ => None,
    });
    let Some((first, one)) = ran.next() else {
        return Vec::new();
    };
    ran.filter_map(|(other, two)| {
        let line = first_difference(&one.projection, &two.projection)?;
        let says = [one, two].map(|ran| ran.projection.get(line).cloned());
        Some(Difference {
            id: selected.plan.id.clone(),
            profile,
            engines: [first, other],
            line: line + 1,
            says,
            is_declared: is_declared(one, two),
        })
    })
    .collect()
}

fn first_difference(one: &[String], two: &[String]) -> Option<usize> {
    (0..one.len().max(two.len())).find(|line| one.get(*line) != two.get(*line))
}

fn is_declared(one: &Ran, two: &Ran) -> bool {
    one.is_met() && two.is_met() && one.claim_line != two.claim_line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_may_be_an_early_end() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(first_difference(&lines("a b c"), &lines("a b c")), None);
        assert_eq!(first_difference(&lines("a b c"), &lines("a x c")), Some(1));
        assert_eq!(first_difference(&lines("a b"), &lines("a b c")), Some(2));
        assert_eq!(first_difference(&[], &lines("a")), Some(0));
    }
}
