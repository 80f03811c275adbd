//! Texts are an error within the text, or a type that is printed and parsed as the same one again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tff_types::Type;

fuzz_target!(|text: &str| {
    let ty: Type = match text.parse::<Type>() {
        Ok(ty) => ty,
        Err(error) => return assert!(text.get(error.span.start..error.span.end).is_some(), "{error}"),
    };
    let quoted = ty.quoted().to_string();
    let again: Type = quoted.parse().expect("what was printed can be parsed");
    assert_eq!(again, ty);
    assert_eq!(again.quoted().to_string(), quoted);
});
