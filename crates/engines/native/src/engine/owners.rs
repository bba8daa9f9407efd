//! The nodes' memory behind real sockets, with the log that each owner keeps.

use moonquake_net::Net;
use moonquake_net::datapath::{
    ClosedHow, OwnerEvent as NetEvent, SegmentServer, Transfer, TransferError, TransferRequest,
};
use moonquake_protocol::datapath::{DataOperation, DataVersion};
use moonquake_stage::{Ending, OwnerEvent, OwnerSeen, PortError, PortResult, TransferSpec};
use std::collections::BTreeMap;

/// All nodes and the transfers to them.
pub(crate) struct Owners {
    net: Net,
    servers: BTreeMap<String, SegmentServer>,
    /// The owner's name and the open transfer.
    transfers: BTreeMap<u64, (String, Transfer)>,
    /// The transfer that opened a data connection, by the owner and its number there.
    connections: BTreeMap<(String, u64), u64>,
    opening: Option<u64>,
    /// How a transfer was ended by this side, for the owner's line about it.
    ended: BTreeMap<u64, String>,
}

/// What a transfer error means for the store: false is a failure that its client sees.
fn seen_by_client(error: TransferError) -> PortResult<()> {
    match error {
        TransferError::Net(error) => Err(PortError::new(error)),
        TransferError::Frozen { .. } => Err(PortError::new("the stage moved bytes of a frozen node")),
        _ => Ok(()),
    }
}

impl Owners {
    pub(crate) fn new(net: Net) -> Owners {
        Owners {
            net,
            servers: BTreeMap::new(),
            transfers: BTreeMap::new(),
            connections: BTreeMap::new(),
            opening: None,
            ended: BTreeMap::new(),
        }
    }

    pub(crate) fn start(&mut self, node: &str, base: u64, size: u64) -> PortResult<String> {
        self.connections.retain(|(owner, _), _| owner != node);
        let server = SegmentServer::start(&self.net, node, base, size).map_err(PortError::new)?;
        let endpoint = server.endpoint();
        self.servers.insert(node.to_owned(), server);
        Ok(endpoint)
    }

    pub(crate) fn kill(&mut self, node: &str) -> PortResult<()> {
        match self.servers.get_mut(node) {
            Some(server) => server.kill().map_err(PortError::new),
            None => Ok(()),
        }
    }

    pub(crate) fn freeze(&mut self, node: &str, frozen: bool) -> PortResult<()> {
        let Some(server) = self.servers.get(node) else {
            return Ok(());
        };
        if frozen {
            server.freeze();
            return Ok(());
        }
        server.unfreeze();
        // Connections that closed while it stood still are news to it now; its log is complete once it has seen them.
        let open = self.transfers.values().filter(|(owner, _)| owner == node).count();
        let seen = async {
            while server.open_connections() > open {
                tokio::task::yield_now().await;
            }
        };
        self.net
            .step(
                &format!("waiting for {node} to see what closed while it was frozen"),
                seen,
            )
            .map_err(PortError::new)
    }

    /// The node whose daemon answers at that endpoint, with the base of its segment.
    pub(crate) fn place(&self, endpoint: &str, address: u64) -> Option<(String, u64)> {
        let server = self
            .servers
            .values()
            .find(|server| server.endpoint() == endpoint)?;
        Some((server.name().to_owned(), address.checked_sub(server.base())?))
    }

    pub(crate) fn open(&mut self, spec: &TransferSpec) -> PortResult<bool> {
        let Some(server) = self.servers.get(&spec.owner) else {
            return Ok(false);
        };
        let operation = if spec.write {
            DataOperation::Write
        } else {
            DataOperation::Read
        };
        let request = TransferRequest {
            endpoint: server.endpoint(),
            operation,
            address: spec.address,
            size_bytes: spec.size,
            version: DataVersion::V2,
        };
        self.opening = Some(spec.id);
        match Transfer::open(&self.net, request) {
            Ok(transfer) => {
                self.transfers.insert(spec.id, (spec.owner.clone(), transfer));
                Ok(true)
            }
            Err(error) => seen_by_client(error).map(|()| false),
        }
    }

