//! The patterns of GetReplicaListByRegex and RemoveByRegex: ECMAScript as `std::regex` of the GNU C++ library reads it,
//! on bytes, searched for anywhere in a key.
//!
//! Only whether a key matches is asked, so the pattern runs as a finite automaton: no input makes it slow, where the
//! library's own search may take exponential time or exhaust the stack. A pattern that refers back to a group is searched for
//! by trying, with a bound.

mod automaton;
mod backtrack;
mod count;
mod parse;
mod set;

pub(crate) use automaton::Pattern;

/// Why a pattern cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternError {
    /// The library refuses it too. Patterns that are nested or repeated beyond all measure are counted here.
    Invalid,
}
