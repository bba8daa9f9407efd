//! A master, one connection to it, and what every exchange on that connection is held to.

use crate::rig::START;
use moonquake_native::process::{MasterProcess, StartOptions};
use moonquake_protocol::frame::{
    Frame, FrameDecoder, Header, RequestHeader, ResponseHeader, RpcError, decode_response, encode_request,
};
use moonquake_protocol::struct_pack::DynamicMessage;
use moonquake_protocol::{ErrorCode, Literal, Request, Response, Rpc};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Only a master that hangs takes that long.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of a request that a failure shows.
const SHOWN_BYTES_MAX: usize = 4_096;
/// Names another seed for the values; 1 by default.
const SEED_VARIABLE: &str = "MOONQUAKE_ECHO_SEED";

/// Values are drawn, not shrunk: what the master was told before belongs to each case.
pub(crate) struct Peer {
    pub(crate) master: MasterProcess,
    stream: TcpStream,
    decoder: FrameDecoder<ResponseHeader>,
    sequence: u32,
    draws: TestRunner,
    answered: BTreeSet<Rpc>,
}

impl Peer {
    pub(crate) fn start<const N: usize>(flags: [(&str, String); N]) -> Peer {
        let options = StartOptions {
            flags: flags.map(|(flag, value)| (flag.to_owned(), value)).into(),
            clocks: START,
            seed: 1,
            ..StartOptions::default()
        };
        let master = MasterProcess::start(options).unwrap_or_else(|error| panic!("{error}"));
        Peer::of(master, draws())
    }

    /// The peer of a master that runs.
    pub(crate) fn of(master: MasterProcess, draws: TestRunner) -> Peer {
        let stream = TcpStream::connect(master.rpc_addr()).expect("connect to the master");
        stream.set_nodelay(true).expect("set TCP_NODELAY");
        stream.set_read_timeout(Some(ANSWER_LIMIT)).expect("set a limit");
        Peer {
            master,
            stream,
            decoder: FrameDecoder::new(),
            sequence: 0,
            draws,
            answered: BTreeSet::new(),
        }
    }

    pub(crate) fn draw<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        draw(&mut self.draws, strategy)
    }

    /// Every second request goes without the literal of its type.
    pub(crate) fn call(&mut self, request: &Request) -> Response {
        let literal = if self.sequence.is_multiple_of(2) {
            Literal::With
        } else {
            Literal::Without
        };
        self.call_as(request, literal)
            .unwrap_or_else(|error| panic!("{error} to {request:?}"))
    }

    /// The answer, which must be of the right type and come out of the codec with the bytes with which it went in.
    pub(crate) fn call_as(&mut self, request: &Request, literal: Literal) -> Result<Response, RpcError> {
        let rpc = request.rpc();
        self.sequence = self.sequence.wrapping_add(0x0101_0101);
        let frame = self.exchange(rpc, &encode_request(self.sequence, request, literal));
        assert_eq!(
            frame.header.sequence, self.sequence,
            "{rpc:?}: the sequence number"
        );
        let decoded = decode_response(rpc, &frame.header, &frame.body)
            .unwrap_or_else(|error| panic!("{error} in {} to {request:?}", hex(&frame.body)));
        if let Ok(response) = &decoded {
            survives(response, &frame.body);
            self.answered.insert(rpc);
        }
        decoded
    }

    /// 0 or the error number of a call.
    pub(crate) fn code(&mut self, request: &Request) -> i32 {
        self.call(request).error().map_or(0, ErrorCode::value)
    }

    pub(crate) fn accept(&mut self, request: &Request) {
        assert_eq!(self.code(request), 0, "{request:?}");
    }

    /// Sends these bytes and returns the frame that answers them.
    pub(crate) fn exchange(&mut self, rpc: Rpc, request: &[u8]) -> Frame<ResponseHeader> {
        match self.try_exchange(request) {
            Ok(frame) => frame,
            Err(why) => {
                let status = self.master.kill();
                let log = self.master.log_tail();
                panic!("no answer ({why}; {status:?}) to {rpc:?} {}\n{log}", hex(request));
            }
        }
    }

    pub(crate) fn try_exchange(&mut self, request: &[u8]) -> Result<Frame<ResponseHeader>, String> {
        self.stream
            .write_all(request)
            .map_err(|error| error.to_string())?;
        let mut piece = [0; 65_536];
        loop {
            if let Some(frame) = self.decoder.next_frame().map_err(|error| error.to_string())? {
                return Ok(frame);
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Err("connection closed".to_owned()),
                Ok(length) => self.decoder.feed(&piece[..length]),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// The methods that have not been called yet.
    pub(crate) fn never_answered(&self) -> Vec<Rpc> {
        Rpc::ALL
            .iter()
            .copied()
            .filter(|rpc| !self.answered.contains(rpc))
            .collect()
    }
}

/// The same values every time, and others on demand.
pub(crate) fn draws() -> TestRunner {
    let seed = std::env::var(SEED_VARIABLE)
        .ok()
        .and_then(|text| text.parse().ok());
    TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed.unwrap_or(1)),
        failure_persistence: None,
        ..Config::default()
    })
}

