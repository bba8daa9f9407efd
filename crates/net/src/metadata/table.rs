//! What is kept, and what is answered about it.

use std::collections::BTreeMap;

/// Most entries.
const ENTRIES: usize = 1 << 16;
/// Most bytes of keys and values together.
const BYTES: usize = 64 << 20;

/// An answer: its status, its type and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Status of HTTP with its reason.
    pub(super) status: &'static str,
    /// Type of the body.
    pub(super) content_type: &'static str,
    /// The body.
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// A short text.
    pub(super) fn text(status: &'static str, body: &str) -> Answer {
        Answer {
            status,
            content_type: "text/plain",
            body: body.as_bytes().to_vec(),
        }
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Put,
    Delete,
}

/// Values by key. A key is kept as it stands in the URL, with its escapes, as upstream does.
#[derive(Debug, Default)]
pub(super) struct Table {
    values: BTreeMap<String, Vec<u8>>,
    bytes: usize,
}

impl Table {
    /// Does what is asked. Mirrors the handlers of upstream's `HttpMetadataServer::init_server`; its bounds are ours.
    pub(super) fn handle(&mut self, method: Method, key: &str, body: &[u8]) -> Answer {
        match method {
            _ if key.is_empty() => Answer::text("400 Bad Request", "Missing key parameter"),
            Method::Get => self.get(key),
            Method::Put => self.put(key, body),
            Method::Delete => self.delete(key),
        }
    }

    fn get(&self, key: &str) -> Answer {
        match self.values.get(key) {
            Some(value) => Answer {
                status: "200 OK",
                content_type: "application/json",
                body: value.clone(),
            },
            None => Answer::text("404 Not Found", "metadata not found"),
        }
    }

    fn put(&mut self, key: &str, body: &[u8]) -> Answer {
        let old = self.values.get(key);
        // An address belongs to the client that told it first, until it takes it back.
        if let Some(old) = old.filter(|_| key.contains("rpc_meta")) {
            return if old == body {
                Answer::text("200 OK", "metadata unchanged")
            } else {
                Answer::text("400 Bad Request", "Duplicate rpc_meta key not allowed")
            };
        }
        let freed = old.map_or(0, |old| key.len() + old.len());
        let bytes = self.bytes - freed + key.len() + body.len();
        if bytes > BYTES || (freed == 0 && self.values.len() >= ENTRIES) {
            return Answer::text("507 Insufficient Storage", "no room for more metadata");
        }
        self.bytes = bytes;
        self.values.insert(key.to_owned(), body.to_vec());
        Answer::text("200 OK", "metadata updated")
    }

    fn delete(&mut self, key: &str) -> Answer {
        match self.values.remove(key) {
            Some(old) => {
                self.bytes -= key.len() + old.len();
                Answer::text("200 OK", "metadata deleted")
            }
            None => Answer::text("404 Not Found", "metadata not found"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, ENTRIES, Method, Table};

    fn said(table: &mut Table, method: Method, key: &str, body: &[u8]) -> (&'static str, String) {
        let answer = table.handle(method, key, body);
        (&answer.status[..3], String::from_utf8(answer.body).expect("text"))
    }

    #[test]
    fn values_are_kept_replaced_and_removed() {
        let mut table = Table::default();
        let mut ask = |method, body: &[u8]| said(&mut table, method, "ram%2Fa", body);
        assert_eq!(ask(Method::Get, b""), ("404", "metadata not found".to_owned()));
        assert_eq!(ask(Method::Put, b"1"), ("200", "metadata updated".to_owned()));
        assert_eq!(ask(Method::Put, b"22"), ("200", "metadata updated".to_owned()));
        assert_eq!(ask(Method::Get, b""), ("200", "22".to_owned()));
        assert_eq!(ask(Method::Delete, b""), ("200", "metadata deleted".to_owned()));
        assert_eq!(ask(Method::Delete, b""), ("404", "metadata not found".to_owned()));
        assert_eq!(table.bytes, 0);
    }

    #[test]
    fn an_address_is_not_taken_over() {
        let mut table = Table::default();
        let mut put = |body: &[u8]| said(&mut table, Method::Put, "mooncake%2Frpc_meta%2Fa", body);
        assert_eq!(put(b"1"), ("200", "metadata updated".to_owned()));
        assert_eq!(put(b"1"), ("200", "metadata unchanged".to_owned()));
        assert_eq!(
            put(b"2"),
            ("400", "Duplicate rpc_meta key not allowed".to_owned())
        );
    }

    #[test]
    fn a_key_is_demanded() {
        let mut table = Table::default();
        for method in [Method::Get, Method::Put, Method::Delete] {
            let refused = ("400", "Missing key parameter".to_owned());
            assert_eq!(said(&mut table, method, "", b"x"), refused);
        }
    }

    #[test]
    fn there_is_no_room_without_end() {
        let mut table = Table::default();
        let half = vec![0; BYTES / 2];
        assert_eq!(said(&mut table, Method::Put, "a", &half).0, "200");
        assert_eq!(said(&mut table, Method::Put, "b", &half).0, "507");
        // What is replaced gives its room back.
        assert_eq!(said(&mut table, Method::Put, "a", &half).0, "200");
        assert_eq!(said(&mut table, Method::Put, "a", b"").0, "200");
        for index in 1..ENTRIES {
            assert_eq!(said(&mut table, Method::Put, &index.to_string(), b"").0, "200");
        }
        assert_eq!(said(&mut table, Method::Put, "one more", b"").0, "507");
        assert_eq!(said(&mut table, Method::Put, "1", b"new").0, "200");
    }
}
