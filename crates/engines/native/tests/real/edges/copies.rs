//! Edges of copies and moves.

use crate::Test;
use crate::pair::{Pair, WRITER, ask, endpoints, on};
use crate::rig::MIB;
use moonquake_protocol::ErrorCode;

pub(crate) const TESTS: &[Test] = &[
    ("real_edge_a_clear_takes_an_object_from_under_a_copy", cleared),
    ("real_edge_a_copy_without_targets_is_in_the_way", empty),
    (
        "real_edge_a_move_to_where_it_lies_already_drops_its_source",
        already_there,
    ),
];

fn clear(pair: &mut Pair, segment_name: &str) -> Vec<String> {
    let (object_keys, client_id) = (vec!["k".to_owned()], WRITER);
    let segment_name = segment_name.to_owned();
    ask!(
        pair,
        BatchReplicaClear {
            object_keys,
            client_id,
            segment_name
        }
    )
    .unwrap()
}

/// Edge 34: what a removal is refused a clear does, of a whole object whose copy has no target and of a source.
fn cleared() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    pair.copy("k", "n0", &[]).unwrap();
    assert_eq!(pair.remove("k"), Err(ErrorCode::ObjectHasReplicationTask));
    assert_eq!(clear(&mut pair, ""), ["k"]);
    assert_eq!(pair.copy_end("k"), Err(ErrorCode::ObjectNotFound));

    pair.put("k", MIB, &on("n0"));
    pair.copy("k", "n0", &["n1"]).unwrap();
    assert_eq!(clear(&mut pair, ""), [""; 0], "the target is not complete");
    assert_eq!(clear(&mut pair, "n0"), ["k"]);
    assert_eq!(pair.copy_end("k"), Err(ErrorCode::ReplicaIsGone));
    assert_eq!(
        (pair.get("k"), pair.allocated()),
        (Err(ErrorCode::ObjectNotFound), 0)
    );
}

/// Edge 35: there is nothing to copy, and the object is busy all the same.
fn empty() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    pair.copy("k", "n0", &["n1"]).unwrap();
    pair.copy_end("k").unwrap();
    assert_eq!(
        pair.copy("k", "n0", &["n1"]).map(|started| started.targets),
        Ok(Vec::new())
    );
    assert_eq!(pair.remove("k"), Err(ErrorCode::ObjectHasReplicationTask));
    let upsert = pair.upsert(WRITER, "k", MIB, &on("n0"));
    assert_eq!(upsert, Err(ErrorCode::ObjectHasReplicationTask));
    pair.copy_end("k").unwrap();
    assert_eq!(pair.remove("k"), Ok(()));
}

/// Edge 38, as far as a complete replica can be there already.
fn already_there() {
    let mut pair = Pair::with_segments(&[16 * MIB, 16 * MIB]);
    pair.put("k", MIB, &on("n0"));
    pair.copy("k", "n0", &["n1"]).unwrap();
    pair.copy_end("k").unwrap();
    assert_eq!(
        pair.move_to("k", "n0", "n1").map(|started| started.target),
        Ok(None)
    );
    pair.move_end("k").unwrap();
    assert_eq!(endpoints(&pair.get("k").unwrap()), ["h1:1"]);
    assert_eq!(pair.allocated(), 2 * MIB, "the source is quarantined");
}
