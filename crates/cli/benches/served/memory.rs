//! Memory of each master for an object.

use crate::Failure;
use crate::args::Stop;
use crate::connection::Connection;
use crate::servers::{Kind, Server};

/// What one master holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) kind: Kind,
    pub(crate) objects: usize,
    /// Before the first object, in bytes.
    pub(crate) before: u64,
    /// After the last one.
    pub(crate) after: u64,
}

/// Stores that many objects in each master, one master after the other.
pub(crate) fn measure(objects: usize, stop: &Stop) -> Result<Vec<Held>, Failure> {
    let mut held = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_master()) {
        let server = Server::start(kind)?;
        let before = server.resident_bytes()?;
        let mut connection = Connection::open(server.address())?;
        let objects = server.store(&mut connection, objects, || stop.check())?;
        held.push(Held {
            kind,
            objects,
            before,
            after: server.resident_bytes()?,
        });
        server.stop()?;
    }
    Ok(held)
}
