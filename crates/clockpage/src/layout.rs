//! The page that a preloaded process and its controller share. Both sides compile this one file, so that they cannot
//! disagree; [`VERSION`] catches a library and a controller that were built at different times.
//!
//! Everything in it is an atomic or never changes after the controller has written it, so both sides may hold `&Page`.

use std::sync::atomic::{AtomicU32, AtomicU64};

// Named, because this file is compiled from two places.
#[path = "client_layout.rs"]
pub mod client;

/// First eight bytes of the page: "MQCLOCKP" in little-endian order.
pub const MAGIC: u64 = u64::from_le_bytes(*b"MQCLOCKP");
/// Raised with every change of this file that moves a field or changes its meaning.
pub const VERSION: u32 = 5;
/// Environment variable with the path of the file to map.
pub const PAGE_VARIABLE: &str = "MOONQUAKE_CLOCKPAGE_FILE";
/// Exit status of a process whose page is missing or does not fit.
pub const EXIT_NO_PAGE: i32 = 78;
/// Sleeps of at least this many nanoseconds wait for a tick; shorter ones stay real.
pub const GATED_SLEEP_NS: u64 = 5_000_000;
/// How many threads may sleep at once.
pub const SLOTS: usize = 256;
/// How many calls of `bind` and `listen` are kept.
pub const SOCKET_EVENTS: usize = 32;

/// What the wall clock served: `CLOCK_REALTIME`, `CLOCK_REALTIME_COARSE`, `gettimeofday` and `time`.
pub const SERVED_REALTIME: usize = 0;
/// What the monotonic clock served: `CLOCK_MONOTONIC`, its raw and coarse forms and `CLOCK_BOOTTIME`.
pub const SERVED_MONOTONIC: usize = 1;

/// The slot belongs to nobody.
pub const FREE: u32 = 0;
/// Its thread runs.
pub const RUNNING: u32 = 1;
/// Its thread waits on the slot's word.
pub const ASLEEP: u32 = 2;
/// The controller let it through; it has not noticed yet.
pub const TICKED: u32 = 3;
/// `pthread_cond_signal` or `_broadcast` chose it; it has not noticed yet.
pub const SIGNALLED: u32 = 4;
/// The gates were opened while it slept; it has not noticed yet.
pub const OPENED: u32 = 5;
/// Low bits of a slot's word that hold one of the states above; the rest counts the sleeps of the slot.
pub const STATE_BITS: u32 = 3;
/// Mask of those bits.
pub const STATE_MASK: u32 = (1 << STATE_BITS) - 1;

/// `nanosleep` and its relatives.
pub const KIND_SLEEP: u32 = 1;
/// `pthread_cond_timedwait`, `pthread_cond_clockwait`.
pub const KIND_TIMED_WAIT: u32 = 2;
/// `pthread_cond_wait`.
pub const KIND_WAIT: u32 = 3;

/// A `bind` that failed.
pub const SOCKET_BIND_FAILED: u32 = 1;
/// A `listen`, successful if its `errno` is 0.
pub const SOCKET_LISTEN: u32 = 2;

/// Key of the stream of random values of a thread that has not slept yet, such as one that serves RPCs.
pub const RANDOM_KEY_NEVER_SLEPT: u64 = 0;
/// Key of the stream of random values of the main thread.
pub const RANDOM_KEY_MAIN: u64 = 1;
/// Key of the stream from which the process makes its ids. It is one for all threads: which thread of the admin
/// server answers a request is nobody's choice, and two with the same stream would make the same id twice.
pub const RANDOM_KEY_IDS: u64 = 2;
/// Values that make an id.
pub const ID_WORDS: u32 = 4;

/// Evidence of what the process itself saw of one clock.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Served {
    /// The value returned last, in nanoseconds.
    pub last_ns: AtomicU64,
    /// How often the clock was read.
    pub reads: AtomicU64,
}

/// Waits and sleeps with a limit of time that took real time, as they were too short to be the timeline's, or none of its threads'.
#[repr(C)]
#[derive(Debug, Default)]
pub struct RealTime {
    /// How many.
    pub waits: AtomicU64,
    /// How many of them ended because their time was over.
    pub timed_out: AtomicU64,
}

/// One call of `bind` or `listen`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct SocketEvent {
    /// [`SOCKET_BIND_FAILED`] or [`SOCKET_LISTEN`], written last; 0 while the entry is empty.
    pub what: AtomicU32,
    /// The TCP port, in host byte order.
    pub port: AtomicU32,
    /// 0 or the error number.
    pub errno: AtomicU32,
    /// Unused.
    pub reserved: AtomicU32,
}

