//! An agent that is not what it should be. A shell plays it.

use super::{Agent, AgentError, Arena, Command, Hello, Outcome, PROTOCOL_VERSION};
use crate::process::ProcessError;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// Long enough that only a defect reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn played_by(script: &str) -> Result<Agent, ProcessError> {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script]);
    Agent::run(command, Arena::create(1 << 20)?, &[])
}

fn greeting() -> String {
    format!(
        r#"echo '{{"hello":{{"protocol":{PROTOCOL_VERSION},"python":"3","store":"s","arena_base":16,"arena_size":1}}}}';"#
    )
}

/// One that greets first.
fn polite(script: &str) -> Agent {
    played_by(&(greeting() + script)).expect("it has said hello")
}

fn probe(key: &str) -> Command {
    Command::IsExist { key: key.to_owned() }
}

fn why(refused: Result<Agent, ProcessError>) -> String {
    refused.expect_err("it must be refused").to_string()
}

#[test]
fn its_hello_is_kept() {
    let agent = polite("read line");
    let told = Hello {
        protocol: PROTOCOL_VERSION,
        python: "3".to_owned(),
        store: "s".to_owned(),
        arena_base: 16,
        arena_size: 1,
    };
    assert_eq!(agent.hello(), &told);
    let places = [15, 16, 17].map(|address| agent.place_of(address));
    assert_eq!(places, [None, Some(0), None]);
}

