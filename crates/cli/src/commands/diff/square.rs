//! `moonquake diff FILE` without engines: the scenario on every pairing of a client with a master.

use super::{Args, Ran, print, run};
use crate::engines::{Availability, availability, engine};
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::run::{Format, replay};
use crate::select::Selected;
use crate::stop::Stop;
use indicatif::{ProgressBar, ProgressStyle};
use moonquake_faults::Profile;
use moonquake_report::{Square, SquareRun, SquareState, square_text};
use moonquake_scenario::{EngineKind, Interrupt};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of one engine.
enum Cell {
    Ran(Box<Ran>),
    Without(SquareState, String),
}

/// Runs on all four, and compares.
pub(super) fn execute(args: &Args, selected: &Selected, out: &mut Out) -> Result<Exit, CliError> {
    refuse(args)?;
    let stop = Stop::listen()?;
    let asked = stop.clone();
    let interrupt = Interrupt::new(move || asked.asked().is_some());
    let bar = ProgressBar::new(Square::ENGINES.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    let mut cells = Vec::with_capacity(Square::ENGINES.len());
    for kind in Square::ENGINES {
        bar.set_message(format!("{} on {kind}", selected.plan.id));
        let cell = cell(kind, selected, args.seed, &interrupt);
        let Some(cell) = cell.filter(|_| !interrupt.is_asked()) else {
            bar.finish_and_clear();
            return Ok(stop.asked().unwrap_or(Exit::Interrupted));
        };
        cells.push(cell);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let runs = [0, 1, 2, 3].map(|index| {
        let run = match &cells[index] {
            Cell::Ran(ran) => SquareRun::Ran(&ran.evidence, &ran.judgement),
            Cell::Without(state, why) => SquareRun::Without(*state, why.clone()),
        };
        let kind = Square::ENGINES[index];
        (run, replay(&selected.name, kind, Profile::Upstream, args.seed))
    });
    let square = Square::new(&selected.plan, runs);
    match args.format {
        Format::Json => out.text(&square.json()),
        Format::Human => print(&square_text(&square), out),
    }
    Ok(exit(&square))
}

/// Flags that mean nothing here.
fn refuse(args: &Args) -> Result<(), CliError> {
    if args.html.is_some() {
        return Err(CliError::Flags {
            what: "--html shows two runs side by side, and without engines there are four".to_owned(),
            help: "name the two engines, such as `moonquake diff FILE model native --html parted.html`"
                .to_owned(),
        });
    }
    if args.profile.iter().any(|profile| *profile != Profile::Upstream) {
        return Err(CliError::Flags {
            what: "--profile is upstream on all four engines: real processes have no other".to_owned(),
            help:
                "leave it out, or name two engines, such as `moonquake diff FILE model:strict model:upstream`"
                    .to_owned(),
        });
    }
    Ok(())
}

/// One engine, or nothing if the end was asked for. What is wrong with it is told in its place and ends nothing.
fn cell(kind: EngineKind, selected: &Selected, seed: Option<u64>, interrupt: &Interrupt) -> Option<Cell> {
    let without = |state, why| Some(Cell::Without(state, why));
    let found = availability(kind);
    if let Availability::NotHere(why) = found {
        return without(SquareState::NotHere, why);
    }
    if let Some(why) = engine(kind).and_then(|engine| engine.unsupported(&selected.plan)) {
        return without(SquareState::NoWords, why);
    }
    match found {
        Availability::NotInstalled { what, cure } => {
            return without(SquareState::NotInstalled, missing(what, &cure));
        }
        Availability::NotBuilt => {
            let why = "this version of Moonquake does not have it yet".to_owned();
            return without(SquareState::NotHere, why);
        }
        Availability::Available(_) | Availability::NotHere(_) => {}
    }
    // A defect met in one run must not cost what the others show.
    let done = catch_unwind(AssertUnwindSafe(|| {
        run(selected, (kind, Profile::Upstream), seed, interrupt)
    }));
    match done {
        Ok(Ok(ran)) => ran.map(|ran| Cell::Ran(Box::new(ran))),
        Ok(Err(CliError::Unsupported { why, .. })) => without(SquareState::NoWords, why),
        Ok(Err(CliError::NotInstalled { what, cure, .. })) => {
            without(SquareState::NotInstalled, missing(what, &cure))
        }
        Ok(Err(error)) => without(SquareState::Failed, error.to_string()),
        Err(_) => {
            let why = "the harness panicked; its message is on standard error".to_owned();
            without(SquareState::Failed, why)
        }
    }
}

/// What is missing, with its cure. Some reasons end in it.
fn missing(what: String, cure: &str) -> String {
    if what.contains(cure) {
        return what;
    }
    format!("{what}\nto mend this: {cure}")
}

fn exit(square: &Square) -> Exit {
    let mut exit = Exit::Ok;
    if square.has(SquareState::Failed) {
        exit = exit.worst(Exit::Harness);
    }
    // Where nothing was compared, nothing is the same.
    if square.has(SquareState::NotInstalled) || square.ran() < 2 {
        exit = exit.worst(Exit::NotInstalled);
    }
    if square.same == Some(false) {
        exit = exit.worst(Exit::Disagree);
    }
    exit
}
