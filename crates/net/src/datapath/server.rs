//! An owner of memory: a handshake daemon and a data listener in front of one segment.

use super::data;
use super::handshake;
use super::log::OwnerEvent;
use super::memory::{PlainMemory, SegmentMemory};
use super::owner::Owner;
use crate::runtime::{Net, NetError};
use moonquake_protocol::datapath::DataVersion;
use moonquake_protocol::handshake::{SegmentBuffer, SegmentDescriptor};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Serves one segment to every initiator of the pinned release, ours and foreign.
///
/// A transfer of this process moves only as far as its `Transfer` grants; a stranger's moves freely.
#[derive(Debug)]
pub struct SegmentServer {
    net: Net,
    owner: Arc<Owner>,
    daemon: SocketAddr,
    data: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
}

impl SegmentServer {
    /// Serves zeroed memory of `size_bytes` under absolute addresses from `base` on, and acknowledges transfers.
    ///
    /// # Errors
    /// When the system gives no listener, or the range cannot be a segment.
    pub fn start(net: &Net, name: &str, base: u64, size_bytes: u64) -> Result<SegmentServer, NetError> {
        let what = || format!("serving the segment of {name}");
        let length = usize::try_from(size_bytes)
            .map_err(|_| NetError::order(what(), "it is larger than the memory"))?;
        Self::start_with(
            net,
            name,
            base,
            DataVersion::V2,
            Box::new(PlainMemory::new(length)),
        )
    }

    /// The same with memory of the caller's, and the version that the descriptor tells. An owner serves both.
    ///
    /// # Errors
    /// When the system gives no listener, or the range cannot be a segment.
    pub fn start_with(
        net: &Net,
        name: &str,
        base: u64,
        version: DataVersion,
        memory: Box<dyn SegmentMemory>,
    ) -> Result<SegmentServer, NetError> {
        let what = format!("serving the segment of {name}");
        let owner = Arc::new(Owner::new(name, base, memory, net.own().clone()));
        if base == 0 || owner.size_bytes == 0 || base.checked_add(owner.size_bytes).is_none() {
            return Err(NetError::order(
                what,
                "base and size must not be 0 and their sum must fit 64 bits",
            ));
        }
        let listeners = net.step(&what, async { tokio::try_join!(listen(), listen()) })?;
        let ((daemon_listener, daemon), (data_listener, data)) =
            listeners.map_err(|error| NetError::io(what, error))?;
        for listener in [daemon, data] {
            net.own().add_listener(listener, owner.life.freeze.clone());
        }
        let descriptor = Arc::new(describe(&owner, daemon, data, version));
        let (life, for_daemon, for_data) = (owner.life.clone(), owner.clone(), owner.clone());
        let tasks = vec![
            net.spawn(
                life.clone()
                    .accept(name.to_owned(), daemon_listener, move |stream| {
                        handshake::answer(for_daemon.clone(), stream, descriptor.clone())
                    }),
            ),
            net.spawn(life.accept(name.to_owned(), data_listener, move |stream| {
                data::serve(for_data.clone(), stream)
            })),
        ];
        Ok(SegmentServer {
            net: net.clone(),
            owner,
            daemon,
            data,
            tasks,
        })
    }

    /// The owner's name.
    pub fn name(&self) -> &str {
        &self.owner.name
    }

    /// `Segment.te_endpoint`: host and port of the handshake daemon.
    pub fn endpoint(&self) -> String {
        self.daemon.to_string()
    }

    /// Where the data listener is; initiators learn it from the descriptor.
    pub fn data_address(&self) -> SocketAddr {
        self.data
    }

    /// Absolute address of the first byte: `Segment.base`.
    pub fn base(&self) -> u64 {
        self.owner.base
    }

    /// `Segment.size`.
    pub fn size_bytes(&self) -> u64 {
        self.owner.size_bytes
    }

    /// What this owner saw since the last call, in order.
    pub fn log(&self) -> Vec<OwnerEvent> {
        self.owner.log.drain()
    }

    /// Data connections that are open at this moment, as the owner sees it.
    pub fn open_connections(&self) -> usize {
        self.owner.log.open_connections()
    }

    /// From now on nothing is read, written or accepted; what is sent waits in the kernel, as for a stopped process.
    pub fn freeze(&self) {
        self.owner.life.freeze.set(true);
    }

    /// Lets the owner go on.
    pub fn unfreeze(&self) {
        self.owner.life.freeze.set(false);
    }

    /// Whether the owner stands still.
    pub fn is_frozen(&self) -> bool {
        self.owner.life.freeze.is_frozen()
    }

    /// The harness looks at the memory. No observation is noted.
    ///
    /// # Errors
    /// When the range is not inside the segment.
    pub fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, NetError> {
        self.inside(offset, length)?;
        let mut bytes = vec![0; length];
        self.owner.load(offset, &mut bytes);
        Ok(bytes)
    }

    /// The harness sets the memory. No observation is noted.
    ///
    /// # Errors
    /// When the range is not inside the segment.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), NetError> {
        self.inside(offset, bytes.len())?;
        self.owner.store(offset, bytes);
        Ok(())
    }

    fn inside(&self, offset: u64, length: usize) -> Result<(), NetError> {
        if self.owner.holds(offset, length) {
            return Ok(());
        }
        let why = format!(
            "{length} bytes at {offset} are not inside its {} bytes",
            self.owner.size_bytes
        );
        Err(NetError::order(
            format!("looking at the memory of {}", self.owner.name),
            why,
        ))
    }

    /// The owner dies: listeners and connections close at once, also while it is frozen. The memory stays readable for
    /// the harness.
    ///
    /// # Errors
    /// When a task does not end in real time.
    pub fn kill(&mut self) -> Result<(), NetError> {
        self.let_go();
        let what = format!("ending the owner {}", self.owner.name);
        for task in std::mem::take(&mut self.tasks) {
            // A task that panicked has ended as well, but somebody should hear of it.
            if let Err(error) = self.net.step(&what, task)? {
                tracing::warn!("{what}: {error}");
            }
        }
        self.owner.life.freeze.set(false);
        Ok(())
    }

    fn let_go(&self) {
        for listener in [self.daemon, self.data] {
            self.net.own().remove_listener(listener);
        }
        self.owner.log.killed();
        self.owner.life.kill();
    }
}

impl Drop for SegmentServer {
    fn drop(&mut self) {
        self.let_go();
    }
}

async fn listen() -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn describe(owner: &Owner, daemon: SocketAddr, data: SocketAddr, version: DataVersion) -> SegmentDescriptor {
    let name = daemon.to_string();
    SegmentDescriptor {
        buffers: vec![SegmentBuffer {
            addr: owner.base,
            length: owner.size_bytes,
            name: name.clone(),
        }],
        name,
        protocol: "tcp".to_owned(),
        rdma_server_name: String::new(),
        tcp_data_host: Some(data.ip().to_string()),
        tcp_data_port: data.port(),
        tcp_proto_version: match version {
            DataVersion::V1 => None,
            DataVersion::V2 => Some(2),
        },
        // For people only; a fixed text keeps runs alike.
        timestamp: "1970-01-01 00:00:00.000000".to_owned(),
    }
}
