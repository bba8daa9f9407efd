//! A library for `LD_PRELOAD` that puts the time of an unmodified Linux process into another process's hands.
//!
//! Both clocks are two numbers in a shared page ([`layout::Page`]); background threads sleep until the controller lets each
//! through; condition variables wait on the same slots, so that "this thread sleeps again" can be observed without a race; random
//! devices are seeded. Nothing here spins and nothing here keeps time of its own.
//!
//! The page says which process this is. In a master it is all of the above. In a client (Python with the client library in it) condition variables and
//! random devices stay libc's; clocks and long sleeps are the page's, timers and long condition waits follow them (`timers`,
//! `client_conditions`), and calls on TCP sockets can be logged by address and stopped at a byte (`transfers`), or send no more than
//! they are told (`credit`).
//!
//! It is a `cdylib` only: linked into a Rust program it would take that program's clock away.
#![allow(
    unsafe_code,
    reason = "the library stands between a C++ program and libc; each block says why it is sound"
)]

pub mod layout;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod client;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod client_conditions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod clocks;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod conditions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod credit;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod page;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod polling;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod random;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod real_time;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sleeps;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod slot;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sockets;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod threads;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod timers;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod transfer_calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod transfers;
