//! A switch that makes an owner stand still: nothing is read, written or accepted while it is on.

use std::io;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The switch of one owner. What is sent to a frozen owner waits in the kernel, as it does for a stopped process.
#[derive(Clone, Debug)]
pub(crate) struct Freeze {
    frozen: watch::Sender<bool>,
}

impl Freeze {
    pub(crate) fn new() -> Freeze {
        Freeze {
            frozen: watch::Sender::new(false),
        }
    }

    pub(crate) fn set(&self, frozen: bool) {
        self.frozen.send_replace(frozen);
    }

    pub(crate) fn is_frozen(&self) -> bool {
        *self.frozen.borrow()
    }

    /// Returns when the owner is not frozen.
    pub(crate) async fn thawed(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.frozen.subscribe().wait_for(|frozen| !frozen).await;
    }

    /// Returns when the owner is frozen.
    pub(crate) async fn frozen(&self) {
        let _ = self.frozen.subscribe().wait_for(|frozen| *frozen).await;
    }

    /// Does `work` unless the owner is frozen. `set` waits for work that has begun, so that nothing happens after it
    /// has returned.
    fn unless_frozen<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let frozen = self.frozen.borrow();
        if *frozen { None } else { Some(work()) }
    }

    /// Reads what is there, at least one byte; 0 is the end of the stream.
    pub(crate) async fn read(&self, stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.thawed().await;
            stream.readable().await?;
            match self.unless_frozen(|| stream.try_read(buffer)) {
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
                Some(result) => return result,
                None => {}
            }
        }
    }

    /// Fills the buffer. `Ok(n)` with `n` below its length: the stream ended there.
    pub(crate) async fn read_full(&self, stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(stream, &mut buffer[filled..]).await? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Writes all of `bytes`.
    pub(crate) async fn write_all(&self, stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            self.thawed().await;
            stream.writable().await?;
            match self.unless_frozen(|| stream.try_write(&bytes[written..])) {
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
                Some(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Some(result) => written += result?,
                None => {}
            }
        }
        Ok(())
    }

    /// Accepts the next connection.
    pub(crate) async fn accept(&self, listener: &TcpListener) -> io::Result<TcpStream> {
        loop {
            self.thawed().await;
            tokio::select! {
                biased;
                () = self.frozen() => {}
                accepted = listener.accept() => return accepted.map(|(stream, _)| stream),
            }
        }
    }
}
