//! BatchQueryIp: the addresses of the hosts that clients serve from.

use crate::rig::*;
use moonquake_protocol::{Segment, Uuid};
use std::collections::BTreeMap;

fn query(rig: &mut Rig, clients: &[Uuid]) -> BTreeMap<Uuid, Vec<String>> {
    let client_ids = clients.to_vec();
    ask!(rig, BatchQueryIp { client_ids }).unwrap()
}

/// What is told of a client that serves from these endpoints.
fn hosts(endpoints: &[&str]) -> Vec<String> {
    let mut rig = Rig::new();
    for (number, endpoint) in endpoints.iter().enumerate() {
        let segment = Segment {
            te_endpoint: (*endpoint).to_owned(),
            ..segment(&format!("segment{number}"), 16 * MIB)
        };
        rig.mount(&segment, WRITER).unwrap();
    }
    let mut answer = query(&mut rig, &[WRITER, OTHER]);
    let mut hosts = answer.remove(&WRITER).unwrap();
    assert!(answer.is_empty(), "a client that nobody knows is left out");
    hosts.sort_unstable();
    hosts
}

#[test]
fn batch_query_ip_test() {
    assert_eq!(hosts(&["127.0.0.1:12345"]), ["127.0.0.1"]);
}

#[test]
fn batch_query_ip_multiple_segments_test() {
    let endpoints = ["127.0.0.1:12345", "127.0.0.1:12346", "192.168.1.1:12345"];
    assert_eq!(hosts(&endpoints), ["127.0.0.1", "192.168.1.1"]);
}

#[test]
fn batch_query_ip_empty_client_id_test() {
    assert!(query(&mut Rig::new().node("test_segment"), &[]).is_empty());
}

#[test]
fn batch_query_ip_multiple_segments_empty_te_endpoint_test() {
    assert!(hosts(&["", ""]).is_empty());
}

#[test]
fn batch_query_ip_bracketed_ipv6_test() {
    assert_eq!(hosts(&["[::1]:17813"]), ["::1"]);
}

#[test]
fn batch_query_ip_link_local_ipv6_with_scope_test() {
    assert_eq!(
        hosts(&["fe80::a236:bcff:fecb:a1be%eno2:15773"]),
        ["fe80::a236:bcff:fecb:a1be%eno2"]
    );
}

#[test]
fn batch_query_ip_ipv6_no_port_test() {
    assert_eq!(hosts(&["::1"]), ["::1"]);
}

#[test]
fn batch_query_ip_mixed_ipv4_and_ipv6_test() {
    assert_eq!(
        hosts(&["192.168.1.1:12345", "[::1]:17813"]),
        ["192.168.1.1", "::1"]
    );
}
