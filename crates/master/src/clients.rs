//! Which clients live. Mirrors `master_service.cpp:ClientMonitorFunc` and `Ping`.

use crate::ids::hash_of_id;
use crate::objects::order::HashOrder;
use moonquake_clock::{Clocks, DeadlineId, Rules, Span};
use moonquake_protocol::{ClientStatus, Uuid};
use std::collections::{BTreeMap, BTreeSet};

/// The clients of a master.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    /// Pings that no monitor round has read yet.
    queued: Vec<(Uuid, Clocks)>,
    /// For each watched client the monitor round that read its last ping.
    read_at: BTreeMap<Uuid, Clocks>,
    /// The watched clients in the order in which upstream walks its table of them.
    watched: HashOrder<Uuid>,
    remounted: BTreeSet<Uuid>,
    hosts: BTreeMap<Uuid, String>,
}

impl Clients {
    /// Queues a ping for the next monitor round; that round, not this instant, starts the ttl.
    pub(crate) fn ping(&mut self, client: Uuid, now: Clocks) {
        self.queued.push((client, now));
    }

    /// Whether the client is in the OK set.
    pub(crate) fn is_ok(&self, client: Uuid) -> bool {
        self.remounted.contains(&client)
    }

    /// How many clients are OK.
    pub(crate) fn ok_count(&self) -> u64 {
        self.remounted.len() as u64
    }

    /// What a ping is answered.
    pub(crate) fn status(&self, client: Uuid) -> ClientStatus {
        if self.is_ok(client) {
            ClientStatus::Ok
        } else {
            ClientStatus::NeedRemount
        }
    }

    /// Takes a client into the OK set.
    pub(crate) fn set_ok(&mut self, client: Uuid) {
        self.remounted.insert(client);
    }

    /// Remembers the machine of a client; an empty name says nothing.
    pub(crate) fn set_host(&mut self, client: Uuid, host: &str) {
        if !host.is_empty() {
            self.hosts.insert(client, host.to_owned());
        }
    }

    /// The machine that the client last named; empty if none.
    pub(crate) fn host(&self, client: Uuid) -> &str {
        self.hosts.get(&client).map_or("", String::as_str)
    }

    /// One monitor round: reads the queued pings, then forgets and returns the clients whose ttl is over, in upstream's order: where
    /// one segment is in the lists of two of them, the first loses it.
    pub(crate) fn expire(&mut self, rules: &Rules, ttl: Span, now: Clocks) -> Vec<Uuid> {
        for (client, arrived) in self.queued.drain(..) {
            let base = rules.base(DeadlineId::ClientTtl, now, arrived);
            self.read_at.insert(client, base);
            self.watched.insert(hash_of_id(client), client);
        }
        let dead = |read_at: &Clocks| rules.reached(DeadlineId::ClientTtl, *read_at, ttl, now);
        let is_dead = |client: &Uuid| self.read_at.get(client).is_some_and(dead);
        let expired: Vec<Uuid> = self.watched.iter().filter(is_dead).collect();
        for client in &expired {
            self.read_at.remove(client);
            self.watched.remove(hash_of_id(*client), *client);
            self.remounted.remove(client);
            self.hosts.remove(client);
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_expire_together_go_in_the_order_of_the_table() {
        let mut clients = Clients::default();
        let ids: Vec<Uuid> = (1..=3).map(|number| Uuid::new(number, number)).collect();
        let start = Clocks::default();
        ids.iter().for_each(|id| clients.ping(*id, start));
        let rules = Rules::default();
        assert_eq!(clients.expire(&rules, Span::from_secs(10), start), []);
        let late = start + Span::from_secs(11);
        // Each is put in front of those that came before it, where none of them share a bucket.
        let mut latest_first = ids.clone();
        latest_first.reverse();
        assert_eq!(clients.expire(&rules, Span::from_secs(10), late), latest_first);
        assert_eq!(
            clients.expire(&rules, Span::from_secs(10), late),
            [],
            "nobody is left"
        );
    }
}