/// Where one thread sleeps.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Slot {
    /// State and count of sleeps, see [`STATE_BITS`]. Also the futex: the thread waits on it while it is [`ASLEEP`], and the
    /// controller waits on it until it is again. Only the thread itself ever sets [`ASLEEP`].
    pub word: AtomicU32,
    /// `KIND_*` of the present or last sleep.
    pub kind: AtomicU32,
    /// Kernel id of the thread.
    pub tid: AtomicU32,
    /// Random values drawn by the thread.
    pub draws: AtomicU32,
    /// Length asked for, in nanoseconds; 0 for an untimed wait.
    pub requested_ns: AtomicU64,
    /// When the sleep ends on the virtual monotonic clock, in nanoseconds; `u64::MAX` for an untimed wait.
    pub deadline_monotonic_ns: AtomicU64,
    /// Address of the condition variable waited for, 0 for a plain sleep.
    pub condition: AtomicU64,
    /// Order of arrival, so that `pthread_cond_signal` wakes the one that waits longest.
    pub ticket: AtomicU64,
    /// When a timed wait ends on its own clock, in nanoseconds.
    pub deadline_ns: AtomicU64,
    /// That clock, `SERVED_*`.
    pub deadline_clock: AtomicU64,
}

/// The whole page.
#[repr(C)]
#[derive(Debug)]
pub struct Page {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Size of this structure.
    pub size_bytes: AtomicU32,
    /// The wall clock in nanoseconds since the epoch. Written by the controller.
    pub realtime_ns: AtomicU64,
    /// The monotonic clock in nanoseconds. Written by the controller.
    pub monotonic_ns: AtomicU64,
    /// Seed of every random value. Written by the controller before the start.
    pub seed: AtomicU64,
    /// A thread whose last sleep was a [`KIND_SLEEP`] of this length creates threads one after the other: the next begins when
    /// the last has ended. 0 turns that off.
    pub serial_creator_sleep_ns: AtomicU64,
    /// 1 once nothing is held any more, so that the process can end.
    pub gates_open: AtomicU32,
    /// Process that mapped the page, 0 before.
    pub attached_pid: AtomicU32,
    /// Futex that changes whenever a thread sleeps for the first time (in a client: every time, and with every timer that is set) and
    /// with every [`SocketEvent`].
    pub activity: AtomicU32,
    /// Socket events so far; those beyond [`SOCKET_EVENTS`] are dropped.
    pub socket_event_count: AtomicU32,
    /// Next value of [`Slot::ticket`].
    pub next_ticket: AtomicU64,
    /// Ids that were made of the stream [`RANDOM_KEY_IDS`].
    pub ids_made: AtomicU64,
    /// Clock reads, by `SERVED_*`.
    pub served: [Served; 2],
    /// What took real time.
    pub real_time: RealTime,
    /// Calls of `bind` and `listen`, in order.
    pub socket_events: [SocketEvent; SOCKET_EVENTS],
    /// Sleeping places.
    pub slots: [Slot; SLOTS],
    /// What only a client uses.
    pub client: client::ClientPart,
}

/// The state in a slot's word.
pub fn state_of(word: u32) -> u32 {
    word & STATE_MASK
}

/// The same word with another state.
pub fn with_state(word: u32, state: u32) -> u32 {
    (word & !STATE_MASK) | state
}

/// The word of the next sleep: another count, [`ASLEEP`].
pub fn next_sleep(word: u32) -> u32 {
    ((word >> STATE_BITS).wrapping_add(1) << STATE_BITS) | ASLEEP
}

/// Key of the stream of random values of a thread that has slept, by the first sleep it asked for.
pub fn random_key_of_sleeper(kind: u32, requested_ns: u64) -> u64 {
    // The kind fills the top bits: no sleep is longer than 2^60 ns (36 years).
    (u64::from(kind) << 60) | (requested_ns & ((1 << 60) - 1))
}

/// The `index`-th value of the stream with that key: what `std::random_device` gives to a thread, or `getrandom` to the process. SplitMix64, upper half.
pub fn random_value(seed: u64, key: u64, index: u32) -> u32 {
    let mixed = mix(mix(seed) ^ key).wrapping_add(
        u64::from(index)
            .wrapping_add(1)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15),
    );
    (mix(mixed) >> 32) as u32
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
