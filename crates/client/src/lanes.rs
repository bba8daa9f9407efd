//! The connections of one client to one owner of a segment: which transfer gets one, which waits, and when a broken one is
//! made anew. Mirrors `tcp_transport_lane_impl.h`.
//!
//! Left out are its queues of 1024 transfers and 1024 more that wait a second to be queued, and the time that it takes to
//! connect: a connection is made, or refused, at once.

use moonquake_clock::{Clocks, DeadlineId, Rules, Span};

/// How many connections the transfer engine has to one owner of a segment; a transfer beyond that waits for one of them.
/// Mirrors `MC_TCP_LANES_PER_PEER`, whose default it is.
pub const LANES: usize = 4;

/// After a connection broke beside a usable one, and after a round in which none could be made, no other is tried for that
/// long: the length of [`DeadlineId::Reconnect`].
pub const LANE_COOLDOWN: Span = Span::from_secs(1);

/// What a connection is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none.
    Disconnected,
    /// It waits for a transfer.
    Idle,
    /// It has one.
    Busy,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    state: State,
    /// The last round in which it was tried.
    tried_in: u64,
}

/// What becomes of the transfer that is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It has this connection, until [`Lanes::leave`].
    On(usize),
    /// It waits for another transfer to end, and at the latest for [`LANE_COOLDOWN`] from that instant, if one is named.
    Waits(Option<Clocks>),
    /// It fails, and with it all that wait behind it: no connection could be made.
    Fails,
}

/// The connections of one client to one owner. Transfers wait outside, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Lanes {
    lanes: [Lane; LANES],
    /// Each broken connection is tried once a round.
    round: u64,
    had_success: bool,
    /// When the last cooldown began; none if a new round may begin with an attempt.
    cools_from: Option<Clocks>,
    /// From when the timer counts that waits for the end of a cooldown. One that has begun keeps its time.
    timer: Option<Clocks>,
}

impl Default for Lanes {
    fn default() -> Lanes {
        let lane = Lane {
            state: State::Disconnected,
            tried_in: 0,
        };
        Lanes {
            lanes: [lane; LANES],
            round: 1,
            had_success: false,
            cools_from: None,
            timer: None,
        }
    }
}

impl Lanes {
    /// A connection for the transfer that is next. `reachable` is whether the owner takes a new one now.
    pub fn admit(&mut self, rules: &Rules, now: Clocks, reachable: bool) -> Admission {
        loop {
            if let Some(idle) = self.find(|lane| lane.state == State::Idle) {
                return self.take(idle);
            }
            if let Some(from) = self.wait(rules, now) {
                return Admission::Waits(Some(from));
            }
            if self.is_exhausted() {
                let starts = self.cools_from.is_none();
                if starts {
                    self.cool_down(now);
                }
                if starts && !self.has_usable() {
                    return Admission::Fails;
                }
                if self.cools(rules, now).is_none() {
                    self.begin_round();
                }
            }
            if let Some(from) = self.cools(rules, now) {
                let from = rules.base(DeadlineId::Reconnect, from, now);
                self.timer = Some(from);
                return Admission::Waits(Some(from));
            }
            let round = self.round;
            let untried = |lane: &Lane| lane.state == State::Disconnected && lane.tried_in != round;
            let Some(next) = self.find(untried) else {
                return Admission::Waits(None);
            };
            self.lanes[next].tried_in = round;
            if reachable {
                self.had_success = true;
                return self.take(next);
            }
            if !self.has_usable() && self.is_exhausted() {
                self.cool_down(now);
                return Admission::Fails;
            }
        }
    }

    /// From when a wait counts that goes on. Once it is over, a round begins if the last one has nothing left to try.
    fn wait(&mut self, rules: &Rules, now: Clocks) -> Option<Clocks> {
        let from = self.timer?;
        if !is_cool(rules, from, now) {
            return Some(from);
        }
        self.timer = None;
        if self.is_exhausted() {
            self.begin_round();
        }
        None
    }

