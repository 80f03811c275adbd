//! Values as text for people.
//!
//! The notation follows that of types: `<a=1,b=[1.5 2.5]>`, `{1,2}@CLIENTS`, `1@SERVER`,
//! `[1,2]*`. A long value takes several lines. A very long one is cut in the
//! middle, as `...`; use JSON to see all of it.

mod layout;

use layout::Doc;
use tff_exec::Value;
use tff_ir::{Array, Scalar, Wide};
use tff_sim::json::{Members, WriteError};
use tff_types::{Element, Type, TypeKind};

/// The most elements of a tensor that are all shown.
const MAX_ELEMENTS: usize = 200;
/// The most items of a sequence, or of a federated value, that are all shown.
const MAX_ITEMS: usize = 20;
/// The most dimensions that are shown: TensorFlow has no more.
const MAX_RANK: usize = 254;
/// How many are shown at either end of what is cut.
const EDGE: usize = 3;
/// The most bytes of a string that are all shown.
const MAX_STRING: usize = 200;

/// Renders a value of type `ty`. `members` gets at what is inside of sequences and federated
/// values.
pub(crate) fn render(value: &Value, ty: &Type, members: &Members<'_>) -> Result<String, WriteError> {
    Ok(doc(value, ty, members)?.to_string())
}

fn doc(value: &Value, ty: &Type, members: &Members<'_>) -> Result<Doc, WriteError> {
    Ok(match (value, ty.kind()) {
        (Value::Tensor(tensor), TypeKind::Tensor(_)) => array(tensor.array()),
        (Value::Struct(values), TypeKind::Struct(structure)) if values.len() == structure.len() => {
            let elements = values.iter().zip(structure.elements());
            let docs: Result<_, WriteError> =
                elements.map(|(value, element)| member(value, element, members)).collect();
            Doc::list("<", docs?, ">")
        }
        (Value::Sequence(sequence), TypeKind::Sequence(ty)) => {
            let elements = members.elements(sequence)?;
            let elements: Vec<&Value> = elements.iter().collect();
            Doc::list("[", items(&elements, &ty.element, members)?, "]*")
        }
        (Value::Server(member), TypeKind::Federated(ty)) => {
            doc(member, &ty.member, members)?.followed_by(format!("@{}", ty.placement))
        }
        (Value::Clients(clients), TypeKind::Federated(ty)) if ty.all_equal => {
            doc(members.common(clients)?, &ty.member, members)?.followed_by(format!("@{}", ty.placement))
        }
        (Value::Clients(clients), TypeKind::Federated(ty)) => {
            Doc::list("{", items(&members.each(clients)?, &ty.member, members)?, format!("}}@{}", ty.placement))
        }
        (Value::Placement(placement), TypeKind::Placement(_)) => Doc::text(placement.name()),
        (Value::Function(_), _) => Doc::text(format!("a function {ty}")),
        _ => return Err(WriteError::Mismatch { expected: ty.clone(), found: value.describe() }),
    })
}

fn member(value: &Value, element: &Element, members: &Members<'_>) -> Result<Doc, WriteError> {
    let value = doc(value, &element.ty, members)?;
    Ok(match element.name.as_deref() {
        Some(name) if name.chars().all(|char| char.is_alphanumeric() || char == '_') => {
            value.preceded_by(format!("{name}="))
        }
        Some(name) => value.preceded_by(format!("{name:?}=")),
        None => value,
    })
}

fn items(values: &[&Value], ty: &Type, members: &Members<'_>) -> Result<Vec<Doc>, WriteError> {
    let is_cut = values.len() > MAX_ITEMS;
    shown(values.len(), is_cut)
        .map(|index| match index.and_then(|index| values.get(index)) {
            Some(value) => doc(value, ty, members),
            None => Ok(Doc::text(format!("... {} more ...", values.len() - 2 * EDGE))),
        })
        .collect()
}

/// The positions to show, in order; `None` stands for those left out.
fn shown(length: usize, is_cut: bool) -> impl Iterator<Item = Option<usize>> {
    let is_cut = is_cut && length > 2 * EDGE;
    let head = if is_cut { EDGE } else { length };
    let tail = if is_cut { length - EDGE..length } else { 0..0 };
    (0..head).map(Some).chain(is_cut.then_some(None)).chain(tail.map(Some))
}

fn array(array: &Array) -> Doc {
    let is_cut = array.len() > MAX_ELEMENTS;
    // Of an empty array nothing but the shape is to be seen.
    if array.is_empty() && array.dims().len() > 1 {
        return Doc::text(format!("[] of {}", array.ty()));
    }
    if array.dims().len() > MAX_RANK {
        return Doc::text(format!("... of {} dimensions", array.dims().len()));
    }
    let doc = nested(array, 0, 0, is_cut);
    if is_cut { doc.followed_by(format!(" of {}", array.ty())) } else { doc }
}

/// The part of an array below this axis, that begins at this position of the axes above.
fn nested(array: &Array, axis: usize, position: usize, is_cut: bool) -> Doc {
    let Some(length) = array.dims().get(axis).and_then(|&dim| usize::try_from(dim).ok()) else {
        return Doc::text(array.get(position).map(|element| scalar(&element)).unwrap_or_default());
    };
    let part = |index: Option<usize>| match index {
        Some(index) => nested(array, axis + 1, position * length + index, is_cut),
        None => Doc::text("..."),
    };
    let parts = shown(length, is_cut).map(part).collect();
    if axis + 1 == array.dims().len() { Doc::words("[", parts, "]") } else { Doc::rows("[", parts, "]") }
}

