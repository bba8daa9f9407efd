//! The head of a request.

use super::table::Method;

/// Longest head, in bytes.
pub(super) const HEAD_LIMIT: usize = 16 << 10;
/// Longest body, in bytes. What a client tells of itself has some hundred.
pub(super) const BODY_LIMIT: usize = 1 << 20;
/// Most fields of a head.
const FIELDS: usize = 64;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To the value of a key, as it stands in the URL.
    Metadata(Method, String),
    /// Whether anybody is there.
    Health,
    /// To nothing that is here.
    Nothing,
}

/// A head that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// How long it is itself, in bytes.
    pub(super) length: usize,
    /// Where it goes.
    pub(super) target: Target,
    /// Bytes of the body that follows.
    pub(super) body: usize,
    /// Whether the client waits for a word before it sends the body.
    pub(super) waits: bool,
    /// Whether more requests may follow.
    pub(super) keeps: bool,
}

/// Why a request is not read on; the connection ends with this status.
pub(super) type Refusal = (&'static str, &'static str);

/// Reads a head from what has arrived; none if it is not all there yet.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Head>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_LIMIT => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Err(("431 Request Header Fields Too Large", "the head is too long"));
        }
        Err(_) => return Err(("400 Bad Request", "this is no HTTP request")),
    };
    let mut head = Head {
        length,
        target: target(
            request.method.unwrap_or_default(),
            request.path.unwrap_or_default(),
        ),
        body: 0,
        waits: false,
        keeps: request.version == Some(1),
    };
    for field in request.headers.iter() {
        let value = str::from_utf8(field.value).unwrap_or_default().trim();
        match field.name.to_ascii_lowercase().as_str() {
            "content-length" => head.body = body_length(value)?,
            "transfer-encoding" => return Err(("411 Length Required", "send the body's length")),
            "expect" => head.waits = value.eq_ignore_ascii_case("100-continue"),
            "connection" if value.eq_ignore_ascii_case("close") => head.keeps = false,
            _ => {}
        }
    }
    Ok(Some(head))
}

fn body_length(value: &str) -> Result<usize, Refusal> {
    let length: u64 = value
        .parse()
        .map_err(|_| ("400 Bad Request", "the body's length is no number"))?;
    usize::try_from(length)
        .ok()
        .filter(|length| *length <= BODY_LIMIT)
        .ok_or(("413 Content Too Large", "the body is too long"))
}

fn target(method: &str, url: &str) -> Target {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let method = match method {
        "GET" => Method::Get,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        _ => return Target::Nothing,
    };
    match (path, method) {
        ("/metadata", _) => {
            let key = query.split('&').find_map(|pair| pair.strip_prefix("key="));
            Target::Metadata(method, key.unwrap_or_default().to_owned())
        }
        ("/health", Method::Get) => Target::Health,
        _ => Target::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::{BODY_LIMIT, HEAD_LIMIT, Head, Target, parse};
    use crate::metadata::table::Method;

    #[test]
    fn a_head_is_read_when_it_is_whole() {
        let head = b"PUT /metadata?x=1&key=mooncake%2Fram%2Fa HTTP/1.1\r\nHost: h\r\ncontent-length: 3\r\nExpect: 100-continue\r\n\r\n";
        for end in 0..head.len() {
            assert_eq!(parse(&head[..end]), Ok(None), "{end}");
        }
        let wanted = Head {
            length: head.len(),
            target: Target::Metadata(Method::Put, "mooncake%2Fram%2Fa".to_owned()),
            body: 3,
            waits: true,
            keeps: true,
        };
        assert_eq!(parse(&[head.as_slice(), b"abc"].concat()), Ok(Some(wanted)));
    }

    #[test]
    fn targets_are_told_apart() {
        for (line, wanted) in [
            ("GET /metadata", Target::Metadata(Method::Get, String::new())),
            (
                "DELETE /metadata?key=a",
                Target::Metadata(Method::Delete, "a".to_owned()),
            ),
            ("GET /health", Target::Health),
            ("PUT /health", Target::Nothing),
            ("POST /metadata?key=a", Target::Nothing),
            ("GET /metadatas?key=a", Target::Nothing),
        ] {
            let head = parse(format!("{line} HTTP/1.1\r\n\r\n").as_bytes());
            assert_eq!(head.map(|head| head.map(|head| head.target)), Ok(Some(wanted)));
        }
    }

    #[test]
    fn a_connection_ends_when_the_client_wants_it() {
        for (text, keeps) in [
            ("GET / HTTP/1.1\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false),
            ("GET / HTTP/1.0\r\n\r\n", false),
        ] {
            let head = parse(text.as_bytes()).expect("good").expect("whole");
            assert_eq!(head.keeps, keeps, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_held_is_refused() {
        let refused = |text: &str| parse(text.as_bytes()).expect_err("refused").0;
        let put = |field: String| refused(&format!("PUT /metadata?key=a HTTP/1.1\r\n{field}\r\n\r\n"));
        assert_eq!(&put(format!("Content-Length: {}", BODY_LIMIT + 1))[..3], "413");
        assert_eq!(&put(format!("Content-Length: {}", u64::MAX))[..3], "413");
        assert_eq!(&put("Content-Length: -1".to_owned())[..3], "400");
        assert_eq!(&put("Transfer-Encoding: chunked".to_owned())[..3], "411");
        assert_eq!(&refused("\u{1}\u{2}\r\n")[..3], "400");
        let long = format!("GET /metadata?key={} HTTP/1.1\r\n", "a".repeat(HEAD_LIMIT));
        assert_eq!(&refused(&long)[..3], "431");
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100));
        assert_eq!(&refused(&many)[..3], "431");
    }
}
