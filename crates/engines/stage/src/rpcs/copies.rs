//! The words for copies, moves and the tasks that ask for them.

use super::Words;
use moonquake_protocol::{Request, Rpc};

impl Words<'_> {
    /// The life of a copy or a move. Segments are named by their nodes.
    pub(super) fn copy(&self, rpc: Rpc) -> Option<Request> {
        let (client_id, key, tenant_id) = (self.client_id, self.key.clone(), self.tenant_id.clone());
        Some(match rpc {
            Rpc::CopyStart => Request::CopyStart {
                client_id,
                key,
                tenant_id,
                src_segment: self.segment_name("src_segment"),
                tgt_segments: self.segment_names("tgt_segments"),
            },
            Rpc::CopyEnd => Request::CopyEnd {
                client_id,
                key,
                tenant_id,
            },
            Rpc::CopyRevoke => Request::CopyRevoke {
                client_id,
                key,
                tenant_id,
            },
            Rpc::MoveStart => Request::MoveStart {
                client_id,
                key,
                tenant_id,
                src_segment: self.segment_name("src_segment"),
                tgt_segment: self.segment_name("tgt_segment"),
            },
            Rpc::MoveEnd => Request::MoveEnd {
                client_id,
                key,
                tenant_id,
            },
            Rpc::MoveRevoke => Request::MoveRevoke {
                client_id,
                key,
                tenant_id,
            },
            Rpc::CreateCopyTask => Request::CreateCopyTask {
                key,
                tenant_id,
                targets: self.segment_names("targets"),
            },
            Rpc::CreateMoveTask => Request::CreateMoveTask {
                key,
                tenant_id,
                source: self.segment_name("source"),
                target: self.segment_name("target"),
            },
            _ => return None,
        })
    }
}
