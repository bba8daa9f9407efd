//! The client's process: what it is given, several calls at once, and its end together with its owner.

use super::rig::{self, Host, Kind, MIB, Store, range};
use crate::Test;
use moonquake_native::agent::{Agent, AgentError, AgentOptions, Command, Outcome, Setup};
use moonquake_native::process::{ProcessError, Release};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

pub(crate) const TESTS: &[Test] = &[
    (
        "real_client_calls_are_answered_beside_each_other",
        beside_each_other,
    ),
    ("real_client_killed_in_a_call_is_gone", killed_in_a_call),
    ("real_client_leaves_by_itself_when_told", exit),
    ("real_client_is_given_what_is_preloaded", preloaded),
    ("real_client_that_cannot_load_is_quoted", cannot_load),
    ("real_client_that_is_missing_is_told", missing),
    ("real_client_dropped_leaves_nothing", || {
        leaves_nothing("drop", None)
    }),
    ("real_client_panic_leaves_nothing", || {
        leaves_nothing("panic", None)
    }),
    ("real_client_dies_with_its_killed_owner", || {
        leaves_nothing("wait", Some("KILL"));
    }),
    ("real_client_dies_with_its_interrupted_owner", || {
        leaves_nothing("wait", Some("INT"));
    }),
];

/// Long enough that only a defect reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn beside_each_other() {
    let host = Host::start(Kind::Rust);
    let Host::Rust(server) = &host else {
        panic!("the Rust one")
    };
    let store = Store::with_segment(host.address(), 16 * MIB);
    server.freeze();
    let asked = Command::IsExist { key: "k".to_owned() };
    let first = store.agent.submit(&asked).expect("it runs");
    let second = store.agent.submit(&asked).expect("it runs");
    // Needs no master.
    store.register(range(0, MIB));
    assert_eq!(store.agent.try_wait(&first).expect("it runs"), None);
    server.unfreeze();
    for ticket in [second, first] {
        let reply = store.agent.wait(&ticket, PATIENCE).expect("an answer");
        assert_eq!(reply.outcome, Outcome::Number(0));
        assert_eq!(reply.id, ticket.id());
    }
}

fn killed_in_a_call() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = silent.local_addr().expect("an address").to_string();
    let agent = rig::agent();
    let ticket = agent
        .submit(&Command::Setup(Setup::tcp(address, MIB)))
        .expect("it runs");
    // It has asked, and gets no answer.
    let (mut connection, _) = silent.accept().expect("a connection");
    assert!(connection.read(&mut [0; 1]).expect("a question") > 0);
    assert_eq!(agent.kill().expect("killed").signal(), Some(9));
    let Err(AgentError::Gone { status, .. }) = agent.wait(&ticket, PATIENCE) else {
        panic!("nobody can have answered")
    };
    assert_eq!(status.and_then(|status| status.signal()), Some(9));
}

fn exit() {
    let agent = rig::agent();
    let hello = agent.hello();
    assert_eq!(hello.arena_size, agent.arena().size());
    assert!(hello.python.starts_with(rig::client().python()), "{hello:?}");
    assert_eq!(Path::new(&hello.store), rig::client().store());
    agent.submit(&Command::Exit).expect("it runs");
    let status = agent.wait_for_end(PATIENCE).expect("the system says it");
    assert_eq!(status.and_then(|status| status.code()), Some(0));
}

fn preloaded() {
    let options = AgentOptions {
        preload: Some("/nowhere/libpage.so".into()),
        environment: vec![("LD_DEBUG".to_owned(), "statistics".to_owned())],
        arena_size: MIB,
        ..AgentOptions::default()
    };
    let agent = Agent::start(&rig::client(), &options).expect("the loader only warns");
    let said = agent.stderr_tail();
    assert!(said.contains("/nowhere/libpage.so"), "{said}");
    assert!(said.contains("runtime linker statistics"), "{said}");
    assert_eq!(agent.arena().size(), MIB);
}

fn cannot_load() {
    // The loader finds this one before the real one.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("libcurl.so.4"), "no library").expect("written");
    let path = folder.path().to_str().expect("text").to_owned();
    let options = AgentOptions {
        environment: vec![("LD_LIBRARY_PATH".to_owned(), path)],
        ..AgentOptions::default()
    };
    let refused = Agent::start(&rig::client(), &options).expect_err("a library is broken");
    assert!(refused.to_string().contains("ImportError"), "{refused}");
}

