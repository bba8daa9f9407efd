//! The methods of the master, their requests and their responses.

#[macro_use]
mod macros;
mod table;

pub use table::{Request, Response, Rpc};

use md5::{Digest, Md5};
use std::sync::LazyLock;

/// What is computed once per method.
struct Computed {
    verb: String,
    function_id: u32,
}

static COMPUTED: LazyLock<Vec<Computed>> = LazyLock::new(|| {
    Rpc::ALL
        .iter()
        .map(|rpc| Computed {
            verb: snake_case(rpc.name()),
            function_id: function_id_of(rpc.function_name()),
        })
        .collect()
});

/// The id of a function in the request header: the first four bytes of the MD5 of its qualified C++ name, read
/// big-endian. Mirrors `coro_rpc` `include/ylt/coro_rpc/impl/router.hpp`.
pub fn function_id_of(qualified_name: &str) -> u32 {
    let digest = Md5::digest(qualified_name.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

impl Rpc {
    /// The id in the request header.
    pub fn function_id(self) -> u32 {
        COMPUTED[self as usize].function_id
    }

    /// From the id in the request header; `None` is what the master calls "not registered".
    pub fn from_function_id(function_id: u32) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|rpc| rpc.function_id() == function_id)
    }

    /// The name in snake case, such as `put_start`: the verb of the scenario language.
    pub fn verb(self) -> &'static str {
        &COMPUTED[self as usize].verb
    }

    /// From the name in snake case.
    pub fn from_verb(verb: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rpc| rpc.verb() == verb)
    }
}

/// `NoF` counts as one word (`mount_nof_segment`); every other capital letter begins a word.
fn snake_case(name: &str) -> String {
    let mut verb = String::with_capacity(name.len() + 8);
    for letter in name.replace("NoF", "Nof").chars() {
        if letter.is_ascii_uppercase() && !verb.is_empty() {
            verb.push('_');
        }
        verb.push(letter.to_ascii_lowercase());
    }
    verb
}

#[cfg(test)]
mod tests {
    use super::Rpc;

    #[test]
    fn names_verbs_and_ids_lead_back() {
        assert_eq!(Rpc::ALL.len(), 64);
        for &rpc in Rpc::ALL {
            assert_eq!(Rpc::ALL[rpc as usize], rpc);
            assert_eq!(Rpc::from_name(rpc.name()), Some(rpc));
            assert_eq!(Rpc::from_verb(rpc.verb()), Some(rpc));
            assert_eq!(Rpc::from_function_id(rpc.function_id()), Some(rpc));
        }
        assert_eq!(Rpc::PutStart.verb(), "put_start");
        assert_eq!(Rpc::GetReplicaListByRegex.verb(), "get_replica_list_by_regex");
        assert_eq!(Rpc::GetAllNoFSegments.verb(), "get_all_nof_segments");
        assert_eq!(Rpc::ServiceReady.function_id(), 0x7b81_bb56);
        assert_eq!(Rpc::from_name("CalcCacheStats"), None);
    }
}
