//! The bridge to `fail`. Its registry is the process's, so these tests run one after the other.

use moonquake_faults::PhaseId;
use moonquake_faults::failpoint::{
    FailpointError, Guard, PAUSE_BOUND, Pause, Plan, Task, Verdict, hit, setup,
};
use serial_test::serial;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tracing_test::traced_test;

const SENT: PhaseId = PhaseId::PutStartSent;

fn returned(phase: PhaseId) -> Option<String> {
    match hit(phase) {
        Verdict::Return(argument) => argument,
        _ => None,
    }
}

fn pause(phase: PhaseId) -> Pause {
    match hit(phase) {
        Verdict::Pause(pause) => pause,
        other => panic!("{other:?} instead of a pause"),
    }
}

fn is_over(pause: &mut Pause) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(pin!(pause).poll(&mut context), Poll::Ready(()))
}

#[test]
#[serial]
fn without_a_plan_every_phase_goes_on() {
    assert!(matches!(hit(SENT), Verdict::Go));
    let guard = setup("", 1).unwrap();
    assert!(matches!(hit(SENT), Verdict::Go));
    assert_eq!(guard.hits(SENT), 1);
}

#[test]
#[serial]
fn every_action_of_fail_has_its_verdict() {
    let plan = "client.put.start_sent=1*off->1*return(RPC_FAIL)->1*return->1*sleep(5)->1*delay(7)->1*print(here)\
                ->1*yield->1*panic(gone)->1*panic->1*pause(9)->1*return(a=b;)";
    // An argument cannot hold the separator, as in fail.
    assert!(matches!(setup(plan, 1), Err(FailpointError::Action { .. })));
    let guard = setup(plan.strip_suffix("->1*return(a=b;)").unwrap(), 1).unwrap();
    assert!(matches!(hit(SENT), Verdict::Go));
    assert!(matches!(hit(SENT), Verdict::Return(Some(code)) if code == "RPC_FAIL"));
    assert!(matches!(hit(SENT), Verdict::Return(None)));
    assert!(matches!(hit(SENT), Verdict::Wait(span) if span == Duration::from_millis(5)));
    assert!(matches!(hit(SENT), Verdict::Wait(span) if span == Duration::from_millis(7)));
    assert!(matches!(hit(SENT), Verdict::Go));
    assert!(matches!(hit(SENT), Verdict::Yield));
    assert!(matches!(hit(SENT), Verdict::Panic(message) if message == "gone"));
    assert!(matches!(hit(SENT), Verdict::Panic(message) if message.contains("client.put.start_sent")));
    assert_eq!(pause(SENT).bound(), Duration::from_millis(9));
    assert!(matches!(hit(SENT), Verdict::Go));
    assert_eq!(guard.hits(SENT), 11);
    assert_eq!(guard.hits(PhaseId::GetQuerySent), 0);
}

#[test]
#[serial]
fn fail_is_the_switch() {
    let _guard = setup("client.put.start_sent=return(x)", 1).unwrap();
    assert_eq!(
        fail::list(),
        [("client.put.start_sent".to_owned(), "return".to_owned())]
    );
    assert_eq!(returned(SENT).as_deref(), Some("x"));
    fail::remove("client.put.start_sent");
    assert!(matches!(hit(SENT), Verdict::Go));
    drop(_guard);
    assert_eq!(fail::list(), []);
}

#[test]
#[serial]
fn misspelt_plans_are_refused_with_a_mend() {
    let cases = [
        (
            "client.put.start_snt=off",
            "the nearest is \"client.put.start_sent\"",
        ),
        ("client.put.start_sent", "is not phase=action"),
        (
            "client.put.start_sent=off;client.put.start_sent=off",
            "named twice",
        ),
        ("client.put.start_sent=paus", "there is no action \"paus\""),
        ("client.put.start_sent=retrun(drop)", "did you mean return?"),
        ("client.put.start_sent=", "there is no action \"\""),
        ("client.put.start_sent=sleep", "needs milliseconds"),
        (
            "client.put.start_sent=sleep(x)",
            "\"x\" is no number of milliseconds",
        ),
        ("client.put.start_sent=return(x", "parentheses do not match"),
        ("client.put.start_sent=101%off", "between 0% and 100%"),
        ("client.put.start_sent=NaN%off", "between 0% and 100%"),
        ("client.put.start_sent=x%off", "no probability"),
        ("client.put.start_sent=-1*off", "no count"),
        ("client.put.start_sent=off->", "there is no action \"\""),
    ];
    for (plan, words) in cases {
        let error = setup(plan, 1).unwrap_err().to_string();
        assert!(error.contains(words), "{plan}: {error}");
    }
    assert_eq!(fail::list(), [], "a refused plan left something behind");
    assert!(matches!(hit(SENT), Verdict::Go));
}

