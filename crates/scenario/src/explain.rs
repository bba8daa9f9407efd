//! A plan told as a story.

mod deadlines;
mod instants;
mod layout;
mod steps;

use crate::forecast::forecast;
use crate::words::size;
use crate::{Action, Plan, Trigger, VerdictLine, World};
use layout::{Page, list};
use moonquake_clock::{Domain, Span};
use moonquake_faults::ACTIONS;

/// The story of a plan in prose: who is there, what breaks, what happens when, which deadlines matter, what is claimed.
/// Every instant is resolved as far as that can be done without running the plan.
pub fn explain(plan: &Plan) -> String {
    let mut page = Page::default();
    page.line(&plan.id);
    page.line(&plan.title);
    page.gap();
    page.paragraph(&plan.why);
    if !plan.see.is_empty() {
        page.paragraph(&format!("See {}.", list(&plan.see, "and")));
    }
    page.heading("The world");
    world(plan, &mut page);
    page.heading("The fault");
    fault(plan, &mut page);
    page.heading("The story");
    let times = forecast(plan);
    for step in &plan.steps {
        let when = instants::of_step(plan, step, times.runs.get(step.index).copied());
        page.item(
            &format!("{:>3}. ", step.index + 1),
            &steps::sentence(plan, step, when),
        );
    }
    deadlines::tell(plan, &mut page);
    page.heading("What should happen");
    page.paragraph(&plan.report.expected);
    page.heading("What to do about it");
    page.paragraph(&plan.report.repair);
    page.heading("What this file claims");
    for line in &plan.verdicts {
        page.item("  - ", &claim(line));
    }
    page.finish()
}

fn world(plan: &Plan, page: &mut Page) {
    let world = &plan.world;
    let nodes: Vec<String> = world
        .segments
        .iter()
        .map(|(name, bytes)| format!("{name} ({})", size(*bytes)))
        .collect();
    let mut text = match nodes.len() {
        0 => "No node mounts a segment.".to_owned(),
        1 => format!("One node mounts a segment and pings: {}.", nodes[0]),
        many => format!(
            "{many} nodes mount a segment each and ping: {}.",
            list(&nodes, "and")
        ),
    };
    match world.clients.as_slice() {
        [] => {}
        [one] => text.push_str(&format!(" {one} is a client without a segment.")),
        many => text.push_str(&format!(" {} are clients without a segment.", list(many, "and"))),
    }
    text.push_str(&format!(
        " Payloads move in parts of {}.",
        size(world.chunk_bytes)
    ));
    if world.slice_bytes != World::SLICE_BYTES {
        text.push_str(&format!(" Writes go in slices of {}.", size(world.slice_bytes)));
    }
    if world.local_buffer_bytes != World::LOCAL_BUFFER_BYTES {
        text.push_str(&format!(
            " Each client has {} of staging memory.",
            size(world.local_buffer_bytes)
        ));
    }
    if world.checksums {
        text.push_str(
            " Clients give their objects checksums and compare whole objects that they read with theirs.",
        );
    }
    if world.step.ns > 0 {
        text.push_str(&format!(" Each operation takes {} of the timeline.", world.step));
    }
    for (name, value) in &world.flags {
        text.push_str(&format!(" The master runs with {name} = {value}."));
    }
    page.paragraph(&text);
}

fn fault(plan: &Plan, page: &mut Page) {
    let row = plan.fault.dimension.row();
    let target = match plan.fault.target.as_str() {
        "master" => "the master",
        actor => actor,
    };
    let when = match &plan.fault.trigger {
        Trigger::At { phase, of, hit } => {
            let operation = match of {
                Some(step) => plan.step_name(*step),
                None => format!("an operation of {target}"),
            };
            let time = match hit {
                1 => "first".to_owned(),
                2 => "second".to_owned(),
                3 => "third".to_owned(),
                many => format!("{many}th"),
            };
            format!(
                "the {time} time that {operation} reaches the phase {phase} ({})",
                phase.row().meaning
            )
        }
        Trigger::After(step) => format!(
            "once the result of {} is reported, before the next step",
            plan.step_name(*step)
        ),
        Trigger::Deadline(instant) => {
            format!("at the boundary itself: {}", instants::relative(plan, instant))
        }
        Trigger::Steps(steps) => {
            let names: Vec<String> = steps.iter().map(|step| plan.step_name(*step)).collect();
            format!("by the stimulus itself, which is {}", list(&names, "and"))
        }
    };
    let what = match &plan.fault.action {
        None => "Nothing is injected beside it.".to_owned(),
        Some(action) => format!("Then {}.", effect(action, target)),
    };
    let dimension = row.name;
    page.paragraph(&format!(
        "Dimension {dimension}, done to {target}. It strikes {when}. {what}"
    ));
    page.paragraph(&format!(
        "It counts only if a second observer sees it: {}.",
        row.proof
    ));
    if !plan.watch.is_empty() {
        page.paragraph(&format!(
            "From the fault to the end, every access to {} is evidence.",
            list(&plan.watch, "and")
        ));
    }
}

fn effect(action: &Action, target: &str) -> String {
    let meaning = ACTIONS
        .iter()
        .find(|row| row.kind == action.kind())
        .map_or("", |row| row.meaning);
    match action {
        Action::Kill => format!("{target} {meaning}"),
        Action::Freeze => format!("{target} freezes: {meaning}"),
        Action::Restart(down) if down.ns == 0 => {
            format!("{target} is killed and comes back at once, its state lost")
        }
        Action::Restart(down) => {
            format!("{target} is killed, stays down for {down} and comes back, its state lost")
        }
        Action::Delay(by) => format!("the message arrives {by} later"),
        Action::Error(code) => format!("the answer is {code}"),
        Action::Rate(bytes) => format!("this stream moves at {}/s from here on", size(*bytes)),
        Action::ClockStep { by_ns, clock } => {
            let direction = if *by_ns < 0 { "back" } else { "forward" };
            let by = Span::from_ns(by_ns.unsigned_abs());
            let which = match clock {
                Domain::Realtime => "wall clock",
                Domain::Monotonic => "monotonic clock",
            };
            format!("the {which} of {target}, and no other clock, steps {direction} by {by}")
        }
        Action::Hold => format!("{meaning} until the resume"),
        Action::Drop | Action::Duplicate | Action::Cut => meaning.to_owned(),
    }
}

fn claim(line: &VerdictLine) -> String {
    let profiles: Vec<&str> = line.profiles.iter().map(|profile| profile.name()).collect();
    let engines: Vec<&str> = line.engines.iter().map(|engine| engine.name()).collect();
    let profile = match profiles.as_slice() {
        [] => "any profile".to_owned(),
        some => format!("profile {}", list(some, "or")),
    };
    let engine = match engines.as_slice() {
        [] => "any engine".to_owned(),
        some => format!("engine {}", list(some, "or")),
    };
    let mut text = format!("{profile}, {engine}: {}.", line.is);
    if !line.violates.is_empty() {
        text.push_str(&format!(
            " Fails: {}, and nothing else.",
            list(&line.violates, "and")
        ));
    }
    if let Some(because) = &line.because {
        text.push_str(&format!(" {because}"));
    }
    text
}
