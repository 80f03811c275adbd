//! Reads the encoded message of a computation and lists what is wrong with it, each problem with its path.
//!
//! ```sh
//! cargo run -p tff-ir --example problems -- examples/digits/next.pb
//! ```

use bytes::Bytes;
use std::error::Error;
use std::io::Write;
use tff_ir::{Comp, validate};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: problems FILE.pb")?;
    let mut stdout = std::io::stdout();
    for problem in problems(std::fs::read(path)?.into()) {
        writeln!(stdout, "{problem}")?;
    }
    Ok(())
}

fn problems(message: Bytes) -> Vec<String> {
    match Comp::from_bytes(message) {
        Ok(comp) => validate(&comp).iter().map(ToString::to_string).collect(),
        // The first thing that keeps the message from being a computation.
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn it_lists_problems_with_their_paths() {
    let read = |name: &str| std::fs::read(tff_testing::repository(name)).unwrap();
    assert_eq!(problems(read("examples/digits/next.pb").into()), [""; 0]);
    let comp = tff_testing::comp("(x:int32 -> <x,y:bool>)");
    let expected = "error[unbound-reference] at .lambda.result.struct.element[1]: the name `y` is used here and defined nowhere around it";
    assert_eq!(problems(comp.to_bytes().unwrap().into()), [expected]);
    assert_eq!(problems(Bytes::new()), ["at .: expected a type, found none"]);
}
