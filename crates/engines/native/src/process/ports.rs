//! Free ports on 127.0.0.1, outside the range from which the kernel gives ports to outgoing connections: a connect loop
//! inside that range can end up connected to itself, and old connections can block a port.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Lowest port used. Below lie the ports of well-known servers and of the C++ client (15000 to 17000).
const LOWEST: u16 = 20_000;
/// First ephemeral port where the kernel does not say.
const EPHEMERAL: u16 = 32_768;

/// Two different ports that were free a moment ago.
pub(crate) fn free_pair() -> Option<(u16, u16)> {
    let first = free_port()?;
    let second = (0..8).find_map(|_| free_port().filter(|port| *port != first))?;
    Some((first, second))
}

fn free_port() -> Option<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let highest = ephemeral_start().max(LOWEST + 1_000);
    let count = u32::from(highest - LOWEST);
    // Every process begins elsewhere, so that tests in parallel seldom meet. 7919 is prime, hence visits all.
    let start = std::process::id().wrapping_mul(104_729);
    (0..count).find_map(|_| {
        let step = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(7_919);
        let offset = u16::try_from(start.wrapping_add(step) % count).ok()?;
        let port = LOWEST + offset;
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .is_ok()
            .then_some(port)
    })
}

fn ephemeral_start() -> u16 {
    std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or(EPHEMERAL)
}
