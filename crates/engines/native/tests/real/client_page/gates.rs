//! Frozen clocks and gated threads.

use super::rig::Python;
use crate::Test;
use crate::rig::{Rig, START};

pub(crate) const TESTS: &[Test] = &[("real_client_page_whole_life_under_frozen_clocks", life)];

fn life() {
    let master = Rig::with_segments(0);
    let mut python = Python::set_up(&master.master.rpc_addr().to_string(), 16 << 20);
    assert_eq!(python.page.attached_pid(), python.child.id());
    assert_eq!(python.eval("s.put('k', b'x' * 100000)"), "0");
    assert_eq!(python.number("buffer(100000)") % 8, 0);
    assert_eq!(python.eval("s.get_into('k', ctypes.addressof(buf), 100000)"), "100000");
    assert_eq!(python.eval("buf.raw == b'x' * 100000"), "True");
    let served = python.page.clocks_served();
    assert_eq!((served.realtime.last, served.monotonic.last), (START.realtime, START.monotonic));
    eprintln!("{:?} {:?}", python.page.sleepers(), python.page.timers());
    python.page.open_gates();
    assert_eq!(python.eval("s.close()"), "0");
}
