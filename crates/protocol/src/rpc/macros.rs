//! The macro that turns the table of methods into types.

macro_rules! rpc_table {
    ($($name:ident { $($field:ident: $type:ty),* $(,)? } -> $result:ty;)*) => {
        /// A method of the master.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Rpc {
            $(#[doc = concat!("Mirrors `rpc_service.cpp:WrappedMasterService::", stringify!($name), "`.")] $name,)*
        }

        impl Rpc {
            /// Every method, in the order of the table.
            pub const ALL: &'static [Rpc] = &[$(Rpc::$name,)*];

            /// Upstream's name, such as `PutStart`.
            pub const fn name(self) -> &'static str {
                match self { $(Rpc::$name => stringify!($name),)* }
            }

            /// The qualified name of the handler, from which the function id is computed.
            pub const fn function_name(self) -> &'static str {
                match self { $(Rpc::$name => concat!("mooncake::WrappedMasterService::", stringify!($name)),)* }
            }

            /// How many arguments a call has.
            pub const fn argument_count(self) -> usize {
                match self { $(Rpc::$name => <[&str]>::len(&[$(stringify!($field)),*]),)* }
            }

            /// From upstream's name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $(stringify!($name) => Some(Rpc::$name),)* _ => None }
            }

            /// The arguments in wire order: upstream's name and the Rust type as written in the table.
            pub const fn fields(self) -> &'static [(&'static str, &'static str)] {
                match self { $(Rpc::$name => &[$((stringify!($field), stringify!($type)),)*],)* }
            }
        }

        /// A call with its arguments, in wire order.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Request {
            $(
                #[doc = concat!("Arguments of `", stringify!($name), "`.")]
                $name { $(#[doc = concat!("Upstream's argument `", stringify!($field), "`.")] $field: $type,)* },
            )*
        }

        impl Request {
            /// The method that is called.
            pub const fn rpc(&self) -> Rpc {
                match self { $(Request::$name { .. } => Rpc::$name,)* }
            }
        }

        /// What a call returned. The errors of the store are values; an RPC-level error is
        /// an `RpcError` instead.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Response {
            $(#[doc = concat!("Result of `", stringify!($name), "`.")] $name($result),)*
        }

        impl Response {
            /// The method that was called.
            pub const fn rpc(&self) -> Rpc {
                match self { $(Response::$name(_) => Rpc::$name,)* }
            }

            /// The store's error if the call failed as a whole; `None` for a value and for the answers of a batch.
            pub fn error(&self) -> Option<ErrorCode> {
                match self { $(Response::$name(result) => result.error(),)* }
            }
        }

        pub(crate) fn request_literal(rpc: Rpc) -> Option<Vec<u8>> {
            match rpc {
                $(Rpc::$name => arguments_literal(&[$(<$type as StructPack>::push_literal),*]),)*
            }
        }

        pub(crate) fn response_literal(rpc: Rpc) -> Vec<u8> {
            let mut literal = Vec::new();
            match rpc { $(Rpc::$name => <$result as StructPack>::push_literal(&mut literal),)* }
            literal
        }

        pub(crate) fn encode_arguments(request: &Request, writer: &mut Writer<'_>) {
            match request { $(Request::$name { $($field),* } => { $($field.encode(writer);)* })* }
        }

        pub(crate) fn decode_arguments(rpc: Rpc, reader: &mut Reader<'_>) -> Result<Request, DecodeError> {
            Ok(match rpc {
                $(Rpc::$name => Request::$name { $($field: StructPack::decode(reader)?,)* },)*
            })
        }

        pub(crate) fn encode_result(response: &Response, writer: &mut Writer<'_>) {
            match response { $(Response::$name(result) => result.encode(writer),)* }
        }

        pub(crate) fn decode_result(rpc: Rpc, reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
            Ok(match rpc { $(Rpc::$name => Response::$name(StructPack::decode(reader)?),)* })
        }

        #[cfg(feature = "proptest")]
        pub(crate) fn request_strategy(rpc: Rpc) -> BoxedStrategy<Request> {
            match rpc {
                $(Rpc::$name => nested_strategies!($($type),*)
                    .prop_map(|nested_pattern!($($field),*)| Request::$name { $($field),* })
                    .boxed(),)*
            }
        }

        #[cfg(feature = "proptest")]
        pub(crate) fn response_strategy(rpc: Rpc) -> BoxedStrategy<Response> {
            match rpc {
                $(Rpc::$name => <$result as WireStrategy>::strategy().prop_map(Response::$name).boxed(),)*
            }
        }
    };
}
