//! Counts what took real time although it was asked for by the clock: every run says how much of it rests on that.

use crate::page::page;
use std::sync::atomic::Ordering;

/// A wait or sleep with a limit of time has ended.
pub(crate) fn took(timed_out: bool) {
    let counts = &page().real_time;
    counts.waits.fetch_add(1, Ordering::Relaxed);
    if timed_out {
        counts.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}
