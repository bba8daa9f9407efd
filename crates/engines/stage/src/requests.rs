//! From the words of a step to the machine or request of the client.

use crate::memory::BufferKey;
use crate::ports::Ports;
use crate::rpcs::{Words, replicate, tenant};
use crate::state::Stage;
use moonquake_client::{Get, GetStart, Operation, Put, PutKind, PutWrite, ReadSession, Single};
use moonquake_protocol::Rpc;
use moonquake_scenario::{Do, Verb};

/// An operation that is ready to begin.
pub(crate) struct Prepared {
    pub(crate) machine: Box<dyn Operation>,
    pub(crate) buffer: Option<BufferKey>,
    pub(crate) size: u64,
    /// The buffer is filled with this pattern first.
    pub(crate) fill: Option<String>,
}

impl<P: Ports> Stage<'_, P> {
    /// Makes the machine of a step, or says why it cannot begin.
    pub(crate) fn prepare(&mut self, action: &Do, who: &str, repetition: u32) -> Result<Prepared, String> {
        let key = action
            .key
            .as_deref()
            .map(|key| Do::repeated(key, repetition))
            .unwrap_or_default();
        let size = action.size_bytes.unwrap_or(0);
        let actor = self
            .actors
            .get(who)
            .ok_or_else(|| format!("{who} is not on the stage"))?;
        let mut config = actor.config.clone();
        if let Some(tenant) = tenant(action) {
            config.tenant_id = tenant;
        }
        let named = |name: &Option<String>| {
            name.as_deref()
                .map(|name| BufferKey::Named(Do::repeated(name, repetition)))
        };
        let pattern = action.written_pattern().map(str::to_owned);
        let plain = |machine: Box<dyn Operation>| Prepared {
            machine,
            buffer: None,
            size: 0,
            fill: None,
        };
        Ok(match action.verb {
            Verb::Put | Verb::Upsert => {
                let kind = if action.verb == Verb::Put {
                    PutKind::Put
                } else {
                    PutKind::Upsert
                };
                let machine = Box::new(Put::new(config, kind, key, size, replicate(action)));
                Prepared {
                    machine,
                    buffer: named(&action.from),
                    size,
                    fill: pattern,
                }
            }
            Verb::Get => {
                let machine = Box::new(Get::new(config, key));
                Prepared {
                    machine,
                    buffer: named(&action.into),
                    size: 0,
                    fill: None,
                }
            }
            Verb::GetStart => plain(Box::new(GetStart::new(config, key))),
            Verb::GetRead => {
                let sessions = &actor.get_sessions;
                let session = match action.use_step {
                    Some(step) => sessions.get(&step),
                    None => sessions.values().next_back(),
                };
                let session = session.cloned().ok_or("the session was never opened")?;
                let machine = Box::new(ReadSession::new(config, session));
                Prepared {
                    machine,
                    buffer: named(&action.into),
                    size: 0,
                    fill: None,
                }
            }
            Verb::PutWrite => {
                let sessions = &actor.put_sessions;
                let session = match action.use_step {
                    Some(step) => sessions.get(&step),
                    None => sessions.values().next_back(),
                };
                let session = session.cloned().ok_or("the put was never started")?;
                let size = session.size_bytes;
                let machine = Box::new(PutWrite::new(config, session));
                Prepared {
                    machine,
                    buffer: named(&action.from),
                    size,
                    fill: pattern,
                }
            }
            Verb::Close => plain(Box::new(self.close_machine(who))),
            _ => {
                let fence = self.fence_of(action, who, &key);
                let request = Words::of(action, actor, key).request()?;
                Prepared {
                    machine: Box::new(Single::new(request, fence)),
                    buffer: None,
                    size,
                    fill: None,
                }
            }
        })
    }

    /// The attempt that a PutEnd or PutRevoke of this client means: its latest of the key.
    fn fence_of(&self, action: &Do, who: &str, key: &str) -> Option<u64> {
        let ends = matches!(
            action.verb,
            Verb::Rpc(Rpc::PutEnd | Rpc::PutRevoke | Rpc::UpsertEnd | Rpc::UpsertRevoke)
        );
        let attempts = &self.actors.get(who).filter(|_| ends)?.attempts;
        attempts.get(key).map(|(_, replica)| *replica)
    }
}
