//! Says whether a value of one type may be used where another type is expected, and if not, where the types differ.
//!
//! ```sh
//! cargo run -p tff-types --example assignable -- '{<a=float32[?]>}@CLIENTS' '{<a=float32[3]>}@CLIENTS'
//! ```

use std::error::Error;
use std::io::Write;
use tff_types::Type;
use tff_types::syntax::SyntaxError;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, source] = arguments.as_slice() else { return Err("usage: assignable TARGET SOURCE".into()) };
    Ok(writeln!(std::io::stdout(), "{}", answer(target, source)?)?)
}

fn answer(target: &str, source: &str) -> Result<String, SyntaxError> {
    let (target, source): (Type, Type) = (target.parse()?, source.parse()?);
    Ok(match target.check_assignable_from(&source) {
        Ok(()) => "assignable".to_owned(),
        Err(mismatch) => mismatch.to_string(),
    })
}

#[test]
fn it_says_where_types_differ() {
    assert_eq!(answer("<a=float32[?]>", "<a=float32[3]>").unwrap(), "assignable");
    let differ = answer("<a=float32[3]>", "<a=float32[?]>").unwrap();
    assert_eq!(differ, "not assignable: expected float32[3], found float32[?] (dimension 0) at .a");
    assert_eq!(answer("<a=float32", "float32").unwrap_err().span.start, 10);
}
