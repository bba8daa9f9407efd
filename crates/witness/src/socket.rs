//! The log of a process's socket calls, told by address: the transport of TCP reads and writes a caller's buffer with these
//! calls alone. The log is written inside the real client; here its lines become accesses.

use crate::{Access, AccessKind, Grain, How, Sight, Way, Witness, WitnessError};
use std::fmt;
use std::ops::Range;

/// One call that moved bytes between a socket and memory. A call with several pieces (`recvmsg`) is one line for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketCall {
    /// Whether memory was written (`recv`, `recvmsg`, `read`) or read (`send`, `sendmsg`, `write`).
    pub write: bool,
    /// The address of the first byte, in the process that called.
    pub address: u64,
    /// How many bytes moved (the result of the call, not what was asked for).
    pub len: u64,
    /// The port at the other end.
    pub peer_port: u16,
    /// What the process's monotonic clock showed, in ns.
    pub clock_ns: u64,
}

/// A buffer in the process that is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The name in the scenario.
    pub name: String,
    /// The address of its first byte.
    pub address: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Placed {
    /// The bytes of the buffer that a call touched, if any.
    pub fn touched_by(&self, call: &SocketCall) -> Option<Access> {
        // A log is read from another process: its numbers may be anything.
        let first = call.address.max(self.address);
        let behind = call.address.saturating_add(call.len);
        let behind = behind.min(self.address.saturating_add(self.len));
        (first < behind).then(|| Access {
            write: call.write,
            from: first - self.address,
            to: behind - self.address,
            how: How::Socket {
                peer_port: call.peer_port,
                clock_ns: call.clock_ns,
            },
        })
    }
}

/// Bytes of a buffer that a call touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched<'a> {
    /// The buffer.
    pub buffer: &'a Placed,
    /// The access, in bytes of the buffer.
    pub access: Access,
}

/// Which bytes of which buffers the calls touched, in the order of the calls; buffers that share memory are all named. Bytes
/// beside the buffers are left out.
pub fn touched<'a>(
    calls: impl IntoIterator<Item = SocketCall>,
    buffers: &'a [Placed],
) -> impl Iterator<Item = Touched<'a>> {
    calls.into_iter().flat_map(move |call| {
        buffers.iter().filter_map(move |buffer| {
            let access = buffer.touched_by(&call)?;
            Some(Touched { buffer, access })
        })
    })
}

/// The witness over one buffer of a process whose socket calls are logged. `source` gives the lines since its last call, and
/// an error if some of them were lost: a log with a hole is no witness.
pub struct SocketLog<S> {
    buffer: Placed,
    source: S,
    armed: Option<Range<u64>>,
}

impl<S> SocketLog<S>
where
    S: FnMut() -> Result<Vec<SocketCall>, WitnessError>,
{
    /// Watches a buffer through a log.
    pub fn new(buffer: Placed, source: S) -> SocketLog<S> {
        SocketLog {
            buffer,
            source,
            armed: None,
        }
    }
}

impl<S> fmt::Debug for SocketLog<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SocketLog");
        let shown = shown.field("buffer", &self.buffer).field("armed", &self.armed);
        shown.finish_non_exhaustive()
    }
}

/// What the socket log of a process sees of its memory: what the kernel copies for its sockets, and nothing else.
pub fn sight() -> Sight {
    Sight::of(
        [AccessKind::read(Way::Socket), AccessKind::write(Way::Socket)],
        Grain::Each,
    )
}

impl<S> Witness for SocketLog<S>
where
    S: FnMut() -> Result<Vec<SocketCall>, WitnessError>,
{
    fn name(&self) -> &'static str {
        "socket log"
    }

    fn sight(&self) -> Sight {
        sight()
    }

    fn arm(&mut self, bytes: Range<u64>) -> Result<(), WitnessError> {
        if bytes.end > self.buffer.len {
            return Err(WitnessError::Outside {
                from: bytes.start,
                to: bytes.end,
                size: self.buffer.len,
            });
        }
        // Calls from before are no part of this epoch.
        (self.source)()?;
        self.armed = Some(bytes);
        Ok(())
    }

    fn accesses(&mut self) -> Result<Vec<Access>, WitnessError> {
        let calls = (self.source)()?;
        let Some(armed) = &self.armed else {
            return Ok(Vec::new());
        };
        let clip = |access: Access| {
            let (from, to) = (access.from.max(armed.start), access.to.min(armed.end));
            (from < to).then_some(Access { from, to, ..access })
        };
        let seen = calls.iter().filter_map(|call| self.buffer.touched_by(call));
        Ok(seen.filter_map(clip).collect())
    }

    fn disarm(&mut self) -> Result<(), WitnessError> {
        self.armed = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(write: bool, address: u64, len: u64) -> SocketCall {
        SocketCall {
            write,
            address,
            len,
            peer_port: 15_000,
            clock_ns: 61,
        }
    }

    fn buffer(name: &str, address: u64, len: u64) -> Placed {
        Placed {
            name: name.to_owned(),
            address,
            len,
        }
    }

    #[test]
    fn calls_are_told_by_buffer_and_byte() {
        let buffers = [buffer("b1", 1000, 100), buffer("b2", 1100, 50)];
        let calls = [
            call(true, 1090, 20),
            call(false, 0, 1000),
            call(false, 1149, 1),
            call(true, 1000, 0),
            call(true, u64::MAX - 1, u64::MAX),
        ];
        let told: Vec<_> = touched(calls, &buffers)
            .map(|told| {
                (
                    told.buffer.name.as_str(),
                    told.access.write,
                    told.access.from,
                    told.access.to,
                )
            })
            .collect();
        assert_eq!(
            told,
            [("b1", true, 90, 100), ("b2", true, 0, 10), ("b2", false, 49, 50)]
        );
    }

    #[test]
    fn a_log_is_told_from_its_epoch_on_and_a_hole_is_no_silence() {
        let mut lines = vec![
            Err(WitnessError::Nonsense("3 lines were lost".to_owned())),
            Ok(vec![call(false, 1010, 20)]),
            Ok(vec![call(true, 1000, 20)]),
        ];
        let mut log = SocketLog::new(buffer("b1", 1000, 100), || {
            lines.pop().unwrap_or_else(|| Ok(Vec::new()))
        });
        log.arm(0..15).unwrap();
        let how = How::Socket {
            peer_port: 15_000,
            clock_ns: 61,
        };
        let read = Access {
            write: false,
            from: 10,
            to: 15,
            how,
        };
        assert_eq!(
            log.accesses().unwrap(),
            [read],
            "the first line is older than the epoch"
        );
        assert!(log.accesses().is_err());
        assert!(log.arm(0..101).is_err());
    }
}
