//! How fast an HTML postmortem is made. Run with `cargo bench -p moonquake-tests`.

use divan::{Bencher, counter::BytesCount};
use moonquake_faults::Profile;
use moonquake_report::{Postmortem, html::html};
use moonquake_scenario::RunOptions;
use moonquake_tests::{judged, plan_of, scenarios_folder};

const FILES: [&str; 3] = [
    "crash/put-start-response",
    "buffer/late-write-into-a-revoked-range",
    "crash/idle-sweep-up-to-1200s",
];

fn main() {
    divan::main();
}

#[divan::bench(args = FILES)]
fn page(bencher: Bencher<'_, '_>, name: &str) {
    let plan = plan_of(&scenarios_folder().join(format!("{name}.scenario.toml")));
    let (evidence, judgement) = judged(&plan, &RunOptions::new(Profile::Upstream));
    let postmortem = Postmortem::new(&plan, &evidence, &judgement, "moonquake run").expect("a postmortem");
    bencher
        .counter(BytesCount::new(html(&postmortem).len()))
        .bench(|| html(&postmortem));
}
