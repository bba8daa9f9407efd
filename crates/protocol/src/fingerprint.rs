//! Which release a peer is of. The version text is `2.0.0` in all of them; the type hashes tell them apart.

use crate::error_code::ErrorCode;
use crate::frame::{ResponseHeader, RpcError, RpcErrorCode, decode_response};
use crate::ids::Uuid;
use crate::rpc::{Request, Response, Rpc};
use crate::struct_pack::{DecodeError, peek_type_hash};
use crate::types::{ObjectMeta, ReplicateConfig, Segment};
use crate::{ReplicaType, TypeTag};

/// The text that ServiceReady answers since 0.3.8.
pub const SERVICE_VERSION: &str = "2.0.0";
/// The release whose types this crate has.
pub const SPOKEN_RELEASE: &str = "0.3.13.post1";
/// A key that nobody stores.
const PROBE_KEY: &str = "moonquake-probe";
const TENANT: &str = "default";

/// The hashes of one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version on PyPI.
    pub name: &'static str,
    /// Whether a real master of the release confirmed the hashes; else they were computed from its sources.
    pub confirmed: bool,
    hashes: [(u32, u32); FINGERPRINT_RPCS.len()],
}

/// The methods whose hashes make up a fingerprint.
pub const FINGERPRINT_RPCS: [Rpc; 5] = [
    Rpc::ExistKey,
    Rpc::GetReplicaList,
    Rpc::PutStart,
    Rpc::PutEnd,
    Rpc::MountSegment,
];

/// Every release whose hashes are known, oldest first.
pub const RELEASES: [Release; 6] = [
    Release {
        name: "0.3.8",
        confirmed: true,
        hashes: [
            (0x9dcf_fa76, 0x90e8_00d2),
            (0x9dcf_fa76, 0xb67e_ec78),
            (0x786e_5846, 0xb9fc_f8f0),
            (0x6123_2de0, 0xaf28_68cc),
            (0x70fc_b3da, 0xaf28_68cc),
        ],
    },
    Release {
        name: "0.3.10.post2",
        confirmed: true,
        hashes: [
            (0x9dcf_fa76, 0x90e8_00d2),
            (0x9dcf_fa76, 0x8362_cb40),
            (0x66ce_6bf6, 0xeb40_e5b4),
            (0x6123_2de0, 0xaf28_68cc),
            (0x0f2f_cc18, 0xaf28_68cc),
        ],
    },
    Release {
        name: "0.3.11.post1",
        confirmed: true,
        hashes: [
            (0x9dcf_fa76, 0x90e8_00d2),
            (0x9dcf_fa76, 0x75ec_f440),
            (0x5ddd_cc88, 0x12e5_cdba),
            (0x6123_2de0, 0xaf28_68cc),
            (0x0f2f_cc18, 0xaf28_68cc),
        ],
    },
    Release {
        name: "0.3.12.post1",
        confirmed: false,
        hashes: [
            (0x7cf9_1ed8, 0x90e8_00d2),
            (0x7cf9_1ed8, 0x75ec_f440),
            (0x6920_ea5c, 0x12e5_cdba),
            (0x1b7a_228a, 0xaf28_68cc),
            (0x9ef7_0dae, 0xaf28_68cc),
        ],
    },
    Release {
        name: "0.3.13",
        confirmed: true,
        hashes: HASHES_0_3_13,
    },
    Release {
        name: SPOKEN_RELEASE,
        confirmed: true,
        hashes: HASHES_0_3_13,
    },
];

const HASHES_0_3_13: [(u32, u32); 5] = [
    (0x7cf9_1ed8, 0x90e8_00d2),
    (0x7cf9_1ed8, 0x88c6_276c),
    (0xe385_bd0e, 0xc439_27a6),
    (0xd181_9222, 0xaf28_68cc),
    (0x9ef7_0dae, 0xaf28_68cc),
];

