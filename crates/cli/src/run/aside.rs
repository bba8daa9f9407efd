//! Work that may be left undone: it computes and touches nothing else.

use moonquake_scenario::Interrupt;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// How often somebody looks whether the end was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// As much as the work of a large batch may need, of which only what is used is taken.
const STACK_BYTES: usize = 64 << 20;

/// What the work brings, or nothing if the end was asked for before. The work has a thread of its own then, which goes with the
/// program: judging a large batch cannot be interrupted in between. A panic goes on here.
pub(crate) fn unless_asked<T: Send + 'static>(
    interrupt: Option<&Interrupt>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (tell, told) = channel();
    let thread = Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Nobody may wait any more.
        let _unheard = tell.send(work());
    });
    // Without another thread there is nothing that could be run at all.
    let thread = match thread {
        Ok(thread) => thread,
        Err(error) => panic!("no thread can be started: {error}"),
    };
    loop {
        match told.recv_timeout(LOOK_EVERY) {
            Ok(brought) if interrupt.is_some_and(Interrupt::is_asked) => {
                drop(brought);
                return None;
            }
            Ok(brought) => return Some(brought),
            Err(RecvTimeoutError::Timeout) if interrupt.is_some_and(Interrupt::is_asked) => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Ok(()) => return None,
                Err(panic) => resume_unwind(panic),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn work_that_nobody_waits_for_does_not_hold_up_the_end() {
        let asked = Arc::new(AtomicBool::new(false));
        let (is_asked, begun) = (asked.clone(), asked);
        let interrupt = Interrupt::new(move || is_asked.load(Ordering::Relaxed));
        assert_eq!(unless_asked(Some(&interrupt), || 7), Some(7));
        // It would never end by itself.
        let (keep, ends) = channel::<()>();
        let never = move || {
            begun.store(true, Ordering::Relaxed);
            ends.recv()
        };
        assert_eq!(unless_asked(Some(&interrupt), never), None);
        drop(keep);
    }

    #[test]
    fn a_panic_of_the_work_is_one_of_whoever_waits() {
        let done = catch_unwind(AssertUnwindSafe(|| unless_asked(None, || panic!("a defect"))));
        assert!(done.is_err());
    }
}
