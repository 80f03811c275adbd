//! Compiles the `next` of an iterative process to the parts of a `MapReduceForm`, and prints the type of each.
//!
//! ```sh
//! cargo run -p tff-compiler --example parts -- examples/digits/next.pb
//! ```

use std::error::Error;
use std::io::Write;
use tff_compiler::forms::MapReduceForm;
use tff_compiler::{CompileError, CompileOptions};
use tff_ir::Comp;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: parts FILE.pb")?;
    let comp = Comp::from_bytes(std::fs::read(path)?)?;
    let mut stdout = std::io::stdout();
    for line in parts(&comp)? {
        writeln!(stdout, "{line}")?;
    }
    Ok(())
}

fn parts(comp: &Comp) -> Result<Vec<String>, CompileError> {
    let form = MapReduceForm::from_comp(comp, &CompileOptions::default())?;
    Ok(form.parts().iter().map(|(role, part)| format!("{role}: {}", part.ty())).collect())
}

#[test]
fn it_lists_the_parts_by_their_roles() {
    let lines = parts(&tff_testing::example("digits/next.pb")).unwrap();
    let roles: Vec<_> = lines.iter().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(roles, MapReduceForm::ROLES);
    let error = parts(&tff_testing::comp("(x:int32 -> x)")).unwrap_err().to_string();
    assert_eq!(error, "map_reduce_form at .: expected a computation that takes two arguments, found int32");
}
