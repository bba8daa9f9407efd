//! One unmodified `mooncake_master`, its time and its threads in our hands.
//!
//! [`MasterProcess::start`] brings the pinned release up on free loopback ports under the preloaded clock page. From then on nothing in
//! it happens by itself: clocks stand until [`MasterProcess::set_clocks`], background threads sleep until
//! [`MasterProcess::tick`], and only requests are answered in real time. [`MasterProcess::admin`] observes it without side effects.
//! Dropping it ends the process and removes what it left.

mod admin;
pub mod client;
mod client_credit;
mod client_page;
mod client_sockets;
mod error;
mod home;
mod launch;
#[path = "../../../../clockpage/src/layout.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the preload library uses the rest; both compile this one file"
)]
mod layout;
pub mod library;
mod master;
mod page;
mod plain;
mod ports;
pub mod release;
mod run;
pub(crate) mod spawn;
mod threads;

pub use admin::{Admin, AdminError, KeyDescriptor, KeyState, Metrics, SegmentDetail, SegmentsDetail};
pub use client::Client;
pub use client_credit::MeteredBy;
pub use client_page::{ClientPage, SleepKind, Sleeper};
pub use client_sockets::{Direction, PauseRule, SocketAccess};
pub use error::ProcessError;
pub use layout::random_value;
pub use master::{MasterProcess, StartOptions};
pub use plain::PlainProcess;
pub use release::Release;
pub(crate) use threads::in_words;
pub use threads::{ClockRead, RealTime, Served, ThreadView, Tick};
