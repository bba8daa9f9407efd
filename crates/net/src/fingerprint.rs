//! Which release the master is of, asked before anything else is.

use crate::link::Link;
use crate::runtime::{Net, NetError};
use crate::stream::{FrameStream, StreamEnd};
use moonquake_protocol::fingerprint::{
    PeerMismatch, RELEASES, Release, SPOKEN_RELEASE, Seen, probes, releases_of,
};
use moonquake_protocol::frame::{Frame, RequestHeader, ResponseHeader, encode_request};
use moonquake_protocol::struct_pack::{encode_message, peek_type_hash};
use moonquake_protocol::{Literal, Request, Rpc, Uuid};
use std::net::SocketAddr;

/// The client id of the questions. No master keeps anything under it.
const ASKING: Uuid = Uuid::new(0x6d6f_6f6e, 0x7175_616b);
/// A key that nobody stores.
const NOBODYS_KEY: &str = "moonquake-probe";

/// Why a master is refused.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// It is of another release, or of none that is known.
    #[error(
        "the master at {address} is {}, and this build speaks {SPOKEN_RELEASE} only ({mismatch}); the types of the \
         store change with almost every release, so nothing it says can be trusted. To mend this, start the master of \
         mooncake-transfer-engine-non-cuda {SPOKEN_RELEASE} there, or name the address of one",
        called(found)
    )]
    OtherRelease {
        /// Where it is.
        address: SocketAddr,
        /// The releases it can be; empty if no known one fits.
        found: Vec<&'static str>,
        /// The question that gave it away.
        mismatch: Box<PeerMismatch>,
    },
    /// It does not speak as any master does.
    #[error(
        "what listens at {address} is no master of the store: {why}; name the RPC address of a master \
         (its default port is 50051), not that of its admin or metadata server"
    )]
    NotAMaster {
        /// Where it is.
        address: SocketAddr,
        /// What it did.
        why: String,
    },
    /// The question itself failed.
    #[error(transparent)]
    Net(#[from] NetError),
}

fn called(found: &[&'static str]) -> String {
    match found {
        [] => "of an unknown release".to_owned(),
        names => format!("of release {}", names.join(" or ")),
    }
}

/// Asks the master of a link, on a connection apart, and refuses any release but the pinned one.
///
/// 0.3.13 has the types of the pinned release and cannot be told from it over the wire.
///
/// # Errors
/// [`PeerError`], which names the release found and the one wanted.
pub fn check(link: &Link) -> Result<&'static Release, PeerError> {
    check_at(link.net(), link.master())
}

/// The same for an address.
///
/// # Errors
/// [`PeerError`], which names the release found and the one wanted.
pub fn check_at(net: &Net, address: SocketAddr) -> Result<&'static Release, PeerError> {
    let what = format!("asking the master at {address} for its release");
    let verdict = net.step(&what, ask(address))?;
    if let Err(error) = &verdict {
        tracing::error!(%address, "peer refused: {error}");
    }
    verdict
}

async fn ask(address: SocketAddr) -> Result<&'static Release, PeerError> {
    let mut stream = match FrameStream::connect(address).await {
        Ok(stream) => stream,
        Err(error) => {
            let what = format!("connecting to the master at {address}");
            return Err(NetError::Unreachable {
                what,
                why: error.to_string(),
            }
            .into());
        }
    };
    let not_a_master = |end: StreamEnd| PeerError::NotAMaster {
        address,
        why: end.to_string(),
    };
    for (sequence, probe) in (0..).zip(probes(ASKING)) {
        let request = encode_request(sequence, &probe.request, Literal::With);
        let answer = exchange(&mut stream, &request).await.map_err(not_a_master)?;
        if let Err(mismatch) = probe.judge(&answer.header, &answer.body) {
            let found = name_release(&mut stream).await.map_err(not_a_master)?;
            return Err(PeerError::OtherRelease {
                address,
                found,
                mismatch: Box::new(mismatch),
            });
        }
    }
    // The probes agree with exactly the types of this row.
    Ok(RELEASES
        .iter()
        .find(|release| release.name == SPOKEN_RELEASE)
        .unwrap_or(&RELEASES[RELEASES.len() - 1]))
}

/// GetReplicaList in its two forms: which one is taken and the type of the answer name most releases.
async fn name_release(stream: &mut FrameStream<ResponseHeader>) -> Result<Vec<&'static str>, StreamEnd> {
    let rpc = Rpc::GetReplicaList;
    let present = Request::GetReplicaList {
        key: NOBODYS_KEY.to_owned(),
        tenant_id: "default".to_owned(),
    };
    let old_body = encode_message(&NOBODYS_KEY.to_owned(), Literal::With);
    for frame in [
        encode_request(100, &present, Literal::With),
        raw_request(101, rpc, &old_body),
    ] {
        let answer = exchange(stream, &frame).await?;
        let asked = peek_type_hash(&frame[20..]);
        if let (0, Some(asked), Some(answered)) =
            (answer.header.error_code, asked, peek_type_hash(&answer.body))
        {
            let seen = [Seen::Request(rpc, asked), Seen::Response(rpc, answered)];
            return Ok(releases_of(&seen)
                .into_iter()
                .map(|release| release.name)
                .collect());
        }
    }
    Ok(Vec::new())
}

fn raw_request(sequence: u32, rpc: Rpc, body: &[u8]) -> Vec<u8> {
    let header = RequestHeader {
        sequence,
        function_id: rpc.function_id(),
        body_bytes: u32::try_from(body.len()).unwrap_or(u32::MAX),
        ..RequestHeader::default()
    };
    [&header.to_bytes()[..], body].concat()
}

async fn exchange(
    stream: &mut FrameStream<ResponseHeader>,
    request: &[u8],
) -> Result<Frame<ResponseHeader>, StreamEnd> {
    stream.write(request).await?;
    stream.next().await
}
