//! The body of a response: no panic, and what decodes survives the wire.
#![no_main]

use libfuzzer_sys::fuzz_target;
use moonquake_protocol::{Literal, Response, Rpc};

fuzz_target!(|bytes: &[u8]| {
    let [method, body @ ..] = bytes else { return };
    let rpc = Rpc::ALL[usize::from(*method) % Rpc::ALL.len()];
    let Ok(response) = Response::decode(rpc, body) else {
        return;
    };
    for literal in [Literal::With, Literal::Without] {
        let mut again = Vec::new();
        response.encode_into(&mut again, literal);
        assert_eq!(Response::decode(rpc, &again).as_ref(), Ok(&response));
    }
});
