//! The master's admin server as an observer: plain HTTP GET, and only queries that change nothing.
//!
//! Measured on the pinned release: `/query_key` grants a lease of the default length and does not decode its argument, so it is not
//! used; `/batch_query_keys` grants none and decodes. `/get_all_keys`, `/get_all_segments`, `/get_segments_detail` and `/metrics` change
//! nothing either.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use thiserror::Error;

/// Real time within which the admin server must answer.
const LIMIT: Duration = Duration::from_secs(10);
/// Largest answer taken.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// Why the observer got no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdminError {
    /// The connection failed.
    #[error("the admin server did not answer GET {path}: {source}")]
    Io {
        /// What was asked.
        path: String,
        /// The failure.
        source: std::io::Error,
    },
    /// The answer was not what this release sends.
    #[error("the admin server's answer to GET {path} makes no sense: {what}")]
    Answer {
        /// What was asked.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// The admin server takes a list of keys divided by commas, so it cannot be asked for this one.
    #[error("the admin server cannot be asked for the key `{key}`: {why}")]
    Key {
        /// The key.
        key: String,
        /// Why not.
        why: &'static str,
    },
}

/// A client of the admin server. Each query is a connection of its own.
#[derive(Clone, Copy, Debug)]
pub struct Admin {
    address: SocketAddr,
}

/// The gauges of `/metrics`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Every value, by its name with its labels.
    pub values: BTreeMap<String, f64>,
}

impl Metrics {
    /// Bytes allocated in all segments (`master_allocated_bytes`), quarantined ones included.
    pub fn allocated_bytes(&self) -> u64 {
        self.count("master_allocated_bytes")
    }

    /// Bytes of all mounted segments (`master_total_capacity_bytes`).
    pub fn capacity_bytes(&self) -> u64 {
        self.count("master_total_capacity_bytes")
    }

    /// Keys known to the master, readable or not (`master_key_count`).
    pub fn key_count(&self) -> u64 {
        self.count("master_key_count")
    }

    /// Clients that count as alive (`master_active_clients`).
    pub fn active_clients(&self) -> u64 {
        self.count("master_active_clients")
    }

    /// Any whole, non-negative value; 0 if it is not there.
    pub fn count(&self, name: &str) -> u64 {
        // A gauge is written as a decimal number; byte counts are exact up to 2^53.
        self.values.get(name).map_or(0, |value| *value as u64)
    }
}

/// What the master says about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It can be read; these are its replicas in memory, in the master's order.
    Readable(Vec<KeyDescriptor>),
    /// It cannot, for this reason, an error name of the store such as `OBJECT_NOT_FOUND` or `REPLICA_IS_NOT_READY`.
    Refused(String),
}

/// Where one replica of a key lies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KeyDescriptor {
    /// Length in bytes.
    #[serde(rename = "size_")]
    pub size_bytes: u64,
    /// Address in the process that serves it.
    #[serde(rename = "buffer_address_")]
    pub buffer_address: u64,
    /// `tcp`, ...
    #[serde(rename = "protocol_", default)]
    pub protocol: String,
    /// Who serves it.
    #[serde(rename = "transport_endpoint_", default)]
    pub transport_endpoint: String,
}

#[derive(Deserialize)]
struct KeysAnswer {
    data: BTreeMap<String, KeyAnswer>,
}

#[derive(Deserialize)]
struct KeyAnswer {
    error: Option<String>,
    values: Option<Vec<KeyDescriptor>>,
}

/// Answer of `/get_segments_detail`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SegmentsDetail {
    /// How many there are.
    pub total_segments: u64,
    /// Each of them.
    pub segments: Vec<SegmentDetail>,
}

/// One segment of it. The master lists them in no particular order; here they are sorted by name and id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SegmentDetail {
    /// Name.
    pub segment_name: String,
    /// Id, as the two halves in decimal.
    pub segment_id: String,
    /// Owner, in the same form.
    pub client_id: String,
    /// First address, as hexadecimal text.
    pub base_address: String,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Where peers ask for it.
    #[serde(default)]
    pub te_endpoint: String,
    /// `OK`, `GRACEFULLY_UNMOUNTING`, ...
    pub status: String,
    /// Bytes taken in it; allocations are rounded up, so this may exceed the sum of the objects.
    pub allocator_used_bytes: u64,
    /// Bytes it can hold.
    pub allocator_capacity_bytes: u64,
}

impl Admin {
    /// A client of the server there.
    pub fn new(address: SocketAddr) -> Admin {
        Admin { address }
    }

    /// `/metrics`.
    pub fn metrics(&self) -> Result<Metrics, AdminError> {
        let path = "/metrics";
        let text = self.text(path)?;
        let mut metrics = Metrics::default();
        for line in text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
        {
            let parsed = line
                .rsplit_once(' ')
                .and_then(|(name, value)| Some((name, value.parse().ok()?)));
            let (name, value) = parsed.ok_or_else(|| answer(path, format!("the line `{line}`")))?;
            metrics.values.insert(name.to_owned(), value);
        }
        Ok(metrics)
    }

    /// `/get_all_keys`: the keys that can be read, sorted.
    pub fn keys(&self) -> Result<Vec<String>, AdminError> {
        self.lines("/get_all_keys")
    }

    /// `/get_all_segments`: the names of the mounted segments, sorted.
    pub fn segments(&self) -> Result<Vec<String>, AdminError> {
        self.lines("/get_all_segments")
    }

