//! `moonquake catalog`.

use crate::error::CliError;
use crate::exit::Exit;
use crate::library::Library;
use crate::out::Out;
use crate::reach;
use crate::run::Format;
use crate::select::select;
use moonquake_clock::{Compare, DEADLINES, Deadline, Length, Span, Thread};
use moonquake_faults::{
    ACTIONS, ActionRow, DIMENSIONS, DimensionRow, GUARDS, GuardRow, PHASES, Phase, QUIRKS, QuirkRow,
};
use moonquake_scenario::Plan;
use serde::Serialize;
use std::path::PathBuf;

/// Show everything a scenario can name, and what no scenario reaches.
///
/// Phases, deadlines, actions, dimensions, threads and quirks come from the tables that the parser and the engines read.
/// The numbers count scenarios.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub(crate) struct Args {
    /// Lines for people, or one JSON object for machines
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// The folder with the scenarios, instead of `scenarios` here or further up, or else those built in
    #[arg(long, value_name = "DIR")]
    scenarios: Option<PathBuf>,
}

const NOTES: &str = "\
How reach is computed. Phases, dimensions, actions and threads are read off the scenario files: what is aimed at, whether
it is hit is for `moonquake run` to prove. A deadline counts if an instant names the timeout that gives it its length, or a
step gives the argument that does; several deadlines share one. One of a fixed length has no name
that an instant could say (`-`): scenarios/MATRIX.md says which scenarios notice it. A quirk counts if a scenario comes out differently on the strict model with this quirk alone switched on; all scenarios run
for that, on the model.";

/// One entry with the scenarios that reach it.
#[derive(Serialize)]
struct Reached<'a, Row> {
    #[serde(flatten)]
    row: Row,
    scenarios: Vec<&'a str>,
}

/// A thread as it is shown.
#[derive(Serialize)]
struct ThreadRow {
    name: &'static str,
    period_ns: u64,
}

#[derive(Serialize)]
struct Catalog<'a> {
    schema: u32,
    scenarios: usize,
    phases: Vec<Reached<'a, &'a Phase>>,
    deadlines: Vec<Reached<'a, &'a Deadline>>,
    dimensions: Vec<Reached<'a, &'a DimensionRow>>,
    actions: Vec<Reached<'a, &'a ActionRow>>,
    threads: Vec<Reached<'a, ThreadRow>>,
    quirks: Vec<Reached<'a, &'a QuirkRow>>,
    guards: &'static [GuardRow],
}

/// Shows the catalogue.
pub(crate) fn execute(args: &Args, out: &mut Out) -> Result<Exit, CliError> {
    let library = Library::find(args.scenarios.as_deref())?;
    let plans: Vec<Plan> = select(&library, &[])?
        .into_iter()
        .map(|selected| selected.plan)
        .collect();
    let catalog = catalog(&plans);
    match args.format {
        Format::Json => {
            let mut text = serde_json::to_string_pretty(&catalog).unwrap_or_default();
            text.push('\n');
            out.text(&text);
        }
        Format::Human => {
            for line in lines(&catalog, &library.origin) {
                out.line(line.trim_end());
            }
        }
    }
    Ok(Exit::Ok)
}

fn reached<'a, T, Row>(
    rows: impl IntoIterator<Item = T>,
    row: impl Fn(&T) -> Row,
    scenarios: impl Fn(&T) -> Vec<&'a str>,
) -> Vec<Reached<'a, Row>> {
    let rows = rows.into_iter();
    rows.map(|one| Reached {
        row: row(&one),
        scenarios: scenarios(&one),
    })
    .collect()
}

fn catalog(plans: &[Plan]) -> Catalog<'_> {
    let quirks = reach::quirks(plans);
    Catalog {
        schema: 1,
        scenarios: plans.len(),
        phases: reached(PHASES, |row| *row, |row| reach::phase(plans, row.id)),
        deadlines: reached(DEADLINES, |row| *row, |row| reach::deadline(plans, row)),
        dimensions: reached(DIMENSIONS, |row| *row, |row| reach::dimension(plans, row.id)),
        actions: reached(ACTIONS, |row| *row, |row| reach::action(plans, row.kind)),
        threads: reached(
            Thread::ALL,
            |thread| ThreadRow {
                name: thread.name(),
                period_ns: thread.period().ns,
            },
            |thread| reach::thread(plans, *thread),
        ),
        quirks: QUIRKS
            .iter()
            .zip(quirks)
            .map(|(row, scenarios)| Reached { row, scenarios })
            .collect(),
        guards: GUARDS,
    }
}

