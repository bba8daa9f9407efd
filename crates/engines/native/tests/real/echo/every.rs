//! Every method with arguments drawn without regard to their meaning.

use super::peer::Peer;
use super::values::{different, mounted, put, text};
use moonquake_protocol::strategies::request_of;
use moonquake_protocol::{Literal, ReplicateConfig, Request, Response, Rpc};

const CASES: usize = 8;
/// The master reserves memory for as many replicas as a put asks for: 2^64 - 1 of them are RPC error 10, `vector::reserve`.
const REPLICAS_MAX: u64 = 100_000;

/// The master takes every request for what it is, and its answer for what it is.
pub(crate) fn methods() {
    let mut peer = Peer::start([("enable_offload", "true".to_owned())]);
    let segments = mounted(&mut peer, 3);
    for key in different(&mut peer, 20, &text()) {
        put(&mut peer, &key, &segments[0].0.name);
    }
    for round in 0..CASES {
        for &rpc in Rpc::ALL {
            for literal in [Literal::With, Literal::Without] {
                let request = tamed(peer.draw(&request_of(rpc)));
                if let Err(error) = peer.call_as(&request, literal) {
                    panic!("{error} in round {round} to {request:?}");
                }
            }
        }
    }
    assert_eq!(peer.never_answered(), []);
    assert_eq!(
        peer.call(&Request::ServiceReady {}),
        Response::ServiceReady(Ok("2.0.0".to_owned()))
    );
}

fn tamed(mut request: Request) -> Request {
    let config: Option<&mut ReplicateConfig> = match &mut request {
        Request::PutStart { config, .. }
        | Request::UpsertStart { config, .. }
        | Request::BatchPutStart { config, .. }
        | Request::BatchUpsertStart { config, .. } => Some(config),
        _ => None,
    };
    if let Some(config) = config {
        config.replica_num %= REPLICAS_MAX;
    }
    request
}
