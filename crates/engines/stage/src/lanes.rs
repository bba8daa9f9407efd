//! Which transfers have a connection to the owner of their segment, and which wait for one.

use crate::ports::Ports;
use crate::state::Stage;
use crate::timers::Due;
use crate::underway::Transfer;
use moonquake_client::{Admission, LANE_COOLDOWN, Lanes};
use moonquake_clock::{Clocks, DeadlineId, Span};
use std::collections::BTreeMap;

/// A client and a segment, whose owner it has connections to.
pub(crate) type Pair = (String, String);

/// The connections of a client to one owner.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    lanes: Lanes,
    /// From when the wait counts after which the first that waits may have a connection, on the client's own clocks.
    waits_from: Option<Clocks>,
}

/// What a transfer has of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// It needs none: its bytes stay within one process.
    Local,
    /// It waits for one.
    Waits,
    /// It has this one.
    On(usize),
    /// None could be made for it; it fails when its turn comes.
    Refused,
}

impl Lane {
    /// Whether it can move, or fail.
    pub(crate) fn is_ready(self) -> bool {
        self != Lane::Waits
    }
}

impl<P: Ports> Stage<'_, P> {
    /// Connections for the transfers that wait for one, first come, first served. `new` was submitted just now, and keeps
    /// its place among what can happen at this instant.
    pub(crate) fn admit(&mut self, pair: &Pair, new: Option<u64>) {
        while let Some(id) = self.transfers.first_waiting(pair) {
            let clocks = self.clocks(&pair.0);
            let reachable = self.is_there(&pair.1);
            let peer = self.peers.entry(pair.clone()).or_default();
            peer.waits_from = None;
            let lane = match peer.lanes.admit(&self.rules, clocks, reachable) {
                Admission::Waits(from) => {
                    peer.waits_from = from;
                    return;
                }
                Admission::On(lane) => Lane::On(lane),
                Admission::Fails => Lane::Refused,
            };
            let refused = lane == Lane::Refused;
            self.go(id, lane, new);
            // All that wait fail with the first.
            while let Some(id) = self.transfers.first_waiting(pair).filter(|_| refused) {
                self.go(id, lane, new);
            }
        }
    }

    /// A transfer waits no more.
    fn go(&mut self, id: u64, lane: Lane, new: Option<u64>) {
        if new != Some(id) {
            let order = self.enqueue();
            self.transfers.set_order(id, order);
        }
        self.transfers.set_lane(id, lane);
        let Some(transfer) = self.transfers.get(id) else {
            return;
        };
        let (clocks, next_at) = (self.clocks(&transfer.actor), self.next_at(transfer));
        if let Some(transfer) = self.transfers.get_mut(id) {
            transfer.progress_at = clocks;
            transfer.next_at = next_at;
        }
    }

    /// A transfer is gone from its connection, which is usable still if that is `clean`.
    pub(crate) fn leave_lane(&mut self, transfer: &Transfer, clean: bool) {
        let Lane::On(lane) = transfer.lane() else { return };
        let pair = (transfer.actor.clone(), transfer.owner.clone());
        let now = self.clocks(&pair.0);
        let waiting = self.transfers.first_waiting(&pair).is_some();
        if let Some(peer) = self.peers.get_mut(&pair) {
            peer.lanes.leave(lane, clean, now, waiting);
        }
        self.admit(&pair, None);
    }

    /// Whether a client knows where the owner of a segment can be reached. It asks once, and keeps the answer: whoever was met
    /// is known also when it is gone. Mirrors `transfer_metadata.cpp:getSegmentID`.
    pub(crate) fn meet(&mut self, pair: &Pair) -> bool {
        let known = self.met.contains(pair) || self.is_there(&pair.1);
        if known {
            self.met.insert(pair.clone());
        }
        known
    }

    /// The process of a client is gone, and with it its connections and all that it knew of owners.
    pub(crate) fn forget_lanes(&mut self, client: &str) {
        self.peers.retain(|(actor, _), _| actor != client);
        self.met.retain(|(actor, _)| actor != client);
    }

    /// When transfers that wait may have a connection.
    pub(crate) fn lanes_due(&self) -> impl Iterator<Item = (Span, Due)> + '_ {
        let due = |(pair, peer): (&Pair, &Peer)| {
            let from = peer.waits_from.filter(|_| self.acts(&pair.0))?;
            self.transfers.first_waiting(pair)?;
            let at = self.until(DeadlineId::Reconnect, &pair.0, from, LANE_COOLDOWN);
            Some((at, Due::Lane(pair.clone())))
        };
        let peers: &BTreeMap<Pair, Peer> = &self.peers;
        peers.iter().filter_map(due)
    }
}
