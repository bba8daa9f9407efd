//! The initiator's side of one transfer, part by part.

use super::gate::{Gate, Progress};
use super::handshake::look_up;
use crate::runtime::{Net, NetError};
use moonquake_protocol::ErrorCode;
use moonquake_protocol::datapath::{DataHeader, DataOperation, DataStatus, DataVersion, STATUS_BYTES};
use moonquake_protocol::handshake::HANDSHAKE_PORT;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};

/// Why a transfer failed, as its initiator sees it.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The endpoint of the replica is no address.
    #[error("the endpoint {endpoint:?} is no address: {why}")]
    Endpoint {
        /// The text.
        endpoint: String,
        /// What is wrong with it.
        why: String,
    },
    /// The owner did not tell where its data listener is.
    #[error("no segment descriptor from {endpoint}: {why}")]
    LookUp {
        /// The daemon asked.
        endpoint: String,
        /// What happened.
        why: String,
    },
    /// The owner refused the range.
    #[error("the owner at {endpoint} refuses the range: it is not inside one of its registered buffers")]
    Refused {
        /// The daemon of the owner.
        endpoint: String,
    },
    /// The owner sent something else than a status.
    #[error("the owner at {endpoint} sent no status: {why}")]
    Status {
        /// The daemon of the owner.
        endpoint: String,
        /// What came.
        why: String,
    },
    /// The connection ended, or was never made.
    #[error("the connection to the owner at {endpoint} ended after {moved} bytes of the payload: {why}")]
    Closed {
        /// The daemon of the owner.
        endpoint: String,
        /// Bytes that had moved.
        moved: u64,
        /// What the system said.
        why: String,
    },
    /// The owner is one of ours and frozen: nothing can move now.
    #[error("the owner at {endpoint} is frozen; the transfer can go on when it is not")]
    Frozen {
        /// The daemon of the owner.
        endpoint: String,
    },
    /// The harness failed, or a real-time limit passed.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl TransferError {
    /// The store error that upstream's client reports.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::TransferFail
    }
}

/// One range to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRequest {
    /// The replica's `transport_endpoint`.
    pub endpoint: String,
    /// To the owner's memory, or from it.
    pub operation: DataOperation,
    /// The replica's `buffer_address`, plus what is skipped.
    pub address: u64,
    /// Length in bytes.
    pub size_bytes: u64,
    /// The highest version to use; the owner may know only the first.
    pub version: DataVersion,
}

/// An open transfer. Dropping it closes the connection without looking at what the owner makes of it.
#[derive(Debug)]
pub struct Transfer {
    net: Net,
    request: TransferRequest,
    version: DataVersion,
    stream: TcpStream,
    local: SocketAddr,
    /// Present if the owner is one of ours.
    gate: Option<Arc<Gate>>,
    moved: u64,
}

impl Transfer {
    /// Looks the owner up, connects and sends the header. Returns when the owner has read it, if it is one of ours, and
    /// for a read of version 2 when the status is here.
    ///
    /// # Errors
    /// [`TransferError`]. A version 2 write that a foreign owner refuses fails at its first part or at its end.
    pub fn open(net: &Net, request: TransferRequest) -> Result<Transfer, TransferError> {
        let what = format!("opening a transfer to {}", request.endpoint);
        let mut transfer = net.step(&what, connect(net, request))??;
        net.step(&what, transfer.begin())??;
        Ok(transfer)
    }

    /// Bytes of the payload that have moved.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// The version that both sides speak.
    pub fn version(&self) -> DataVersion {
        self.version
    }

    /// The ports of its connection: the own one and that of the owner. None if the connection is gone.
    pub fn ports(&self) -> Option<(u16, u16)> {
        let owner = self.stream.peer_addr().ok()?;
        Some((self.local.port(), owner.port()))
    }

    /// The number of its connection in the owner's log, if the owner is one of ours.
    pub fn connection(&self) -> Option<u64> {
        self.gate.as_ref()?.progress.borrow().connection
    }

    /// Whether the owner is one of ours, so that its log confirms every part.
    pub fn is_observed(&self) -> bool {
        self.gate.is_some()
    }

