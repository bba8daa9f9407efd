//! The second observer of the master's state: its admin endpoints, which grant nothing and change nothing.

use super::owners::Owners;
use crate::process::{KeyState, MasterProcess};
use moonquake_evidence::{Range, State};
use moonquake_stage::{PortError, PortResult};

/// The master's state, once its clean-up worker is idle.
pub(crate) fn observe(process: &MasterProcess, owners: &Owners) -> PortResult<State> {
    process.await_cleanup_idle().map_err(PortError::new)?;
    let admin = process.admin();
    let metrics = admin.metrics().map_err(PortError::new)?;
    let mut state = State {
        allocated_bytes: metrics.allocated_bytes(),
        capacity_bytes: metrics.capacity_bytes(),
        ..State::default()
    };
    for key in admin.keys().map_err(PortError::new)? {
        let KeyState::Readable(replicas) = admin.query_key(&key).map_err(PortError::new)? else {
            continue;
        };
        let range = |replica: &crate::process::KeyDescriptor| {
            // The segment of a client that is a process of its own is known to whoever started that.
            let (segment, offset) = owners
                .place(&replica.transport_endpoint, replica.buffer_address)
                .unwrap_or_else(|| (replica.transport_endpoint.clone(), replica.buffer_address));
            Some(Range {
                segment,
                offset,
                size: replica.size_bytes,
            })
        };
        state
            .keys
            .insert(key, replicas.iter().filter_map(range).collect());
    }
    for segment in admin.segments_detail().map_err(PortError::new)?.segments {
        *state.segments.entry(segment.segment_name).or_default() += segment.size_bytes;
    }
    Ok(state)
}
