//! Bytes decode to a computation that encodes to the same computation again, or to an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use tff_ir::Comp;
use tff_proto::{Limits, decode, v0};

fuzz_target!(|bytes: &[u8]| {
    let Ok(proto) = decode::<v0::Computation>(&bytes.to_vec().into(), &Limits::default()) else { return };
    let Ok(comp) = Comp::from_proto(&proto) else { return };
    let once = comp.to_proto().expect("a computation that was decoded can be encoded");
    let twice = Comp::from_proto(&once).expect("what was encoded can be decoded").to_proto();
    // Bytes are compared, since a NaN is not equal to itself.
    assert_eq!(twice.map(|proto| proto.encode_to_vec()), Ok(once.encode_to_vec()));
});
