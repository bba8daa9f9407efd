//! What cannot be done is said, with its cure, and in time.

use crate::Test;
use moonquake_clock::Thread;
use moonquake_native::process::{MasterProcess, ProcessError, Release, StartOptions, library, release};
use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

pub(crate) const TESTS: &[Test] = &[
    ("real_missing_release_is_told_with_its_cure", missing_release),
    ("real_other_binary_is_refused_by_name", other_binary),
    ("real_missing_library_is_told_with_its_cure", missing_library),
    ("real_taken_port_is_an_error_and_no_hang", taken_port),
    ("real_taken_port_is_replaced_by_another", taken_port_is_replaced),
    ("real_unknown_flag_shows_the_masters_own_words", unknown_flag),
    ("real_reserved_flag_is_refused", reserved_flag),
    ("real_tick_of_a_dead_master_says_how_it_ended", dead_master),
];

fn start(options: StartOptions) -> Result<MasterProcess, ProcessError> {
    MasterProcess::start(options)
}

fn missing_release() {
    let folder = tempfile::tempdir().expect("a folder");
    let absent = folder.path().join("absent");
    let error = Release::at(&absent).expect_err("nothing is there");
    let text = error.to_string();
    assert!(text.contains(&absent.display().to_string()), "{text}");
    assert!(
        text.contains(release::CURE) && text.contains(release::VARIABLE),
        "{text}"
    );

    let error = Release::at(folder.path()).expect_err("an empty folder");
    assert!(matches!(error, ProcessError::ReleaseIncomplete { .. }), "{error}");
    assert!(
        error.to_string().contains("mooncake_master") && error.to_string().contains(release::CURE),
        "{error}"
    );
}

fn other_binary() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("mooncake")).expect("a folder");
    fs::write(folder.path().join("mooncake").join("mooncake_master"), b"another").expect("a file");
    let error = Release::at(folder.path()).expect_err("not the pinned binary");
    assert!(matches!(error, ProcessError::WrongBinary { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(release::MASTER_SHA256) && text.contains(release::VERSION),
        "{text}"
    );
    assert!(text.contains(release::CURE), "{text}");
}

fn missing_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let executable = folder.path().join("moonquake");
    let error = library::locate_for(&executable, None).expect_err("nothing is there");
    let text = error.to_string();
    assert!(
        text.contains("cargo build -p moonquake-clockpage") && text.contains(library::VARIABLE),
        "{text}"
    );

    let named = folder.path().join("elsewhere.so");
    fs::write(&named, b"").expect("a file");
    assert_eq!(
        library::locate_for(&executable, Some(&named)).expect("the named one"),
        named
    );
    let beside = folder.path().join(library::NAME);
    fs::write(&beside, b"").expect("a file");
    assert_eq!(
        library::locate_for(&executable, Some(&named)).expect("that beside it"),
        beside
    );
    fs::create_dir(folder.path().join("deps")).expect("a folder");
    let deps = folder.path().join("deps").join(library::NAME);
    fs::write(&deps, b"").expect("a file");
    assert_eq!(
        library::locate_for(&executable, Some(&named)).expect("that of the same build"),
        deps,
        "what lies beside an executable of Cargo may be older than it"
    );
}

/// Two free ports and a listener on each.
fn two_listeners() -> (TcpListener, TcpListener) {
    let listener = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    (listener(), listener())
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("an address").port()
}

fn taken_port() {
    let (rpc, admin) = two_listeners();
    let ports = (port_of(&rpc), port_of(&admin));
    drop(admin);
    expect_port_error(ports, ports.0);
    let admin = TcpListener::bind((Ipv4Addr::LOCALHOST, ports.1)).expect("the port again");
    drop(rpc);
    expect_port_error(ports, ports.1);
    drop(admin);
}

fn expect_port_error(ports: (u16, u16), taken: u16) {
    let started = Instant::now();
    let error = start(StartOptions {
        ports: Some(ports),
        ..StartOptions::default()
    })
    .expect_err("the port is taken");
    assert!(matches!(error, ProcessError::Ports { .. }), "{error}");
    assert!(error.to_string().contains(&format!("port {taken}")), "{error}");
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
}

fn taken_port_is_replaced() {
    let masters: Vec<MasterProcess> = (0..3)
        .map(|_| start(StartOptions::default()).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let mut ports: Vec<u16> = masters
        .iter()
        .flat_map(|master| [master.rpc_addr().port(), master.admin_addr().port()])
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 6, "three masters at once, six ports");
}

fn with_flag(flag: &str, value: &str) -> StartOptions {
    StartOptions {
        flags: BTreeMap::from([(flag.to_owned(), value.to_owned())]),
        ..StartOptions::default()
    }
}

fn unknown_flag() {
    let error = start(with_flag("no_such_flag", "1")).expect_err("the master ends at once");
    assert!(matches!(error, ProcessError::Ended { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("unknown command line flag 'no_such_flag'"),
        "{error}"
    );
}

fn reserved_flag() {
    let error = start(with_flag("rpc_port", "50051")).expect_err("the port is not the caller's to choose");
    assert!(
        matches!(&error, ProcessError::ReservedFlag { flag } if flag == "rpc_port"),
        "{error}"
    );
}

fn dead_master() {
    let master = start(StartOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    master.kill().expect("kill it");
    let started = Instant::now();
    let error = master.tick(Thread::Eviction).expect_err("nobody is there");
    assert!(matches!(error, ProcessError::Ended { .. }), "{error}");
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
}
