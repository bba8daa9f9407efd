//! A task for each connection, on the runtime with one worker thread.

use super::{Answers, Mill};
use crate::Failure;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

pub(super) fn serve(listener: TcpListener, answers: Answers) -> Result<(), Failure> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let answers = Arc::new(answers);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(answer(stream, answers.clone()));
        }
    })
}

async fn answer(mut stream: TcpStream, answers: Arc<Answers>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut mill = Mill::new();
    loop {
        match stream.read(mill.room()).await? {
            0 => return Ok(()),
            count => mill.answer(count, &answers)?,
        }
        stream.write_all(&mill.output).await?;
        mill.output.clear();
    }
}
