//! What an owner does to its memory, told by a memory that only listens.

use mockall::{Sequence, mock};
use moonquake_net::datapath::{SegmentMemory, SegmentServer, Transfer, TransferError, TransferRequest};
use moonquake_net::{Net, NetError};
use moonquake_protocol::datapath::{DataOperation, DataVersion};
use std::time::Duration;

mock! {
    Memory {}

    impl SegmentMemory for Memory {
        fn size_bytes(&self) -> u64;
        fn load(&self, offset: u64, out: &mut [u8]);
        fn store(&mut self, offset: u64, bytes: &[u8]);
    }
}

const BASE: u64 = 0x7000_0000_0000;

fn memory(size: u64) -> MockMemory {
    let mut memory = MockMemory::new();
    memory.expect_size_bytes().return_const(size);
    memory
}

fn net() -> Net {
    Net::stepped(Duration::from_secs(20)).unwrap()
}

fn open(
    net: &Net,
    server: &SegmentServer,
    operation: DataOperation,
    offset: u64,
    size_bytes: u64,
) -> Result<Transfer, TransferError> {
    let request = TransferRequest {
        endpoint: server.endpoint(),
        operation,
        address: BASE + offset,
        size_bytes,
        version: DataVersion::V2,
    };
    Transfer::open(net, request)
}

#[test]
fn each_part_is_stored_once_where_it_belongs_and_before_its_call_returns() {
    let (net, mut order, mut memory) = (net(), Sequence::new(), memory(4096));
    for (offset, byte) in [(100, 1_u8), (110, 2), (120, 3)] {
        memory
            .expect_store()
            .withf(move |at, bytes| *at == offset && *bytes == [byte; 10])
            .times(1)
            .in_sequence(&mut order)
            .return_const(());
    }
    let server = SegmentServer::start_with(&net, "n1", BASE, DataVersion::V2, Box::new(memory)).unwrap();
    let mut transfer = open(&net, &server, DataOperation::Write, 100, 30).unwrap();
    for byte in 1..=3 {
        transfer.write_part(&[byte; 10]).unwrap();
    }
    transfer.finish().unwrap();
}

#[test]
fn a_refused_range_touches_no_memory() {
    // A call of load or store would panic, as none is expected.
    let net = net();
    let server =
        SegmentServer::start_with(&net, "n1", BASE, DataVersion::V2, Box::new(memory(4096))).unwrap();
    for operation in [DataOperation::Read, DataOperation::Write] {
        for (offset, size) in [(4096, 1), (4000, 97), (0, 0), (0, u64::MAX), (u64::MAX - BASE, 2)] {
            let error = open(&net, &server, operation, offset, size).unwrap_err();
            assert!(
                matches!(error, TransferError::Refused { .. }),
                "{offset} + {size}: {error}"
            );
        }
    }
}

#[test]
fn a_read_loads_no_byte_before_it_is_granted() {
    let (net, mut memory) = (net(), memory(4096));
    memory
        .expect_load()
        .withf(|at, out| *at == 7 && out.len() == 5)
        .times(1)
        .returning(|_, out| out.fill(9));
    let server = SegmentServer::start_with(&net, "n1", BASE, DataVersion::V2, Box::new(memory)).unwrap();
    let mut transfer = open(&net, &server, DataOperation::Read, 7, 100).unwrap();
    let mut out = [0; 5];
    transfer.read_part(&mut out).unwrap();
    assert_eq!(out, [9; 5]);
    transfer.close().unwrap();
}

#[test]
fn impossible_segments_are_refused() {
    for (base, size) in [(0, 10), (BASE, 0), (u64::MAX - 5, 10)] {
        let server = SegmentServer::start_with(&net(), "n1", base, DataVersion::V2, Box::new(memory(size)));
        assert!(
            matches!(server, Err(NetError::Order { .. })),
            "{base} + {size} was accepted"
        );
    }
}