fn lines(catalog: &Catalog<'_>, origin: &str) -> Vec<String> {
    let mut lines = vec![
        format!(
            "The first column counts the scenarios that reach it, of {} ({origin}).",
            catalog.scenarios
        ),
        "How that is computed: `moonquake catalog --help`.".to_owned(),
    ];
    let mut section = |title: &str, rows: Vec<String>| {
        lines.push(String::new());
        lines.push(title.to_owned());
        lines.extend(rows);
    };
    section("Phases", catalog.phases.iter().map(phase).collect());
    section("Deadlines", catalog.deadlines.iter().map(deadline).collect());
    section("Dimensions", catalog.dimensions.iter().map(dimension).collect());
    section("Actions", catalog.actions.iter().map(action).collect());
    section(
        "Threads of the master",
        catalog.threads.iter().map(thread).collect(),
    );
    section("Quirks", catalog.quirks.iter().flat_map(quirk).collect());
    section(
        "Checks that tests lift one at a time (which scenarios notice: scenarios/MATRIX.md)",
        catalog.guards.iter().flat_map(guard).collect(),
    );
    section("Reached by no scenario", unreached(catalog));
    lines
}

fn line<Row>(reached: &Reached<'_, Row>, name: &str, words: &str) -> String {
    counted(&reached.scenarios.len().to_string(), name, words)
}

fn counted(count: &str, name: &str, words: &str) -> String {
    format!("{count:>4}  {name:<28}  {words}")
}

/// Whether no instant of a scenario could name the length.
fn has_no_name(row: &Deadline) -> bool {
    matches!(row.length, Length::FixedNs(_))
}

fn phase(reached: &Reached<'_, &Phase>) -> String {
    line(reached, reached.row.name, reached.row.meaning)
}

fn deadline(reached: &Reached<'_, &Deadline>) -> String {
    let row = reached.row;
    let length = match row.length {
        Length::Timeout(name) | Length::Asked(name) => name.to_owned(),
        Length::Half(name) => format!("half of {name}"),
        Length::FixedNs(ns) => Span::from_ns(ns).to_string(),
    };
    let (clock, actor) = (
        format!("{:?}", row.domain).to_lowercase(),
        format!("{:?}", row.actor).to_lowercase(),
    );
    let when = match row.compare {
        Compare::Inclusive => "at",
        Compare::Strict | Compare::StrictMs => "after",
    };
    let words = format!(
        "{when} {length} from {} ({clock}), {actor}: {}",
        row.base, row.effect
    );
    if has_no_name(row) {
        counted("-", row.name, &words)
    } else {
        line(reached, row.name, &words)
    }
}

fn dimension(reached: &Reached<'_, &DimensionRow>) -> String {
    let row = reached.row;
    let triggers: Vec<String> = row
        .allowed
        .iter()
        .map(|(trigger, actions)| {
            let actions: Vec<&str> = actions.iter().map(|action| action.word()).collect();
            let actions = if actions.is_empty() {
                "-".to_owned()
            } else {
                actions.join("|")
            };
            format!("{} {actions}", trigger.key())
        })
        .collect();
    let words = format!("{}; proof: {}", triggers.join(", "), row.proof);
    line(reached, row.name, &words)
}

fn action(reached: &Reached<'_, &ActionRow>) -> String {
    let words = format!("{}, written {}", reached.row.meaning, reached.row.written);
    line(reached, reached.row.kind.word(), &words)
}

fn thread(reached: &Reached<'_, ThreadRow>) -> String {
    let period = Span::from_ns(reached.row.period_ns);
    line(
        reached,
        reached.row.name,
        &format!("the real one does a round every {period}"),
    )
}

fn more(words: &str) -> String {
    format!("{:>4}  {:<28}  {words}", "", "")
}

fn quirk(reached: &Reached<'_, &QuirkRow>) -> [String; 3] {
    let row = reached.row;
    [
        line(reached, row.name, &format!("upstream: {}", row.upstream)),
        more(&format!("strict:   {}", row.strict)),
        more(&format!("mirrors:  {}", row.mirrors)),
    ]
}

fn guard(row: &GuardRow) -> [String; 2] {
    let by = format!("{:?}", row.by).to_lowercase();
    [
        format!("{:>4}  {:<28}  {by}: {}", "", row.name, row.keeps),
        more(&format!("mirrors:  {}", row.mirrors)),
    ]
}

/// What is left to do.
fn unreached(catalog: &Catalog<'_>) -> Vec<String> {
    fn names<'a, Row>(rows: &[Reached<'_, Row>], name: impl Fn(&Row) -> &'a str) -> Vec<&'a str> {
        let missing = rows.iter().filter(|one| one.scenarios.is_empty());
        missing.map(|one| name(&one.row)).collect()
    }
    let named = catalog.deadlines.iter().filter(|one| !has_no_name(one.row));
    let deadlines = named.filter(|one| one.scenarios.is_empty());
    let deadlines = deadlines.map(|one| one.row.name).collect();
    let kinds = [
        ("phases", names(&catalog.phases, |row| row.name)),
        ("deadlines", deadlines),
        ("dimensions", names(&catalog.dimensions, |row| row.name)),
        ("actions", names(&catalog.actions, |row| row.kind.word())),
        ("threads", names(&catalog.threads, |row| row.name)),
        ("quirks", names(&catalog.quirks, |row| row.name)),
    ];
    let listed = kinds.map(|(kind, names)| {
        let names = if names.is_empty() {
            "-".to_owned()
        } else {
            names.join(", ")
        };
        format!("      {kind:<12}  {names}")
    });
    listed.to_vec()
}
