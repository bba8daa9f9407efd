//! Whatever ends the program that holds a master, no process and no file of it stays.
//!
//! The program is this test binary itself, asked by a variable to be a victim.

use crate::Test;
use crate::rig::{MIB, Rig};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

pub(crate) const TESTS: &[Test] = &[
    ("real_drop_leaves_nothing", drop_leaves_nothing),
    ("real_panic_leaves_nothing", panic_leaves_nothing),
    ("real_killed_owner_takes_its_master_along", killed_owner),
    ("real_interrupted_owner_takes_its_master_along", interrupted_owner),
    ("real_folders_of_dead_owners_are_removed", orphans),
];

const VICTIM: &str = "MOONQUAKE_TEST_VICTIM";

/// Runs as a victim if asked to. Returns only if it has.
pub(crate) fn victim_was_asked_for() -> bool {
    let Ok(mode) = std::env::var(VICTIM) else {
        return false;
    };
    let mut rig = Rig::with_segments(1);
    rig.put("k", MIB);
    println!("{} {}", rig.master.pid(), rig.master.rpc_addr());
    match mode.as_str() {
        "drop" => drop(rig),
        "panic" => panic!("on purpose"),
        // Until the end of the input, which the test never closes.
        _ => {
            let _ = std::io::stdin().read(&mut [0]);
        }
    }
    true
}

struct Victim {
    child: Child,
    master_pid: u32,
    master: TcpStream,
}

fn victim(mode: &str, folder: &Path) -> Victim {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .env(VICTIM, mode)
        .env("TMPDIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .process_group(0)
        .spawn()
        .expect("start a victim");
    let mut line = String::new();
    let output = child.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let (pid, address) = line
        .trim()
        .split_once(' ')
        .unwrap_or_else(|| panic!("the victim said: {line}"));
    let address: SocketAddr = address.parse().expect("an address");
    // A victim that ends at once may be gone with its master by now; then there is nothing to connect to.
    let master = TcpStream::connect(address);
    let master = master.unwrap_or_else(|_| TcpStream::connect(sink()).expect("a closed connection"));
    Victim {
        master_pid: pid.parse().expect("a number"),
        child,
        master,
    }
}

/// The address of a listener that takes one connection and closes it.
fn sink() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || listener.accept().map(drop));
    address
}

impl Victim {
    /// Waits for the end of the victim, then for that of its master.
    fn wait(&mut self) -> std::process::ExitStatus {
        let status = self.child.wait().expect("its end");
        // The connection ends when the master does; no time is set, the test runner has one.
        while matches!(self.master.read(&mut [0; 64]), Ok(length) if length > 0) {}
        let command = std::fs::read(format!("/proc/{}/cmdline", self.master_pid)).unwrap_or_default();
        assert!(
            command.is_empty(),
            "the master still runs: {}",
            String::from_utf8_lossy(&command)
        );
        status
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &pid])
            .status()
            .expect("run kill");
        assert!(sent.success());
    }
}

fn left_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
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

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn drop_leaves_nothing() {
    let folder = folder();
    assert_eq!(victim("drop", folder.path()).wait().code(), Some(0));
    assert_eq!(left_in(folder.path()), Vec::<String>::new());
}

fn panic_leaves_nothing() {
    let folder = folder();
    assert_eq!(victim("panic", folder.path()).wait().code(), Some(101));
    assert_eq!(left_in(folder.path()), Vec::<String>::new());
}

fn killed_owner() {
    let folder = folder();
    let mut victim = victim("wait", folder.path());
    victim.signal("KILL");
    assert_eq!(victim.wait().signal(), Some(9));
}

fn interrupted_owner() {
    let folder = folder();
    let mut victim = victim("wait", folder.path());
    victim.signal("INT");
    assert_eq!(victim.wait().signal(), Some(2));
}

fn orphans() {
    let folder = folder();
    let mut dead = victim("wait", folder.path());
    dead.signal("KILL");
    dead.wait();
    let orphans = left_in(folder.path());
    assert_eq!(orphans.len(), 1, "nobody could clean up");

    let mut living = victim("wait", folder.path());
    let owned = left_in(folder.path());
    assert_eq!(owned.len(), 1, "the dead one's is gone");
    assert_ne!(owned, orphans);
    victim("drop", folder.path()).wait();
    assert_eq!(left_in(folder.path()), owned, "that of a living owner stays");

    living.signal("KILL");
    living.wait();
}
