//! The words for segments and liveness.

use super::{Id, Words};
use moonquake_protocol::{Request, Rpc, Segment};

impl Words<'_> {
    /// Segments and liveness. A segment is the caller's own, or that of the node that the step names.
    pub(super) fn segment(&self, rpc: Rpc) -> Result<Option<Request>, String> {
        let client_id = self.client_id;
        Ok(Some(match rpc {
            Rpc::Ping => Request::Ping { client_id },
            Rpc::ServiceReady => Request::ServiceReady {},
            Rpc::GetFsdir => Request::GetFsdir {},
            Rpc::GetStorageConfig => Request::GetStorageConfig {},
            Rpc::MountSegment => Request::MountSegment {
                segment: self.one_segment()?,
                client_id,
            },
            Rpc::ReMountSegment => Request::ReMountSegment {
                segments: self.all_segments()?,
                client_id,
            },
            Rpc::UnmountSegment => Request::UnmountSegment {
                segment_id: self.segment_id()?,
                client_id,
            },
            Rpc::GracefulUnmountSegment => Request::GracefulUnmountSegment {
                segment_id: self.segment_id()?,
                client_id,
                grace_period_ms: self.number("grace_period_ms"),
            },
            Rpc::QuerySegmentStatus => Request::QuerySegmentStatus {
                segment_name: self.segment_name("segment_name"),
            },
            Rpc::QuerySegmentStatusById => Request::QuerySegmentStatusById {
                segment_id: self.segment_id()?,
            },
            Rpc::BatchQueryIp => Request::BatchQueryIp {
                client_ids: self
                    .list("client_ids")
                    .iter()
                    .map(|name| self.cast.id(name, Id::Client))
                    .collect::<Result<_, _>>()?,
            },
            Rpc::BatchReplicaClear => Request::BatchReplicaClear {
                object_keys: self.keys.clone(),
                client_id,
                segment_name: self.segment_name("segment_name"),
            },
            _ => return Ok(None),
        }))
    }

    fn own_segment(&self) -> Result<Segment, String> {
        let own = self.segments.first().cloned();
        own.ok_or_else(|| "it has no segment of its own; name a node".to_owned())
    }

    /// The segment to be mounted, of another size if the step gives one.
    fn one_segment(&self) -> Result<Segment, String> {
        let named = self.text("segment");
        let segment = if named.is_empty() {
            self.own_segment()?
        } else {
            self.cast.segment(&named)?
        };
        let size = self.action.size_bytes.unwrap_or(segment.size);
        Ok(Segment { size, ..segment })
    }

    fn all_segments(&self) -> Result<Vec<Segment>, String> {
        let named = self.list("segments");
        if named.is_empty() {
            return Ok(self.segments.to_vec());
        }
        named.iter().map(|name| self.cast.segment(name)).collect()
    }

    fn segment_id(&self) -> Result<moonquake_protocol::Uuid, String> {
        if self.text("segment_id").is_empty() {
            return self.own_segment().map(|segment| segment.id);
        }
        self.id("segment_id", Id::Segment)
    }
}
