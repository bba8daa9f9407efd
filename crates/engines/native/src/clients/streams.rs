//! What the transports of real clients read and wrote, by their logs of socket calls.
//!
//! On a data connection the bytes of each direction follow each other: a header or a status, which lie anywhere, and the payload of
//! that transfer, then those of the next. So every logged byte belongs to one transfer, and must lie where that transfer has it.
//!
//! **When bytes are read.** A sender may send what moves now ([`super::credit`]), and its transport reads them at that moment. What it has
//! read of a part that did not get through, because the other end was gone by then, is told when the transfer is closed.

use crate::process::{Direction, SocketAccess};
use moonquake_protocol::datapath::{DATA_HEADER_BYTES, DataHeader, DataOperation, DataVersion, STATUS_BYTES};
use moonquake_stage::{Accessed, End, PortError, PortResult};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A data connection: whose process, its own port there, and the port at the other end.
pub(super) type Connection = (String, u16, u16);

/// Where the payload of a transfer lies in the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At that address.
    Address(u64),
    /// That far behind the begin of the client's staging memory, of which nobody tells where it is.
    Staging(u64),
    /// Somewhere.
    Unknown,
}

/// Bytes that a call moved.
#[derive(Clone, Copy, Debug)]
struct Piece {
    address: u64,
    left: u64,
    tid: u32,
}

/// What one transfer has to do with one direction of a connection.
#[derive(Debug)]
struct Script {
    transfer: u64,
    end: End,
    /// Bytes before the payload.
    skip: u64,
    payload: u64,
    place: Place,
    done: u64,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Stream {
    pieces: VecDeque<Piece>,
    scripts: VecDeque<Script>,
}

/// One end of a transfer.
#[derive(Debug)]
struct Flow {
    connection: Connection,
    /// Whether it reads its memory.
    sends: bool,
    logged: u64,
    told: u64,
    tid: u32,
}

/// The transfers of real clients as their logs tell them.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: BTreeMap<(Connection, Direction), Stream>,
    flows: BTreeMap<(u64, End), Flow>,
    over: BTreeSet<Connection>,
    /// Where the staging memory of clients begins, once a transfer has shown it.
    staging: BTreeMap<String, u64>,
    told: Vec<Accessed>,
}

/// One end of a transfer that opens.
#[derive(Debug)]
pub(super) struct Opening<'a> {
    pub(super) transfer: u64,
    pub(super) end: End,
    pub(super) connection: Connection,
    pub(super) header: &'a DataHeader,
    pub(super) place: Place,
}

impl Streams {
    /// A transfer is known at one end from now on; what came on its connection before it was known belongs to it, too.
    pub(super) fn open(&mut self, opening: Opening<'_>) -> PortResult<()> {
        let Opening {
            transfer,
            end,
            connection,
            header,
            place,
        } = opening;
        let write = header.operation == DataOperation::Write;
        let status = match header.version {
            DataVersion::V2 => STATUS_BYTES as u64,
            DataVersion::V1 => 0,
        };
        let sends = write == (end == End::Near);
        let script = |skip: u64, payload: u64| Script {
            transfer,
            end,
            skip,
            payload,
            place,
            done: 0,
        };
        // The client sends a header, the owner a status: of a read before the payload, of a write behind it.
        let payload = |sends: bool| if sends { header.size_bytes } else { 0 };
        let (out, back) = (DATA_HEADER_BYTES as u64, status);
        let (sent, received) = match end {
            End::Near => (script(out, payload(sends)), script(back, payload(!sends))),
            End::Far => (script(back, payload(sends)), script(out, payload(!sends))),
        };
        let flow = Flow {
            connection: connection.clone(),
            sends,
            logged: 0,
            told: 0,
            tid: 0,
        };
        self.over.remove(&connection);
        self.flows.insert((transfer, end), flow);
        for (direction, script) in [(Direction::Sent, sent), (Direction::Received, received)] {
            let key = (connection.clone(), direction);
            self.streams
                .entry(key.clone())
                .or_default()
                .scripts
                .push_back(script);
            self.follow(&key)?;
        }
        Ok(())
    }

    /// Whether a connection is one that transfers have.
    pub(super) fn knows(&self, actor: &str, access: &SocketAccess) -> bool {
        let connection = (actor.to_owned(), access.local_port, access.peer_port);
        self.streams.contains_key(&(connection, access.direction))
    }

    /// A line of the log of a client about a data connection. False if that is over.
    pub(super) fn enter(&mut self, actor: &str, access: &SocketAccess) -> PortResult<bool> {
        let connection = (actor.to_owned(), access.local_port, access.peer_port);
        if self.over.contains(&connection) {
            return Ok(false);
        }
        let key = (connection, access.direction);
        let stream = self.streams.entry(key.clone()).or_default();
        stream.pieces.push_back(Piece {
            address: access.address,
            left: access.length_bytes,
            tid: access.tid,
        });
        self.follow(&key)?;
        Ok(true)
    }

    /// Gives logged bytes to the transfers whose they are.
    fn follow(&mut self, key: &(Connection, Direction)) -> PortResult<()> {
        let Some(stream) = self.streams.get_mut(key) else {
            return Ok(());
        };
        let (actor, direction) = (&key.0.0, key.1);
        while let Some(script) = stream.scripts.front_mut() {
            if script.skip == 0 && script.done == script.payload {
                stream.scripts.pop_front();
                continue;
            }
            let Some(piece) = stream.pieces.front_mut() else {
                break;
            };
            let count = if script.skip > 0 {
                let count = piece.left.min(script.skip);
                script.skip -= count;
                if let Some(flow) = self.flows.get_mut(&(script.transfer, script.end)) {
                    flow.tid = piece.tid;
                }
                count
            } else {
                let count = piece.left.min(script.payload - script.done);
                let expected = expected(&mut self.staging, actor, script, piece.address);
                if expected != piece.address {
                    return Err(elsewhere(actor, direction, script, piece.address, expected));
                }
                script.done += count;
                if let Some(flow) = self.flows.get_mut(&(script.transfer, script.end)) {
                    flow.logged = script.done;
                    flow.tid = piece.tid;
                }
                count
            };
            piece.address += count;
            piece.left -= count;
            if piece.left == 0 {
                stream.pieces.pop_front();
            }
        }
        Ok(())
    }