#[test]
#[serial]
fn one_plan_at_a_time() {
    let first = setup("client.put.start_sent=return(1)", 1).unwrap();
    assert_eq!(
        setup("client.put.end_sent=return(2)", 1).unwrap_err(),
        FailpointError::AlreadySet
    );
    assert_eq!(returned(SENT).as_deref(), Some("1"));
    drop(first);
    let _second: Guard = setup("client.put.end_sent=return(2)", 1).unwrap();
    assert!(matches!(hit(SENT), Verdict::Go));
    assert_eq!(returned(PhaseId::PutEndSent).as_deref(), Some("2"));
}

/// Which of 64 hits of a phase are taken, while another phase is passed now and then.
fn draws(seed: u64, phase: PhaseId, noise: usize) -> Vec<bool> {
    let plan = "client.put.start_sent=30%return(x);client.put.end_sent=30%return(x)";
    let _guard = setup(plan, seed).unwrap();
    let mut taken = Vec::new();
    for round in 0..64 {
        if noise > 0 && round % noise == 0 {
            let _ = hit(if phase == SENT { PhaseId::PutEndSent } else { SENT });
        }
        taken.push(matches!(hit(phase), Verdict::Return(_)));
    }
    taken
}

#[test]
#[serial]
fn probabilities_come_from_our_seed_and_each_phase_has_its_own() {
    let first = draws(7, SENT, 0);
    assert_eq!(first, draws(7, SENT, 0));
    assert_eq!(first, draws(7, SENT, 3), "another phase moved this one's draws");
    assert_ne!(first, draws(8, SENT, 0));
    assert_ne!(first, draws(7, PhaseId::PutEndSent, 0));
    let taken = first.iter().filter(|&&taken| taken).count();
    assert!((8..32).contains(&taken), "30% of 64 came to {taken}");
}

#[test]
#[serial]
fn certain_probabilities_are_certain() {
    let _guard = setup("client.put.start_sent=0%return(no)->100%return(yes)", 3).unwrap();
    assert!((0..200).all(|_| returned(SENT).as_deref() == Some("yes")));
}

#[test]
#[serial]
#[traced_test]
fn a_pause_is_announced_bounded_and_released() {
    let guard = setup("client.put.start_sent=pause", 1).unwrap();
    let announced = Arc::new(Mutex::new(Vec::new()));
    let sink = announced.clone();
    guard.on_pause(move |at| sink.lock().unwrap().push((at.phase, at.hit)));
    let (mut first, mut second) = (pause(SENT), pause(SENT));
    assert_eq!(*announced.lock().unwrap(), [(SENT, 1), (SENT, 2)]);
    assert!(logs_contain("paused at client.put.start_sent"));
    assert_eq!(first.bound(), PAUSE_BOUND);
    assert_eq!(guard.paused().iter().map(|at| at.hit).collect::<Vec<_>>(), [1, 2]);
    assert!(!is_over(&mut first) && !is_over(&mut second));
    assert_eq!(guard.resume(PhaseId::PutEndSent), 0);
    assert!(!is_over(&mut first));
    assert_eq!(guard.resume(SENT), 2);
    assert!(is_over(&mut first) && is_over(&mut second));
    assert_eq!(guard.paused(), []);
    drop((first, second));
    assert!(logs_contain("the pause at client.put.start_sent was released"));
    assert!(!logs_contain("ended without a release"));
}

#[test]
#[serial]
#[traced_test]
fn a_pause_that_nobody_releases_ends_by_itself() {
    let guard = setup("client.put.start_sent=pause(1)", 1).unwrap();
    let pause = pause(SENT);
    assert!(!pause.wait(), "nobody released it");
    assert_eq!(guard.paused(), []);
    assert!(logs_contain(
        "the pause at client.put.start_sent ended without a release"
    ));
}

#[test]
#[serial]
fn another_thread_waits_for_a_pause_and_releases_it() {
    let guard = setup("client.put.start_sent=pause", 1).unwrap();
    std::thread::scope(|scope| {
        let paused = scope.spawn(|| pause(SENT).wait());
        let at = guard
            .wait_paused(SENT, Duration::from_secs(20))
            .expect("somebody pauses");
        assert_eq!((at.phase, at.hit), (SENT, 1));
        assert_eq!(guard.resume(SENT), 1);
        assert!(paused.join().unwrap());
    });
    assert_eq!(guard.wait_paused(SENT, Duration::ZERO), None);
}

#[test]
#[serial]
fn the_end_of_a_plan_ends_its_pauses() {
    let guard = setup("client.put.start_sent=pause", 1).unwrap();
    let mut pause = pause(SENT);
    assert!(!is_over(&mut pause));
    drop(guard);
    assert!(is_over(&mut pause));
}

#[test]
fn a_plan_can_be_looked_at_before_it_is_set() {
    let plan: Plan = " client.put.end_sent = 2*return( a ) -> off ; ; client.get.query_sent=yield"
        .parse()
        .unwrap();
    let tasks: Vec<(PhaseId, Task)> = plan.tasks().map(|(phase, task)| (phase, task.clone())).collect();
    let expected = [
        (PhaseId::PutEndSent, Task::Return(Some(" a ".to_owned()))),
        (PhaseId::PutEndSent, Task::Off),
        (PhaseId::GetQuerySent, Task::Yield),
    ];
    assert_eq!(tasks, expected);
}
