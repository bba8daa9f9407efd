//! Servers that do no work: each request gets an answer of the right kind and size that was made before, with the
//! sequence number put in. What they cost is what sockets cost.

mod poll;
mod threads;
mod tokio;

use crate::Failure;
use crate::frames;
use moonquake_protocol::frame::{Header, RequestHeader, ResponseHeader, encode_response};
use moonquake_protocol::{Literal, Rpc};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};

/// The word on the command line after which the shape of an echo stands: this program is then that echo.
pub(crate) const ROLE: &str = "--echo";

/// What is read at once, and the longest request.
const BUFFER_BYTES: usize = 64 << 10;

/// Serves until the process ends.
pub(crate) fn serve(shape: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("listening on {}", listener.local_addr()?);
    io::stdout().flush()?;
    let answers = Answers::new();
    match shape {
        "echo_tokio" => tokio::serve(listener, answers),
        "echo_poll" => poll::serve(listener, &answers),
        "echo_threads" => threads::serve(&listener, answers),
        other => Err(format!("there is no echo called {other}").into()),
    }
}

/// Whole frames by the function that is called.
#[derive(Clone, Debug)]
struct Answers(Vec<(u32, Vec<u8>)>);

impl Answers {
    fn new() -> Answers {
        let frame = |&rpc: &Rpc| {
            let answer = frames::answer(rpc)?;
            Some((rpc.function_id(), encode_response(0, &answer, Literal::With)))
        };
        Answers(Rpc::ALL.iter().filter_map(frame).collect())
    }

    fn to(&self, function_id: u32) -> Option<&[u8]> {
        let found = self.0.iter().find(|(id, _)| *id == function_id);
        found.map(|(_, frame)| frame.as_slice())
    }
}

/// What one connection has read and not answered, and what it has to write.
#[derive(Debug)]
struct Mill {
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
}

impl Mill {
    fn new() -> Mill {
        Mill {
            input: vec![0; BUFFER_BYTES],
            filled: 0,
            output: Vec::new(),
        }
    }

    /// Where to read to.
    fn room(&mut self) -> &mut [u8] {
        &mut self.input[self.filled..]
    }

    /// Takes what was read, and answers every whole request; what goes back is in `output`.
    fn answer(&mut self, count: usize, answers: &Answers) -> io::Result<()> {
        self.filled += count;
        let mut used = 0;
        while let Some(header) =
            RequestHeader::parse(&self.input[used..self.filled]).map_err(io::Error::other)?
        {
            let end = used + RequestHeader::BYTES + header.body_bytes() as usize;
            if end > self.filled {
                break;
            }
            let answer = answers
                .to(header.function_id)
                .ok_or(io::ErrorKind::InvalidInput)?;
            let begin = self.output.len();
            self.output.extend_from_slice(answer);
            self.output[begin + 4..begin + 8].copy_from_slice(&header.sequence.to_le_bytes());
            used = end;
        }
        self.input.copy_within(used..self.filled, 0);
        self.filled -= used;
        match self.filled < self.input.len() {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

/// So that the layout above is the one of the header.
const _: () = assert!(ResponseHeader::BYTES == 16);