    /// Writes the next bytes. They are in the owner's memory when this returns, if the owner is one of ours; else they
    /// are in the kernel's hands.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn write_part(&mut self, bytes: &[u8]) -> Result<(), TransferError> {
        let what = self.check(DataOperation::Write, bytes.len())?;
        let net = self.net.clone();
        net.step(&what, self.push(bytes))?
    }

    /// Reads the next bytes into `out` and fills it.
    ///
    /// # Errors
    /// [`TransferError`].
    pub fn read_part(&mut self, out: &mut [u8]) -> Result<(), TransferError> {
        let what = self.check(DataOperation::Read, out.len())?;
        let net = self.net.clone();
        net.step(&what, self.pull(out))?
    }

    /// Ends the transfer: reads the status of a version 2 write and closes. Returns when the owner has seen the end, if
    /// it is one of ours.
    ///
    /// # Errors
    /// [`TransferError`]; a transfer with bytes left to move is out of order.
    pub fn finish(mut self) -> Result<(), TransferError> {
        let what = format!("finishing a transfer to {}", self.request.endpoint);
        if self.moved != self.request.size_bytes {
            let why = format!("{} of {} bytes have moved", self.moved, self.request.size_bytes);
            return Err(NetError::order(what, why).into());
        }
        let net = self.net.clone();
        net.step(&what, self.settle())??;
        self.close()
    }

    /// Closes the connection, whatever has moved. Returns when the owner has seen the end, if it is one of ours and not
    /// frozen.
    ///
    /// # Errors
    /// When the owner does not see it in real time.
    pub fn close(self) -> Result<(), TransferError> {
        let what = format!("closing a transfer to {}", self.request.endpoint);
        let net = self.net.clone();
        let gate = self.gate.clone();
        drop(self);
        let Some(gate) = gate else { return Ok(()) };
        net.step(&what, async {
            let mut progress = gate.progress.subscribe();
            tokio::select! {
                biased;
                _ = progress.wait_for(|progress| progress.closed.is_some()) => {}
                () = gate.freeze.frozen() => {}
            }
        })?;
        Ok(())
    }

    fn check(&self, operation: DataOperation, bytes: usize) -> Result<String, TransferError> {
        let what = format!("moving {bytes} bytes of a transfer to {}", self.request.endpoint);
        if self.request.operation != operation {
            return Err(NetError::order(what, "the transfer goes the other way").into());
        }
        let left = self.request.size_bytes - self.moved;
        if bytes as u64 > left {
            return Err(NetError::order(what, format!("only {left} bytes are left")).into());
        }
        match &self.gate {
            Some(gate) if gate.freeze.is_frozen() => Err(self.frozen()),
            _ => Ok(what),
        }
    }

    /// Sends the header and learns what can be learned of it.
    pub(crate) async fn begin(&mut self) -> Result<(), TransferError> {
        let header = DataHeader {
            size_bytes: self.request.size_bytes,
            address: self.request.address,
            operation: self.request.operation,
            version: self.version,
        };
        let sent = self.stream.write_all(&header.to_bytes()).await;
        sent.map_err(|error| self.closed(error))?;
        let mut accepted = None;
        if self.gate.is_some() {
            accepted = self
                .watched(|progress| progress.accepted.is_some())
                .await?
                .accepted;
        }
        match (self.version, self.request.operation, accepted) {
            (DataVersion::V2, DataOperation::Read, _) | (DataVersion::V2, _, Some(false)) => {
                self.read_status().await
            }
            // Version 1 says nothing but by closing.
            (DataVersion::V1, _, Some(false)) => Err(self.read_end().await),
            _ => Ok(()),
        }
    }

    pub(crate) async fn push(&mut self, bytes: &[u8]) -> Result<(), TransferError> {
        if let Some(gate) = &self.gate {
            gate.grant(bytes.len() as u64);
        }
        let mut written = 0;
        while written < bytes.len() {
            // A refusal comes while we write; who does not look at it can wait for ever.
            tokio::select! {
                ready = self.stream.writable() => ready.map_err(|error| self.closed(error))?,
                () = spoken(&self.stream) => return Err(self.early_word().await),
            }
            match self.stream.try_write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.closed(error)),
            }
        }
        self.arrived(bytes.len()).await
    }

    pub(crate) async fn pull(&mut self, out: &mut [u8]) -> Result<(), TransferError> {
        if let Some(gate) = &self.gate {
            gate.grant(out.len() as u64);
        }
        let read = self.stream.read_exact(out).await;
        read.map_err(|error| self.closed(error))?;
        self.arrived(out.len()).await
    }

    /// All bytes have moved: reads the status of a version 2 write.
    pub(crate) async fn settle(&mut self) -> Result<(), TransferError> {
        match (self.version, self.request.operation) {
            (DataVersion::V2, DataOperation::Write) => self.read_status().await,
            _ => Ok(()),
        }
    }

    /// Waits until the owner, if it is one of ours, has noted the part.
    async fn arrived(&mut self, bytes: usize) -> Result<(), TransferError> {
        let target = self.moved + bytes as u64;
        if self.gate.is_some() {
            let progress = self.watched(|progress| progress.moved >= target).await?;
            if progress.moved < target {
                return Err(self.closed("the owner closed before it had the part"));
            }
        }
        self.moved = target;
        Ok(())
    }

    /// Waits for the owner of ours.
    async fn watched(&self, reached: impl Fn(&Progress) -> bool) -> Result<Progress, TransferError> {
        let Some(gate) = &self.gate else {
            return Ok(Progress::default());
        };
        let mut progress = gate.progress.subscribe();
        let seen = tokio::select! {
            biased;
            seen = progress.wait_for(|progress| reached(progress) || progress.closed.is_some()) => seen.map(|seen| *seen),
            () = gate.freeze.frozen() => return Err(self.frozen()),
        };
        Ok(seen.unwrap_or_default())
    }

    async fn read_status(&mut self) -> Result<(), TransferError> {
        let mut status = [0; STATUS_BYTES];
        let read = self.stream.read_exact(&mut status).await;
        read.map_err(|error| self.closed(error))?;
        let endpoint = || self.request.endpoint.clone();
        match DataStatus::from_bytes(&status) {
            Ok(DataStatus::Ok) => Ok(()),
            Ok(DataStatus::AddressRefused) => Err(TransferError::Refused { endpoint: endpoint() }),
            Err(error) => Err(TransferError::Status {
                endpoint: endpoint(),
                why: error.to_string(),
            }),
        }
    }

    /// What the owner said before it had all bytes; it can only be a refusal, nonsense or its end.
    async fn early_word(&mut self) -> TransferError {
        match self.version {
            DataVersion::V1 => self.read_end().await,
            DataVersion::V2 => match self.read_status().await {
                Err(error) => error,
                Ok(()) => TransferError::Status {
                    endpoint: self.request.endpoint.clone(),
                    why: "it says the bytes are stored before it was given all of them".to_owned(),
                },
            },
        }
    }

    /// The end of a version 1 connection.
    async fn read_end(&mut self) -> TransferError {
        match self.stream.read(&mut [0; 1]).await {
            Ok(0) => self.closed("the owner closed"),
            Ok(_) => TransferError::Status {
                endpoint: self.request.endpoint.clone(),
                why: "version 1 has none, yet bytes came".to_owned(),
            },
            Err(error) => self.closed(error),
        }
    }

    fn closed(&self, why: impl ToString) -> TransferError {
        let endpoint = self.request.endpoint.clone();
        TransferError::Closed {
            endpoint,
            moved: self.moved,
            why: why.to_string(),
        }
    }

    fn frozen(&self) -> TransferError {
        TransferError::Frozen {
            endpoint: self.request.endpoint.clone(),
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // An owner that never read the header has not taken the gate.
        self.net.own().take(self.local);
        if let (Some(gate), DataOperation::Write) = (&self.gate, self.request.operation) {
            // The owner reads on, so that it finds the end of the stream behind whatever is still in it.
            gate.grant(u64::MAX);
        }
    }
}

