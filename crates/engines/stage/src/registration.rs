//! Which buffers of callers the transfer engine knows. Over TCP nobody asks for that before bytes move: a transfer that
//! outlives its operation goes on after its buffer was unregistered. Only the two calls themselves look at it.

use crate::memory::{BufferKey, Buffers};
use crate::ports::Ports;
use crate::state::{Stage, Staged};
use moonquake_client::{Known, Outcome};
use moonquake_evidence::Op;
use moonquake_protocol::ErrorCode;
use moonquake_scenario::{Do, Verb};

impl Buffers {
    /// A caller that uses a buffer without having registered it is one that has done so just before.
    pub(crate) fn imply_registration(&mut self, client: &str, key: &BufferKey) {
        if let BufferKey::Named(name) = key {
            self.registered.insert((client.to_owned(), name.clone()));
        }
    }
}

impl<P: Ports> Stage<'_, P> {
    /// The caller registers a buffer or takes it back. What is there already, or is not there, is INVALID_PARAMS. Mirrors
    /// `real_client.cpp:RealClient::register_buffer_internal` and `unregister_buffer_internal` as they are over TCP.
    pub(crate) fn play_registration(&mut self, action: &Do, who: &str, op: Op) -> Staged<u64> {
        let name = action.into.as_deref().unwrap_or_default();
        let known = (who.to_owned(), Do::repeated(name, op.repetition));
        if let Some(bytes) = action.size_bytes {
            self.buffers.size(&known.1, bytes);
        }
        let is_done = match action.verb {
            Verb::RegisterBuffer => self.buffers.registered.insert(known),
            _ => self.buffers.registered.remove(&known),
        };
        let outcome = if is_done {
            Outcome::Ok
        } else {
            Outcome::Error(ErrorCode::InvalidParams)
        };
        self.begin(who, Some(op), Box::new(Known(outcome)), None, 0)
    }
}
