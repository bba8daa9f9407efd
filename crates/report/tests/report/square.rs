//! The four pairings of a client with a master, and what the pattern of their differences says.

use crate::support::cases::{Case, holds, violated};
use moonquake_report::{Square, SquareRun, SquareState, square_text};
use moonquake_scenario::Verdict;

fn on(mut case: Case, engine: &str) -> Case {
    engine.clone_into(&mut case.1.baseline.engine);
    case
}

fn ran((_, evidence, judgement): &Case) -> SquareRun<'_> {
    SquareRun::Ran(evidence, judgement)
}

fn without(state: SquareState, why: &str) -> SquareRun<'static> {
    SquareRun::Without(state, why.to_owned())
}

fn square(case: &Case, runs: [SquareRun<'_>; 4]) -> Square {
    let kinds = Square::ENGINES.into_iter();
    let mut replays = kinds.map(|kind| format!("moonquake run x --engine {kind}"));
    Square::new(&case.0, runs.map(|run| (run, replays.next().unwrap_or_default())))
}

fn text(square: &Square) -> String {
    let lines = square_text(square).into_iter();
    lines.map(|line| line.text + "\n").collect()
}

#[test]
fn four_that_do_the_same() {
    let cases = Square::ENGINES.map(|kind| on(holds(), kind.name()));
    let [model, master, hosted, native] = &cases;
    let square = square(model, [ran(model), ran(master), ran(hosted), ran(native)]);
    assert_eq!(
        (square.same, square.ran(), square.pairs.len()),
        (Some(true), 4, 3)
    );
    insta::assert_snapshot!(text(&square));
}

#[test]
fn each_engine_is_told_in_its_place() {
    let (one, other) = (on(holds(), "model"), on(violated(), "master"));
    let failed = without(
        SquareState::Failed,
        "the client parts from its model\nits last words",
    );
    let wordless = without(SquareState::NoWords, "it has no such call");
    let square = square(&one, [ran(&one), ran(&other), wordless, failed]);
    assert_eq!(
        (square.same, square.ran(), square.pairs.len()),
        (Some(false), 2, 1)
    );
    assert!(square.has(SquareState::Failed) && square.has(SquareState::NoWords));
    assert!(!square.has(SquareState::NotInstalled));
    insta::assert_snapshot!(text(&square));
}

/// The engines that differ, by their first letters, lead to where to look.
#[test]
fn the_pattern_leads_to_the_part() {
    let (one, other) = (holds(), violated());
    let meaning = |differ: &str, missing: &str| {
        let run = |name: char| match (missing.contains(name), differ.contains(name)) {
            (true, _) => without(SquareState::NotHere, "left out"),
            (false, true) => ran(&other),
            (false, false) => ran(&one),
        };
        let names = ['.', 'm', 'h', 'n'];
        square(&one, names.map(run)).meaning
    };
    let told = [
        ("", "", "All four do the same."),
        ("hn", "", "exactly where the client is real"),
        ("mn", "", "exactly where the master is real"),
        ("mhn", "", "wherever anything is real"),
        ("n", "", "only where both are real"),
        (
            "m",
            "",
            "only where the Rust client stands before the real master",
        ),
        (
            "h",
            "",
            "only where the real client stands before the Rust master",
        ),
        ("mh", "", "two differences that make up for each other"),
        ("", "n", "native did not, and nothing is known of it."),
        (
            "",
            "hn",
            "hosted and native did not, and nothing is known of them.",
        ),
        ("", "mhn", "nothing was compared"),
        (
            "h",
            "n",
            "native did not run. It may be the client or the real client before the Rust master.",
        ),
        ("hn", "m", "It may be the client or everything that is real."),
        ("mn", "", "Among themselves those that differ do the same."),
    ];
    for (differ, missing, part) in told {
        let said = meaning(differ, missing);
        assert!(said.contains(part), "{differ:?}, without {missing:?}: {said}");
        assert!(!said.contains("only the judgement"), "{said}");
    }
}

/// The judge sees more than the lines that are compared.
#[test]
fn equal_lines_with_another_verdict_are_no_agreement() {
    let one = on(holds(), "model");
    let mut other = on(holds(), "hosted");
    other.2.verdict = Verdict::NotReproduced;
    let square = square(&one, [ran(&one), ran(&one), ran(&other), ran(&other)]);
    assert!(square.pairs.iter().all(|pair| pair.same));
    assert_eq!(square.same, Some(false));
    let text = text(&square);
    for part in [
        "and yet it comes out as holds on model and as not-reproduced on hosted.",
        "exactly where the client is real",
        "Among themselves those that differ do the same.",
        "Every line is the same and only the judgement differs",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

/// Two that differ from the model may differ from each other as well.
#[test]
fn those_that_differ_are_compared_with_each_other() {
    let (one, other) = (holds(), violated());
    let mut third = other.clone();
    let last = third.1.events.iter().rposition(|event| {
        let alone = moonquake_evidence::Evidence {
            events: vec![(*event).clone()],
            ..third.1.clone()
        };
        !moonquake_evidence::projected(&alone).is_empty()
    });
    third.1.events.truncate(last.expect("a line of the projection"));
    let square = square(&one, [ran(&one), ran(&one), ran(&other), ran(&third)]);
    assert!(
        square.meaning.contains("do not do the same either"),
        "{}",
        square.meaning
    );
}

#[test]
fn without_a_model_nothing_is_said_of_its_parts() {
    let case = holds();
    let failed = || without(SquareState::Failed, "a defect");
    let first = square(&case, [failed(), ran(&case), ran(&case), failed()]);
    assert_eq!(first.same, Some(true));
    assert_eq!(first.pairs.len(), 1);
    assert!(
        first.meaning.contains("The model did not run"),
        "{}",
        first.meaning
    );
    let none = square(&case, [failed(), failed(), failed(), failed()]);
    assert_eq!((none.same, none.ran()), (None, 0));
    assert!(none.meaning.contains("Nothing ran"));
}
