//! A stream of frames that arrives in pieces: no panic, no frame lost, the same frames however it is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use moonquake_protocol::frame::{Frame, FrameDecoder, FrameError, Header, RequestHeader, ResponseHeader};

/// Small, so that the fuzzer reaches the limit.
const LIMIT_BYTES: u64 = 1 << 16;

fn frames<H: Header>(stream: &[u8], piece_bytes: usize) -> (Vec<Frame<H>>, Option<FrameError>) {
    let mut decoder = FrameDecoder::with_limit(LIMIT_BYTES);
    let mut frames = Vec::new();
    for piece in stream.chunks(piece_bytes) {
        decoder.feed(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

fuzz_target!(|bytes: &[u8]| {
    let [piece, stream @ ..] = bytes else { return };
    let piece_bytes = usize::from(*piece) + 1;
    let whole = stream.len().max(1);
    assert_eq!(
        frames::<RequestHeader>(stream, piece_bytes),
        frames(stream, whole)
    );
    assert_eq!(
        frames::<ResponseHeader>(stream, piece_bytes),
        frames(stream, whole)
    );
});