pub(crate) fn draw<S: Strategy>(draws: &mut TestRunner, strategy: &S) -> S::Value {
    strategy.new_tree(draws).expect("a value").current()
}

/// Both halves of the codec give back the bytes that came. A map has the order of the peer's hash table, which only the
/// self-describing half keeps; the typed one must give as many bytes and the same value.
fn survives(response: &Response, body: &[u8]) {
    let rpc = response.rpc();
    let dynamic = DynamicMessage::decode(body).unwrap_or_else(|error| panic!("{rpc:?}: {error}"));
    assert_eq!(
        dynamic.encode().expect("its own type"),
        body,
        "{rpc:?}: self-described"
    );
    let mut again = Vec::new();
    response.encode_into(&mut again, Literal::With);
    match rpc {
        Rpc::BatchQueryIp | Rpc::GetReplicaListByRegex => {
            assert_eq!(again.len(), body.len(), "{rpc:?}");
            assert_eq!(Response::decode(rpc, &again).as_ref(), Ok(response), "{rpc:?}");
        }
        _ => assert!(again == body, "{rpc:?}: {} became {}", hex(body), hex(&again)),
    }
}

/// A request as bytes, with `placeholder` replaced wherever it stands by as many other bytes: for what the typed codec refuses to write.
pub(crate) fn forged(request: &Request, placeholder: &[u8], bytes: &[u8]) -> Vec<u8> {
    assert_eq!(placeholder.len(), bytes.len(), "lengths stay");
    let mut frame = encode_request(7, request, Literal::With);
    let places: Vec<usize> = (<RequestHeader as Header>::BYTES..=frame.len() - placeholder.len())
        .filter(|at| frame[*at..].starts_with(placeholder))
        .collect();
    assert!(!places.is_empty(), "the placeholder is in the request");
    for at in places {
        frame[at..at + bytes.len()].copy_from_slice(bytes);
    }
    frame
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in &bytes[..bytes.len().min(SHOWN_BYTES_MAX)] {
        write!(text, "{byte:02x}").expect("memory");
    }
    if bytes.len() > SHOWN_BYTES_MAX {
        write!(text, "... ({} bytes)", bytes.len()).expect("memory");
    }
    text
}

/// Texts of a list as a set, which must be as many.
pub(crate) fn as_set<T: Ord + Clone + std::fmt::Debug>(items: &[T]) -> BTreeSet<T> {
    let set: BTreeSet<T> = items.iter().cloned().collect();
    assert_eq!(set.len(), items.len(), "nothing twice in {items:?}");
    set
}

/// A map whose keys all differ.
pub(crate) fn as_map<K: Ord, V>(entries: Vec<(K, V)>) -> BTreeMap<K, V> {
    let count = entries.len();
    let map: BTreeMap<K, V> = entries.into_iter().collect();
    assert_eq!(map.len(), count, "no key twice");
    map
}
