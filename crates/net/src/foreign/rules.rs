//! Which frame or byte a stand-alone proxy does something to, and what.

use super::{ForeignMessage, RelayTransfer};
use moonquake_protocol::{ErrorCode, Rpc};
use std::time::Duration;

/// Where a rule strikes, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The n-th request of that method, counted from 1: it has arrived whole, and the master has not got it.
    Request {
        /// The method.
        rpc: Rpc,
        /// Which one.
        nth: u64,
    },
    /// The answer to the n-th request of that method: the master has handled it, and the client has not got it.
    Response {
        /// The method.
        rpc: Rpc,
        /// Which one.
        nth: u64,
    },
    /// That many bytes of payload have moved, over all transfers of the client in their order, and not one more. 0: the
    /// owner has the first header.
    Payload {
        /// How many bytes.
        byte: u64,
    },
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The caller's function is called, which kills the client; what was at the proxy is lost.
    Kill,
    /// It waits until it is released.
    Hold,
    /// It is lost. Payload stands still for good.
    Drop,
    /// It waits that long in real time.
    Delay(Duration),
    /// The master gets it a second time, right after the first; the second answer goes to nobody.
    Duplicate,
    /// The master gets it right after the next request of the client, which thus overtakes it.
    Overtaken,
    /// The connection closes.
    Cut,
    /// The client gets this answer; a request does not reach the master.
    Error(ErrorCode),
    /// From here on payload moves with that many bytes a second in all; transfers beside each other share them in turns.
    Rate(u64),
}

/// One exact fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(super) at: At,
    pub(super) act: Act,
}

/// A rule that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Frames count from 1.
    #[error("the 0th {} never comes: frames are counted from 1", .0.name())]
    Zeroth(Rpc),
    /// The action has no meaning there.
    #[error("{act:?} cannot be done at {at:?}")]
    Combination {
        /// Where.
        at: At,
        /// What.
        act: Act,
    },
}

impl Rule {
    /// Does `act` at `at`.
    ///
    /// # Errors
    /// [`RuleError`]: there is no such place, or the action has no meaning there.
    pub fn new(at: At, act: Act) -> Result<Rule, RuleError> {
        let possible = match (at, act) {
            (At::Request { rpc, nth: 0 } | At::Response { rpc, nth: 0 }, _) => {
                return Err(RuleError::Zeroth(rpc));
            }
            (_, Act::Kill | Act::Hold | Act::Drop | Act::Delay(_) | Act::Cut) => true,
            (At::Request { .. }, Act::Duplicate | Act::Overtaken | Act::Error(_)) => true,
            (At::Response { .. }, Act::Error(_)) => true,
            (At::Payload { .. }, Act::Rate(rate)) => rate > 0,
            _ => false,
        };
        possible
            .then_some(Rule { at, act })
            .ok_or(RuleError::Combination { at, act })
    }
}

/// A rule that has struck: the proof that it did, and to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Struck {
    /// Its number in the list of rules, from 0.
    pub rule: usize,
    /// The message that it struck, with the number of the link's log.
    pub message: Option<ForeignMessage>,
    /// The transfer that it struck.
    pub transfer: Option<RelayTransfer>,
}

/// Rules and what has happened of them.
#[derive(Debug)]
pub(super) struct Rules {
    all: Vec<(Rule, bool)>,
    pub(super) struck: Vec<Struck>,
}

impl Rules {
    pub(super) fn new(rules: &[Rule]) -> Rules {
        Rules {
            all: rules.iter().map(|rule| (*rule, false)).collect(),
            struck: Vec::new(),
        }
    }

    /// The first rule for this place that has not struck; it has, from now on.
    pub(super) fn strike(
        &mut self,
        at: At,
        message: Option<ForeignMessage>,
        transfer: Option<RelayTransfer>,
    ) -> Option<Act> {
        let mut fitting = self.all.iter_mut().enumerate();
        let (number, (rule, done)) = fitting.find(|(_, (rule, done))| rule.at == at && !*done)?;
        *done = true;
        self.struck.push(Struck {
            rule: number,
            message,
            transfer,
        });
        Some(rule.act)
    }

    /// How many bytes may move from `moved` on until the next rule for payload strikes.
    pub(super) fn room(&self, moved: u64) -> u64 {
        let bytes = self.all.iter().filter_map(|(rule, done)| match rule.at {
            At::Payload { byte } if !done && byte > moved => Some(byte - moved),
            _ => None,
        });
        bytes.min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, At, Rule, RuleError};
    use moonquake_protocol::{ErrorCode, Rpc};

    #[test]
    fn impossible_rules_are_refused() {
        let rpc = Rpc::PutStart;
        let request = At::Request { rpc, nth: 1 };
        let response = At::Response { rpc, nth: 1 };
        let payload = At::Payload { byte: 0 };
        for (at, act) in [
            (request, Act::Rate(1)),
            (response, Act::Duplicate),
            (response, Act::Overtaken),
            (payload, Act::Error(ErrorCode::RpcFail)),
            (payload, Act::Duplicate),
            (payload, Act::Rate(0)),
        ] {
            assert_eq!(Rule::new(at, act), Err(RuleError::Combination { at, act }));
        }
        let zeroth = Rule::new(At::Response { rpc, nth: 0 }, Act::Kill);
        assert_eq!(zeroth, Err(RuleError::Zeroth(rpc)));
        assert!(Rule::new(payload, Act::Cut).is_ok());
    }
}
