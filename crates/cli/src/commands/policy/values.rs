//! Values of flags by their names.

use crate::quantity::{nanoseconds, picoseconds};
use crate::suggest::did_you_mean;
use moonquake_capacity::{CapacityError, Limit, number};
use moonquake_policy::policies::Kind;
use moonquake_policy::sim::{Decision, Discipline, Prefill, Queue, Twins, Writes};
use moonquake_policy::workload::Workload;

/// For whom the output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Tables for people.
    Table,
    /// JSON for machines.
    Json,
}

/// What to do with the coarse ticks of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticks {
    /// All requests of a tick at its instant.
    Raw,
    /// Spread inside the tick.
    Spread,
}

/// The decisions by name.
pub(super) const DECISIONS: [(&str, Decision); 3] = [
    ("fetch", Decision::Fetch),
    ("recompute", Decision::Recompute),
    ("faster", Decision::Faster),
];

/// Reads a whole number from `least` to `most`; what is none is told with the range and an example.
pub(super) fn whole<T: TryFrom<u64> + Clone + Send + Sync + 'static>(
    least: u64,
    most: u64,
    such_as: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    let limit = Limit { least, most, such_as };
    move |text| {
        if text.starts_with("--") {
            return Err(format!(
                "the number is missing; write a whole number from {least} to {most}, such as {such_as}"
            ));
        }
        let found = number("", text, limit).map_err(|error| match error {
            CapacityError::Number { why, mend, .. } => format!("{why}; {mend}"),
            other => other.to_string(),
        })?;
        T::try_from(found).map_err(|_| format!("it is too large; write at most {most}"))
    }
}

/// What has this name, or what there is.
fn named<T: Copy>(name: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(one, _)| one.eq_ignore_ascii_case(name));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let all = names.join(", ");
        format!("there are {all}{}", did_you_mean(name, names))
    })
}

pub(super) fn policy(name: &str) -> Result<Kind, String> {
    named(name, &Kind::ALL.map(|kind| (kind.name(), kind)))
}

pub(super) fn workload(name: &str) -> Result<Workload, String> {
    named(name, &Workload::ALL.map(|load| (load.name(), load)))
}

pub(super) fn decision(name: &str) -> Result<Decision, String> {
    named(name, &DECISIONS)
}

pub(super) fn queue(name: &str) -> Result<Queue, String> {
    let known = [
        ("fifo", Queue::Fifo),
        ("shortest", Queue::Shortest),
        ("deadline", Queue::Deadline),
    ];
    named(name, &known)
}

pub(super) fn link(name: &str) -> Result<Discipline, String> {
    named(
        name,
        &[("fifo", Discipline::Fifo), ("shared", Discipline::Shared)],
    )
}

pub(super) fn writes(name: &str) -> Result<Writes, String> {
    named(name, &[("own", Writes::OwnWay), ("same", Writes::SameWay)])
}

pub(super) fn flight(name: &str) -> Result<Twins, String> {
    named(name, &[("single", Twins::Wait), ("twice", Twins::Twice)])
}

pub(super) fn ticks(name: &str) -> Result<Ticks, String> {
    named(name, &[("raw", Ticks::Raw), ("spread", Ticks::Spread)])
}

pub(super) fn format(name: &str) -> Result<Format, String> {
    named(name, &[("table", Format::Table), ("json", Format::Json)])
}

pub(super) fn prefill(text: &str) -> Result<Prefill, String> {
    const FORMS: &str = "write constant:50ms, linear:5ms,100us (request, token) or quadratic:5ms,80us,5ns (request, token, \
                         pair of tokens)";
    let (name, costs) = text.split_once(':').unwrap_or((text, ""));
    let number = named(name, &[("constant", 1), ("linear", 2), ("quadratic", 3)])?;
    let costs: Vec<&str> = costs.split(',').filter(|cost| !cost.is_empty()).collect();
    if costs.len() != number {
        let (s, were) = (
            if number == 1 { "" } else { "s" },
            if costs.len() == 1 { "was" } else { "were" },
        );
        return Err(format!(
            "{name} takes {number} cost{s}, {} {were} given; {FORMS}",
            costs.len()
        ));
    }
    let cost =
        |place: usize| picoseconds(costs[place]).map_err(|error| format!("{:?}: {error}", costs[place]));
    let request_ns = nanoseconds(costs[0]).map_err(|error| format!("{:?}: {error}", costs[0]))?;
    match number {
        1 => Ok(Prefill::Constant { request_ns }),
        2 => Ok(Prefill::Linear {
            request_ns,
            token_ps: cost(1)?,
        }),
        _ => Ok(Prefill::Quadratic {
            request_ns,
            token_ps: cost(1)?,
            pair_ps: cost(2)?,
        }),
    }
}
