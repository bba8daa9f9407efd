//! The log of socket calls, tried in a process of the real client: one access of each kind is made there on purpose.

use crate::agent::{Agent, AgentOptions, Command, Range};
use crate::process::{Client, ClientPage, Direction, Release, SocketAccess, library};
use moonquake_witness::selftest::{Cell, Claimed, Measured, Row, reach_into};
use moonquake_witness::{AccessKind, Way, socket};

/// Where accesses are planted, and of how many bytes: neither a page nor a word begins there.
const PLANTED: Range = Range {
    offset: 4096 + 1001,
    size: 99,
};

/// The row of the log in the table of witnesses.
///
/// # Errors
/// Why it cannot be tried here.
pub fn socket_log() -> Result<Row, String> {
    let release = Release::locate().map_err(|error| error.to_string())?;
    let client = release.client().map_err(|error| error.to_string())?;
    let (agent, page) = start(&client)?;
    let sight = socket::sight();
    let cell = |kind: AccessKind| Cell {
        kind,
        claimed: Claimed::by(&sight, kind),
        measured: plant(&agent, &page, kind).unwrap_or_else(|why| Measured::NotPlanted { why }),
    };
    Ok(Row {
        witness: "socket log".to_owned(),
        grain: sight.grain,
        cells: Ok(AccessKind::ALL.map(cell).to_vec()),
    })
}

/// A process with the client in it, whose socket calls are logged.
fn start(client: &Client) -> Result<(Agent, ClientPage), String> {
    let page = ClientPage::create(moonquake_stage::start_clocks()).map_err(|error| error.to_string())?;
    let library = library::locate().map_err(|error| error.to_string())?;
    let variables = page.environment(&library).into_iter();
    let options = AgentOptions {
        environment: variables
            .map(|(name, value)| (name.to_owned(), value.to_string_lossy().into_owned()))
            .collect(),
        inherit: vec![page.descriptor()],
        ..AgentOptions::default()
    };
    let agent = Agent::start(client, &options).map_err(|error| error.to_string())?;
    page.log_sockets(true);
    Ok((agent, page))
}

fn plant(agent: &Agent, page: &ClientPage, kind: AccessKind) -> Result<Measured, String> {
    let address = agent.hello().arena_base + PLANTED.offset;
    let touch = |way: &'static str| {
        let command = Command::Touch {
            address,
            size: PLANTED.size,
            way,
            write: kind.write,
        };
        let outcome = agent.call(&command).map_err(|error| error.to_string())?.outcome;
        match outcome.number() {
            Some(bytes) if u64::try_from(bytes) == Ok(PLANTED.size) => Ok(()),
            _ => Err(format!("{outcome:?}")),
        }
    };
    page.drain_sockets();
    match kind.way {
        Way::Cpu => touch("cpu"),
        Way::Socket => touch("socket"),
        Way::File => touch("file"),
        Way::Peer => {
            let mut bytes = [7; PLANTED.size as usize];
            reach_into(agent.pid(), address, &mut bytes, kind.write).map_err(|error| error.to_string())
        }
        Way::Nic => Err("no card is told of this memory".to_owned()),
    }?;
    let end = address + PLANTED.size;
    let there =
        |access: &SocketAccess| access.address < end && address < access.address + access.length_bytes;
    let told: Vec<SocketAccess> = page.drain_sockets().into_iter().filter(there).collect();
    let fits = |access: &SocketAccess| {
        let write = access.direction == Direction::Received;
        (write, access.address, access.length_bytes) == (kind.write, address, PLANTED.size)
    };
    Ok(match told.as_slice() {
        [] => Measured::NotSeen,
        [one] if fits(one) => Measured::Seen,
        told => Measured::Mistaken {
            told: format!("{told:?}"),
        },
    })
}
