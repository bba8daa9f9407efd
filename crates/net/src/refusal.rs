//! An answer in the type of its call that says nothing but a code.

use moonquake_protocol::struct_pack::Width;
use moonquake_protocol::{ErrorCode, Request, Response};

/// First byte of the literal of a vector.
const VECTOR: u8 = 0x84;
/// First byte of the literal of an expected.
const EXPECTED: u8 = 0x87;

/// The answer to `request` that says `code`: in batches for every entry. RemoveAll, whose answer is a plain count, says
/// the number of the code.
pub fn refusal(request: &Request, code: ErrorCode) -> Response {
    let rpc = request.rpc();
    let tag = rpc.response_type();
    // Lengths of four bytes in any case: the decoder takes wider ones than necessary.
    let mut body = (tag.hash() | 1).to_le_bytes().to_vec();
    body.push(Width::Four.bits() << 3);
    let entry = [&[0][..], &code.value().to_le_bytes()].concat();
    match tag.literal().first() {
        Some(&VECTOR) => {
            let entries = entries(request);
            body.extend_from_slice(&u32::try_from(entries).unwrap_or(u32::MAX).to_le_bytes());
            body.extend(entry.repeat(entries));
        }
        Some(&EXPECTED) => body.extend_from_slice(&entry),
        _ => body.extend_from_slice(&i64::from(code.value()).to_le_bytes()),
    }
    Response::decode(rpc, &body).expect("every method answers an expected, a list of them or a count")
}

/// How many entries the answer to a batch has.
fn entries(request: &Request) -> usize {
    match request {
        Request::BatchGetReplicaList { keys, .. }
        | Request::BatchPutStart { keys, .. }
        | Request::BatchPutRevoke { keys, .. }
        | Request::BatchUpsertStart { keys, .. }
        | Request::BatchUpsertRevoke { keys, .. }
        | Request::BatchRemove { keys, .. }
        | Request::BatchExistKey { keys, .. }
        | Request::BatchEvictDiskReplica { keys, .. } => keys.len(),
        Request::BatchPutEnd { object_metas, .. } | Request::BatchUpsertEnd { object_metas, .. } => {
            object_metas.len()
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::refusal;
    use moonquake_protocol::frame::{FrameDecoder, RequestHeader, decode_request};
    use moonquake_protocol::{ErrorCode, Request, Response, Rpc, Uuid};

    #[test]
    fn a_batch_is_refused_entry_by_entry() {
        let keys: Vec<String> = (0..300).map(|index| index.to_string()).collect();
        let request = Request::BatchRemove {
            keys,
            force: false,
            tenant_id: "default".to_owned(),
        };
        let refused = Response::BatchRemove(vec![Err(ErrorCode::RpcFail); 300]);
        assert_eq!(refusal(&request, ErrorCode::RpcFail), refused);
        let single = Request::Ping {
            client_id: Uuid::new(1, 2),
        };
        assert_eq!(
            refusal(&single, ErrorCode::RpcFail),
            Response::Ping(Err(ErrorCode::RpcFail))
        );
        let plain = Request::RemoveAll {
            force: true,
            tenant_id: String::new(),
        };
        assert_eq!(
            refusal(&plain, ErrorCode::ObjectHasLease),
            Response::RemoveAll(-706)
        );
    }

    /// Requests of every method, as an independent client sent them.
    #[test]
    fn every_method_can_be_refused() {
        let mut seen = std::collections::BTreeSet::new();
        for line in include_str!("../../../fixtures/wire/golden-frames-extra.jsonl").lines() {
            let vector: serde_json::Value = serde_json::from_str(line).expect("a vector is JSON");
            if vector["dir"] != "request" {
                continue;
            }
            let hex = vector["hex"].as_str().expect("a vector has bytes");
            let bytes: Vec<u8> = (0..hex.len() / 2)
                .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"))
                .collect();
            let mut decoder = FrameDecoder::<RequestHeader>::new();
            decoder.feed(&bytes);
            let Ok(Some(frame)) = decoder.next_frame() else {
                continue;
            };
            let Ok(request) = decode_request(&frame.header, &frame.body) else {
                continue;
            };
            assert_eq!(refusal(&request, ErrorCode::RpcTimeout).rpc(), request.rpc());
            seen.insert(request.rpc());
        }
        assert!(
            seen.len() > 40,
            "only {} of {} methods have a vector",
            seen.len(),
            Rpc::ALL.len()
        );
    }
}
