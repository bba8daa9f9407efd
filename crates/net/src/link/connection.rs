//! One connection of a client: its own socket, the tap's two, and what is outstanding on it.

use super::frame_log::MessageId;
use crate::runtime::NetError;
use crate::stream::FrameStream;
use moonquake_protocol::frame::{RequestHeader, ResponseHeader};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// The tap's way to the master.
#[derive(Debug)]
pub(super) enum Up {
    /// Not made yet: the tap connects when it first has something to pass on. A master that stands still accepts nobody,
    /// and its backlog is short.
    Unmade(SocketAddr),
    Open(Box<FrameStream<ResponseHeader>>),
    /// It could not be made, or it ended; the words say how.
    Gone(UpEnd),
}

/// Why there is no way to the master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UpEnd {
    Refused(String),
    Closed(String),
}

impl Up {
    /// Connects to the master if that has not been tried yet. A master that does not listen is no error here: the client
    /// learns it when it calls.
    pub(super) async fn make(&mut self) {
        let Up::Unmade(master) = *self else { return };
        *self = match FrameStream::connect(master).await {
            Ok(stream) => Up::Open(Box::new(stream)),
            Err(error) => Up::Gone(UpEnd::Refused(format!("{master}: {error}"))),
        };
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    /// The client's end; `None` when the client closed it or died.
    pub(super) client: Option<FrameStream<ResponseHeader>>,
    /// The tap's end of the same; `None` when the tap has seen its end or closed it.
    pub(super) down: Option<FrameStream<RequestHeader>>,
    pub(super) up: Up,
    pub(super) next_sequence: u32,
    /// The request that the client waits for.
    pub(super) busy: Option<MessageId>,
}

impl Connection {
    /// Connects the client to the tap. The tap connects to the master later; see [`Up::make`].
    pub(super) async fn open(tap: &TcpListener, master: SocketAddr) -> Result<Connection, NetError> {
        let address = tap
            .local_addr()
            .map_err(|error| NetError::io("asking for the tap's address", error))?;
        let client = async {
            FrameStream::connect(address)
                .await
                .map_err(|error| NetError::io("connecting to the tap", error))
        };
        let (client, first) = tokio::try_join!(client, accept(tap))?;
        let client_address = client
            .local_address()
            .map_err(|error| NetError::io("asking for the client's address", error))?;
        // Whoever else found the tap's port is turned away.
        let mut accepted = first;
        while accepted.1 != client_address {
            accepted = accept(tap).await?;
        }
        let down = Some(FrameStream::new(accepted.0));
        Ok(Connection {
            client: Some(client),
            down,
            up: Up::Unmade(master),
            next_sequence: 0,
            busy: None,
        })
    }

    /// Whether the client may use it for its next request.
    pub(super) fn is_free(&self) -> bool {
        self.client.is_some() && self.down.is_some() && self.busy.is_none()
    }
}

async fn accept(tap: &TcpListener) -> Result<(tokio::net::TcpStream, SocketAddr), NetError> {
    tap.accept()
        .await
        .map_err(|error| NetError::io("accepting at the tap", error))
}
