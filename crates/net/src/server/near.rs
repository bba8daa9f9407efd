//! The thread of a connection goes to the processor on which its requests arrive.
//!
//! Where a client on this host and the thread that answers it share a processor, each wakes the other without an interrupt
//! to another processor, which costs several times what handling a request does. The kernel leaves them apart or together as
//! they happen to be. A thread that finds itself elsewhere than its requests moves once and is free again: the kernel goes on
//! spreading load as it likes.

use rustix::net::sockopt::socket_incoming_cpu;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::io;
use std::net::TcpStream;

/// A thread looks where it is once in so many reads, so that looking costs next to nothing, and moving little.
const READS: u32 = 16;

/// Counts the reads of one thread.
#[derive(Debug, Default)]
pub(super) struct Near(u32);

impl Near {
    /// Called at each read of the thread's connection.
    pub(super) fn read(&mut self, stream: &TcpStream) {
        self.0 += 1;
        if self.0 < READS {
            return;
        }
        self.0 = 0;
        // A processor that this process may not use, or a kernel that does not tell: the thread stays.
        let _only_faster = follow(stream);
    }
}

fn follow(stream: &TcpStream) -> io::Result<()> {
    let there = socket_incoming_cpu(stream)? as usize;
    if there == sched_getcpu() || there >= CpuSet::MAX_CPU {
        return Ok(());
    }
    move_to(there)
}

/// Moves this thread, and leaves it free to be moved again.
fn move_to(processor: usize) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    if !allowed.is_set(processor) {
        return Ok(());
    }
    let mut there = CpuSet::new();
    there.set(processor);
    sched_setaffinity(None, &there)?;
    Ok(sched_setaffinity(None, &allowed)?)
}

#[cfg(test)]
mod tests {
    use super::{Near, READS, move_to};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    fn processors(set: &CpuSet) -> Vec<usize> {
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
    }

    #[test]
    fn a_thread_that_has_moved_is_as_free_as_before() {
        let before = sched_getaffinity(None).unwrap();
        for cpu in processors(&before) {
            move_to(cpu).unwrap();
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        }
    }

    #[test]
    fn a_thread_stays_where_it_is_allowed_to_be() {
        let all = processors(&sched_getaffinity(None).unwrap());
        let mut one = CpuSet::new();
        one.set(all[0]);
        sched_setaffinity(None, &one).unwrap();
        for cpu in all.into_iter().chain([CpuSet::MAX_CPU - 1]) {
            move_to(cpu).unwrap();
            assert_eq!(sched_getaffinity(None).unwrap(), one);
        }
    }

    #[test]
    fn looking_changes_nothing_that_others_see() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        client.write_all(b"x").unwrap();
        let (before, mut near) = (sched_getaffinity(None).unwrap(), Near::default());
        for read in 1..=3 * READS {
            near.read(&stream);
            assert_eq!(near.0, read % READS);
        }
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
