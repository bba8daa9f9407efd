//! The master's admin server as an observer: plain HTTP GET, nothing it asks changes anything.

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

/// Where one replica of a key lies, as `/query_key` says.
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

/// Answer of `/get_segments_detail`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct SegmentsDetail {
    /// How many there are.
    pub total_segments: u64,
    /// Each of them.
    pub segments: Vec<SegmentDetail>,
}

/// One segment of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct SegmentDetail {
    /// Every field as the master writes it.
    #[serde(flatten)]
    pub fields: BTreeMap<String, serde_json::Value>,
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
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let parsed = line.rsplit_once(' ').and_then(|(name, value)| Some((name, value.parse().ok()?)));
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
        serde_json::from_str(&self.text(path)?).map_err(|error| answer(path, error.to_string()))
    }

    /// `/query_key`: the memory replicas of a key that can be read; none if there is no such key. Grants no lease.
    pub fn query_key(&self, key: &str) -> Result<Option<Vec<KeyDescriptor>>, AdminError> {
        let path = format!("/query_key?key={}", percent_encoded(key));
        let (status, body) = self.get(&path)?;
        match status {
            200 => serde_json::Deserializer::from_slice(&body)
                .into_iter::<KeyDescriptor>()
                .collect::<Result<Vec<_>, _>>()
                .map(Some)
                .map_err(|error| answer(&path, error.to_string())),
            404 => Ok(None),
            _ => Err(answer(&path, format!("status {status}"))),
        }
    }

    /// Status and body of any path.
    pub fn get(&self, path: &str) -> Result<(u16, Vec<u8>), AdminError> {
        let bytes = self.exchange(path).map_err(|source| AdminError::Io { path: path.to_owned(), source })?;
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
        let mut lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        lines.sort();
        Ok(lines)
    }

    fn exchange(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        let host = self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
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
    Some(Response { status, length, body: &bytes[end + 4..] })
}

fn answer(path: &str, what: String) -> AdminError {
    AdminError::Answer { path: path.to_owned(), what }
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
