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
    folder: TempDir,
}

fn victim(mode: &str, folder: TempDir) -> Victim {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .env(VICTIM, mode)
        .env("TMPDIR", folder.path())
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
        folder,
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
    let mut victim = victim("drop", folder());
    assert_eq!(victim.wait().code(), Some(0));
    assert_eq!(left_in(victim.folder.path()), Vec::<String>::new());
}

fn panic_leaves_nothing() {
    let mut victim = victim("panic", folder());
    assert_eq!(victim.wait().code(), Some(101));
    assert_eq!(left_in(victim.folder.path()), Vec::<String>::new());
}

fn killed_owner() {
    let mut victim = victim("wait", folder());
    victim.signal("KILL");
    assert_eq!(victim.wait().signal(), Some(9));
}

fn interrupted_owner() {
    let mut victim = victim("wait", folder());
    victim.signal("INT");
    assert_eq!(victim.wait().signal(), Some(2));
}

fn orphans() {
    let mut dead = victim("wait", folder());
    dead.signal("KILL");
    dead.wait();
    assert_eq!(left_in(dead.folder.path()).len(), 1, "nobody could clean up");
    // A folder of a living owner stays.
    let living = victim("wait", dead.folder);
    assert_eq!(left_in(living.folder.path()).len(), 1, "the dead one's is gone");
    let mut next = victim("drop", living.folder);
    next.wait();
    assert_eq!(
        left_in(next.folder.path()).len(),
        1,
        "the living one's is still there"
    );
    let mut living = Victim {
        folder: folder(),
        ..living_parts(living.child, living.master_pid, living.master)
    };
    living.signal("KILL");
    living.wait();
}

fn living_parts(child: Child, master_pid: u32, master: TcpStream) -> Victim {
    Victim {
        child,
        master_pid,
        master,
        folder: folder(),
    }
}