    /// A transfer has left its connection, which is usable still if that is `clean`. `waiting` is whether another one waits.
    pub fn leave(&mut self, lane: usize, clean: bool, now: Clocks, waiting: bool) {
        let Some(left) = self.lanes.get_mut(lane) else {
            return;
        };
        if clean {
            left.state = State::Idle;
            return;
        }
        left.state = State::Disconnected;
        if self.has_usable() {
            self.cool_down(now);
        } else if waiting && self.had_success {
            self.begin_round();
        }
    }

    fn find(&self, wanted: impl Fn(&Lane) -> bool) -> Option<usize> {
        self.lanes.iter().position(wanted)
    }

    fn take(&mut self, lane: usize) -> Admission {
        self.lanes[lane].state = State::Busy;
        Admission::On(lane)
    }

    fn has_usable(&self) -> bool {
        self.lanes.iter().any(|lane| lane.state != State::Disconnected)
    }

    /// Whether there is a broken connection, and each of them was tried in this round.
    fn is_exhausted(&self) -> bool {
        let mut broken = self.lanes.iter().filter(|lane| lane.state == State::Disconnected);
        let mut any = false;
        let all = broken.all(|lane| {
            any = true;
            lane.tried_in == self.round
        });
        any && all
    }

    fn begin_round(&mut self) {
        self.round += 1;
        self.had_success = false;
        self.cools_from = None;
    }

    fn cool_down(&mut self, now: Clocks) {
        self.cools_from = Some(now);
    }

    /// When the cooldown began, if it is not over.
    fn cools(&self, rules: &Rules, now: Clocks) -> Option<Clocks> {
        self.cools_from.filter(|from| !is_cool(rules, *from, now))
    }
}

fn is_cool(rules: &Rules, from: Clocks, now: Clocks) -> bool {
    rules.reached(DeadlineId::Reconnect, from, LANE_COOLDOWN, now)
}

#[cfg(test)]
mod tests {
    use super::{Admission, LANE_COOLDOWN, Lanes};
    use moonquake_clock::{Clocks, DeadlineId, Flip, Length, MonotonicNs, RealtimeNs, Rules, Span};

    const START: u64 = 5_000_000_000;
    const SECOND: u64 = LANE_COOLDOWN.ns;

    fn at(after: u64) -> Clocks {
        let start = Clocks {
            realtime: RealtimeNs(2 * START),
            monotonic: MonotonicNs(START),
        };
        start + Span::from_ns(after)
    }

    fn due(after: u64) -> Admission {
        Admission::Waits(Some(at(after - SECOND)))
    }

    impl Lanes {
        fn try_at(&mut self, now: Clocks, reachable: bool) -> Admission {
            self.admit(&Rules::default(), now, reachable)
        }
    }

    #[test]
    fn four_transfers_have_a_connection_and_the_fifth_waits_for_one_of_them() {
        let mut lanes = Lanes::default();
        for lane in 0..4 {
            assert_eq!(lanes.try_at(at(0), true), Admission::On(lane));
        }
        assert_eq!(lanes.try_at(at(0), true), Admission::Waits(None));
        lanes.leave(2, true, at(7), true);
        assert_eq!(lanes.try_at(at(7), true), Admission::On(2));
    }

    /// At -1 ns, 0 and +1 ns of the second.
    #[test]
    fn a_connection_that_broke_beside_another_is_made_anew_after_a_second() {
        for (after, admission) in [
            (SECOND - 1, due(SECOND)),
            (SECOND, Admission::On(1)),
            (SECOND + 1, Admission::On(1)),
        ] {
            let mut lanes = Lanes::default();
            for lane in 0..4 {
                assert_eq!(lanes.try_at(at(0), true), Admission::On(lane));
            }
            lanes.leave(1, false, at(0), false);
            assert_eq!(lanes.try_at(at(after), true), admission, "{after} ns later");
        }
    }

