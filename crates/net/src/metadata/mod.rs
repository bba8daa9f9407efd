//! The metadata server of the transfer engine, over HTTP: clients tell there how they are reached, and ask how others are.
//!
//! Mirrors upstream `mooncake-store/src/http_metadata_server.cpp`, which a master has in its process when it is asked to. The
//! master neither reads nor writes what is kept here.

mod connection;
mod request;
mod table;

use crate::runtime::{Net, NetError};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use table::Table;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Most connections at once; further ones wait to be accepted.
const CONNECTIONS: usize = 256;
/// How long to wait, of real time, before accepting again after the system refused; file descriptors may come free.
const REFUSED_FOR: Duration = Duration::from_millis(50);

/// A metadata server that runs until it is dropped.
#[derive(Debug)]
pub struct MetadataServer {
    address: SocketAddr,
    // Its threads and sockets end with it.
    _net: Net,
}

impl MetadataServer {
    /// Serves at `bind`; port 0 takes a free one.
    ///
    /// # Errors
    /// When nobody can listen there.
    pub fn serve(bind: SocketAddr) -> Result<MetadataServer, NetError> {
        let net = Net::background(Net::LIMIT)?;
        let failed = |source| NetError::io(format!("serving metadata at {bind}"), source);
        let listener = net
            .step("listening for metadata", TcpListener::bind(bind))?
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        net.spawn(accept(listener));
        tracing::info!(%address, "metadata server listening");
        Ok(MetadataServer { address, _net: net })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client's `setup` is given as its metadata server.
    pub fn url(&self) -> String {
        format!("http://{}/metadata", self.address)
    }
}

async fn accept(listener: TcpListener) {
    let table = Arc::new(Mutex::new(Table::default()));
    let seats = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let table = table.clone();
                tokio::spawn(async move {
                    if let Err(error) = connection::serve(stream, &table).await {
                        tracing::debug!(%peer, "a metadata connection ended: {error}");
                    }
                    drop(seat);
                });
            }
            Err(error) => {
                tracing::warn!("accepting a metadata connection: {error}");
                tokio::time::sleep(REFUSED_FOR).await;
            }
        }
    }
}
