//! One transfer through a relay, and how far it is. Every step can be broken off at any time and gone on with: what was
//! read and not passed on is kept here.

use super::socket::{has_spoken, is_hung_up};
use moonquake_protocol::datapath::{
    DATA_HEADER_BYTES, DataHeader, DataOperation, DataStatus, DataVersion, STATUS_BYTES,
};
use std::future::pending;
use std::io;
use tokio::net::TcpStream;

/// What is read at once.
const CHUNK_BYTES: u64 = 64 << 10;

/// How far a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its header waits at the relay.
    Taken,
    /// The owner has the header.
    Open,
    /// Nothing of it is to come: it is through, or it was refused, or a side is gone.
    Over(bool),
}

/// Why a transfer cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The client is gone.
    Client,
    /// The owner is gone.
    Owner,
    /// The owner has said something else than that all is well; the client was told.
    Said,
}

#[derive(Debug)]
pub(super) struct Passage {
    pub(super) lane: u64,
    pub(super) stage: Stage,
    /// Bytes of the payload that were passed on.
    pub(super) moved: u64,
    raw: [u8; DATA_HEADER_BYTES],
    raw_passed: usize,
    /// Bytes of the payload that were read and not passed on.
    ahead: Vec<u8>,
    /// What came of the owner's status.
    status: Vec<u8>,
    status_passed: usize,
}

impl Passage {
    pub(super) fn new(lane: u64, raw: [u8; DATA_HEADER_BYTES]) -> Passage {
        Passage {
            lane,
            stage: Stage::Taken,
            moved: 0,
            raw,
            raw_passed: 0,
            ahead: Vec::new(),
            status: Vec::new(),
            status_passed: 0,
        }
    }

    pub(super) fn header(&self) -> DataHeader {
        DataHeader::from_bytes(&self.raw)
    }

    pub(super) fn is_write(&self) -> bool {
        self.header().operation == DataOperation::Write
    }

    pub(super) fn has_status(&self) -> bool {
        self.header().version == DataVersion::V2
    }

    /// Bytes of the payload that were not passed on.
    pub(super) fn missing(&self) -> u64 {
        self.header().size_bytes.saturating_sub(self.moved)
    }

    /// Passes the header on, and back what the owner says to it. The status of a read has `Some`.
    pub(super) async fn open(
        &mut self,
        client: &TcpStream,
        owner: &TcpStream,
    ) -> Result<Option<DataStatus>, Stop> {
        let raw = self.raw;
        // Between two transfers an owner has nothing to say but its end.
        if self.raw_passed == 0 && has_spoken(owner) {
            return Err(Stop::Owner);
        }
        let passed = push(owner, &raw, &mut self.raw_passed).await;
        passed.map_err(|_| Stop::Owner)?;
        if self.is_write() || !self.has_status() {
            return Ok(None);
        }
        self.pass_status(client, owner).await.map(Some)
    }

    /// Reads the owner's status and passes it on, whatever it is.
    pub(super) async fn pass_status(
        &mut self,
        client: &TcpStream,
        owner: &TcpStream,
    ) -> Result<DataStatus, Stop> {
        while self.status.len() < STATUS_BYTES {
            let mut bytes = [0; STATUS_BYTES];
            let left = STATUS_BYTES - self.status.len();
            let read = tokio::select! {
                biased;
                read = pull(owner, &mut bytes[..left]) => read,
                () = ended(client) => return Err(Stop::Client),
            };
            match read {
                Ok(0) | Err(_) => return Err(Stop::Owner),
                Ok(count) => self.status.extend_from_slice(&bytes[..count]),
            }
        }
        let mut status = [0; STATUS_BYTES];
        status.copy_from_slice(&self.status);
        push(client, &status, &mut self.status_passed)
            .await
            .map_err(|_| Stop::Client)?;
        DataStatus::from_bytes(&status).map_err(|_| Stop::Said)
    }

