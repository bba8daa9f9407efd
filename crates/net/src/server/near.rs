//! The thread of a connection runs on the processor on which its requests arrive.
//!
//! A client on this host and the thread that answers it take turns. Where they share a processor, each wakes the other without
//! an interrupt to another processor, which costs several times what handling a request does; the kernel prefers one that
//! is idle, and pays for it. A client that moves is followed. Clients of other hosts are left to the kernel: their
//! packets may all arrive on one processor.

use rustix::net::sockopt::socket_incoming_cpu;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::net::TcpStream;

/// A thread looks where its requests arrive once in so many reads, so that looking costs next to nothing.
const READS: u32 = 16;

/// It looks half as often each time that it has to move, down to this: there are clients that a kernel takes elsewhere whenever
/// they are followed.
const READS_AT_MOST: u32 = 4_096;

/// Where one thread runs.
#[derive(Debug)]
pub(super) struct Near {
    /// Reads since it looked, and how many there are between two looks.
    reads: u32,
    every: u32,
    /// The processor that it was moved to.
    at: Option<usize>,
    /// Those that it may use; none where it is left alone.
    allowed: Option<CpuSet>,
}

impl Near {
    /// Called by the thread of that connection.
    pub(super) fn new(stream: &TcpStream) -> Near {
        let own = |stream: &TcpStream| Some((stream.local_addr().ok()?, stream.peer_addr().ok()?));
        let is_here = own(stream).is_some_and(|(here, there)| here.ip() == there.ip());
        Near {
            reads: 0,
            every: READS,
            at: None,
            allowed: sched_getaffinity(None).ok().filter(|_| is_here),
        }
    }

    /// Called at each read of the connection.
    pub(super) fn read(&mut self, stream: &TcpStream) {
        self.reads += 1;
        if self.reads < self.every || self.allowed.is_none() {
            return;
        }
        self.reads = 0;
        // A kernel that does not tell or move: the thread stays.
        let _only_faster = socket_incoming_cpu(stream).map(|there| self.move_to(there as usize));
    }

    fn move_to(&mut self, there: usize) -> io::Result<()> {
        if self.at == Some(there) {
            self.every = READS;
            return Ok(());
        }
        let may = |allowed: &CpuSet| there < CpuSet::MAX_CPU && allowed.is_set(there);
        if !self.allowed.as_ref().is_some_and(may) {
            return Ok(());
        }
        self.every = (2 * self.every).min(READS_AT_MOST);
        let mut set = CpuSet::new();
        set.set(there);
        sched_setaffinity(None, &set)?;
        self.at = Some(there);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Near, READS, READS_AT_MOST};
    use rustix::net::sockopt::socket_incoming_cpu;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    /// A connection of this host: the client's end and ours.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    fn processors(set: &CpuSet) -> Vec<usize> {
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
    }

    fn here() -> Vec<usize> {
        processors(&sched_getaffinity(None).unwrap())
    }

    #[test]
    fn a_thread_follows_where_it_may_and_stays_where_it_may_not() {
        let (_client, ours) = connection();
        let all = here();
        let mut near = Near::new(&ours);
        for &cpu in all.iter().chain(&all) {
            near.move_to(cpu).unwrap();
            assert_eq!(here(), [cpu]);
            near.move_to(CpuSet::MAX_CPU).unwrap();
            near.move_to(CpuSet::MAX_CPU - 1).unwrap();
            assert_eq!(here(), [cpu]);
        }
    }

    #[test]
    fn a_thread_is_where_its_requests_arrived_after_so_many_reads() {
        let (mut client, ours) = connection();
        client.write_all(b"x").unwrap();
        let (before, mut near) = (here(), Near::new(&ours));
        for _ in 1..READS {
            near.read(&ours);
            assert_eq!(here(), before);
        }
        let arrived = socket_incoming_cpu(&ours).unwrap() as usize;
        near.read(&ours);
        assert_eq!(here(), [arrived]);
    }

    #[test]
    fn a_client_that_never_stays_is_followed_less_and_less() {
        let (_client, ours) = connection();
        let (all, mut near) = (here(), Near::new(&ours));
        assert_eq!(near.every, READS);
        for move_number in 1..=12 {
            near.at = None;
            near.move_to(all[0]).unwrap();
            assert_eq!(near.every, (READS << move_number).min(READS_AT_MOST));
        }
        near.move_to(all[0]).unwrap();
        assert_eq!(near.every, READS);
    }

    #[test]
    fn a_thread_that_may_use_one_processor_stays_there() {
        let one = here()[0];
        let mut set = CpuSet::new();
        set.set(one);
        sched_setaffinity(None, &set).unwrap();
        let (mut client, ours) = connection();
        client.write_all(b"x").unwrap();
        let mut near = Near::new(&ours);
        (0..3 * READS).for_each(|_| near.read(&ours));
        assert_eq!(here(), [one]);
    }
}
