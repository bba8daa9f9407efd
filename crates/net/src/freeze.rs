//! How a server of ours stands still, and how it dies.

use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::Instrument;

/// The switch that makes one server stand still: nothing is read, written or accepted while it is on. What is sent to
/// it waits in the kernel, as it does for a stopped process.
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

    /// Returns when the server is not frozen.
    pub(crate) async fn thawed(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.frozen.subscribe().wait_for(|frozen| !frozen).await;
    }

    /// Returns when the server is frozen.
    pub(crate) async fn frozen(&self) {
        let _ = self.frozen.subscribe().wait_for(|frozen| *frozen).await;
    }

    /// Does `work` unless the server is frozen. `set` waits for work that has begun, so that nothing happens after it
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

/// More connections at once than this are turned away, so that what strangers can make a server hold is bounded.
pub(crate) const CONNECTIONS_MAX: usize = 1_024;
/// How long a listener rests after the system refused to accept, for example for want of file descriptors.
const REST: Duration = Duration::from_millis(10);

/// What all tasks of one server listen to.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) freeze: Freeze,
    dead: watch::Sender<bool>,
}

impl Default for Life {
    fn default() -> Life {
        Life {
            freeze: Freeze::new(),
            dead: watch::Sender::new(false),
        }
    }
}

impl Life {
    /// Ends every task.
    pub(crate) fn kill(&self) {
        self.dead.send_replace(true);
    }

    /// Returns when the server is dead.
    pub(crate) async fn killed(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.dead.subscribe().wait_for(|dead| *dead).await;
    }

    /// Accepts until the server dies, and ends when every connection has ended. `serve` must end when it dies.
    pub(crate) async fn accept<F>(
        self,
        name: String,
        listener: TcpListener,
        serve: impl Fn(TcpStream) -> F + Send,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.killed() => break,
                Some(_) = connections.join_next() => continue,
                accepted = self.freeze.accept(&listener) => accepted,
            };
            match accepted {
                Ok(_) if connections.len() >= CONNECTIONS_MAX => {
                    tracing::warn!(
                        server = name,
                        "connection turned away: {CONNECTIONS_MAX} are open"
                    );
                }
                Ok(stream) => {
                    // Without it small frames wait for each other; a socket that cannot do it still works.
                    let _ = stream.set_nodelay(true);
                    connections.spawn(serve(stream).in_current_span());
                }
                Err(error) => {
                    tracing::warn!(server = name, "accepting failed: {error}");
                    // No event tells when the system has descriptors again.
                    tokio::time::sleep(REST).await;
                }
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }
}
