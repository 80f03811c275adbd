//! Bytes decode to a type that encodes to the same type again, or to an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tff_proto::{Limits, decode, v0};
use tff_types::Type;

fuzz_target!(|bytes: &[u8]| {
    let Ok(proto) = decode::<v0::Type>(&bytes.to_vec().into(), &Limits::default()) else { return };
    let Ok(ty) = Type::from_proto(&proto) else { return };
    let again = ty.to_proto().expect("a type that was decoded can be encoded");
    assert_eq!(Type::from_proto(&again).expect("what was encoded can be decoded"), ty);
});
