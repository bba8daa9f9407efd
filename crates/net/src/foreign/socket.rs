//! Sockets of ours towards a foreign client, and what the kernel knows of them and of their other ends.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// The receive buffer of each data connection of the relay; the kernel takes twice as much. What a sender can send ahead
/// of what is carried is this and its own send buffer.
pub(super) const RECEIVE_BYTES: u32 = 64 << 10;
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1_024;

/// A connection that is read by a task and written by calls.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    writing: tokio::sync::Mutex<()>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Wire {
        // Frames are whole messages: waiting to fill a packet only delays them. A socket that cannot do it still works.
        let _ = stream.set_nodelay(true);
        Wire {
            stream,
            writing: tokio::sync::Mutex::new(()),
        }
    }

    /// Writes all of it, without the frames of others in between.
    pub(super) async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let _turn = self.writing.lock().await;
        let mut written = 0;
        while written < bytes.len() {
            self.stream.writable().await?;
            match self.stream.try_write(&bytes[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the other side has closed, whatever it had sent before.
    pub(super) fn is_hung_up(&self) -> bool {
        is_hung_up(&self.stream)
    }
}

/// Whether the end of the other side has arrived, behind whatever is unread.
pub(super) fn is_hung_up(stream: &TcpStream) -> bool {
    has(stream, PollFlags::RDHUP)
}

/// Whether the other side has sent something that is unread, or its end has arrived.
pub(super) fn has_spoken(stream: &TcpStream) -> bool {
    has(stream, PollFlags::RDHUP | PollFlags::IN)
}

/// Asks the kernel. What the runtime knows of a socket is what it has been told of, and that may be late.
fn has(stream: &TcpStream, event: PollFlags) -> bool {
    let mut asked = [PollFd::new(stream, event | PollFlags::HUP | PollFlags::ERR)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // A socket that cannot be asked is as good as none.
    !matches!(poll(&mut asked, Some(&now)), Ok(0))
}

/// Bytes in the kernel that nobody has read.
pub(super) fn unread_bytes(stream: &TcpStream) -> u64 {
    ioctl_fionread(stream).unwrap_or(0)
}

/// A listener whose connections take little ahead.
pub(super) fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
