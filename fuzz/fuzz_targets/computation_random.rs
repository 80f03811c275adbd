//! Computations that the builders build are valid, and come back from bytes and from text as they are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use tff_ir::text::{Environment, PrintOptions, parse, print};
use tff_ir::{Comp, Severity, validate};

fuzz_target!(|comp: Comp| {
    assert!(validate(&comp).iter().all(|it| it.severity == Severity::Warning), "{comp}");
    let proto = comp.to_proto().expect("a computation that was built can be encoded");
    assert_eq!(Comp::from_proto(&proto).as_ref(), Ok(&comp));
    let printed = print(&comp, &PrintOptions::default()).expect("and printed");
    let parsed = parse(&printed.text, &Environment::default()).expect("what was printed can be parsed").comp;
    assert_eq!(parsed, comp);
    // A message with a NaN is not equal to itself, its bytes are.
    assert_eq!(parsed.to_proto().map(|proto| proto.encode_to_vec()), Ok(proto.encode_to_vec()));
});