/// Returns when the other side has sent something or closed.
async fn spoken(stream: &TcpStream) {
    // An error is found by whoever reads next.
    let _ = stream.peek(&mut [0; 1]).await;
}

pub(crate) async fn connect(net: &Net, request: TransferRequest) -> Result<Transfer, TransferError> {
    let endpoint = request.endpoint.clone();
    let (host, port) = split(&endpoint)?;
    let daemon = resolve(&endpoint, host, port).await?;
    if net
        .own()
        .owner_at(daemon)
        .is_some_and(|freeze| freeze.is_frozen())
    {
        return Err(TransferError::Frozen { endpoint });
    }
    let descriptor = look_up(daemon).await.map_err(|error| TransferError::LookUp {
        endpoint: endpoint.clone(),
        why: error.to_string(),
    })?;
    let data = resolve(&endpoint, descriptor.data_host(host), descriptor.tcp_data_port).await?;
    let closed = |error: io::Error| TransferError::Closed {
        endpoint: endpoint.clone(),
        moved: 0,
        why: format!("{data}: {error}"),
    };
    let stream = TcpStream::connect(data).await.map_err(closed)?;
    stream.set_nodelay(true).map_err(closed)?;
    let local = stream.local_addr().map_err(closed)?;
    let gate = net
        .own()
        .owner_at(data)
        .map(|freeze| net.own().register(local, freeze));
    let version = request
        .version
        .min(DataVersion::of_descriptor(descriptor.tcp_proto_version));
    Ok(Transfer {
        net: net.clone(),
        request,
        version,
        stream,
        local,
        gate,
        moved: 0,
    })
}

/// Host and port of an endpoint text.
fn split(endpoint: &str) -> Result<(&str, u16), TransferError> {
    let wrong = |why: &str| TransferError::Endpoint {
        endpoint: endpoint.to_owned(),
        why: why.to_owned(),
    };
    match endpoint.rsplit_once(':') {
        _ if endpoint.is_empty() => Err(wrong("it is empty, the segment has not told where it is served")),
        Some((host, port)) => match port.parse() {
            Ok(port) => Ok((host, port)),
            Err(_) => Err(wrong("its port is no number below 65536")),
        },
        None => Ok((endpoint, HANDSHAKE_PORT)),
    }
}

async fn resolve(endpoint: &str, host: &str, port: u16) -> Result<SocketAddr, TransferError> {
    let wrong = |why: String| TransferError::Endpoint {
        endpoint: endpoint.to_owned(),
        why,
    };
    let mut addresses = lookup_host((host, port))
        .await
        .map_err(|error| wrong(error.to_string()))?;
    addresses
        .next()
        .ok_or_else(|| wrong("its host has no address".to_owned()))
}
