//! Frozen clocks, gated threads, and nothing besides.

use super::rig::Python;
use crate::Test;
use crate::rig::{Rig, START};
use moonquake_native::process::SleepKind;
use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) const TESTS: &[Test] = &[
    ("real_client_page_whole_life_under_frozen_clocks", life),
    ("real_client_page_closes_by_grants_alone", close_by_grants),
    ("real_client_page_frozen_client_uses_no_processor", idle),
    ("real_client_page_listens_on_loopback_only", listeners),
    ("real_client_page_children_run_on_the_real_clock", children),
];

fn life() {
    let master = Rig::with_segments(0);
    let mut python = Python::set_up(&master.master.rpc_addr().to_string(), 16 << 20);
    assert_eq!(python.page.attached_pid(), python.child.id());
    assert_eq!(python.eval("s.put('k', b'x' * 100000)"), "0");
    assert_ne!(python.number("buffer(100000)"), 0);
    assert_eq!(
        python.eval("s.get_into('k', ctypes.addressof(buf), 100000)"),
        "100000"
    );
    assert_eq!(python.eval("buf.raw == b'x' * 100000"), "True");
    let served = python.page.clocks_served();
    assert_eq!(served.realtime.last, START.realtime);
    assert_eq!(served.monotonic.last, START.monotonic);
    python.page.open_gates();
    assert_eq!(python.eval("s.close()"), "0");
}

fn close_by_grants() {
    let master = Rig::with_segments(0);
    let mut python = Python::set_up(&master.master.rpc_addr().to_string(), 16 << 20);
    python.gated();
    python.begin("s.close()");
    let answer = loop {
        for sleeper in python.page.sleepers() {
            if sleeper.kind == SleepKind::Sleep {
                python.page.grant(sleeper.slot);
            }
        }
        if let Some(answer) = python.finish_within(Duration::from_millis(1)) {
            break answer;
        }
    };
    assert_eq!(answer, "0");
}

fn idle() {
    let master = Rig::with_segments(0);
    let python = Python::set_up(&master.master.rpc_addr().to_string(), 16 << 20);
    python.gated();
    let before = python.processor_time();
    std::thread::sleep(Duration::from_secs(2));
    let used = python.processor_time() - before;
    assert!(used < Duration::from_millis(100), "{used:?} in 2 s");
}

fn listeners() {
    let master = Rig::with_segments(0);
    let python = Python::set_up(&master.master.rpc_addr().to_string(), 16 << 20);
    let pid = python.child.id();
    let sockets: BTreeSet<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("its descriptors")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| {
            let name = link.to_str()?.strip_prefix("socket:[")?;
            Some(name.strip_suffix(']')?.to_owned())
        })
        .collect();
    let mut addresses = Vec::new();
    for table in ["tcp", "tcp6"] {
        let rows = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).expect("a table");
        for row in rows.lines().skip(1) {
            let fields: Vec<&str> = row.split_whitespace().collect();
            // State 0A is LISTEN; the tenth field is the socket's inode.
            if fields[3] == "0A" && sockets.contains(fields[9]) {
                addresses.push(fields[1].split(':').next().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(addresses.len() >= 2, "{addresses:?}");
    let loopback = ["0100007F", "0000000000000000FFFF00000100007F"];
    assert!(
        addresses
            .iter()
            .all(|address| loopback.contains(&address.as_str())),
        "{addresses:?}"
    );
}

fn children() {
    let mut python = Python::start();
    let year =
        "__import__('subprocess').run(['/bin/date', '+%s'], capture_output=True).stdout.decode().strip()";
    let real = python.eval(year);
    let real: u64 = real.trim_matches('\'').parse().expect("seconds");
    assert_ne!(
        real,
        START.realtime.0 / 1_000_000_000,
        "a child is not under the page"
    );
    assert_eq!(
        python.number("int(__import__('time').time())"),
        START.realtime.0 / 1_000_000_000
    );
}
