//! One kind of operation as frames for each connection, and a turn of one server with it.

use crate::Failure;
use crate::connection::Connection;
use crate::frames;
use crate::servers::Server;
use crate::work::{BATCH_KEYS, Work};
use moonquake_protocol::frame::{ResponseHeader, decode_response};
use moonquake_protocol::{Response, Rpc};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// What one connection sends, in its order: the calls of one operation after those of another.
#[derive(Clone, Debug, Default)]
struct Lane {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Lane {
    fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(&start, &end)| &self.bytes[start..end])
    }
}

/// One kind of operation, for a number of connections.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    calls: &'static [Rpc],
    lanes: Vec<Lane>,
    keys: usize,
}

/// What a turn took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Processor time of the server.
    pub(crate) cpu: Duration,
    /// Time until every connection had its last answer.
    pub(crate) wall: Duration,
    /// Keys that were named; with single keys that is operations.
    pub(crate) keys: usize,
}

/// Which keys the operations of a load name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keys {
    /// Of that many stored ones, drawn at random, the same in each turn.
    Stored(usize),
    /// Each its own.
    Own,
}

impl Load {
    /// `operations` of a kind, in equal parts for each connection.
    pub(crate) fn new(
        calls: &'static [Rpc],
        batch: usize,
        connections: usize,
        operations: usize,
        keys: Keys,
    ) -> Load {
        let each = operations.div_ceil(connections).max(1);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let lane = |number: usize| {
            let mut lane = Lane::default();
            for operation in 0..each {
                let first = (number * each + operation) * batch;
                let named: Vec<String> = (first..first + batch)
                    .map(|own| match keys {
                        Keys::Own => frames::key("new-", own),
                        Keys::Stored(stored) => frames::key("kept-", draw(&mut random, stored)),
                    })
                    .collect();
                calls
                    .iter()
                    .for_each(|&rpc| lane.push(&frames::frame(rpc, &named)));
            }
            lane
        };
        Load {
            calls,
            lanes: (0..connections).map(lane).collect(),
            keys: each * connections * batch,
        }
    }

    /// For a kind of work.
    pub(crate) fn of(work: Work, connections: usize, operations: usize, stored: usize) -> Load {
        let keys = match work {
            Work::Exist | Work::Get | Work::BatchExist | Work::BatchGet => Keys::Stored(stored),
            Work::Put | Work::Remove | Work::BatchPut => Keys::Own,
        };
        Load::new(work.calls(), work.keys(), connections, operations, keys)
    }

    /// Sends everything, each connection from a thread of its own that waits for each answer.
    ///
    /// # Errors
    /// When an answer does not come or is not the one of a call that succeeded.
    pub(crate) fn turn(&self, server: &Server, connections: &mut [Connection]) -> Result<Turn, Failure> {
        let lengths = self.lengths(server)?;
        let ready = Barrier::new(self.lanes.len() + 1);
        std::thread::scope(|scope| {
            let pairs = self.lanes.iter().zip(connections);
            let lanes: Vec<_> = pairs
                .map(|(lane, connection)| {
                    let (ready, lengths) = (&ready, &lengths);
                    scope.spawn(move || {
                        ready.wait();
                        run(lane, connection, lengths)
                    })
                })
                .collect();
            let before = server.cpu_time();
            ready.wait();
            let began = Instant::now();
            for lane in lanes {
                lane.join().map_err(|_| "a connection's thread panicked")??;
            }
            let wall = began.elapsed();
            Ok(Turn {
                cpu: server.cpu_time()? - before?,
                wall,
                keys: self.keys,
            })
        })
    }

    /// How long the body of a good answer to each call is. A refusal has another length.
    fn lengths(&self, server: &Server) -> Result<Vec<usize>, Failure> {
        let length = |&rpc: &Rpc| {
            server
                .answer_bytes(rpc)
                .ok_or("a call was not proven before it was measured")
        };
        Ok(self.calls.iter().map(length).collect::<Result<_, _>>()?)
    }
}

fn run(lane: &Lane, connection: &mut Connection, lengths: &[usize]) -> Result<(), Failure> {
    for (frame, &length) in lane.frames().zip(lengths.iter().cycle()) {
        let body = connection.exchange(frame)?;
        if body.len() != length {
            return Err(format!("an answer of {} bytes came instead of {length}", body.len()).into());
        }
    }
    Ok(())
}

/// Makes one call, looks at its whole answer, and returns how long that was.
///
/// # Errors
/// When the call did not succeed.
pub(crate) fn prove(connection: &mut Connection, rpc: Rpc, keys: &[String]) -> Result<usize, Failure> {
    let body = connection.exchange(&frames::frame(rpc, keys))?;
    let response = decode_response(rpc, &ResponseHeader::default(), body)?.map_err(|error| error.message)?;
    match is_good(&response) {
        true => Ok(body.len()),
        false => Err(format!("{} was refused: {response:?}", rpc.name()).into()),
    }
}

fn is_good(response: &Response) -> bool {
    fn all<T, E>(answers: &[Result<T, E>]) -> bool {
        answers.len() == BATCH_KEYS && answers.iter().all(Result::is_ok)
    }
    match response {
        Response::BatchExistKey(answers) => all(answers) && answers.iter().all(|answer| *answer == Ok(true)),
        Response::BatchGetReplicaList(answers) => all(answers),
        Response::BatchPutStart(answers) => all(answers),
        Response::BatchPutEnd(answers) | Response::BatchRemove(answers) => all(answers),
        Response::ExistKey(answer) => *answer == Ok(true),
        single => single.error().is_none(),
    }
}

/// A number below `bound` that looks random and is the same in every run (splitmix64).
fn draw(state: &mut u64, bound: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((mixed ^ (mixed >> 31)) % bound.max(1) as u64).unwrap_or(0)
}