    /// Whose log has not told yet of all bytes of a transfer up to `to`, and how far it is.
    pub(super) fn behind(&self, transfer: u64, to: u64) -> Option<(String, u64)> {
        let ends = [End::Near, End::Far];
        let mut flows = ends.iter().filter_map(|end| self.flows.get(&(transfer, *end)));
        let late = flows.find(|flow| flow.logged < to)?;
        Some((late.connection.0.clone(), late.logged))
    }

    /// The connection of an end of a transfer.
    pub(super) fn connection(&self, transfer: u64, end: End) -> Option<&Connection> {
        self.flows.get(&(transfer, end)).map(|flow| &flow.connection)
    }

    /// The connection on which the payload of a transfer is sent.
    pub(super) fn sending(&self, transfer: u64) -> Option<Connection> {
        let ends = [End::Near, End::Far];
        let mut flows = ends.iter().filter_map(|end| self.flows.get(&(transfer, *end)));
        Some(flows.find(|flow| flow.sends)?.connection.clone())
    }

    /// Whose log tells of more bytes of a transfer than `to`, and how many those are.
    pub(super) fn ahead(&self, transfer: u64, to: u64) -> Option<(String, u64)> {
        let ends = [End::Near, End::Far];
        let mut flows = ends.iter().filter_map(|end| self.flows.get(&(transfer, *end)));
        let early = flows.find(|flow| flow.logged > to)?;
        Some((early.connection.0.clone(), early.logged))
    }

    /// Which threads of which processes have moved bytes of a transfer last.
    pub(super) fn threads(&self, transfer: u64) -> Vec<(String, u32)> {
        let ends = [End::Near, End::Far];
        let flows = ends.iter().filter_map(|end| self.flows.get(&(transfer, *end)));
        flows
            .filter(|flow| flow.tid != 0)
            .map(|flow| (flow.connection.0.clone(), flow.tid))
            .collect()
    }

    /// The bytes of a transfer up to `to` have moved on: they were read and written by now.
    pub(super) fn moved(&mut self, transfer: u64, to: u64) {
        for end in [End::Near, End::Far] {
            self.tell(transfer, end, to);
        }
    }

    /// A client has moved bytes within its own process, from its memory to its segment or back; no socket has part in it.
    pub(super) fn copied(&mut self, transfer: u64, from: u64, to: u64) {
        for end in [End::Near, End::Far] {
            self.told.push(Accessed::Part {
                transfer,
                end,
                from,
                to,
            });
        }
    }

    fn tell(&mut self, transfer: u64, end: End, to: u64) {
        let Some(flow) = self.flows.get_mut(&(transfer, end)) else {
            return;
        };
        let (from, to) = (flow.told, to.min(flow.logged));
        if from < to {
            flow.told = to;
            self.told.push(Accessed::Part {
                transfer,
                end,
                from,
                to,
            });
        }
    }

    /// A transfer is over; its connections with it, unless all went well.
    pub(super) fn close(&mut self, transfer: u64, well: bool, client_lives: bool) {
        if client_lives {
            self.moved(transfer, u64::MAX);
        }
        for end in [End::Near, End::Far] {
            if let Some(flow) = self.flows.remove(&(transfer, end)).filter(|_| !well) {
                for direction in [Direction::Sent, Direction::Received] {
                    self.streams.remove(&(flow.connection.clone(), direction));
                }
                self.over.insert(flow.connection);
            }
        }
    }

    /// A process is gone.
    pub(super) fn forget(&mut self, actor: &str) {
        self.staging.remove(actor);
        self.streams.retain(|((whose, _, _), _), _| whose != actor);
        self.over.retain(|(whose, _, _)| whose != actor);
    }

    /// Somebody else than a transfer did it.
    pub(super) fn stray(&mut self, accessed: Accessed) {
        self.told.push(accessed);
    }

    pub(super) fn drain(&mut self) -> Vec<Accessed> {
        std::mem::take(&mut self.told)
    }
}

/// Where the next byte of a payload must lie. The first transfer of staging memory shows where that begins.
fn expected(staging: &mut BTreeMap<String, u64>, actor: &str, script: &Script, address: u64) -> u64 {
    match script.place {
        Place::Address(begin) => begin.wrapping_add(script.done),
        Place::Staging(offset) => {
            let behind = offset.wrapping_add(script.done);
            let begin = staging
                .entry(actor.to_owned())
                .or_insert(address.wrapping_sub(behind));
            begin.wrapping_add(behind)
        }
        Place::Unknown => address,
    }
}

fn elsewhere(actor: &str, direction: Direction, script: &Script, address: u64, expected: u64) -> PortError {
    let word = match direction {
        Direction::Sent => "read",
        Direction::Received => "wrote",
    };
    let place = match script.place {
        Place::Staging(_) => "staging memory",
        Place::Address(_) | Place::Unknown => "memory",
    };
    PortError(format!(
        "the transport of {actor} {word} elsewhere: byte {} of a payload at {address:#x}, where the {place} of that transfer has it \
         at {expected:#x}",
        script.done
    ))
}