    pub(crate) fn write(&mut self, id: u64, bytes: &[u8]) -> PortResult<bool> {
        let Some((_, transfer)) = self.transfers.get_mut(&id) else {
            return Ok(false);
        };
        match transfer.write_part(bytes) {
            Ok(()) => Ok(true),
            Err(error) => seen_by_client(error).map(|()| false),
        }
    }

    pub(crate) fn read(&mut self, id: u64, len: u64) -> PortResult<Option<Vec<u8>>> {
        let Some((_, transfer)) = self.transfers.get_mut(&id) else {
            return Ok(None);
        };
        let mut bytes = vec![0; usize::try_from(len).map_err(PortError::new)?];
        match transfer.read_part(&mut bytes) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) => seen_by_client(error).map(|()| None),
        }
    }

    pub(crate) fn close(&mut self, id: u64, ending: Ending) -> PortResult<bool> {
        let Some((_, transfer)) = self.transfers.remove(&id) else {
            return Ok(false);
        };
        let complete = ending.is_complete();
        self.ended.insert(id, ending.words().to_owned());
        let end = if complete {
            transfer.finish()
        } else {
            transfer.close()
        };
        match end {
            Ok(()) => Ok(complete),
            Err(error) => seen_by_client(error).map(|()| false),
        }
    }

    /// Drains the logs of all owners.
    pub(crate) fn log(&mut self) -> Vec<OwnerSeen> {
        let mut all = Vec::new();
        let logs: Vec<(String, u64, Vec<NetEvent>)> = self
            .servers
            .iter()
            .map(|(name, server)| (name.clone(), server.base(), server.log()))
            .collect();
        for (node, base, events) in logs {
            for event in events {
                all.extend(self.translate(&node, base, event));
            }
        }
        all
    }

    fn translate(&mut self, node: &str, base: u64, event: NetEvent) -> Option<OwnerSeen> {
        let transfer_of = |connections: &BTreeMap<(String, u64), u64>, connection: u64| {
            connections.get(&(node.to_owned(), connection)).copied()
        };
        match event {
            NetEvent::Opened {
                connection,
                write,
                address,
                size,
                accepted,
                ..
            } => {
                let transfer = self.opening.take()?;
                self.connections.insert((node.to_owned(), connection), transfer);
                let offset = address.saturating_sub(base);
                accepted.then_some(OwnerSeen {
                    transfer,
                    event: OwnerEvent::Opened { write, offset, size },
                })
            }
            NetEvent::Landed { connection, from, to } | NetEvent::Left { connection, from, to } => {
                let transfer = transfer_of(&self.connections, connection)?;
                Some(OwnerSeen {
                    transfer,
                    event: OwnerEvent::Moved { from, to },
                })
            }
            NetEvent::Closed { connection, how, .. } => {
                let transfer = transfer_of(&self.connections, connection)?;
                let told = self.ended.remove(&transfer);
                let how = match (how, told) {
                    (ClosedHow::Complete, _) => "complete".to_owned(),
                    (ClosedHow::Refused, _) => "refused".to_owned(),
                    (ClosedHow::Killed, _) => "closed: the owner is gone".to_owned(),
                    (ClosedHow::Early | ClosedHow::Reset, Some(told)) => told,
                    (ClosedHow::Early | ClosedHow::Reset, None) => "closed: the client is gone".to_owned(),
                };
                Some(OwnerSeen {
                    transfer,
                    event: OwnerEvent::Closed { how },
                })
            }
        }
    }

    pub(crate) fn peek(&self, node: &str, offset: u64, len: u64) -> PortResult<Vec<u8>> {
        let server = self
            .servers
            .get(node)
            .ok_or_else(|| PortError(format!("{node} has no memory")))?;
        let len = usize::try_from(len).map_err(PortError::new)?;
        server.read(offset, len).map_err(PortError::new)
    }
}
