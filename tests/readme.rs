//! The report that the README shows is the one that the unmodified master gives.

use moonquake_faults::Profile;
use moonquake_judge::judge;
use moonquake_report::{Postmortem, markdown};
use moonquake_scenario::{EngineKind, RunOptions};
use moonquake_tests::{plan_of, run, scenarios_folder};

const COMMAND: &str = "moonquake run scenarios/clock/master-steps-forward-in-a-lease.scenario.toml --engine master --profile upstream";

#[test]
fn real_readme_report_is_what_the_master_gives() {
    if let Some(why) = moonquake_native::unavailable() {
        eprintln!("not looked at: {why}");
        return;
    }
    let folder = scenarios_folder();
    let plan = plan_of(&folder.join("clock/master-steps-forward-in-a-lease.scenario.toml"));
    let evidence = run(EngineKind::Master, &plan, &RunOptions::new(Profile::Upstream)).unwrap();
    let judgement = judge(&plan, &evidence, Profile::Upstream, EngineKind::Master);
    let fresh = markdown(&Postmortem::new(&plan, &evidence, &judgement, COMMAND).unwrap());
    let shown =
        std::fs::read_to_string(folder.join("../fixtures/reports/clock-master-steps-forward.md")).unwrap();
    assert!(
        fresh == shown,
        "renew fixtures/reports/clock-master-steps-forward.md with `{COMMAND} --report DIR`"
    );
}
