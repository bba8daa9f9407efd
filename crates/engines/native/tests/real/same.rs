//! The same requests to the real master and to the Rust one: every answer, the allocated bytes and the readable keys are equal.
//!
//! Requests are drawn with a fixed seed (`MOONQUAKE_ECHO_SEED` names another). Nothing is adopted from the real master: places, ids of
//! tasks and of jobs are drawn on both sides.

mod drains;
mod offload;
mod patterns;
mod strategies;
mod tasks;
pub(crate) mod twin;

use crate::Test;

pub(crate) const TESTS: &[Test] = &[
    ("real_same_drains", drains::scripted),
    ("real_same_drains_at_random", drains::at_random),
    ("real_same_offload_at_random", offload::at_random),
    ("real_same_patterns", patterns::corpus),
    ("real_same_patterns_at_random", patterns::at_random),
    ("real_same_patterns_to_the_last_state", patterns::bounds),
    ("real_same_random", strategies::random),
    ("real_same_free_ratio_first", strategies::free_ratio_first),
    ("real_same_ssd_free_ratio_first", strategies::ssd_free_ratio_first),
    ("real_same_local_first", strategies::local_first),
    ("real_same_cxl", strategies::cxl),
    ("real_same_many_segments", strategies::many_segments),
    ("real_same_absurd_counts", strategies::absurd_counts),
    ("real_same_tasks", tasks::scripted),
    ("real_same_tasks_at_random", tasks::at_random),
];
