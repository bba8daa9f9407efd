//! The same requests to the real master and to the Rust one: every answer, the allocated bytes and the readable keys are equal.
//!
//! Requests are drawn with a fixed seed (`MOONQUAKE_ECHO_SEED` names another). Nothing is adopted from the real master: places, ids of
//! tasks and of jobs are drawn on both sides.

mod drains;
mod tasks;
pub(crate) mod twin;

use crate::Test;

pub(crate) const TESTS: &[Test] = &[
    ("real_same_drains", drains::scripted),
    ("real_same_drains_at_random", drains::at_random),
    ("real_same_tasks", tasks::scripted),
    ("real_same_tasks_at_random", tasks::at_random),
];