    /// `/get_segments_detail`.
    pub fn segments_detail(&self) -> Result<SegmentsDetail, AdminError> {
        let path = "/get_segments_detail";
        let mut detail: SegmentsDetail =
            serde_json::from_str(&self.text(path)?).map_err(|error| answer(path, error.to_string()))?;
        detail.segments.sort_by(|one, other| {
            (&one.segment_name, &one.segment_id).cmp(&(&other.segment_name, &other.segment_id))
        });
        Ok(detail)
    }

    /// `/batch_query_keys` for one key. Grants no lease.
    pub fn query_key(&self, key: &str) -> Result<KeyState, AdminError> {
        let refused = |why| AdminError::Key {
            key: key.to_owned(),
            why,
        };
        if key.is_empty() {
            return Err(refused("it is empty"));
        }
        if key.contains(',') {
            return Err(refused("it holds a comma"));
        }
        let path = format!("/batch_query_keys?keys={}", percent_encoded(key));
        let mut found: KeysAnswer =
            serde_json::from_str(&self.text(&path)?).map_err(|error| answer(&path, error.to_string()))?;
        let state = found
            .data
            .remove(key)
            .ok_or_else(|| answer(&path, "another key".to_owned()))?;
        match (state.values, state.error) {
            (_, Some(error)) => Ok(KeyState::Refused(error)),
            (Some(replicas), None) => Ok(KeyState::Readable(replicas)),
            (None, None) => Err(answer(&path, "neither replicas nor an error".to_owned())),
        }
    }

    /// Status and body of any path.
    pub fn get(&self, path: &str) -> Result<(u16, Vec<u8>), AdminError> {
        let bytes = self.exchange(path).map_err(|source| AdminError::Io {
            path: path.to_owned(),
            source,
        })?;
        let response = split(&bytes).ok_or_else(|| answer(path, "no HTTP response".to_owned()))?;
        match response.length {
            Some(length) if length != response.body.len() => {
                Err(answer(path, format!("{} of {length} bytes", response.body.len())))
            }
            _ => Ok((response.status, response.body.to_vec())),
        }
    }

    fn text(&self, path: &str) -> Result<String, AdminError> {
        let (status, body) = self.get(path)?;
        if status != 200 {
            return Err(answer(path, format!("status {status}")));
        }
        String::from_utf8(body).map_err(|error| answer(path, error.to_string()))
    }

    fn lines(&self, path: &str) -> Result<Vec<String>, AdminError> {
        let text = self.text(path)?;
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        lines.sort();
        Ok(lines)
    }

    fn exchange(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        stream.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

struct Response<'a> {
    status: u16,
    length: Option<usize>,
    body: &'a [u8],
}

fn split(bytes: &[u8]) -> Option<Response<'_>> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok());
    Some(Response {
        status,
        length,
        body: &bytes[end + 4..],
    })
}

fn answer(path: &str, what: String) -> AdminError {
    AdminError::Answer {
        path: path.to_owned(),
        what,
    }
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::{Admin, AdminError, KeyState, percent_encoded};
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};

    /// A server that answers one request with these bytes and closes.
    fn answering(bytes: &'static [u8]) -> Admin {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request");
                request.extend(byte);
            }
            stream.write_all(bytes).expect("send the answer");
        });
        Admin::new(address)
    }

    #[test]
    fn metrics_are_read_with_their_labels() {
        let text = b"HTTP/1.1 200 OK\r\ncontent-length: 53\r\n\r\n# HELP x y\nmaster_allocated_bytes 4096\nx{le=\"1 2\"} 3\n";
        let metrics = answering(text).metrics().expect("metrics");
        assert_eq!(metrics.allocated_bytes(), 4_096);
        assert_eq!(metrics.count("x{le=\"1 2\"}"), 3);
        assert_eq!(metrics.count("absent"), 0);
    }

    #[test]
    fn a_cut_answer_is_an_error() {
        let cut = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort");
        assert!(matches!(cut.keys(), Err(AdminError::Answer { what, .. }) if what == "5 of 10 bytes"));
        assert!(matches!(
            answering(b"HTTP/1.1 200 OK\r\n").keys(),
            Err(AdminError::Answer { .. })
        ));
        assert!(matches!(
            answering(b"\xff\xfe\r\n\r\n").keys(),
            Err(AdminError::Answer { .. })
        ));
    }

    #[test]
    fn nonsense_is_an_error_with_its_path() {
        let answers: [&[u8]; 3] = [
            b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"other\":{\"error\":\"X\",\"values\":null}}}",
            b"HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"k\":{\"error\":null,\"values\":null}}}",
        ];
        for bytes in answers {
            let error = answering(bytes).query_key("k").expect_err("not an answer");
            assert!(error.to_string().contains("/batch_query_keys?keys=k"), "{error}");
        }
        let refused =
            answering(b"HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"k\":{\"error\":\"X\",\"values\":null}}}");
        assert_eq!(
            refused.query_key("k").expect("an answer"),
            KeyState::Refused("X".to_owned())
        );
    }

    #[test]
    fn keys_are_encoded_bytewise() {
        assert_eq!(percent_encoded("aZ0-._~"), "aZ0-._~");
        assert_eq!(percent_encoded("a b+c%\u{fc}"), "a%20b%2Bc%25%C3%BC");
    }
}
