//! Asking the kernel for one connection, by netlink (`sock_diag`).

use super::kernel::End;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr as KernelAddr};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, OnceLock, PoisonError};

/// An answer is one message of some hundred bytes.
const ANSWER_BYTES: usize = 4_096;
/// No connection is meant by its number.
const NO_COOKIE: [u8; 8] = [0xff; 8];

/// The end at `local` of the connection to `remote`, none inside if there is none; none if the kernel answers no such questions.
pub(super) fn end_of(local: SocketAddr, remote: SocketAddr) -> Option<Option<End>> {
    static SERVICE: OnceLock<Option<Mutex<Service>>> = OnceLock::new();
    let service = SERVICE.get_or_init(|| Service::that_answers().ok().map(Mutex::new));
    let mut service = service.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
    service.end_of(local, remote).ok()
}

/// A connection to that service.
struct Service {
    socket: Socket,
    asked: u32,
}

impl Service {
    fn connect() -> io::Result<Service> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&KernelAddr::new(0, 0))?;
        Ok(Service { socket, asked: 0 })
    }

    /// One that has shown that it finds a connection: a kernel without the part for TCP says "none" of all of them.
    fn that_answers() -> io::Result<Service> {
        let mut service = Service::connect()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        match service.end_of(stream.local_addr()?, stream.peer_addr()?)? {
            Some(end) if !end.is_closed() => Ok(service),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn end_of(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<End>> {
        self.asked = self.asked.wrapping_add(1);
        let id = SocketId {
            source_port: local.port(),
            destination_port: remote.port(),
            source_address: local.ip(),
            destination_address: remote.ip(),
            interface_id: 0,
            cookie: NO_COOKIE,
        };
        self.socket.send(&question(id, self.asked), 0)?;
        let mut answer = Vec::with_capacity(ANSWER_BYTES);
        loop {
            answer.clear();
            self.socket.recv(&mut answer, 0)?;
            let message =
                NetlinkMessage::<SockDiagMessage>::deserialize(&answer).map_err(io::Error::other)?;
            if message.header.sequence_number != self.asked {
                continue;
            }
            return match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found)) => {
                    // Without such a connection the kernel tells of who listens there.
                    Ok((found.header.socket_id.destination_port == remote.port()).then(|| end(&found)))
                }
                NetlinkPayload::Error(error) if error.to_io().kind() == io::ErrorKind::NotFound => Ok(None),
                NetlinkPayload::Error(error) => Err(error.to_io()),
                _ => Err(io::ErrorKind::InvalidData.into()),
            };
        }
    }
}

fn question(socket_id: SocketId, number: u32) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    header.sequence_number = number;
    let request = InetRequest {
        family: AF_INET,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::all(),
        socket_id,
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

fn end(found: &InetResponse) -> End {
    End {
        state: found.header.state,
        unsent_bytes: u64::from(found.header.send_queue),
        unread_bytes: u64::from(found.header.recv_queue),
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{End, listed};
    use super::Service;
    use std::io::Write;
    use std::net::{SocketAddr, TcpListener, TcpStream};

    /// What both ways of asking say, which must be the same.
    fn both(service: &mut Service, local: SocketAddr, remote: SocketAddr) -> Option<End> {
        let asked = service.end_of(local, remote).unwrap();
        assert_eq!(asked, listed(local, remote));
        asked
    }

    #[test]
    fn one_connection_is_found_as_the_tables_have_it() {
        let mut service = Service::that_answers().expect("a kernel with sock_diag");
        for host in ["127.0.0.1:0", "[::ffff:127.0.0.1]:0"] {
            let listener = TcpListener::bind(host).unwrap();
            let port = listener.local_addr().unwrap().port();
            let mut near = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (far, _) = listener.accept().unwrap();
            near.write_all(&[7; 1_000]).unwrap();
            let ends = (near.local_addr().unwrap(), near.peer_addr().unwrap());
            let waiting = both(&mut service, ends.1, ends.0).unwrap();
            assert_eq!((waiting.unread_bytes, waiting.is_closed()), (1_000, false));
            assert!(!both(&mut service, ends.0, ends.1).unwrap().is_closed());
            drop(far);
            // It was closed with bytes unread: a reset, after which neither end is there.
            let mut other = near;
            while other.write_all(&[7]).is_ok() {}
            assert_eq!(both(&mut service, ends.1, ends.0), None);
            // Who listens there is no connection.
            let nobody = ([127, 0, 0, 1], 1).into();
            assert_eq!(both(&mut service, ends.1, nobody), None);
        }
    }
}