#[test]
fn another_version_of_the_protocol_is_refused() {
    let script = greeting().replace(&format!(r#""protocol":{PROTOCOL_VERSION}"#), r#""protocol":99"#);
    let why = why(played_by(&(script + "read line")));
    assert!(
        why.contains(&format!("version 99 of the protocol, not {PROTOCOL_VERSION}")),
        "{why}"
    );
}

#[test]
fn one_that_ends_before_it_greets_is_quoted() {
    let why = why(played_by("echo no such module >&2; exit 3"));
    assert!(
        why.contains("exit status: 3") && why.contains("no such module"),
        "{why}"
    );
}

#[test]
fn one_that_babbles_is_refused() {
    let why = why(played_by("echo good morning; read line"));
    assert!(why.contains("good morning"), "{why}");
}

#[test]
fn one_that_is_not_there_is_refused() {
    let command = std::process::Command::new("/nowhere/python3");
    let refused = Agent::run(command, Arena::create(1).expect("an arena"), &[]);
    assert!(matches!(refused, Err(ProcessError::Io { .. })), "{refused:?}");
}

#[test]
fn answers_in_any_order_find_their_calls() {
    let agent = polite(
        r#"read a; read b;
        echo '{"id":2,"result":{"number":-704}}'; echo '{"id":1,"result":{"numbers":[1,0]}}'; read c"#,
    );
    let first = agent.submit(&probe("a")).expect("written");
    let second = agent.submit(&probe("b")).expect("written");
    let answer = |ticket| agent.wait(ticket, PATIENCE).expect("an answer").outcome;
    assert_eq!(answer(&first), Outcome::Numbers(vec![1, 0]));
    assert_eq!(answer(&second), Outcome::Number(-704));
}

#[test]
fn an_answer_that_is_none_of_the_protocol_ends_the_talk() {
    for nonsense in [
        r#"{"id":1}"#,
        r#"{"id":1,"result":{"number":"many"}}"#,
        r#"{"id":-1,"result":{"number":0}}"#,
        "not json",
        "",
    ] {
        let agent = polite(&format!("read a; echo '{nonsense}'; read b"));
        let failed = agent.call(&probe("k")).expect_err("no answer");
        assert!(
            matches!(failed, AgentError::Protocol { .. }),
            "{nonsense}: {failed}"
        );
    }
}

#[test]
fn half_an_answer_is_none() {
    let agent = polite(r#"read a; printf '{"id":1,"result":{"number":0}}'"#);
    let failed = agent.call(&probe("k")).expect_err("no answer");
    let AgentError::Protocol { what, .. } = failed else {
        panic!("{failed}")
    };
    assert!(what.contains("in the middle of a line"), "{what}");
}

#[test]
fn an_answer_is_awaited_no_longer_than_asked() {
    let agent = polite(r#"read a; read b; echo '{"id":1,"result":{"number":0}}'; read c"#);
    let ticket = agent.submit(&probe("a")).expect("written");
    assert_eq!(agent.try_wait(&ticket).expect("it runs"), None);
    let late = agent
        .wait(&ticket, Duration::from_millis(1))
        .expect_err("nothing was said");
    assert!(late.to_string().contains("is_exist within 1 ms"), "{late}");
    // The call goes on.
    agent.submit(&probe("b")).expect("written");
    let answer = agent.wait(&ticket, PATIENCE).expect("an answer");
    assert_eq!(answer.outcome, Outcome::Number(0));
}

#[test]
fn who_waits_hears_of_its_end() {
    let agent = polite("echo about to fall >&2; read a; exit 7");
    let failed = agent.call(&probe("k")).expect_err("no answer");
    let AgentError::Gone { status, stderr_tail } = failed else {
        panic!("{failed}")
    };
    assert_eq!(status.and_then(|status| status.code()), Some(7));
    assert_eq!(stderr_tail, "about to fall");
    // And so does who comes later.
    let failed = agent.call(&probe("k")).expect_err("no answer");
    assert!(matches!(failed, AgentError::Gone { .. }), "{failed}");
}

#[test]
fn a_killed_one_keeps_what_it_had_answered() {
    let agent = polite(r#"read a; echo '{"id":1,"result":{"number":1}}'; echo done >&2; read b; read c"#);
    let answered = agent.submit(&probe("a")).expect("written");
    let reply = agent.wait(&answered, PATIENCE).expect("an answer");
    assert_eq!(reply.outcome, Outcome::Number(1));
    let open = agent.submit(&probe("b")).expect("written");
    assert_eq!(agent.kill().expect("killed").signal(), Some(9));
    let failed = agent.wait(&open, PATIENCE).expect_err("no answer");
    let AgentError::Gone { status, .. } = failed else {
        panic!("{failed}")
    };
    assert_eq!(status.and_then(|status| status.signal()), Some(9));
}

#[test]
fn a_frozen_one_answers_when_it_goes_on() {
    let agent = polite(r#"read a; echo '{"id":1,"result":{"number":1}}'; read b"#);
    for _ in 0..2 {
        agent.freeze().expect("it stands");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent.pid())).expect("it is there");
        assert!(stat.contains(") T "), "{stat}");
        agent.resume().expect("it goes on");
    }
    agent.freeze().expect("it stands");
    let ticket = agent.submit(&probe("a")).expect("written");
    assert_eq!(agent.try_wait(&ticket).expect("it is there"), None);
    agent.resume().expect("it goes on");
    assert_eq!(agent.wait(&ticket, PATIENCE).expect("an answer").id, ticket.id());
    agent.kill().expect("killed");
    assert!(matches!(agent.freeze(), Err(AgentError::Gone { .. })));
}

#[test]
fn its_last_words_are_kept_and_not_all_of_them() {
    let agent = polite("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1");
    let status = agent.wait_for_end(PATIENCE).expect("the system says it");
    assert_eq!(status.and_then(|status| status.code()), Some(1));
    let AgentError::Gone { stderr_tail, .. } = agent.call(&probe("k")).expect_err("it has ended") else {
        panic!("it has ended")
    };
    assert!(stderr_tail.len() <= 64 << 10);
    assert!(stderr_tail.ends_with("the end"));
}

#[test]
fn the_arena_keeps_its_bounds() {
    let arena = Arena::create(1 << 20).expect("an arena");
    arena.write((1 << 20) - 4, b"last").expect("room");
    assert!(arena.write((1 << 20) - 3, b"last").is_err());
    assert!(arena.write(u64::MAX, b"x").is_err());
    let mut read = [0; 4];
    arena.read((1 << 20) - 4, &mut read).expect("there");
    assert_eq!(&read, b"last");
    assert!(arena.read((1 << 20) - 3, &mut read).is_err());
    let whole = super::Range {
        offset: 0,
        size: 1 << 20,
    };
    arena.clear(whole).expect("cleared");
    arena.read((1 << 20) - 4, &mut read).expect("there");
    assert_eq!(read, [0; 4]);
}
