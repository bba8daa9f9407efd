//! The machines behind a client's segments. Mirrors `master_service.cpp:BatchQueryIp` and
//! `utils.h:getHostNameWithoutPort`.

use crate::Master;
use moonquake_protocol::Uuid;
use std::collections::BTreeMap;

impl Master {
    /// For each client that has segments the distinct hosts of their endpoints. Upstream gives them in the order of a
    /// hash table; here they are sorted.
    pub(crate) fn batch_query_ip(&self, clients: &[Uuid]) -> BTreeMap<Uuid, Vec<String>> {
        let hosts = |client: &Uuid| {
            let segments = self.segments.of_client(*client)?;
            let mounts = segments.iter().filter_map(|id| self.segments.by_segment(*id));
            let endpoints = mounts.map(|mount| mount.segment.te_endpoint.as_str());
            let mut hosts: Vec<String> = endpoints
                .filter(|endpoint| !endpoint.is_empty())
                .map(host_of)
                .collect();
            hosts.sort();
            hosts.dedup();
            Some((*client, hosts))
        };
        clients.iter().filter_map(hosts).collect()
    }
}

/// An endpoint without its port. A bare IPv6 address has more than one colon and no port.
fn host_of(endpoint: &str) -> String {
    if let Some(rest) = endpoint.strip_prefix('[') {
        return rest.split_once(']').map_or(endpoint, |(host, _)| host).to_owned();
    }
    match endpoint.split_once(':') {
        Some((host, rest)) if !rest.contains(':') => host.to_owned(),
        _ => endpoint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn ports_and_brackets_go_and_scopes_stay() {
        let cases = [
            ("10.0.0.1:12345", "10.0.0.1"),
            ("host-a:80", "host-a"),
            ("host-a", "host-a"),
            ("[2001:db8::1]:12345", "2001:db8::1"),
            ("[fe80::1%eth0]:12345", "fe80::1%eth0"),
            ("2001:db8::1", "2001:db8::1"),
        ];
        for (endpoint, host) in cases {
            assert_eq!(host_of(endpoint), host);
        }
    }
}
