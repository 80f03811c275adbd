//! Values as JSON, guided by their type.
//!
//! | type | JSON |
//! |---|---|
//! | tensor | a number, `true`/`false` or a string; nested arrays where there are dimensions |
//! | `nan`, infinities | the strings `"nan"`, `"inf"`, `"-inf"` |
//! | complex | `[re, im]` |
//! | string that is not UTF-8 | `{"base64": "…"}` |
//! | struct, all members named | an object; an array is read too |
//! | any other struct | an array |
//! | sequence | an array |
//! | `{T}@CLIENTS` | an array, one item for each client |
//! | `T@CLIENTS`, `T@SERVER` | the member itself |
//! | placement | `"clients"` or `"server"` |
//!
//! [`read()`] reads the output of [`write()`] as the same value.

mod error;
mod members;
mod parse;
mod read;
mod write;

pub use error::WriteError;
pub use members::Members;
pub use parse::parse;
pub use read::{JsonMismatch, read};
pub use write::{scalar, write};

/// The member that holds the content of a string that is no UTF-8.
const BASE64: &str = "base64";

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tff_exec::Value;
    use tff_types::{Shape, Type};

    fn value_of(ty: &str, text: &str) -> Result<(Value, Type), String> {
        let ty: Type = match ty.strip_suffix("(shape=None)") {
            Some(dtype) => Type::tensor(dtype.parse().unwrap(), Shape::unknown_rank()),
            None => ty.parse().unwrap(),
        };
        let json = parse(text.as_bytes()).map_err(|it| it.to_string())?;
        read(&json, &ty).map(|value| (value, ty)).map_err(|it| it.to_string())
    }

    /// Reads and writes, and checks that what is written reads as the same again.
    #[track_caller]
    fn check(ty: &str, text: &str) -> String {
        let members = Members::new(|it| Ok(Arc::clone(it.known_elements().unwrap())), Some(2));
        let round = |text: &str| value_of(ty, text).map(|(value, ty)| write(&value, &ty, &members).unwrap());
        match round(text) {
            Ok(written) => {
                assert_eq!(round(&written).as_ref(), Ok(&written));
                written
            }
            Err(message) => message,
        }
    }

    #[test]
    fn values_of_every_kind() {
        let cases = [
            ("int32", "-7", "-7"),
            ("uint64", "18446744073709551615", "18446744073709551615"),
            ("bool[2]", "[true, false]", "[true,false]"),
            ("float32", "0.1", "0.1"),
            ("float32", "7", "7.0"),
            ("float32", "-0.0", "-0.0"),
            ("float64", "1e300", "1e300"),
            ("float16", "0.5", "0.5"),
            ("bfloat16", "3", "3.0"),
            ("float32[3]", r#"["nan", "inf", "-inf"]"#, r#"["nan","inf","-inf"]"#),
            ("complex64[2]", "[[1, 2], [0, \"inf\"]]", "[[1.0,2.0],[0.0,\"inf\"]]"),
            ("complex128", "[1, -2.5]", "[1.0,-2.5]"),
            ("str", r#""ä\n""#, r#""ä\n""#),
            ("str", r#"{"base64": "/w=="}"#, r#"{"base64":"/w=="}"#),
            ("str[2]", r#"["a", {"base64": "YQ=="}]"#, r#"["a","a"]"#),
            ("float32[?,2]", "[[1, 2], [3, 4], [5, 6]]", "[[1.0,2.0],[3.0,4.0],[5.0,6.0]]"),
            ("float32[?,2]", "[]", "[]"),
            ("int32[2,0]", "[[], []]", "[[],[]]"),
            ("int32(shape=None)", "[[1], [2]]", "[[1],[2]]"),
            ("int32(shape=None)", "3", "3"),
            ("complex64(shape=None)", "[[1, 2]]", "[[1.0,2.0]]"),
            ("<a=int32,b=str>", r#"{"b": "x", "a": 1}"#, r#"{"a":1,"b":"x"}"#),
            ("<a=int32,b=str>", r#"[1, "x"]"#, r#"{"a":1,"b":"x"}"#),
            ("<int32,b=str>", r#"[1, "x"]"#, r#"[1,"x"]"#),
            ("<>", "{}", "[]"),
            ("<>", "[]", "[]"),
            ("<a=int32>*", r#"[{"a": 1}, [2]]"#, r#"[{"a":1},{"a":2}]"#),
            ("{int32}@CLIENTS", "[1, 2]", "[1,2]"),
            ("{int32*}@CLIENTS", "[[], [2]]", "[[],[2]]"),
            ("int32@CLIENTS", "1", "1"),
            ("<x=int32@SERVER>", r#"{"x": 1}"#, r#"{"x":1}"#),
            ("placement", r#""clients""#, r#""clients""#),
        ];
        for (ty, text, expected) in cases {
            assert_eq!(check(ty, text), expected, "{ty} {text}");
        }
    }

    #[test]
    fn mismatches_say_where_what_and_what_instead() {
        let data = "<client_data={<x=int32,y=float32[2]>}@CLIENTS>";
        insta::assert_snapshot!(check(data, r#"{"client_data": [{"x": 1, "y": [1, 2]}, {"x": "a", "y": [1, 2]}]}"#), @r#".client_data[1].x: expected int32, found "a""#);
        insta::assert_snapshot!(check(data, r#"{"client_data": [{"x": 1, "y": [1, null]}]}"#), @".client_data[0].y[1]: expected float32, found null");
        insta::assert_snapshot!(check(data, r#"{"client_data": [{"x": 1, "y": [1, 2, 3]}]}"#), @".client_data[0].y: expected float32[2], found float32[3]");
        insta::assert_snapshot!(check(data, r#"{"client_data": [{"x": 1, "y": 1}]}"#), @".client_data[0].y: expected float32, 1 more nested array, found 1");
        insta::assert_snapshot!(check(data, r#"{"client_data": [{"x": 1}]}"#), @".client_data[0]: expected <x=int32,y=float32[2]>, found an object without member `y`");
        insta::assert_snapshot!(check(data, r#"{"client_data": [{"x": 1, "y": [1, 2], "z": 0}]}"#), @".client_data[0]: expected <x=int32,y=float32[2]>, found an unknown member `z`");
        insta::assert_snapshot!(check(data, r#"{"client_data": 1}"#), @".client_data: expected {<x=int32,y=float32[2]>}@CLIENTS, an array with one item a client, found 1");
        insta::assert_snapshot!(check("<int32,int32>", r#"[1]"#), @"expected <int32,int32>, 2 members, found 1");
        insta::assert_snapshot!(check("<int32,b=int32>", r#"{"b": 1}"#), @"expected <int32,b=int32>, an array, found an object");
        insta::assert_snapshot!(check("int8", "128"), @"expected int8, found 128");
        insta::assert_snapshot!(check("uint8", "-1"), @"expected uint8, found -1");
        insta::assert_snapshot!(check("int32", "1.0"), @"expected int32, found 1.0");
        insta::assert_snapshot!(check("int32", "true"), @"expected int32, found true");
        insta::assert_snapshot!(check("bool", "1"), @"expected bool, found 1");
        insta::assert_snapshot!(check("float32", "1e39"), @"expected float32, found 1e+39");
        insta::assert_snapshot!(check("float16", "70000"), @"expected float16, found 70000");
        insta::assert_snapshot!(check("float32", "\"NaN\""), @r#"expected float32, found "NaN""#);
        insta::assert_snapshot!(check("complex64", "1"), @"expected complex64, found 1");
        insta::assert_snapshot!(check("str", r#"{"base64": "?"}"#), @"expected str, found an object");
        insta::assert_snapshot!(check("int32[2,2]", "[[1, 2], [3]]"), @"[1]: expected 2 items, as before, found 1");
        insta::assert_snapshot!(check("int32[2]", "[[1, 2], [3, 4]]"), @"[0]: expected int32, found an array of 2");
        insta::assert_snapshot!(check("placement", "\"nowhere\""), @r#"expected "clients" or "server", found "nowhere""#);
        insta::assert_snapshot!(check("(int32 -> int32)", "1"), @"expected a parameter that JSON can express, found one of type (int32 -> int32)");
        insta::assert_snapshot!(check("int32", "[1, 2"), @"EOF while parsing a list at line 1 column 5");
    }
}