fn missing() {
    let real = Release::locate().expect("the release");
    let folder = tempfile::tempdir().expect("a folder");
    let link = |name: &str| {
        let (from, to) = (real.root().join(name), folder.path().join(name));
        std::os::unix::fs::symlink(from, to).expect("a link");
    };
    link("mooncake");
    let without = Release::at(folder.path())
        .expect_err("its libraries are missing")
        .to_string();
    assert!(without.contains("non_cuda.libs is missing"), "{without}");
    link("mooncake_transfer_engine_non_cuda.libs");
    let release = Release::at(folder.path()).expect("the master is there");
    let told = |text: &str| {
        std::fs::write(folder.path().join("client.json"), text).expect("written");
        release.client().expect_err("there is none").to_string()
    };
    let none = release.client().expect_err("there is none").to_string();
    assert!(
        none.contains("filled without a client") && none.contains("fetch-release.py"),
        "{none}"
    );
    assert!(told(r#"{"problem": "no fitting Python"}"#).contains("no fitting Python"));
    assert!(told("{").contains("is damaged"));
    assert!(
        told(r#"{"interpreter": "/nowhere/python3", "version": "3.11"}"#)
            .contains("/nowhere/python3 is gone")
    );
    let own = std::env::current_exe().expect("this test");
    let with = |version: &str| format!(r#"{{"interpreter": {own:?}, "version": "{version}"}}"#);
    assert!(told(&with("3.9")).contains("none for Python 3.9"));
    let installed = rig::client();
    let other = if installed.python() == "3.12" {
        "3.13"
    } else {
        "3.12"
    };
    std::fs::write(folder.path().join("client.json"), with(other)).expect("written");
    let wrong = release.client().expect_err("it is for another");
    assert!(matches!(wrong, ProcessError::WrongClient { .. }), "{wrong}");
}

const VICTIM: &str = "MOONQUAKE_TEST_CLIENT_VICTIM";

/// Runs as a victim if asked to. Returns only if it has.
pub(crate) fn victim_was_asked_for() -> bool {
    let Ok(mode) = std::env::var(VICTIM) else {
        return false;
    };
    // The client's process holds this open, too: when both are gone, the test sees its end.
    let input: OwnedFd = std::io::stdin().as_fd().try_clone_to_owned().expect("the input");
    let host = Host::start(Kind::Rust);
    let options = AgentOptions {
        inherit: vec![input.as_raw_fd()],
        ..AgentOptions::default()
    };
    let agent = Agent::start(&rig::client(), &options).expect("an agent");
    drop(input);
    let store = Store { agent };
    let setup = Setup::tcp(host.address().to_string(), 16 * MIB);
    assert_eq!(store.number(Command::Setup(setup)), 0);
    store.fill(range(0, MIB), 1);
    assert_eq!(store.put("k", range(0, MIB)), 0);
    println!("{}", store.agent.pid());
    match mode.as_str() {
        "drop" => drop(store),
        "panic" => panic!("on purpose"),
        // Until the end of the input, which the test never closes.
        _ => {
            let _ = std::io::stdin().read(&mut [0]);
        }
    }
    true
}

fn victim(mode: &str, folder: &Path, input: UnixStream) -> Child {
    std::process::Command::new(std::env::current_exe().expect("this test"))
        .env(VICTIM, mode)
        .env("TMPDIR", folder)
        .stdin(Stdio::from(OwnedFd::from(input)))
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("start a victim")
}

fn leaves_nothing(mode: &str, signal: Option<&str>) {
    let shared_before = entries(Path::new("/dev/shm"));
    let folder = tempfile::tempdir().expect("a folder");
    let (mut ours, theirs) = UnixStream::pair().expect("a pair");
    let mut child = victim(mode, folder.path(), theirs);
    let mut line = String::new();
    let output = child.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let agent: u32 = line
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("the victim said: {line}"));
    if let Some(signal) = signal {
        let sent = std::process::Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("run kill").success());
    }
    let status = child.wait().expect("its end");
    match (mode, signal) {
        ("drop", _) => assert_eq!(status.code(), Some(0)),
        ("panic", _) => assert_eq!(status.code(), Some(101)),
        (_, Some("KILL")) => assert_eq!(status.signal(), Some(9)),
        _ => assert_eq!(status.signal(), Some(2)),
    }
    // Ends when the client's process does; no time is set, the test runner has one.
    assert_eq!(ours.read(&mut [0; 1]).expect("the end"), 0);
    let command = std::fs::read(format!("/proc/{agent}/cmdline")).unwrap_or_default();
    assert!(command.is_empty(), "the client still runs");
    assert_eq!(entries(folder.path()), Vec::<String>::new());
    // Other tests come and go beside this one; what they leave is not named after a client.
    let news = entries(Path::new("/dev/shm"));
    let news: Vec<_> = news.iter().filter(|name| !shared_before.contains(name)).collect();
    assert!(
        !news
            .iter()
            .any(|name| name.contains("mooncake") || name.contains("moonquake")),
        "{news:?}"
    );
}

fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}
