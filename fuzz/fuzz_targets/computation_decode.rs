//! Bytes decode to an error, or to a computation that is encoded, and printed and parsed, as the same one again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use tff_ir::text::{Environment, PrintOptions, parse, print};
use tff_ir::{Comp, Severity, validate, validate_proto};
use tff_proto::{Limits, decode, v0};

fuzz_target!(|bytes: &[u8]| {
    let Ok(proto) = decode::<v0::Computation>(&bytes.to_vec().into(), &Limits::default()) else { return };
    let problems = validate_proto(&proto);
    let Ok(comp) = Comp::from_proto(&proto) else {
        return assert!(
            problems.iter().any(|it| it.severity == Severity::Error),
            "it is refused, and nothing is wrong"
        );
    };
    assert_eq!(validate(&comp), problems);
    let once = comp.to_proto().expect("a computation that was decoded can be encoded").encode_to_vec();
    let printed = print(&comp, &PrintOptions::default()).expect("and printed");
    let parsed = parse(&printed.text, &Environment::default()).expect("what was printed can be parsed").comp;
    // Bytes are compared, since they tell NaNs apart.
    assert_eq!(parsed.to_proto().map(|proto| proto.encode_to_vec()), Ok(once));
});