/// A hash that a peer sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seen {
    /// In a request of this method.
    Request(Rpc, u32),
    /// In a response of this method.
    Response(Rpc, u32),
}

impl Release {
    /// Request and response hash of one of [`FINGERPRINT_RPCS`]; `None` for the other methods.
    pub fn hashes(&self, rpc: Rpc) -> Option<(u32, u32)> {
        FINGERPRINT_RPCS
            .iter()
            .position(|&known| known == rpc)
            .map(|index| self.hashes[index])
    }

    fn agrees(&self, seen: Seen) -> bool {
        match seen {
            Seen::Request(rpc, hash) => self.hashes(rpc).is_some_and(|(request, _)| request == hash),
            Seen::Response(rpc, hash) => self.hashes(rpc).is_some_and(|(_, response)| response == hash),
        }
    }
}

/// The releases to which every hash seen belongs, oldest first; none if the peer is of an unknown release.
pub fn releases_of(seen: &[Seen]) -> Vec<&'static Release> {
    RELEASES
        .iter()
        .filter(|release| seen.iter().all(|&one| release.agrees(one)))
        .collect()
}

/// What an answer to a probe must be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    /// This text.
    Text(&'static str),
    /// Whatever the function answers, as long as it runs.
    AnyAnswer,
    /// This error of the store.
    Error(ErrorCode),
}

/// One question that leaves nothing behind on any master tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// 1 to 6.
    pub step: u8,
    /// What to send.
    pub request: Request,
    /// Which type is compared.
    pub compares: &'static str,
    wanted: Wanted,
}

/// The peer does not speak this crate's types. Using it would mean guessing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("probe {step} ({rpc}): {why}; this build speaks {SPOKEN_RELEASE}{hint}", rpc = rpc.name())]
pub struct PeerMismatch {
    /// The probe that failed.
    pub step: u8,
    /// Its method.
    pub rpc: Rpc,
    /// What came.
    pub why: Mismatch,
    /// Which releases it could be, as text; may be empty.
    hint: String,
}

/// What came instead of the wanted answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Another version text.
    #[error("the peer calls itself version {found:?}, not {SERVICE_VERSION:?}")]
    Version {
        /// The text.
        found: String,
    },
    /// The RPC layer refused the request: its type is another one there.
    #[error("the peer does not take the request: {0}")]
    Refused(RpcError),
    /// The answer has another type.
    #[error("the answer has another type: {0}")]
    Answer(DecodeError),
    /// The answer has the type and another value than every known release gives.
    #[error("the peer answered {found}, known releases answer {wanted}")]
    Value {
        /// What came.
        found: String,
        /// What was wanted.
        wanted: String,
    },
}

/// The questions to ask a master once per connection pool, in this order; refuse it at the first that disagrees.
pub fn probes(client_id: Uuid) -> [Probe; 6] {
    let key = || PROBE_KEY.to_owned();
    let tenant_id = || TENANT.to_owned();
    // Refused for its empty key.
    let put_start = Request::PutStart {
        client_id,
        key: String::new(),
        slice_length: 1,
        config: ReplicateConfig::default(),
        tenant_id: tenant_id(),
    };
    // Refused for its size of 0.
    let segment = Segment {
        id: client_id,
        name: key(),
        base: 1 << 32,
        ..Segment::default()
    };
    let put_end = Request::PutEnd {
        client_id,
        object_meta: ObjectMeta {
            key: key(),
            object_checksum: None,
        },
        replica_type: ReplicaType::All,
        tenant_id: tenant_id(),
    };
    let (invalid, missing) = (
        Wanted::Error(ErrorCode::InvalidParams),
        Wanted::Error(ErrorCode::ObjectNotFound),
    );
    let probe = |step, compares, wanted: &Wanted, request| Probe {
        step,
        request,
        compares,
        wanted: wanted.clone(),
    };
    let exist_key = Request::ExistKey {
        key: key(),
        tenant_id: tenant_id(),
    };
    let get_replica_list = Request::GetReplicaList {
        key: key(),
        tenant_id: tenant_id(),
    };
    [
        probe(
            1,
            "the version text",
            &Wanted::Text(SERVICE_VERSION),
            Request::ServiceReady {},
        ),
        probe(2, "tenants (since 0.3.12)", &Wanted::AnyAnswer, exist_key),
        probe(3, "ReplicateConfig", &invalid, put_start),
        probe(
            4,
            "Segment",
            &invalid,
            Request::MountSegment { segment, client_id },
        ),
        probe(5, "GetReplicaListResponse", &missing, get_replica_list),
        probe(6, "ObjectMeta", &missing, put_end),
    ]
}

