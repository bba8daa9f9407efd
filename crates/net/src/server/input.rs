//! What has arrived on a connection and is not answered.

use std::io::{self, Read};

/// Room to read into, of a connection that rests.
const REST_BYTES: usize = 16 << 10;

/// Arrived bytes. The room grows with what has arrived, never with what a length field announces.
#[derive(Debug)]
pub(super) struct Input {
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Input {
    pub(super) fn new() -> Input {
        Input {
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
        self.make_room();
        let count = source.read(&mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count)
    }

    fn make_room(&mut self) {
        if self.end == 0 && self.buffer.len() > REST_BYTES {
            // A long frame is over; a connection that rests is to cost little.
            *self = Input::new();
        }
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, REST_BYTES};

    #[test]
    fn what_waits_is_what_came_less_what_is_done() {
        let bytes: Vec<u8> = (0..=255_u8).cycle().take(5 * REST_BYTES + 3).collect();
        let (mut source, mut input, mut done) = (bytes.as_slice(), Input::new(), 0);
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
}
