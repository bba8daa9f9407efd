//! Frames out of a stream that arrives in pieces.

use super::{FrameError, Header};
use std::marker::PhantomData;

/// The default limit on body and attachment of one frame: 64 MiB. The real master has none.
pub const BODY_BYTES_MAX: u64 = 64 << 20;

/// Buffered bytes that were handed out already are dropped once there are this many of them.
const CONSUMED_BYTES_MAX: usize = 64 << 10;

/// A header with all that it announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<H> {
    /// The header.
    pub header: H,
    /// The struct_pack message; may be empty.
    pub body: Vec<u8>,
    /// Read and ignored; the store never sends one.
    pub attachment: Vec<u8>,
}

/// A frame where it lies among the bytes that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameView<'a, H> {
    /// The header.
    pub header: H,
    /// The struct_pack message; may be empty.
    pub body: &'a [u8],
    /// Read and ignored; the store never sends one.
    pub attachment: &'a [u8],
}

impl<H: Header> FrameView<'_, H> {
    /// How many bytes the whole frame takes.
    pub fn frame_bytes(&self) -> usize {
        H::BYTES + self.body.len() + self.attachment.len()
    }
}

/// The frame at the front of `arrived`, without copying it; `None` if it is not complete yet. Body and attachment
/// together may have `limit` bytes, of which nothing is allocated here.
///
/// # Errors
/// [`FrameError`] if the stream cannot go on.
pub fn first_frame<H: Header>(arrived: &[u8], limit: u64) -> Result<Option<FrameView<'_, H>>, FrameError> {
    let Some(header) = H::parse(arrived)? else {
        return Ok(None);
    };
    let (body_bytes, attachment_bytes) = (header.body_bytes(), header.attachment_bytes());
    if u64::from(body_bytes) + u64::from(attachment_bytes) > limit {
        return Err(FrameError::TooLarge {
            body_bytes,
            attachment_bytes,
            limit,
        });
    }
    let rest = arrived.get(H::BYTES..).unwrap_or_default();
    let Some((body, rest)) = rest.split_at_checked(body_bytes as usize) else {
        return Ok(None);
    };
    let attachment = rest.get(..attachment_bytes as usize);
    Ok(attachment.map(|attachment| FrameView {
        header,
        body,
        attachment,
    }))
}

/// Cuts a stream into frames. It holds what arrived and nothing more: a length in a header allocates nothing, and
/// one above the limit is an error as soon as the header is complete. After an error the stream has no more frames.
#[derive(Clone, Debug)]
pub struct FrameDecoder<H> {
    buffer: Vec<u8>,
    consumed_bytes: usize,
    limit: u64,
    failed: Option<FrameError>,
    frames: PhantomData<H>,
}

impl<H: Header> Default for FrameDecoder<H> {
    fn default() -> Self {
        Self::with_limit(BODY_BYTES_MAX)
    }
}

impl<H: Header> FrameDecoder<H> {
    /// With the default limit of [`BODY_BYTES_MAX`].
    pub fn new() -> Self {
        Self::default()
    }

    /// With a limit on body and attachment together, in bytes.
    pub fn with_limit(limit: u64) -> Self {
        Self {
            buffer: Vec::new(),
            consumed_bytes: 0,
            limit,
            failed: None,
            frames: PhantomData,
        }
    }

    /// Takes what arrived, in pieces of any size.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        if self.consumed_bytes == self.buffer.len() || self.consumed_bytes > CONSUMED_BYTES_MAX {
            self.buffer.drain(..self.consumed_bytes);
            self.consumed_bytes = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that arrived and belong to no complete frame yet. Not 0 at the end of the stream: it was cut.
    pub fn pending_bytes(&self) -> usize {
        self.buffer.len() - self.consumed_bytes
    }

    /// The next frame; `None` if it is not complete yet.
    ///
    /// # Errors
    /// [`FrameError`] if the stream cannot go on. The same error again from then on.
    pub fn next_frame(&mut self) -> Result<Option<Frame<H>>, FrameError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let next = self.try_next();
        if let Err(error) = next {
            self.failed = Some(error);
            self.buffer = Vec::new();
            self.consumed_bytes = 0;
        }
        next
    }

    fn try_next(&mut self) -> Result<Option<Frame<H>>, FrameError> {
        let Some(view) = first_frame::<H>(&self.buffer[self.consumed_bytes..], self.limit)? else {
            return Ok(None);
        };
        let frame = Frame {
            header: view.header,
            body: view.body.to_vec(),
            attachment: view.attachment.to_vec(),
        };
        self.consumed_bytes += view.frame_bytes();
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::FrameDecoder;
    use crate::frame::{FrameError, RequestHeader, ResponseHeader};

    #[test]
    fn frames_come_out_whole_however_they_went_in() {
        let header = RequestHeader {
            sequence: 7,
            body_bytes: 3,
            attachment_bytes: 2,
            ..Default::default()
        };
        let stream = [
            &header.to_bytes()[..],
            b"abc",
            b"xy",
            &header.to_bytes(),
            b"def",
            b"zw",
        ]
        .concat();
        for piece in [1, 2, 19, 20, 21, 25, stream.len()] {
            let mut decoder = FrameDecoder::<RequestHeader>::new();
            let mut frames = Vec::new();
            for bytes in stream.chunks(piece) {
                decoder.feed(bytes);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames.len(), 2, "pieces of {piece}");
            assert_eq!(
                (&frames[0].body[..], &frames[1].body[..]),
                (&b"abc"[..], &b"def"[..])
            );
            assert_eq!(
                (&frames[0].attachment[..], decoder.pending_bytes()),
                (&b"xy"[..], 0)
            );
        }
    }

    #[test]
    fn what_the_master_refuses_is_refused_for_good() {
        let good = RequestHeader::default().to_bytes();
        let broken = |offset: usize, value: u8| {
            let mut bytes = good;
            bytes[offset] = value;
            bytes
        };
        for (bytes, error) in [
            (
                &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
                FrameError::Magic { found: b'G' },
            ),
            (&broken(0, 0x16)[..], FrameError::Magic { found: 0x16 }),
            (&broken(1, 1)[..], FrameError::Version { found: 1 }),
            (&broken(2, 1)[..], FrameError::SerializeType { found: 1 }),
        ] {
            let mut decoder = FrameDecoder::<RequestHeader>::new();
            decoder.feed(bytes);
            assert_eq!(decoder.next_frame(), Err(error));
            decoder.feed(&good);
            assert_eq!(decoder.next_frame(), Err(error));
        }
        // The message type is ignored.
        let mut decoder = FrameDecoder::<RequestHeader>::new();
        decoder.feed(&broken(3, 9));
        assert_eq!(decoder.next_frame().unwrap().unwrap().header.message_type, 9);
    }

    #[test]
    fn a_length_above_the_limit_fails_at_the_header() {
        let at = |body_bytes, attachment_bytes| {
            let mut decoder = FrameDecoder::<ResponseHeader>::with_limit(100);
            decoder.feed(
                &ResponseHeader {
                    body_bytes,
                    attachment_bytes,
                    ..Default::default()
                }
                .to_bytes(),
            );
            decoder.next_frame()
        };
        assert_eq!(at(60, 40), Ok(None));
        assert!(matches!(at(60, 41), Err(FrameError::TooLarge { limit: 100, .. })));
        assert!(matches!(at(u32::MAX, u32::MAX), Err(FrameError::TooLarge { .. })));
    }
}
