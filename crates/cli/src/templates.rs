//! Scenario files to start from, one for each dimension. They run and hold as they are.

use moonquake_faults::Dimension;

/// Where the id of the new scenario goes.
const ID: &str = "@ID@";

/// The text of a scenario of that dimension under an id.
pub(crate) fn filled(dimension: Dimension, id: &str) -> String {
    text(dimension).replace(ID, id)
}

fn text(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Crash => include_str!("templates/crash.scenario.toml"),
        Dimension::Lease => include_str!("templates/lease.scenario.toml"),
        Dimension::Clock => include_str!("templates/clock.scenario.toml"),
        Dimension::Liveness => include_str!("templates/liveness.scenario.toml"),
        Dimension::Pressure => include_str!("templates/pressure.scenario.toml"),
        Dimension::Network => include_str!("templates/network.scenario.toml"),
        Dimension::Restart => include_str!("templates/restart.scenario.toml"),
        Dimension::Buffer => include_str!("templates/buffer.scenario.toml"),
        Dimension::Race => include_str!("templates/race.scenario.toml"),
        Dimension::Misuse => include_str!("templates/misuse.scenario.toml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::engine;
    use moonquake_faults::{DIMENSIONS, Profile};
    use moonquake_judge::judge;
    use moonquake_scenario::{EngineKind, Plan, RunOptions, format, parse};

    fn plan(dimension: Dimension) -> Plan {
        let text = filled(dimension, "mine/first");
        parse::from_str("new", text.as_bytes()).unwrap_or_else(|wrong| panic!("{}", wrong.plain()))
    }

    #[test]
    fn every_dimension_has_a_template_of_its_own_in_the_house_form() {
        for row in DIMENSIONS {
            assert_eq!(plan(row.id).fault.dimension, row.id);
            assert_eq!(plan(row.id).id, "mine/first");
            let text = filled(row.id, "mine/first");
            let house = format("new", text.as_bytes()).unwrap();
            assert_eq!(house, text, "{}", row.name);
            for table in ["[world]", "[fault]", "[timeline]", "[report]", "[[verdict]]"] {
                let paragraph = text.split("\n\n").find(|part| part.contains(table));
                let is_commented = paragraph.is_some_and(|part| part.contains('#'));
                assert!(is_commented, "{}: not a word about {table}", row.name);
            }
            assert!(text.contains("moonquake catalog"));
        }
    }

    fn all_hold(kind: EngineKind, profile: Profile) {
        for row in DIMENSIONS {
            let plan = plan(row.id);
            let mut engine = engine(kind).unwrap();
            assert_eq!(engine.unsupported(&plan), None, "{}", row.name);
            let evidence = engine.run(&plan, &RunOptions::new(profile)).unwrap();
            let judgement = judge(&plan, &evidence, profile, kind);
            assert!(
                judgement.claim.as_ref().is_some_and(|claim| claim.met),
                "{} on {kind}: {} {:#?}",
                row.name,
                judgement.verdict,
                judgement.deviations
            );
        }
    }

    #[test]
    fn every_template_holds_on_the_model() {
        all_hold(EngineKind::Model, Profile::Strict);
        all_hold(EngineKind::Model, Profile::Upstream);
    }

    #[test]
    fn every_template_holds_on_the_real_master() {
        if let Some(why) = moonquake_native::unavailable() {
            println!("not run: {why}");
            return;
        }
        all_hold(EngineKind::Master, Profile::Upstream);
    }
}
