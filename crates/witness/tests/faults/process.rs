//! Memory of another process.

use moonquake_witness::{FaultMode, FaultWitness, How, Mapping, Witness, faults, page_size};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

/// The argument with which this program is the process that is watched.
pub(crate) const CHILD: &str = "a-process-to-watch";

/// Tells where its memory is and what its descriptor is, then writes and reads where it is told to, line by line.
pub(crate) fn obey() {
    let memory = Mapping::shared(4 * page_size()).unwrap();
    let mut descriptor = Some(faults::descriptor().unwrap());
    let number = descriptor.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    println!("{} {number}", memory.address());
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["taken"] => drop(descriptor.take()),
            ["write", at] => memory.write(at.parse().unwrap(), b"x").unwrap(),
            ["read", at] => memory.read(at.parse().unwrap(), &mut [0]).unwrap(),
            _ => panic!("{line}"),
        }
        println!("done");
    }
}

struct Watched {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Watched {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Returns when it has been done: an access that nobody lets go would never return.
    fn tell(&mut self, what: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
        assert_eq!(self.line(), "done", "{what}");
    }
}

pub(crate) fn another_process() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(CHILD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap());
    let mut watched = Watched { child, said };
    let first = watched.line();
    let (address, number) = first.split_once(' ').unwrap();
    let address: u64 = address.parse().unwrap();
    let page = page_size();

    let descriptor = faults::take(watched.child.id(), number.parse().unwrap()).unwrap();
    watched.tell("taken");
    let bytes = address..address + 4 * page;
    let mut witness = FaultWitness::adopt(descriptor, bytes, FaultMode::WriteProtect).unwrap();
    witness.arm(page..2 * page).unwrap();
    watched.tell("write 3");
    watched.tell(&format!("read {page}"));
    assert_eq!(witness.accesses().unwrap(), []);
    watched.tell(&format!("write {}", page + 7));
    let told = witness.accesses().unwrap();
    let thread = watched.child.id();
    assert_eq!(
        told.iter()
            .map(|told| (told.write, told.from, told.to, told.how))
            .collect::<Vec<_>>(),
        [(true, page, 2 * page, How::Fault { thread })]
    );
    witness.arm(0..4 * page).unwrap();
    drop(witness);
    watched.tell(&format!("write {}", 3 * page));
    drop(watched.child.stdin.take());
    assert!(watched.child.wait().unwrap().success());
}
