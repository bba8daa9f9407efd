//! The policies by name.

use super::Policy;

/// One of the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// [`super::Lru`]
    Lru,
    /// [`super::Fifo`]
    Fifo,
    /// [`super::Sieve`]
    Sieve,
    /// [`super::TinyLfu`]
    TinyLfu,
    /// [`super::TimeSaved`]
    TimeSaved,
    /// [`super::Belady`]
    Belady,
}

/// Evaluates an expression with a type name standing for the policy of a [`Kind`], so that the code behind it is compiled once
/// for each policy: `with_policy!(kind, P => flat::replay::<P>(&references, blocks, capacity))`.
#[macro_export]
macro_rules! with_policy {
    ($kind:expr, $policy:ident => $body:expr) => {
        match $kind {
            $crate::policies::Kind::Lru => {
                type $policy = $crate::policies::Lru;
                $body
            }
            $crate::policies::Kind::Fifo => {
                type $policy = $crate::policies::Fifo;
                $body
            }
            $crate::policies::Kind::Sieve => {
                type $policy = $crate::policies::Sieve;
                $body
            }
            $crate::policies::Kind::TinyLfu => {
                type $policy = $crate::policies::TinyLfu;
                $body
            }
            $crate::policies::Kind::TimeSaved => {
                type $policy = $crate::policies::TimeSaved;
                $body
            }
            $crate::policies::Kind::Belady => {
                type $policy = $crate::policies::Belady;
                $body
            }
        }
    };
}

impl Kind {
    /// In the order in which a table has them; the bound is last.
    pub const ALL: [Kind; 6] = [
        Kind::Lru,
        Kind::Fifo,
        Kind::Sieve,
        Kind::TinyLfu,
        Kind::TimeSaved,
        Kind::Belady,
    ];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        with_policy!(self, P => P::NAME)
    }

    /// The policy with that name; upper and lower case are the same.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_found_by_its_name_and_no_other_is() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("LRU"), Some(Kind::Lru));
        assert_eq!(Kind::from_name("mru"), None);
    }
}
