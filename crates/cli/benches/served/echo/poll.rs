//! One thread that waits for all connections at once.

use super::{Answers, Mill};
use crate::Failure;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use std::io::{self, Read, Write};

const LISTENER: Token = Token(usize::MAX);

pub(super) fn serve(listener: std::net::TcpListener, answers: &Answers) -> Result<(), Failure> {
    listener.set_nonblocking(true)?;
    let mut listener = TcpListener::from_std(listener);
    let mut poll = Poll::new()?;
    poll.registry()
        .register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut events = Events::with_capacity(256);
    let mut open: Vec<Option<(TcpStream, Mill)>> = Vec::new();
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() == LISTENER {
                accept(&listener, &poll, &mut open)?;
                continue;
            }
            let Some(slot) = open.get_mut(event.token().0) else {
                continue;
            };
            if let Some((stream, mill)) = slot
                && !serve_one(stream, mill, answers)
            {
                *slot = None;
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    poll: &Poll,
    open: &mut Vec<Option<(TcpStream, Mill)>>,
) -> Result<(), Failure> {
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                stream.set_nodelay(true)?;
                poll.registry()
                    .register(&mut stream, Token(open.len()), Interest::READABLE)?;
                open.push(Some((stream, Mill::new())));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether the connection lives on.
fn serve_one(stream: &mut TcpStream, mill: &mut Mill, answers: &Answers) -> bool {
    loop {
        let room = mill.room().len();
        let count = match stream.read(mill.room()) {
            Ok(0) => return false,
            Ok(count) => count,
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        };
        // One call at a time is on its way, so that what is written always fits.
        if mill.answer(count, answers).is_err() || stream.write_all(&mill.output).is_err() {
            return false;
        }
        mill.output.clear();
        if count < room {
            return true;
        }
    }
}
