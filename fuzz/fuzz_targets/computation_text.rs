//! Texts are an error within the text, or a computation that is printed and parsed as the same one again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tff_ir::text::{Environment, PrintOptions, parse, print};
use tff_ir::validate;

fuzz_target!(|text: &str| {
    let environment = Environment::default();
    let comp = match parse(text, &environment) {
        Ok(parsed) => parsed.comp,
        Err(error) => return assert!(text.get(error.span.start..error.span.end).is_some(), "{error}"),
    };
    let printed = print(&comp, &PrintOptions::default()).expect("a computation that was parsed can be printed");
    let again = parse(&printed.text, &environment).expect("what was printed can be parsed").comp;
    assert_eq!(again, comp);
    assert_eq!(validate(&again), validate(&comp));
    assert_eq!(print(&again, &PrintOptions::default()), Ok(printed));
});
