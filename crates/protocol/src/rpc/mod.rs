//! The methods of the master, their requests and their responses.

#[macro_use]
mod macros;
mod keys;
mod table;
mod tenant;

pub use table::{Request, Response, Rpc};
#[cfg(feature = "proptest")]
pub(crate) use table::{request_strategy, response_strategy};
pub use tenant::{DEFAULT_TENANT, is_tenant_name};

use crate::error_code::ErrorCode;
use crate::struct_pack::{DecodeError, Literal, Prefix, Reader, TypeTag, encode_message_into};
use md5::{Digest, Md5};
use std::sync::LazyLock;

/// What is computed once per method.
struct Computed {
    verb: String,
    function_id: u32,
    /// Type of the arguments; `None` if there are none, as the body is then empty.
    request: Option<TypeTag>,
    /// The type of a single argument inside a tuple of its own, which the master accepts as well.
    request_in_tuple: Option<TypeTag>,
    response: TypeTag,
}

static COMPUTED: LazyLock<Vec<Computed>> =
    LazyLock::new(|| Rpc::ALL.iter().map(|&rpc| compute(rpc)).collect());

/// Every method by its id, in the order of ids.
static BY_FUNCTION_ID: LazyLock<Vec<(u32, Rpc)>> = LazyLock::new(|| {
    let mut methods: Vec<_> = Rpc::ALL.iter().map(|&rpc| (rpc.function_id(), rpc)).collect();
    methods.sort_unstable();
    methods
});

fn compute(rpc: Rpc) -> Computed {
    let request = table::request_literal(rpc);
    let single = request.as_ref().filter(|_| rpc.argument_count() == 1);
    let in_tuple = single.map(|literal| [&[TUPLE], literal.as_slice(), &[TUPLE_END]].concat());
    Computed {
        verb: snake_case(rpc.name()),
        function_id: function_id_of(rpc.function_name()),
        request: request.map(TypeTag::new),
        request_in_tuple: in_tuple.map(TypeTag::new),
        response: TypeTag::new(table::response_literal(rpc)),
    }
}

/// What a call can return.
trait CallResult {
    /// The error of the call as a whole.
    fn error(&self) -> Option<ErrorCode>;
}

impl<T> CallResult for Result<T, ErrorCode> {
    fn error(&self) -> Option<ErrorCode> {
        self.as_ref().err().copied()
    }
}

/// A batch has an error per entry and none as a whole.
impl<T> CallResult for Vec<T> {
    fn error(&self) -> Option<ErrorCode> {
        None
    }
}

/// RemoveAll returns a bare number.
impl CallResult for i64 {
    fn error(&self) -> Option<ErrorCode> {
        None
    }
}

/// First and last byte of the literal of a tuple.
const TUPLE: u8 = 0xfd;
const TUPLE_END: u8 = 0xff;

/// The type of an argument list: nothing, the argument itself, or a tuple.
fn arguments_literal(arguments: &[fn(&mut Vec<u8>)]) -> Option<Vec<u8>> {
    let mut literal = Vec::new();
    match arguments {
        [] => return None,
        [single] => single(&mut literal),
        several => {
            literal.push(TUPLE);
            several.iter().for_each(|push_literal| push_literal(&mut literal));
            literal.push(TUPLE_END);
        }
    }
    Some(literal)
}

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
        let methods = &*BY_FUNCTION_ID;
        let at = methods.binary_search_by_key(&function_id, |(id, _)| *id).ok()?;
        Some(methods[at].1)
    }

    /// Type literal and hash of the arguments; `None` if the call has none.
    pub fn request_type(self) -> Option<&'static TypeTag> {
        COMPUTED[self as usize].request.as_ref()
    }

    /// Type literal and hash of the result.
    pub fn response_type(self) -> &'static TypeTag {
        &COMPUTED[self as usize].response
    }

    /// The name in snake case, such as `put_start`: the verb of the scenario language.
    pub fn verb(self) -> &'static str {
        &COMPUTED[self as usize].verb
    }

    /// Whether its answer hands out memory to be written.
    pub fn hands_out_memory(self) -> bool {
        matches!(
            self,
            Rpc::PutStart
                | Rpc::UpsertStart
                | Rpc::BatchPutStart
                | Rpc::BatchUpsertStart
                | Rpc::CopyStart
                | Rpc::MoveStart
                | Rpc::DynamicReplicaCopyStart
                | Rpc::PromotionAllocStart
        )
    }

    /// From the name in snake case.
    pub fn from_verb(verb: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rpc| rpc.verb() == verb)
    }
}

impl Request {
    /// Appends the body of the call; nothing if it has no arguments.
    pub fn encode_into(&self, out: &mut Vec<u8>, literal: Literal) {
        if let Some(tag) = self.rpc().request_type() {
            encode_message_into(out, tag, literal, |writer| table::encode_arguments(self, writer));
        }
    }

    /// Reads the body of a call. As on the real master, bytes after it are ignored, the body of a call without
    /// arguments is ignored altogether, and a single argument may lie in a tuple of its own.
    ///
    /// # Errors
    /// [`DecodeError`]: the body is of another type or damaged.
    pub fn decode(rpc: Rpc, body: &[u8]) -> Result<Self, DecodeError> {
        let Some(tag) = rpc.request_type() else {
            return table::decode_arguments(rpc, &mut Reader::new(&[]));
        };
        let prefix = Prefix::read(body)?;
        match &COMPUTED[rpc as usize].request_in_tuple {
            Some(in_tuple) if prefix.hash == in_tuple.hash() => prefix.check(in_tuple)?,
            _ => prefix.check(tag)?,
        }
        table::decode_arguments(rpc, &mut Reader::at(body, prefix.value_offset, prefix.width))
    }
}

impl Response {
    /// Appends the body of the answer.
    pub fn encode_into(&self, out: &mut Vec<u8>, literal: Literal) {
        let tag = self.rpc().response_type();
        encode_message_into(out, tag, literal, |writer| table::encode_result(self, writer));
    }

    /// Reads the body of an answer to `rpc`. Bytes after it are ignored, as by the real client.
    ///
    /// # Errors
    /// [`DecodeError`]: the body is of another type or damaged.
    pub fn decode(rpc: Rpc, body: &[u8]) -> Result<Self, DecodeError> {
        let prefix = Prefix::read(body)?;
        prefix.check(rpc.response_type())?;
        table::decode_result(rpc, &mut Reader::at(body, prefix.value_offset, prefix.width))
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