impl Probe {
    /// Judges the answer.
    ///
    /// # Errors
    /// [`PeerMismatch`] if the peer does not speak this crate's types.
    pub fn judge(&self, header: &ResponseHeader, body: &[u8]) -> Result<(), PeerMismatch> {
        let rpc = self.request.rpc();
        let why = match decode_response(rpc, header, body) {
            Err(error) => Some(Mismatch::Answer(error)),
            Ok(Err(error)) => Some(Mismatch::Refused(error)),
            Ok(Ok(response)) => self.judge_value(&response),
        };
        match why {
            None => Ok(()),
            Some(why) => {
                let hint = self.hint(&why, body);
                Err(PeerMismatch {
                    step: self.step,
                    rpc,
                    why,
                    hint,
                })
            }
        }
    }

    fn judge_value(&self, response: &Response) -> Option<Mismatch> {
        let code = response.error();
        let found = || code.map_or_else(|| "a value".to_owned(), |code| code.to_string());
        match (&self.wanted, response) {
            (Wanted::AnyAnswer, _) => None,
            (Wanted::Text(wanted), Response::ServiceReady(Ok(text))) if text == wanted => None,
            (Wanted::Text(_), Response::ServiceReady(Ok(text))) => {
                Some(Mismatch::Version { found: text.clone() })
            }
            (Wanted::Text(wanted), _) => Some(Mismatch::Value {
                found: found(),
                wanted: format!("{wanted:?}"),
            }),
            (Wanted::Error(wanted), _) if code == Some(*wanted) => None,
            (Wanted::Error(wanted), _) => Some(Mismatch::Value {
                found: found(),
                wanted: wanted.to_string(),
            }),
        }
    }

    /// A foreign response hash names the release; a refused request says only which ones it is not.
    fn hint(&self, why: &Mismatch, body: &[u8]) -> String {
        let rpc = self.request.rpc();
        let candidates: Vec<&str> = match why {
            Mismatch::Answer(DecodeError::TypeHash { .. }) => match peek_type_hash(body) {
                Some(hash) => names(releases_of(&[Seen::Response(rpc, hash)])),
                None => Vec::new(),
            },
            Mismatch::Refused(error) if error.code == RpcErrorCode::InvalidArguments => {
                let ours = rpc.request_type().map_or(0, TypeTag::hash);
                let others = RELEASES
                    .iter()
                    .filter(|release| release.hashes(rpc).is_some_and(|(request, _)| request != ours));
                names(others.collect())
            }
            _ => Vec::new(),
        };
        if candidates.is_empty() {
            String::new()
        } else {
            format!(", the peer may be {}", candidates.join(" or "))
        }
    }
}

