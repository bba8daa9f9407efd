//! What the pattern of differences says about where to look.

use super::{Square, is_same};
use crate::diff::Comparison;

/// Which of `master`, `hosted` and `native` differ from the model.
type Differs = [bool; 3];

/// A pattern, in a few words and in full.
struct Pattern {
    differs: Differs,
    short: &'static str,
    long: &'static str,
}

const PATTERNS: [Pattern; 7] = [
    Pattern {
        differs: [false, true, true],
        short: "the client",
        long: "They differ exactly where the client is real: look at the client, and at the Rust machine that stands for it. \
               The masters do the same.",
    },
    Pattern {
        differs: [true, false, true],
        short: "the master",
        long: "They differ exactly where the master is real: look at the Rust master. The clients do the same.",
    },
    Pattern {
        differs: [true, true, true],
        short: "everything that is real",
        long: "They differ wherever anything is real: client and master each, or what the model alone leaves out, such as \
               sockets and processes.",
    },
    Pattern {
        differs: [false, false, true],
        short: "the real client and the real master together",
        long: "They differ only where both are real: each does what the model says beside a Rust half, and together they do \
               not.",
    },
    Pattern {
        differs: [true, false, false],
        short: "the Rust client before the real master",
        long: "They differ only where the Rust client stands before the real master, and the real client before that master \
               does what the model says: look at the requests of the Rust client, and at how they get there.",
    },
    Pattern {
        differs: [false, true, false],
        short: "the real client before the Rust master",
        long: "They differ only where the real client stands before the Rust master: look at what the Rust master makes of \
               requests that no Rust client sends.",
    },
    Pattern {
        differs: [true, true, false],
        short: "each real part by itself",
        long: "They differ where one part alone is real, and both real parts together do what the model says: two \
               differences that make up for each other.",
    },
];

/// From the engine that the others were compared with, and from what came of that, in the order of [`Square::ENGINES`].
pub(super) fn of(base: Option<usize>, compared: &[Option<Comparison>; 4]) -> String {
    let known = [1, 2, 3].map(|index| compared[index].as_ref().map(|pair| !is_same(pair)));
    if base.is_none() {
        return "Nothing ran, so nothing is known.".to_owned();
    }
    let name = |index: usize| Square::ENGINES[index + 1].name();
    let those = |wanted: Option<bool>| {
        let names = (0..3).filter(|index| known[*index] == wanted).map(name);
        listed(&names.collect::<Vec<_>>(), "and")
    };
    let ran = known.iter().flatten().count();
    if ran == 0 {
        return "Only one engine ran, so nothing was compared.".to_owned();
    }
    if base != Some(0) {
        return "The model did not run, so the differences lead to no part of it.".to_owned();
    }
    let missing = those(None);
    if known.iter().flatten().all(|differs| !differs) {
        return match ran {
            3 => "All four do the same.".to_owned(),
            _ => format!(
                "Those that ran do the same; {missing} did not, and nothing is known of {}.",
                if ran == 2 { "it" } else { "them" }
            ),
        };
    }
    let fits = |pattern: &&Pattern| {
        let mut pairs = pattern.differs.iter().zip(&known);
        pairs.all(|(one, known)| known.is_none_or(|known| known == *one))
    };
    let candidates: Vec<&Pattern> = PATTERNS.iter().filter(fits).collect();
    let said = match candidates.as_slice() {
        [one] => one.long.to_owned(),
        many => {
            let names: Vec<&str> = many.iter().map(|pattern| pattern.short).collect();
            format!(
                "The model and {} differ, and {missing} did not run. It may be {}.",
                those(Some(true)),
                listed(&names, "or")
            )
        }
    };
    let parts = std::iter::once(said)
        .chain(among_themselves(compared).map(str::to_owned))
        .chain(only_judged(compared).map(str::to_owned));
    parts.collect::<Vec<_>>().join(" ")
}

/// What is to add where the judge alone tells them apart.
fn only_judged(compared: &[Option<Comparison>; 4]) -> Option<&'static str> {
    compared.iter().flatten().all(|pair| pair.same).then_some(
        "Every line is the same and only the judgement differs, as where a witness cannot see what another sees: the \
         postmortems say.",
    )
}

/// Whether those that differ from the model differ from each other as well.
fn among_themselves(compared: &[Option<Comparison>; 4]) -> Option<&'static str> {
    let parted = compared.iter().flatten().filter(|pair| !is_same(pair));
    let said: Vec<_> = parted
        .map(|pair| {
            let [_, side] = &pair.sides;
            (&side.projection_sha256, side.verdict, &side.failed)
        })
        .collect();
    let (first, others) = said.split_first()?;
    match others {
        [] => None,
        _ if others.iter().all(|other| other == first) => {
            Some("Among themselves those that differ do the same.")
        }
        _ => Some("Among themselves those that differ do not do the same either."),
    }
}

fn listed(names: &[&str], word: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::PATTERNS;

    #[test]
    fn every_way_to_differ_is_told_once() {
        let mut ways: Vec<_> = PATTERNS.iter().map(|pattern| pattern.differs).collect();
        ways.sort_unstable();
        ways.dedup();
        assert_eq!(ways.len(), 7);
        assert!(!ways.contains(&[false; 3]), "this is no difference");
    }
}
