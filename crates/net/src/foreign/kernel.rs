//! What the kernel knows of the other end of a connection on this host. It tells no events of it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Where the kernel lists the connections of this network namespace. An IPv4 connection of an IPv6 socket is in the second.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/// The state of a connection that neither end has closed.
const ESTABLISHED: u8 = 1;

/// One end of a connection as the kernel lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    state: u8,
    /// Bytes that the other end's kernel has not confirmed.
    pub(super) unsent_bytes: u64,
    /// Bytes that arrived and that its process has not read.
    pub(super) unread_bytes: u64,
}

impl End {
    /// Whether its process has closed it.
    pub(super) fn is_closed(self) -> bool {
        self.state != ESTABLISHED
    }
}

/// The end at `local` of the connection to `remote`; `None` if there is none any more.
pub(super) fn end_of(local: SocketAddr, remote: SocketAddr) -> Option<End> {
    TABLES.iter().find_map(|table| {
        let text = std::fs::read_to_string(table).ok()?;
        find(&text, local, remote)
    })
}

fn find(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<End> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_it = address(words.next()?)? == local && address(words.next()?)? == remote;
        if !is_it {
            return None;
        }
        let state = u8::from_str_radix(words.next()?, 16).ok()?;
        let (unsent, unread) = words.next()?.split_once(':')?;
        Some(End {
            state,
            unsent_bytes: u64::from_str_radix(unsent, 16).ok()?,
            unread_bytes: u64::from_str_radix(unread, 16).ok()?,
        })
    })
}

/// An address as the tables write it: words of the host's byte order, then the port. Of IPv6 only mapped IPv4.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let host = match host.len() {
        8 => host,
        32 => host.strip_prefix("0000000000000000FFFF0000")?,
        _ => return None,
    };
    let host = u32::from_str_radix(host, 16).ok()?.to_ne_bytes();
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(host)), port))
}

#[cfg(test)]
mod tests {
    use super::{End, find};

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:C350 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:C351 04 00010000:00000000 00:00000000 00000000  1000        0 2 1 0 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:C353 01 00000000:0000FFFF 00:0 0 0 0 3
   3: 00000000000000000000000001000000:C350 00000000000000000000000001000000:C351 01 00000000:00000001 00:0 0 0 0 4
";

    #[test]
    fn ends_are_found_by_both_addresses() {
        let at = |port: u16| ([127, 0, 0, 1], port).into();
        let closing = End {
            state: 4,
            unsent_bytes: 65_536,
            unread_bytes: 0,
        };
        assert_eq!(find(TABLE, at(50_000), at(50_001)), Some(closing));
        assert!(closing.is_closed());
        let mapped = find(TABLE, at(50_002), at(50_003)).unwrap();
        assert_eq!((mapped.unread_bytes, mapped.is_closed()), (65_535, false));
        assert_eq!(find(TABLE, at(50_001), at(50_000)), None);
        assert_eq!(find("", at(1), at(2)), None);
        assert_eq!(find("x\n1: zz", at(1), at(2)), None);
    }
}