fn names(releases: Vec<&'static Release>) -> Vec<&'static str> {
    releases.into_iter().map(|release| release.name).collect()
}

#[cfg(test)]
mod tests {
    use super::{FINGERPRINT_RPCS, RELEASES, SERVICE_VERSION, SPOKEN_RELEASE, Seen, probes, releases_of};
    use crate::frame::{FrameDecoder, RpcError, encode_error, encode_response};
    use crate::struct_pack::Literal;
    use crate::{ErrorCode, Response, Rpc, TypeTag, Uuid};

    fn names(seen: &[Seen]) -> Vec<&'static str> {
        releases_of(seen).iter().map(|release| release.name).collect()
    }

    #[test]
    fn the_spoken_release_has_the_computed_hashes() {
        let spoken = RELEASES
            .iter()
            .find(|release| release.name == SPOKEN_RELEASE)
            .unwrap();
        for rpc in FINGERPRINT_RPCS {
            let request = rpc.request_type().map(TypeTag::hash).unwrap();
            assert_eq!(
                spoken.hashes(rpc),
                Some((request, rpc.response_type().hash())),
                "{}",
                rpc.name()
            );
        }
        assert_eq!(spoken.hashes(Rpc::Ping), None);
    }

    #[test]
    fn hashes_name_releases() {
        assert_eq!(
            names(&[Seen::Request(Rpc::PutStart, 0x5ddd_cc88)]),
            ["0.3.11.post1"]
        );
        assert_eq!(
            names(&[Seen::Response(Rpc::GetReplicaList, 0x75ec_f440)]),
            ["0.3.11.post1", "0.3.12.post1"]
        );
        assert_eq!(
            names(&[
                Seen::Response(Rpc::GetReplicaList, 0x75ec_f440),
                Seen::Request(Rpc::MountSegment, 0x9ef7_0dae)
            ]),
            ["0.3.12.post1"]
        );
        assert_eq!(
            names(&[Seen::Request(Rpc::PutStart, 0xe385_bd0e)]),
            ["0.3.13", "0.3.13.post1"]
        );
        assert!(names(&[Seen::Request(Rpc::PutStart, 2)]).is_empty());
        assert!(names(&[Seen::Request(Rpc::Ping, 0x3c6d_83e0)]).is_empty());
    }

    fn judge(step: usize, frame: &[u8]) -> Result<(), String> {
        let mut decoder = FrameDecoder::new();
        decoder.feed(frame);
        let frame = decoder.next_frame().unwrap().unwrap();
        probes(Uuid::new(1, 2))[step - 1]
            .judge(&frame.header, &frame.body)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn probes_tell_agreement_from_the_rest() {
        let answer = |response: Response| encode_response(0, &response, Literal::With);
        let right = [
            Response::ServiceReady(Ok(SERVICE_VERSION.to_owned())),
            Response::ExistKey(Ok(false)),
            Response::PutStart(Err(ErrorCode::InvalidParams)),
            Response::MountSegment(Err(ErrorCode::InvalidParams)),
            Response::GetReplicaList(Err(ErrorCode::ObjectNotFound)),
            Response::PutEnd(Err(ErrorCode::ObjectNotFound)),
        ];
        for (index, response) in right.into_iter().enumerate() {
            assert_eq!(judge(index + 1, &answer(response)), Ok(()));
        }
        let refused = encode_error(0, &RpcError::invalid_arguments(), Literal::With);
        let old = judge(2, &refused).unwrap_err();
        assert!(
            old.contains("0.3.8 or 0.3.10.post2 or 0.3.11.post1") && old.contains(SPOKEN_RELEASE),
            "{old}"
        );
        let version = judge(1, &answer(Response::ServiceReady(Ok("2.0.1".to_owned())))).unwrap_err();
        assert!(version.contains("2.0.1"), "{version}");
        let value = judge(3, &answer(Response::PutStart(Ok(Vec::new())))).unwrap_err();
        assert!(
            value.contains("a value") && value.contains("INVALID_PARAMS"),
            "{value}"
        );
        // An answer of release 0.3.11.post1 to GetReplicaList: the hash alone gives it away.
        let mut foreign = answer(Response::GetReplicaList(Err(ErrorCode::ObjectNotFound)));
        foreign[16..20].copy_from_slice(&(0x75ec_f440_u32 | 1).to_le_bytes());
        let foreign = judge(5, &foreign).unwrap_err();
        assert!(foreign.contains("0.3.11.post1 or 0.3.12.post1"), "{foreign}");
    }
}
