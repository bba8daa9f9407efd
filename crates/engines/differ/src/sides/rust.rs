//! The Rust master, steered like the real one.

use super::{KeySeen, MountSeen, Outcome, ReplicaSeen, State, is_readable_label, jobs};
use crate::error::DifferError;
use crate::operation::{Operation, moved};
use crate::setup::Setup;
use moonquake_clock::Clocks;
use moonquake_master::{Master, MasterConfig, MountTold};
use moonquake_protocol::{ErrorCode, Request, Response, Uuid};

/// A Rust master with its clocks.
#[derive(Clone, Debug)]
pub struct RustSide {
    master: Master,
    clocks: Clocks,
}

impl RustSide {
    /// A master of a configuration, started at `now`.
    ///
    /// # Errors
    /// The configuration is one that the Rust master refuses.
    pub fn start(setup: &Setup, now: Clocks) -> Result<RustSide, DifferError> {
        let config = setup.config().map_err(|source| DifferError::Config {
            setup: setup.name.clone(),
            source,
        })?;
        RustSide::with_config(config, now).map_err(|source| DifferError::Config {
            setup: setup.name.clone(),
            source,
        })
    }

    /// A master of any configuration, one that a test has broken for example.
    ///
    /// # Errors
    /// As [`Master::new`].
    pub fn with_config(config: MasterConfig, now: Clocks) -> Result<RustSide, moonquake_master::ConfigError> {
        Ok(RustSide {
            master: Master::new(config, now)?,
            clocks: now,
        })
    }

    /// What its clocks show.
    pub fn clocks(&self) -> Clocks {
        self.clocks
    }

    /// How many replica ids it has given out.
    pub(crate) fn replicas_made(&self) -> u64 {
        self.master.replicas_made()
    }

    /// Its random engines; see [`Master::engine_images`].
    pub fn engine_images(&self) -> [Vec<u8>; 2] {
        self.master.engine_images()
    }

    /// Does one operation, and what follows from it by itself.
    pub fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Call(request) => {
                let answer = self.master.handle(self.clocks, request, &[]);
                if operation.wakes_workers() {
                    self.settle();
                }
                Outcome::Answer(answer)
            }
            Operation::Clock {
                realtime_ns,
                monotonic_ns,
            } => {
                self.clocks = moved(self.clocks, *realtime_ns, *monotonic_ns);
                self.settle();
                Outcome::Moved
            }
            Operation::Tick(thread) => Outcome::Ticked(self.master.tick_if_due(self.clocks, *thread)),
            Operation::CreateDrainJob { .. } | Operation::QueryDrainJob(_) | Operation::CancelDrainJob(_) => {
                jobs::apply_rust(&mut self.master, self.clocks, operation).unwrap_or(Outcome::Moved)
            }
        }
    }

    fn settle(&mut self) {
        self.master.run_graceful_timer(self.clocks);
        self.master.settle_cleanup();
    }

    /// What an observer sees of these keys and segments. The master stays as it is.
    pub fn state(&self, keys: &[String], segments: &[Uuid]) -> State {
        let view = self.master.view();
        // A query grants a lease, so it is a copy that is asked.
        let mut copy = self.master.clone();
        let mut state = State {
            allocated_bytes: view.allocated_bytes,
            capacity_bytes: view.capacity_bytes,
            key_count: view.key_count,
            soft_pinned_keys: view.soft_pinned_keys,
            active_clients: view.active_clients,
            mounts: self.master.mounts_told().into_iter().map(mount).collect(),
            gauges: view
                .gauges
                .into_iter()
                .filter(|(name, _)| is_readable_label(name))
                .map(|(name, own)| (name, own.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))))
                .collect(),
            order: as_lines(&self.master.readable_keys()),
            ..State::default()
        };
        for key in keys.iter().filter(|key| !key.is_empty()) {
            let request = Request::GetReplicaList {
                key: key.clone(),
                tenant_id: String::new(),
            };
            let seen = match copy.handle(self.clocks, &request, &[]) {
                Response::GetReplicaList(Ok(found)) => {
                    let buffers = found
                        .replicas
                        .iter()
                        .filter_map(|replica| replica.memory_buffer());
                    KeySeen::Readable(
                        buffers
                            .map(|buffer| ReplicaSeen {
                                size_bytes: buffer.size,
                                address: buffer.buffer_address,
                                endpoint: buffer.transport_endpoint.clone(),
                            })
                            .collect(),
                    )
                }
                other => KeySeen::Refused(error_name(other.error())),
            };
            state.keys.insert(key.clone(), seen);
        }
        for id in segments {
            let request = Request::QuerySegmentStatusById { segment_id: *id };
            if let Response::QuerySegmentStatusById(Ok(status)) = copy.handle(self.clocks, &request, &[]) {
                state.segments.insert(id.to_string(), status.to_string());
            }
        }
        state
    }
}

fn mount(told: MountTold) -> MountSeen {
    MountSeen {
        id: told.id.to_string(),
        name: told.name,
        client: told.client.to_string(),
        used_bytes: told.used_bytes,
        capacity_bytes: told.capacity_bytes,
    }
}

fn error_name(error: Option<ErrorCode>) -> String {
    error.map_or_else(|| "OK".to_owned(), |code| code.to_string())
}

/// The keys as they are read back from lines, since that is how the admin server gives them: a line ends behind each key.
fn as_lines(keys: &[&str]) -> Vec<String> {
    let text: String = keys.iter().flat_map(|key| [*key, "\n"]).collect();
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::as_lines;

    #[test]
    fn a_key_is_a_line_also_if_it_is_empty_or_more_than_one() {
        assert!(as_lines(&[]).is_empty());
        assert_eq!(as_lines(&[""]), [""]);
        assert_eq!(as_lines(&["a", "", "b\nc"]), ["a", "", "b", "c"]);
    }
}
