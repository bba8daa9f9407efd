//! The data listener's side of one connection. Mirrors
//! `mooncake-transfer-engine/src/transport/tcp_transport/tcp_transport_session_impl.h`.

use super::gate::Gate;
use super::log::{ClosedHow, OwnerEvent};
use super::owner::Owner;
use moonquake_protocol::datapath::{DATA_HEADER_BYTES, DataHeader, DataOperation, DataStatus, DataVersion};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// What is read or written at once, and how far apart the marks are that a stranger's transfer leaves in the log. The
/// real client's default grain (`MC_TCP_SLICE_SIZE`).
pub(super) const CHUNK_BYTES: u64 = 64 << 10;

/// Serves one data connection to its end, or until the owner dies, and notes it.
pub(super) async fn serve(owner: Arc<Owner>, stream: TcpStream) {
    let Ok(peer) = stream.peer_addr() else { return };
    let connection = owner.log.accepted();
    let mut session = Session {
        owner: &owner,
        stream,
        peer,
        gate: None,
        connection,
        buffer: Vec::new(),
    };
    let how = tokio::select! {
        biased;
        () = owner.life.killed() => ClosedHow::Killed,
        how = session.run() => how.unwrap_or(ClosedHow::Reset),
    };
    let gate = session.gate.take();
    drop(session);
    owner.log.closed(connection, how);
    if let Some(gate) = gate {
        gate.progress.send_modify(|progress| progress.closed = Some(how));
    }
}

struct Session<'a> {
    owner: &'a Owner,
    stream: TcpStream,
    peer: SocketAddr,
    gate: Option<Arc<Gate>>,
    connection: u64,
    buffer: Vec<u8>,
}

impl Session<'_> {
    async fn run(&mut self) -> io::Result<ClosedHow> {
        loop {
            let mut header = [0; DATA_HEADER_BYTES];
            match self
                .owner
                .life
                .freeze
                .read_full(&self.stream, &mut header)
                .await?
            {
                0 => return Ok(ClosedHow::Complete),
                DATA_HEADER_BYTES => {}
                _ => return Ok(ClosedHow::Early),
            }
            self.gate = self.gate.take().or_else(|| self.owner.own.take(self.peer));
            let header = DataHeader::from_bytes(&header);
            let offset = self.owner.offset_of(&header);
            self.note_opened(&header, offset.is_some());
            let Some(offset) = offset else {
                self.refuse(&header).await?;
                return Ok(ClosedHow::Refused);
            };
            let whole = match header.operation {
                DataOperation::Write => self.take(&header, offset).await?,
                DataOperation::Read => self.give(&header, offset).await?,
            };
            if !whole {
                return Ok(ClosedHow::Early);
            }
        }
    }

    fn note_opened(&self, header: &DataHeader, accepted: bool) {
        self.owner.log.opened(OwnerEvent::Opened {
            connection: self.connection,
            own: self.gate.is_some(),
            write: header.operation == DataOperation::Write,
            address: header.address,
            size: header.size_bytes,
            version: header.version,
            accepted,
        });
        if let Some(gate) = &self.gate {
            gate.progress.send_modify(|progress| {
                progress.connection = Some(self.connection);
                progress.accepted = Some(accepted);
            });
        }
    }

    /// Version 1 says nothing; version 2 says so before the body of a write was read.
    async fn refuse(&mut self, header: &DataHeader) -> io::Result<()> {
        tracing::warn!(
            owner = self.owner.name,
            connection = self.connection,
            address = header.address,
            size = header.size_bytes,
            "range refused: it is not inside the registered buffer"
        );
        match header.version {
            DataVersion::V1 => Ok(()),
            DataVersion::V2 => self.say(DataStatus::AddressRefused).await,
        }
    }

    async fn say(&self, status: DataStatus) -> io::Result<()> {
        self.owner
            .life
            .freeze
            .write_all(&self.stream, &status.to_bytes())
            .await
    }

    /// A write: `false` if the stream ends before its last byte.
    async fn take(&mut self, header: &DataHeader, offset: u64) -> io::Result<bool> {
        let mut marks = Marks::new(true);
        let mut moved = 0;
        while moved < header.size_bytes {
            let wanted = self.allowed(moved).await.min(header.size_bytes - moved);
            self.buffer.resize(length(wanted), 0);
            let count = self
                .owner
                .life
                .freeze
                .read(&self.stream, &mut self.buffer)
                .await? as u64;
            if count == 0 {
                marks.flush(self, moved);
                return Ok(false);
            }
            self.owner.store(offset + moved, &self.buffer[..length(count)]);
            moved += count;
            marks.reached(self, moved, moved == header.size_bytes);
        }
        if header.version == DataVersion::V2 {
            self.say(DataStatus::Ok).await?;
        }
        Ok(true)
    }

    /// A read: `false` if the initiator is gone before the last byte.
    async fn give(&mut self, header: &DataHeader, offset: u64) -> io::Result<bool> {
        if header.version == DataVersion::V2 {
            self.say(DataStatus::Ok).await?;
        }
        let mut marks = Marks::new(false);
        let mut moved = 0;
        while moved < header.size_bytes {
            let allowed = tokio::select! {
                biased;
                allowed = self.allowed(moved) => allowed,
                () = ended(&self.stream) => return Ok(false),
            };
            let count = allowed.min(header.size_bytes - moved);
            self.buffer.resize(length(count), 0);
            // The bytes are those that the memory holds when they leave, not when the read began.
            self.owner.life.freeze.thawed().await;
            self.owner.load(offset + moved, &mut self.buffer);
            self.owner
                .life
                .freeze
                .write_all(&self.stream, &self.buffer)
                .await?;
            moved += count;
            marks.reached(self, moved, moved == header.size_bytes);
        }
        Ok(true)
    }

    /// How many bytes may move next, at least one; waits for a grant where there is a gate.
    async fn allowed(&self, moved: u64) -> u64 {
        let Some(gate) = &self.gate else {
            return CHUNK_BYTES - moved % CHUNK_BYTES;
        };
        let mut granted = gate.granted.subscribe();
        let granted = match granted.wait_for(|granted| *granted > moved).await {
            Ok(granted) => *granted,
            Err(_) => u64::MAX,
        };
        (granted - moved).min(CHUNK_BYTES)
    }
}

/// When a transfer leaves a mark in the log: at the end of each grant, or of each chunk of a stranger's. So the log
/// does not depend on how the kernel cuts the stream.
struct Marks {
    write: bool,
    noted: u64,
}

impl Marks {
    fn new(write: bool) -> Marks {
        Marks { write, noted: 0 }
    }

    fn reached(&mut self, session: &Session<'_>, moved: u64, last: bool) {
        let due = match &session.gate {
            Some(gate) => *gate.granted.borrow() <= moved,
            None => moved.is_multiple_of(CHUNK_BYTES),
        };
        if due || last {
            self.flush(session, moved);
        }
    }

    fn flush(&mut self, session: &Session<'_>, moved: u64) {
        if moved > self.noted {
            session
                .owner
                .log
                .moved(session.connection, self.write, self.noted, moved);
            self.noted = moved;
        }
        if let Some(gate) = &session.gate {
            gate.progress.send_modify(|progress| progress.moved = moved);
        }
    }
}

/// Returns when the initiator is gone. What it sends too early is left alone, and hides its end.
async fn ended(stream: &TcpStream) {
    let mut byte = [0];
    match stream.peek(&mut byte).await {
        Ok(0) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

/// A length of at most one chunk.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
