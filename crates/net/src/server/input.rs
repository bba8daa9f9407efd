//! What has arrived on a connection and is not answered.

use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Room to read into, of a connection that rests.
const REST_BYTES: usize = 16 << 10;
/// The most room that all connections together have beyond that. A peer that sends a part of a frame and nothing more keeps what
/// it has as long as it likes, as it does at the real master, so that only their sum can be bounded.
const LONG_BYTES: usize = 1 << 30;

/// How much room the connections have beyond what each has at rest.
#[derive(Debug)]
pub(super) struct Room {
    left: AtomicUsize,
}

impl Default for Room {
    fn default() -> Room {
        Room::of(LONG_BYTES)
    }
}

impl Room {
    fn of(bytes: usize) -> Room {
        Room {
            left: AtomicUsize::new(bytes),
        }
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        let take = |left: usize| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map(|_| ()).map_err(|_| {
            let why = "the memory for requests that have not arrived as a whole is used up";
            io::Error::new(io::ErrorKind::OutOfMemory, why)
        })
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Arrived bytes. The room grows with what has arrived, never with what a length field announces.
#[derive(Debug)]
pub(super) struct Input<'a> {
    room: &'a Room,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(room: &'a Room) -> Input<'a> {
        Input {
            room,
            buffer: vec![0; REST_BYTES],
            begin: 0,
            end: 0,
        }
    }

    /// What waits.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.buffer[self.begin..self.end]
    }

    /// So much from the front of it is done with.
    pub(super) fn done(&mut self, bytes: usize) {
        self.begin += bytes;
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Reads once behind what waits; 0 is the end of the stream.
    pub(super) fn read(&mut self, mut source: impl Read) -> io::Result<usize> {
        self.make_room()?;
        let count = source.read(&mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count)
    }

    fn make_room(&mut self) -> io::Result<()> {
        if self.end == 0 && self.buffer.len() > REST_BYTES {
            // A long frame is over; a connection that rests is to cost little.
            *self = Input::new(self.room);
        }
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end == self.buffer.len() {
            self.room.take(self.end)?;
            self.buffer.resize(2 * self.end, 0);
        }
        Ok(())
    }
}

impl Drop for Input<'_> {
    fn drop(&mut self) {
        self.room.give_back(self.buffer.len() - REST_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, REST_BYTES, Room};
    use std::io::ErrorKind;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_waits_is_what_came_less_what_is_done() {
        let bytes: Vec<u8> = (0..=255_u8).cycle().take(5 * REST_BYTES + 3).collect();
        let room = Room::default();
        let (mut source, mut input, mut done) = (bytes.as_slice(), Input::new(&room), 0);
        // Now and then a little is done with, in the end everything.
        while input.read(&mut source).unwrap() > 0 {
            assert!(bytes[done..].starts_with(input.waiting()));
            let some = input.waiting().len() / 7;
            input.done(some);
            done += some;
        }
        assert_eq!(input.waiting(), &bytes[done..]);
        assert!(input.buffer.len() <= 2 * bytes.len());
        input.done(bytes.len() - done);
        assert_eq!(input.read(&mut &b"x"[..]).unwrap(), 1);
        assert_eq!((input.waiting(), input.buffer.len()), (&b"x"[..], REST_BYTES));
    }

    #[test]
    fn peers_that_send_half_a_frame_share_what_there_is() {
        let room = Room::of(3 * REST_BYTES);
        let fill = |input: &mut Input<'_>, bytes: usize| {
            let mut source = &vec![7; bytes][..];
            while !source.is_empty() {
                input.read(&mut source)?;
            }
            std::io::Result::Ok(())
        };
        let (mut one, mut two) = (Input::new(&room), Input::new(&room));
        fill(&mut one, 3 * REST_BYTES).unwrap();
        // One has all of it, and what another brings with itself is its own.
        fill(&mut two, REST_BYTES).unwrap();
        let refused = fill(&mut two, 1).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OutOfMemory);
        // Whoever is done, or goes, gives back.
        one.done(3 * REST_BYTES);
        fill(&mut one, 1).unwrap();
        fill(&mut two, 2 * REST_BYTES).unwrap();
        drop((one, two));
        assert_eq!(room.left.load(Ordering::Relaxed), 3 * REST_BYTES);
    }
}
