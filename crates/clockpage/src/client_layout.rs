//! What a client's page has beside a master's: virtual timers, the log of socket calls, the pause of a transport thread, and how many
//! bytes a connection may send.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// The page steers a `mooncake_master`: condition variables wait on slots, random devices are seeded.
pub const MODE_MASTER: u32 = 0;
/// The page steers a Python process with the client library in it.
pub const MODE_CLIENT: u32 = 1;

/// In a client, a timed condition wait of at least this many nanoseconds of virtual time ends on the virtual clock; a shorter
/// one, such as those for the interpreter lock, takes as long in real time.
pub const LONG_WAIT_NS: u64 = 1_000_000_000;

/// How many timers may run at once.
pub const TIMERS: usize = 128;
/// Entries of the socket log. A thread that finds it full waits until the controller has taken some.
pub const SOCKET_LOG: usize = 4_096;

/// Bytes left the process: `send`, `sendto`, `sendmsg`, `write`, `writev`.
pub const SENT: u32 = 1;
/// Bytes came in: `recv`, `recvfrom`, `recvmsg`, `read`, `readv`.
pub const RECEIVED: u32 = 2;

/// No pause is asked for.
pub const PAUSE_NONE: u32 = 0;
/// Calls are counted; the thread whose call would cross the limit will pause.
pub const PAUSE_ARMED: u32 = 1;
/// A thread stands at exactly that byte.
pub const PAUSE_HIT: u32 = 2;

/// Rules that say which connections are metered.
pub const METERS: usize = 64;
/// Metered connections that may be open at once.
pub const CREDITS: usize = 256;
/// In [`Meter::which`]: there is a rule.
pub const METER_SET: u32 = 1 << 16;
/// In [`Meter::which`]: the port is the connection's own; else it is that of the other end.
pub const METER_OWN: u32 = 1 << 17;

/// The thread that fires timers does not exist yet, so nothing can be due.
pub const HELPER_ABSENT: u32 = 0;
/// It exists, or a thread is about to create it.
pub const HELPER_PRESENT: u32 = 1;

/// One `timerfd`. Changed under [`ClientPart::timer_lock`] only.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Timer {
    /// The descriptor plus one, 0 while the entry is free.
    pub descriptor_plus_one: AtomicU32,
    /// Unused.
    pub reserved: AtomicU32,
    /// When it fires on the virtual monotonic clock, in nanoseconds.
    pub deadline_ns: AtomicU64,
    /// Distance of the firings after the first, 0 for none.
    pub interval_ns: AtomicU64,
}

/// One part of one call that moved bytes through a TCP socket.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct SocketEntry {
    /// [`SENT`] or [`RECEIVED`].
    pub direction: AtomicU32,
    /// Kernel id of the calling thread.
    pub tid: AtomicU32,
    /// The socket.
    pub descriptor: AtomicU32,
    /// Local port in the upper, peer's port in the lower half.
    pub ports: AtomicU32,
    /// Where the bytes came from or went to.
    pub address: AtomicU64,
    /// How many were really moved there.
    pub length_bytes: AtomicU64,
    /// The wall clock at the call.
    pub realtime_ns: AtomicU64,
    /// The monotonic clock at the call.
    pub monotonic_ns: AtomicU64,
}

/// The one pause that can be asked for at a time.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Pause {
    /// `PAUSE_*`; also the futex of both sides.
    pub state: AtomicU32,
    /// [`SENT`] or [`RECEIVED`].
    pub direction: AtomicU32,
    /// Local port of the sockets meant, 0 for any.
    pub local_port: AtomicU32,
    /// Peer's port of the sockets meant, 0 for any.
    pub peer_port: AtomicU32,
    /// The byte to stop at, counted over all calls that match.
    pub at_bytes: AtomicU64,
    /// Bytes moved by matching calls since the pause was armed.
    pub moved_bytes: AtomicU64,
    /// Kernel id of the thread that stands still.
    pub tid: AtomicU32,
    /// Lock of the calls that match, held over the pause: no other moves a byte meanwhile.
    pub lock: AtomicU32,
}

/// Connections that send no more than they are told. Written by the controller, never taken back.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Meter {
    /// The port, [`METER_SET`] and perhaps [`METER_OWN`], written last; 0 while the entry is empty.
    pub which: AtomicU32,
    /// Bytes that such a connection may send by itself, such as the first header.
    pub free_bytes: AtomicU32,
}

/// One metered connection. Made and removed by the process, under [`ClientPart::credit_lock`].
#[repr(C)]
#[derive(Debug, Default)]
pub struct Credit {
    /// The descriptor plus one, 0 while the entry is free; written last.
    pub descriptor_plus_one: AtomicU32,
    /// Local port in the upper, peer's port in the lower half.
    pub ports: AtomicU32,
    /// Bytes that it may have sent by now. Raised by the controller.
    pub limit_bytes: AtomicU64,
    /// Bytes that it has sent, written by the sender alone.
    pub sent_bytes: AtomicU64,
    /// 1 while its sender waits for an event that the kernel has no reason for.
    pub waits: AtomicU32,
    /// Unused.
    pub reserved: AtomicU32,
}

/// The client's part of the page.
#[repr(C)]
#[derive(Debug)]
pub struct ClientPart {
    /// `MODE_*`, written by the controller before the start.
    pub mode: AtomicU32,
    /// Raised by the controller after each change of the clocks or of a credit; a futex.
    pub clock_generation: AtomicU32,
    /// The last generation for which everything due was fired and woken, and every sender with new credit was told; a futex.
    pub generation_seen: AtomicU32,
    /// `HELPER_*`.
    pub helper: AtomicU32,
    /// Lock of the timers: 0 free, 1 taken, 2 taken and waited for.
    pub timer_lock: AtomicU32,
    /// Threads in a long condition wait; while it is 0, signals need not look for them.
    pub long_waiters: AtomicU32,
    /// 1 while socket calls are logged.
    pub log_sockets: AtomicU32,
    /// Lock of those who write the log, as [`ClientPart::timer_lock`].
    pub log_lock: AtomicU32,
    /// Entries written so far, modulo 2^32; a futex.
    pub log_written: AtomicU32,
    /// Entries taken so far, modulo 2^32; a futex.
    pub log_taken: AtomicU32,
    /// Entries dropped: those that found the log full after the gates were opened.
    pub log_lost: AtomicU32,
    /// Lock of those who make or remove an entry of [`ClientPart::credits`], as [`ClientPart::timer_lock`].
    pub credit_lock: AtomicU32,
    /// 1 once connections may send whatever they have.
    pub meters_open: AtomicU32,
    /// Unused.
    pub reserved: AtomicU32,
    /// The pause.
    pub pause: Pause,
    /// Which connections are metered.
    pub meters: [Meter; METERS],
    /// Those that have sent something.
    pub credits: [Credit; CREDITS],
    /// Running timers.
    pub timers: [Timer; TIMERS],
    /// Entry `n` is at `n % SOCKET_LOG`.
    pub socket_log: [SocketEntry; SOCKET_LOG],
}
