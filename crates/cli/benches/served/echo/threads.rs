//! A thread for each connection, with blocking calls.

use super::{Answers, Mill};
use crate::Failure;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

pub(super) fn serve(listener: &TcpListener, answers: Answers) -> Result<(), Failure> {
    let answers = Arc::new(answers);
    for stream in listener.incoming() {
        let (stream, answers) = (stream?, answers.clone());
        std::thread::spawn(move || answer(stream, &answers));
    }
    Ok(())
}

fn answer(mut stream: TcpStream, answers: &Answers) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut mill = Mill::new();
    loop {
        match stream.read(mill.room())? {
            0 => return Ok(()),
            count => mill.answer(count, answers)?,
        }
        stream.write_all(&mill.output)?;
        mill.output.clear();
    }
}