    /// Moves the payload on up to its byte `until`; what is passed on is appended to `out`.
    pub(super) async fn carry(
        &mut self,
        client: &TcpStream,
        owner: &TcpStream,
        until: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        while self.moved < until {
            self.look(client, owner).await?;
            let left = until - self.moved;
            if self.ahead.is_empty() {
                self.fetch(client, owner, left.min(CHUNK_BYTES)).await?;
            }
            let now = self.ahead.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = self.hand_on(client, owner, now).await?;
            out.extend(self.ahead.drain(..count));
            self.moved += count as u64;
        }
        Ok(())
    }

    /// Whether the receiver can still be told anything: what it had said or done before is not overlooked.
    async fn look(&mut self, client: &TcpStream, owner: &TcpStream) -> Result<(), Stop> {
        if self.is_write() && has_spoken(owner) {
            return Err(self.early_word(client, owner).await);
        }
        if !self.is_write() && is_hung_up(client) {
            return Err(Stop::Client);
        }
        Ok(())
    }

    /// Reads from the sender, at least a byte.
    async fn fetch(&mut self, client: &TcpStream, owner: &TcpStream, most: u64) -> Result<(), Stop> {
        let mut buffer = vec![0; usize::try_from(most).unwrap_or(usize::MAX)];
        let (read, sender) = if self.is_write() {
            let read = tokio::select! {
                biased;
                () = spoken(owner) => return Err(self.early_word(client, owner).await),
                read = pull(client, &mut buffer) => read,
            };
            (read, Stop::Client)
        } else {
            let read = tokio::select! {
                biased;
                read = pull(owner, &mut buffer) => read,
                () = ended(client) => return Err(Stop::Client),
            };
            (read, Stop::Owner)
        };
        match read {
            Ok(0) | Err(_) => Err(sender),
            Ok(count) => {
                buffer.truncate(count);
                self.ahead = buffer;
                Ok(())
            }
        }
    }

    /// Writes some of what was read to the receiver, and says how much.
    async fn hand_on(&mut self, client: &TcpStream, owner: &TcpStream, most: usize) -> Result<usize, Stop> {
        let write = self.is_write();
        let (receiver, gone) = if write {
            (owner, Stop::Owner)
        } else {
            (client, Stop::Client)
        };
        loop {
            let ready = tokio::select! {
                biased;
                // Who does not hear a refusal while it writes can wait for ever.
                () = spoken(owner), if write => return Err(self.early_word(client, owner).await),
                ready = receiver.writable() => ready,
            };
            ready.map_err(|_| gone)?;
            match receiver.try_write(&self.ahead[..most]) {
                Ok(0) => return Err(gone),
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(gone),
            }
        }
    }

    /// What the owner of a write says before it has all bytes: a refusal, nonsense or its end.
    async fn early_word(&mut self, client: &TcpStream, owner: &TcpStream) -> Stop {
        if !self.has_status() {
            return Stop::Owner;
        }
        match self.pass_status(client, owner).await {
            Ok(_) => Stop::Said,
            Err(stop) => stop,
        }
    }
}

/// Reads what is there, at least a byte; 0 is the end.
async fn pull(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        stream.readable().await?;
        match stream.try_read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
}

/// Writes what of `bytes` was not written before.
async fn push(stream: &TcpStream, bytes: &[u8], written: &mut usize) -> io::Result<()> {
    while *written < bytes.len() {
        stream.writable().await?;
        match stream.try_write(&bytes[*written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns when the other side has sent something or closed.
async fn spoken(stream: &TcpStream) {
    // An error is found by whoever reads next.
    let _ = stream.peek(&mut [0; 1]).await;
}

/// Returns when the other side has closed. What it sends too early is left alone, and hides its end.
async fn ended(stream: &TcpStream) {
    match stream.peek(&mut [0; 1]).await {
        Ok(0) | Err(_) => {}
        Ok(_) => pending().await,
    }
}
