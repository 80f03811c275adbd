//! What the relations on types answer, and what a mismatch says.

use crate::parse;
use tff_types::Mismatch;

fn mismatch(target: &str, source: &str) -> Mismatch {
    parse(target).check_assignable_from(&parse(source)).unwrap_err()
}

#[test]
fn assignability() {
    let cases = [
        ("int32[?]", "int32[3]", true),
        ("int32[3]", "int32[?]", false),
        ("'int32'(shape=None)", "int32[3,?]", true),
        ("'int32'(shape=None)", "'int32'(shape=None)", true),
        ("int32[?]", "'int32'(shape=None)", false),
        ("int32[?]", "int32", false),
        ("int64", "int32", false),
        ("<a=int32>", "<int32>", true),
        ("<int32>", "<a=int32>", false),
        ("<a=int32>", "<b=int32>", false),
        ("<a=int32>", "<a=int32,int32>", false),
        ("(int32[2] -> int32)", "(int32[?] -> int32)", true),
        ("(int32[?] -> int32)", "(int32[2] -> int32)", false),
        ("(<int32> -> int32)", "(<a=int32> -> int32)", true),
        ("(<a=int32> -> int32)", "(<int32> -> int32)", false),
        ("( -> int32)", "(<> -> int32)", false),
        ("((int32[?] -> int32) -> int32)", "((int32[2] -> int32) -> int32)", true),
        ("{int32}@CLIENTS", "int32@CLIENTS", true),
        ("int32@CLIENTS", "{int32}@CLIENTS", false),
        ("int32@SERVER", "int32@CLIENTS", false),
        ("int32@SERVER", "int32", false),
        ("int32[?]*", "int32[2]*", true),
        ("placement", "placement", true),
        // Abstract types and labels, which the reference does not compare.
        ("T", "T", true),
        ("T", "U", false),
        ("T", "int32", false),
        ("int32", "T", false),
        ("(T -> U)", "(T -> U)", true),
        ("{T}@p", "T@p", true),
        ("{T}@p", "{T}@q", false),
        ("{T}@p", "{T}@CLIENTS", false),
        ("p:placement", "placement", true),
        ("(p:placement -> T@p)", "(q:placement -> T@p)", true),
    ];
    for (target, source, expected) in cases {
        assert_eq!(parse(target).is_assignable_from(&parse(source)), expected, "{target} from {source}");
    }
}

#[test]
fn one_wrong_dimension_among_twenty_fields() {
    let fields = |wrong: u32| {
        let field = |index: u32| format!("layer_{index}=float32[784,{}]", if index == 13 { wrong } else { 10 });
        format!("<{}>", (0..20).map(field).collect::<Vec<_>>().join(","))
    };
    let error = mismatch(&fields(10), &fields(11)).to_string();
    assert_eq!(error, "not assignable: expected float32[784,10], found float32[784,11] (dimension 1) at .layer_13");
    assert!(error.len() <= 120);
}

#[test]
fn every_reason_has_its_words() {
    let cases = [
        ("int32", "bool", "expected int32, found bool"),
        ("<a=int32>", "int32", "expected <a=int32>, found int32 (struct and tensor)"),
        ("int32[?]", "int32", "expected int32[?], found int32 (rank)"),
        ("<a=<b=int32[3]>>", "<a=<b=int32[?]>>", "expected int32[3], found int32[?] (dimension 0) at .a.b"),
        ("<int32,<int32>>", "<int32,<>>", "expected length 1, found 0 at [1]"),
        ("<int32>", "<a=int32>", "expected no name, found the name a at .a"),
        ("<a=int32>", "<`let`=int32>", "expected the name a, found the name `let` at .a"),
        ("(int32 -> bool)", "( -> bool)", "expected the parameter int32, found no parameter"),
        ("(int32[?] -> bool)", "(int32[2] -> bool)", "expected int32[?], found int32[2] (dimension 0) at (parameter)"),
        ("( -> <bool>)", "( -> <int8>)", "expected bool, found int8 at (result)[0]"),
        ("int32*", "int8*", "expected int32, found int8 at []"),
        ("T", "U", "expected T, found U"),
        ("int32@SERVER", "int32@CLIENTS", "expected SERVER, found CLIENTS"),
        ("int32@server", "int32@p", "expected SERVER, found the label p"),
        ("int32@SERVER", "{int32}@SERVER", "expected int32@SERVER, found {int32}@SERVER (all-equal)"),
        ("<x={<int32>}@CLIENTS>", "<x={<bool>}@CLIENTS>", "expected int32, found bool at .x@[0]"),
    ];
    for (target, source, expected) in cases {
        assert_eq!(mismatch(target, source).to_string(), format!("not assignable: {expected}"));
    }
    let (a, b) = (parse("int32[?]"), parse("int32[2]"));
    assert_eq!(
        a.check_equivalent_to(&b).unwrap_err().to_string(),
        "not equivalent: expected int32[?], found int32[2] (dimension 0)"
    );
    assert_eq!(
        b.check_equivalent_to(&a).unwrap_err().to_string(),
        "not equivalent: expected int32[2], found int32[?] (dimension 0)"
    );
}

#[test]
fn long_parts_are_cut_on_the_first_line_and_shown_below() {
    let wide = |last: &str| {
        let fields: Vec<String> = (0..20).map(|index| format!("a_rather_long_name_{index}=int32")).collect();
        format!("<one_level=<another_level=<yet_another_level=<{},{last}>>>>", fields.join(","))
    };
    let error = mismatch(&wide("int32"), &wide("int32,int32")).to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "not assignable: expected length 21, found 22 at .one_level.another_level.yet_another_level");

    let error = mismatch(&wide("<last_field_of_all=int32>"), &wide("<last_field_of_all=bool>")).to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(
        lines,
        [
            "not assignable: expected int32, found bool at …vel.yet_another_level[20].last_field_of_all",
            "  at       .one_level.another_level.yet_another_level[20].last_field_of_all",
        ]
    );

    let error = mismatch(&wide("int32"), "<one_level=<another_level=<yet_another_level=int32>>>").to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].ends_with("found int32 (struct and tensor) at .one_level.another_level.yet_another_level"));
    assert!(lines[1].starts_with("  expected <a_rather_long_name_0=int32,"));
    assert_eq!(lines[2], "  found    int32");
    for (target, source) in [(wide("int32"), wide("bool")), (wide("int32"), "int32".to_owned())] {
        let error = mismatch(&target, &source).to_string();
        assert!(error.lines().next().unwrap().chars().count() <= 120, "{error}");
    }
}

#[test]
fn names_cannot_break_the_line() {
    let error = mismatch("<`a\nb`=int32>", "<`a\nb`=bool>").to_string();
    assert_eq!(error, r"not assignable: expected int32, found bool at .`a\nb`");
    let error = mismatch("<<`a\nb`=int32>>", "<int32>").to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
}