/// One element of a tensor: a float with the fewest digits that read back as the same number,
/// without `.0` where it is whole; a string quoted.
pub(crate) fn scalar(scalar: &Scalar) -> String {
    match scalar.wide() {
        Wide::Bool(value) => value.to_string(),
        Wide::Integer(value) => value.to_string(),
        Wide::Float32(value) => float(value),
        Wide::Float64(value) => float(value),
        Wide::Complex64(re, im) => complex(float(re), float(im)),
        Wide::Complex128(re, im) => complex(float(re), float(im)),
        Wide::String(bytes) => string(bytes),
    }
}

fn complex(re: String, im: String) -> String {
    let sign = if im.starts_with('-') { "" } else { "+" };
    format!("{re}{sign}{im}i")
}

fn float(value: impl std::fmt::Debug) -> String {
    // The debug form goes over to exponents where the number is very large or small.
    let text = format!("{value:?}").to_lowercase();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn string(bytes: &[u8]) -> String {
    let (head, rest) = bytes.split_at(bytes.len().min(MAX_STRING));
    // The cut may be inside of a character.
    let valid = match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        Err(error) if !rest.is_empty() && error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to()).unwrap_or_default()).ok()
        }
        Err(_) => None,
    };
    let quoted = match valid {
        Some(text) => format!("{text:?}"),
        None => format!("b\"{}\"", head.escape_ascii()),
    };
    if rest.is_empty() { quoted } else { format!("{quoted}... of {} bytes", bytes.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[track_caller]
    fn check(ty: &str, json: &str) -> String {
        let ty: Type = ty.parse().unwrap();
        let value = tff_sim::json::read(&tff_sim::json::parse(json.as_bytes()).unwrap(), &ty).unwrap();
        let members = Members::new(|it| Ok(Arc::clone(it.known_elements().unwrap())), None);
        render(&value, &ty, &members).unwrap()
    }

    fn numbers(range: std::ops::Range<i32>) -> String {
        format!("{:?}", range.collect::<Vec<_>>())
    }

    #[test]
    fn short_values_take_a_line() {
        insta::assert_snapshot!(check("<a=int32,b=float32[2]>", "[1, [1.5, 2]]"), @"<a=1,b=[1.5 2]>");
        insta::assert_snapshot!(check("<int32[2,2],<>>", "[[[1, 2], [3, 4]], []]"), @"<[[1 2] [3 4]],<>>");
        insta::assert_snapshot!(check("<x={int32}@CLIENTS,y=int32@CLIENTS,z=int32@SERVER>", "[[1, 2], 3, 4]"), @"<x={1,2}@CLIENTS,y=3@CLIENTS,z=4@SERVER>");
        insta::assert_snapshot!(check("<a=int32>*", "[[1], [2]]"), @"[<a=1>,<a=2>]*");
        insta::assert_snapshot!(check("<str,str,bool>", r#"["a\n\u001b", {"base64": "/w=="}, true]"#), @r#"<"a\n\u{1b}",b"\xff",true>"#);
        insta::assert_snapshot!(check("<complex64,complex64>", r#"[[1, -2.5], ["nan", "inf"]]"#), @"<1-2.5i,nan+infi>");
        insta::assert_snapshot!(check("float32[5]", "[1e-7, 16777216, 1e20, -0.0, 0.1]"), @"[1e-7 16777216 1e20 -0 0.1]");
        insta::assert_snapshot!(check("float32[0,3]", "[]"), @"[] of float32[0,3]");
        insta::assert_snapshot!(check("placement", "\"server\""), @"SERVER");
    }

    #[test]
    fn long_values_break() {
        let members = r#"{"weights": [[1, 2, 3], [4, 5, 6]], "name": "a name of some length, so that not all fits", "rest": {"y": true, "x": [0.25]}}"#;
        insta::assert_snapshot!(check("<weights=float32[2,3],name=str,rest=<y=bool,x=float64[1]>>", members), @r#"
    <
      weights=[[1 2 3] [4 5 6]],
      name="a name of some length, so that not all fits",
      rest=<y=true,x=[0.25]>
    >
    "#);
        insta::assert_snapshot!(check("int32[60]", &numbers(1000..1060)), @r"
    [
      1000 1001 1002 1003 1004 1005 1006 1007 1008 1009 1010 1011 1012 1013 1014 1015 1016 1017 1018
      1019 1020 1021 1022 1023 1024 1025 1026 1027 1028 1029 1030 1031 1032 1033 1034 1035 1036 1037
      1038 1039 1040 1041 1042 1043 1044 1045 1046 1047 1048 1049 1050 1051 1052 1053 1054 1055 1056
      1057 1058 1059
    ]
    ");
        let rows = format!("[{0}, {0}]", numbers(0..30));
        insta::assert_snapshot!(check("<int32[2,30]>@SERVER", &format!("[{rows}]")), @r"
    <
      [
        [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29]
        [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29]
      ]
    >@SERVER
    ");
    }

    #[test]
    fn what_is_too_long_is_cut() {
        insta::assert_snapshot!(check("int32[1000]", &numbers(0..1000)), @"[0 1 2 ... 997 998 999] of int32[1000]");
        insta::assert_snapshot!(check("{int32}@CLIENTS", &numbers(0..21)), @"{0,1,2,... 15 more ...,18,19,20}@CLIENTS");
        let rows = format!("[{0}, {0}]", numbers(0..150));
        insta::assert_snapshot!(check("int32[2,150]", &rows), @"[[0 1 2 ... 147 148 149] [0 1 2 ... 147 148 149]] of int32[2,150]");
        let text = check("str", &format!("{:?}", "ä".repeat(101)));
        assert_eq!(text, format!("{:?}... of 202 bytes", "ä".repeat(100)));
    }
}
