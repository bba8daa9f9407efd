//! The handshake daemon of an owner, and the question to one. Mirrors
//! `mooncake-transfer-engine/src/transfer_metadata_plugin.cpp`.

use super::owner::Owner;
use moonquake_protocol::handshake::{
    HandshakeDecoder, HandshakeError, HandshakeKind, HandshakeMessage, Notification, ProbeStatus,
    SegmentDescriptor,
};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The real daemon's socket time-out.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is read at once.
const READ_BYTES: usize = 4 << 10;

/// Answers one question and waits for the peer to close. Whatever is no question is closed without an answer.
pub(super) async fn answer(owner: Arc<Owner>, stream: TcpStream, descriptor: Arc<SegmentDescriptor>) {
    let mut exchange = pin!(exchange(&owner, stream, &descriptor));
    loop {
        let bounded = tokio::time::timeout(PATIENCE, &mut exchange);
        let outcome = tokio::select! {
            biased;
            () = owner.life.killed() => return,
            outcome = bounded => outcome,
        };
        match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => return tracing::warn!(owner = owner.name, "handshake dropped: {error}"),
            // A process that stands still does not run out of patience.
            Err(_) if owner.life.freeze.is_frozen() => {}
            Err(_) => {
                return tracing::warn!(owner = owner.name, "handshake dropped: silent for {PATIENCE:?}");
            }
        }
    }
}

async fn exchange(
    owner: &Owner,
    mut stream: TcpStream,
    descriptor: &SegmentDescriptor,
) -> Result<(), Unanswered> {
    let mut decoder = HandshakeDecoder::new();
    let mut buffer = vec![0; READ_BYTES];
    let question = loop {
        if let Some(question) = decoder.next_message()? {
            break question;
        }
        match owner.life.freeze.read(&stream, &mut buffer).await? {
            0 => return Err(Unanswered::Ended),
            count => decoder.feed(&buffer[..count]),
        }
    };
    question.parse::<serde_json::Value>()?;
    let kind = question.kind;
    let mut reply = match kind {
        HandshakeKind::Metadata => HandshakeMessage::new(kind, descriptor)?,
        HandshakeKind::Probe => HandshakeMessage::new(
            kind,
            &ProbeStatus {
                status: "success".to_owned(),
            },
        )?,
        HandshakeKind::Notify => {
            let done = Notification {
                name: String::new(),
                notify_msg: "success".to_owned(),
            };
            HandshakeMessage::new(kind, &done)?
        }
        // Only RDMA exchanges endpoints; over TCP there is nothing to say.
        HandshakeKind::Connection => return Err(Unanswered::Connection),
    };
    reply.old_form = question.old_form;
    owner.life.freeze.write_all(&stream, &reply.to_bytes()).await?;
    stream.shutdown().await?;
    while owner.life.freeze.read(&stream, &mut buffer).await? > 0 {}
    Ok(())
}

/// Why a handshake is closed without an answer.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("the peer closed before its question was whole")]
    Ended,
    #[error("it asks for an RDMA connection")]
    Connection,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
}

/// Asks a daemon for its owner's descriptor.
pub(crate) async fn look_up(daemon: SocketAddr) -> Result<SegmentDescriptor, LookUpError> {
    let mut stream = TcpStream::connect(daemon).await?;
    let empty = serde_json::Map::new();
    let question = HandshakeMessage::new(HandshakeKind::Metadata, &empty)?;
    stream.write_all(&question.to_bytes()).await?;
    let mut decoder = HandshakeDecoder::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        if let Some(reply) = decoder.next_message()? {
            return Ok(SegmentDescriptor::from_json(&reply.json)?);
        }
        match stream.read(&mut buffer).await? {
            0 => return Err(LookUpError::Ended),
            count => decoder.feed(&buffer[..count]),
        }
    }
}

/// Why a descriptor could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookUpError {
    #[error("the daemon closed without an answer")]
    Ended,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
}
