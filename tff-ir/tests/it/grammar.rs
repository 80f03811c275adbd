//! The examples of `GRAMMAR.md`, the contract of the text form.

use tff_ir::text::{Environment, Layout, PrintOptions, parse, print};

/// The lines `written => expected` of the blocks with this mark.
fn examples(mark: &str) -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../GRAMMAR.md");
    let grammar = std::fs::read_to_string(path).expect(path);
    let blocks = grammar.split("```").filter_map(|block| block.strip_prefix(&format!("{mark}\n")));
    let lines = blocks.flat_map(str::lines).filter_map(|line| line.split_once("=> "));
    lines.map(|(written, expected)| (written.trim().to_owned(), expected.trim().to_owned())).collect()
}

/// What the text is printed as on one line, or `!` and why it is refused.
fn outcome(written: &str, environment: &Environment) -> String {
    let parsed = match parse(written, environment) {
        Ok(parsed) => parsed,
        Err(error) => return format!("!{error}"),
    };
    let one_line = PrintOptions { layout: Layout::OneLine, ..PrintOptions::default() };
    let printed = print(&parsed.comp, &one_line).expect("text").text;
    // What is printed, however it is laid out, needs no environment and is the same computation.
    for options in [one_line, PrintOptions::default()] {
        let text = print(&parsed.comp, &options).expect("text").text;
        let again = parse(&text, &Environment::default()).unwrap_or_else(|error| panic!("{written}: {error}\n{text}"));
        assert_eq!(again.comp, parsed.comp, "{written}\n{text}");
        assert_eq!(print(&again.comp, &options).expect("text").text, text, "{written}");
    }
    printed
}

/// Compares all examples.
fn check(mark: &str, least: usize, environment: &Environment, prefix: &str) {
    let examples = examples(mark);
    assert!(examples.len() >= least, "{} examples of {mark}", examples.len());
    let mut wrong = Vec::new();
    for (written, expected) in examples {
        let outcome = outcome(&written, environment);
        let expected = if expected.starts_with('!') { expected } else { format!("{prefix}{expected}") };
        if outcome != expected {
            wrong.push(format!("{written}\n  is      {outcome}\n  must be {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn computations_are_read_and_printed() {
    check("comps", 20, &Environment::default(), "");
}

#[test]
fn looser_styles_are_read() {
    let names = [
        ("x", "<(int32 -> int32),arg=int32>"),
        ("c", "{int32}@CLIENTS"),
        ("e", "int32@CLIENTS"),
        ("s", "int32@SERVER"),
        ("q", "float32*"),
    ];
    let names = names.map(|(name, ty)| (name.into(), ty.parse().expect(ty)));
    check("loose", 20, &Environment { names: names.into(), ..Environment::default() }, "");
}

#[test]
fn what_is_wrong_is_refused() {
    check("refused", 20, &Environment::default(), "!");
}
