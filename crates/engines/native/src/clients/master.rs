//! What stands behind real clients.

use moonquake_client::RpcFailure;
use moonquake_protocol::{Request, Response};
use moonquake_stage::{PortResult, Ports};

/// A master, for clients that are processes of their own.
pub(crate) trait MasterSide: Ports {
    /// Lets the master answer a request that belongs to no step and to no chore that the stage knows: the greeting of a client
    /// that connects, and its polls for tasks. No evidence is made of it.
    fn pass(&mut self, request: &Request) -> PortResult<Result<Response, RpcFailure>>;

    /// That its process has ended without being told to, in words.
    fn ended(&self) -> Option<String> {
        None
    }
}

impl MasterSide for moonquake_model::ModelPorts {
    fn pass(&mut self, request: &Request) -> PortResult<Result<Response, RpcFailure>> {
        self.answer_aside(request).map(Ok)
    }
}

impl MasterSide for crate::engine::RealPorts {
    fn pass(&mut self, request: &Request) -> PortResult<Result<Response, RpcFailure>> {
        self.answer_aside(request)
    }

    fn ended(&self) -> Option<String> {
        self.process_ended()
    }
}
