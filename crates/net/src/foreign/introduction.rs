//! The handshakes between a foreign client and an owner, which pass by themselves. Mirrors
//! `mooncake-transfer-engine/src/transfer_metadata_plugin.cpp`.

use super::lanes::Lanes;
use moonquake_protocol::handshake::{HandshakeDecoder, HandshakeError, HandshakeKind, HandshakeMessage};
use serde_json::Value;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is read at once.
const READ_BYTES: usize = 4 << 10;
/// Where the listeners of a relay are.
const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Passes one question to the owner and its answer back, and waits for the client to close.
pub(super) async fn introduce(lanes: Arc<Lanes>, owner: SocketAddr, mut client: TcpStream, limit: Duration) {
    let passed = tokio::select! {
        biased;
        () = lanes.life.killed() => return,
        passed = tokio::time::timeout(limit, pass(&lanes, owner, &mut client)) => passed,
    };
    // Noted before the client sees its end.
    match passed {
        Ok(Ok(())) => {}
        Ok(Err(error)) => lanes.problem(format!("a handshake ended early: {error}")),
        Err(_) => lanes.problem(format!("a handshake was not over within {limit:?}")),
    }
}

async fn pass(lanes: &Lanes, owner: SocketAddr, client: &mut TcpStream) -> Result<(), Ended> {
    let question = next(client, "the client").await?;
    let mut to_owner = TcpStream::connect(owner).await?;
    to_owner.write_all(&question.to_bytes()).await?;
    let mut answer = next(&mut to_owner, "the owner").await?;
    drop(to_owner);
    if answer.kind == HandshakeKind::Metadata
        && let Some((data, json)) = redirect(&answer.json, owner.ip(), lanes.data_address().port())
    {
        answer.json = json;
        lanes.learn(data);
    }
    client.write_all(&answer.to_bytes()).await?;
    client.shutdown().await?;
    // The client closes when it has the answer; it has nothing more to say.
    while client.read(&mut [0; 64]).await? > 0 {}
    Ok(())
}

async fn next(stream: &mut TcpStream, who: &'static str) -> Result<HandshakeMessage, Ended> {
    let mut decoder = HandshakeDecoder::new();
    let mut buffer = [0; READ_BYTES];
    loop {
        if let Some(message) = decoder.next_message()? {
            return Ok(message);
        }
        match stream.read(&mut buffer).await? {
            0 => return Err(Ended::Closed(who)),
            count => decoder.feed(&buffer[..count]),
        }
    }
}

/// The owner's data listener in its descriptor, and the text with another port in its place, at the host of the relay.
/// Everything else stays, known or not. `None`: there is no data listener in it.
fn redirect(json: &str, owner: IpAddr, port: u16) -> Option<(SocketAddr, String)> {
    let mut descriptor: Value = serde_json::from_str(json).ok()?;
    let fields = descriptor.as_object_mut()?;
    let real = u16::try_from(fields.get("tcp_data_port")?.as_u64()?).ok()?;
    if real == 0 {
        return None;
    }
    fields.insert("tcp_data_port".to_owned(), port.into());
    let mut host = owner;
    if let Some(Value::String(told)) = fields.get_mut("tcp_data_host")
        && !told.is_empty()
    {
        host = told.parse().ok()?;
        *told = HOST.to_string();
    }
    Some((SocketAddr::new(host, real), format!("{descriptor}\n")))
}

/// Asks for the owner's data listener, for a client that knows the relay's without having asked.
pub(super) async fn look_up(owner: SocketAddr) -> Result<SocketAddr, String> {
    let descriptor = crate::datapath::look_up(owner)
        .await
        .map_err(|error| error.to_string())?;
    let host = descriptor.data_host("").parse().unwrap_or(owner.ip());
    Ok(SocketAddr::new(host, descriptor.tcp_data_port))
}

/// Why a handshake did not pass.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("{0} closed before its message was whole")]
    Closed(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
}

#[cfg(test)]
mod tests {
    use super::redirect;

    #[test]
    fn only_the_data_listener_changes() {
        let told = concat!(
            r#"{"buffers":[{"addr":18446744073709551615,"length":9,"name":"n"}],"later":{"x":[1,null]},"#,
            r#""tcp_data_host":"127.0.0.2","tcp_data_port":16430,"tcp_proto_version":2}"#,
        );
        let (data, json) = redirect(told, [127, 0, 0, 1].into(), 45_231).unwrap();
        assert_eq!(data, ([127, 0, 0, 2], 16_430).into());
        let expected = told.replace("16430", "45231").replace("127.0.0.2", "127.0.0.1");
        assert_eq!(json, expected + "\n");
    }

    #[test]
    fn without_a_host_it_is_the_owners() {
        let told = r#"{"tcp_data_port":16430,"name":"n"}"#;
        let (data, json) = redirect(told, [127, 0, 0, 1].into(), 45_231).unwrap();
        assert_eq!(data, ([127, 0, 0, 1], 16_430).into());
        assert_eq!(json, "{\"tcp_data_port\":45231,\"name\":\"n\"}\n");
    }

    #[test]
    fn what_has_no_data_listener_stays() {
        for told in [
            "",
            "[]",
            "{}",
            r#"{"tcp_data_port":0}"#,
            r#"{"tcp_data_port":70000}"#,
            r#"{"tcp_data_port":"1"}"#,
        ] {
            assert_eq!(redirect(told, [127, 0, 0, 1].into(), 45_231), None, "{told}");
        }
    }
}
