//! The machines behind a client's segments. Mirrors `master_service.cpp:BatchQueryIp` and
//! `utils.h:getHostNameWithoutPort`.

use crate::Master;
use crate::objects::hash::hash_of;
use crate::objects::order::HashOrder;
use moonquake_protocol::Uuid;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

impl Master {
    /// For each client that has segments the distinct hosts of their endpoints, in the order in which upstream's set of them is
    /// walked.
    pub(crate) fn batch_query_ip(&self, clients: &[Uuid]) -> BTreeMap<Uuid, Vec<String>> {
        let hosts = |client: &Uuid| {
            let segments = self.segments.of_client(*client)?;
            let mounts = segments.iter().filter_map(|id| self.segments.by_segment(*id));
            let endpoints: Vec<&str> = mounts.map(|mount| mount.segment.te_endpoint.as_str()).collect();
            Some((*client, distinct_hosts(&endpoints)))
        };
        clients.iter().filter_map(hosts).collect()
    }
}

/// The hosts of endpoints, each once. Upstream's set has room for as many as there are segments.
fn distinct_hosts(endpoints: &[&str]) -> Vec<String> {
    let mut order = HashOrder::with_reserve(u32::try_from(endpoints.len()).unwrap_or(u32::MAX));
    let mut hosts: Vec<String> = Vec::new();
    for endpoint in endpoints.iter().filter(|endpoint| !endpoint.is_empty()) {
        let host = host_of(endpoint);
        if !hosts.contains(&host) {
            order.insert(hash_of(host.as_bytes()), hosts.len());
            hosts.push(host);
        }
    }
    order.iter().map(|place| hosts[place].clone()).collect()
}

/// An endpoint without its port, also where an IPv6 address with a scope has one without brackets. What is no IPv6
/// address ends at its last colon. Mirrors `common.h:extractIPv6HostAndPort`.
fn host_of(endpoint: &str) -> String {
    let bracketed = || endpoint.strip_prefix('[')?.split_once(']').map(|(host, _)| host);
    let bare = || (!endpoint.starts_with('[')).then_some(endpoint);
    let scoped = || {
        let scope = bare()?.find('%')?;
        let port = endpoint[scope..].find(':')?;
        Some(&endpoint[..scope + port])
    };
    let found = [bracketed(), bare(), scoped()]
        .into_iter()
        .flatten()
        .find(|host| is_ipv6(host));
    let cut = || endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    found.unwrap_or_else(cut).to_owned()
}

/// Whether this is an IPv6 address, with a scope or without, and nothing else.
fn is_ipv6(text: &str) -> bool {
    let (address, scope) = text.split_once('%').unwrap_or((text, ""));
    !scope.contains(':') && address.parse::<Ipv6Addr>().is_ok()
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
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("fe80::1%eth0:12345", "fe80::1%eth0"),
            ("[fe80::1]", "fe80::1"),
            ("[no address]:80", "[no address]"),
            ("[no address", "[no address"),
            ("a:b:80", "a:b"),
            ("a%b:80:81", "a%b:80"),
            (":80", ""),
        ];
        for (endpoint, host) in cases {
            assert_eq!(host_of(endpoint), host);
        }
    }
}