    #[test]
    fn connections_that_were_never_made_wait_for_the_second_too() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.try_at(at(0), true), Admission::On(0));
        assert_eq!(lanes.try_at(at(0), true), Admission::On(1));
        lanes.leave(1, false, at(5), false);
        assert_eq!(lanes.try_at(at(6), true), due(SECOND + 5));
        lanes.leave(0, true, at(7), true);
        assert_eq!(
            lanes.try_at(at(7), true),
            Admission::On(0),
            "what is whole is used"
        );
        assert_eq!(lanes.try_at(at(SECOND + 5), true), Admission::On(2));
    }

    #[test]
    fn a_wait_that_has_begun_is_not_made_longer() {
        let mut lanes = Lanes::default();
        for lane in 0..4 {
            assert_eq!(lanes.try_at(at(0), true), Admission::On(lane));
        }
        lanes.leave(1, false, at(0), true);
        assert_eq!(lanes.try_at(at(1), true), due(SECOND));
        lanes.leave(2, false, at(SECOND - 1), true);
        assert_eq!(lanes.try_at(at(SECOND - 1), true), due(SECOND));
        assert_eq!(lanes.try_at(at(SECOND), true), Admission::On(1));
        assert_eq!(lanes.try_at(at(SECOND), true), Admission::On(2));
    }

    #[test]
    fn the_last_connection_is_made_anew_at_once_while_another_transfer_waits() {
        let mut lanes = Lanes::default();
        for lane in 0..4 {
            assert_eq!(lanes.try_at(at(0), true), Admission::On(lane));
        }
        for lane in 0..4 {
            lanes.leave(lane, false, at(0), true);
        }
        assert_eq!(lanes.try_at(at(0), true), Admission::On(0));
    }

    /// Upstream takes four connections that broke one by one for four that could not be made.
    #[test]
    fn once_each_connection_broke_alone_the_next_transfer_fails_and_the_one_after_it_waits() {
        let mut lanes = Lanes::default();
        for lane in 0..4 {
            assert_eq!(lanes.try_at(at(0), true), Admission::On(lane));
            lanes.leave(lane, false, at(0), false);
        }
        assert_eq!(lanes.try_at(at(1), true), Admission::Fails);
        assert_eq!(lanes.try_at(at(SECOND), true), due(SECOND + 1));
        assert_eq!(lanes.try_at(at(SECOND + 1), true), Admission::On(0));
    }

    #[test]
    fn an_owner_that_is_gone_fails_all_that_wait_once_a_second() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.try_at(at(0), false), Admission::Fails);
        assert_eq!(lanes.try_at(at(SECOND - 1), false), due(SECOND));
        assert_eq!(lanes.try_at(at(SECOND), false), Admission::Fails);
        assert_eq!(lanes.try_at(at(2 * SECOND), true), Admission::On(0));
    }

    #[test]
    fn the_table_says_how_long_a_cooldown_is() {
        let length = DeadlineId::Reconnect.row().length;
        assert_eq!(length, Length::FixedNs(LANE_COOLDOWN.ns));
    }

    /// What a transfer finds that comes 400 ms after a round in which no connection could be made, and what it finds later.
    #[test]
    fn each_flip_of_the_cooldown_changes_an_answer() {
        let late = SECOND * 2 / 5;
        let set_back = Clocks {
            realtime: at(0).realtime,
            ..at(SECOND)
        };
        for (flip, then, found) in [
            (None, at(SECOND), Admission::On(0)),
            (None, set_back, Admission::On(0)),
            (Some(Flip::Compare), at(SECOND), due(SECOND)),
            (Some(Flip::Clock), set_back, due(SECOND)),
            (Some(Flip::Base), at(SECOND), due(SECOND + late)),
        ] {
            let mut rules = Rules::default();
            if let Some(flip) = flip {
                rules.flip(DeadlineId::Reconnect, flip);
            }
            let mut lanes = Lanes::default();
            assert_eq!(lanes.admit(&rules, at(0), false), Admission::Fails);
            let waits = matches!(lanes.admit(&rules, at(late), true), Admission::Waits(Some(_)));
            assert!(waits, "{flip:?}");
            assert_eq!(lanes.admit(&rules, then, true), found, "{flip:?}");
        }
    }
}
