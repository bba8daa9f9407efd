//! A self-describing message: no panic, and what decodes survives the wire. The hash is put right first, else the
//! fuzzer would have to guess MD5.
#![no_main]

use libfuzzer_sys::fuzz_target;
use moonquake_protocol::TypeTag;
use moonquake_protocol::struct_pack::DynamicMessage;

/// Hash, metainfo, and the place of the literal behind them in a message without total length.
const LITERAL_OFFSET: usize = 5;

fn with_right_hash(bytes: &[u8]) -> Option<Vec<u8>> {
    let literal = bytes.get(LITERAL_OFFSET..)?.split(|&byte| byte == 0).next()?;
    let mut message = bytes.to_vec();
    message[..4].copy_from_slice(&(TypeTag::new(literal.to_vec()).hash() | 1).to_le_bytes());
    Some(message)
}

fuzz_target!(|bytes: &[u8]| {
    let _ = DynamicMessage::decode(bytes);
    let Some(message) = with_right_hash(bytes) else {
        return;
    };
    let Ok(first) = DynamicMessage::decode(&message) else {
        return;
    };
    let again = first.encode().expect("a value that was read fits its type");
    let second = DynamicMessage::decode(&again).expect("what was written can be read");
    // As bytes: a NaN is not equal to itself.
    assert_eq!(second.encode().as_ref(), Ok(&again));
});
