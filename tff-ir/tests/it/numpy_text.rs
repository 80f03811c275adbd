//! Literals print as numpy 1.25 prints their arrays (`str`), which is what the reference prints.

use serde_json::Value;
use tff_ir::{Array, Comp};
use tff_testing::{decode_base64, records};
use tff_types::DType;

fn bytes(value: &Value) -> bytes::Bytes {
    decode_base64(value.as_str().expect("text"))
}

#[test]
fn literals_print_as_numpy_prints_them() {
    let mut wrong = Vec::new();
    for record in records("testdata/numpy_text.jsonl") {
        let dtype: DType = record["dtype"].as_str().expect("a dtype").parse().expect("a dtype");
        let dims: Vec<u64> = record["dims"].as_array().expect("dims").iter().filter_map(Value::as_u64).collect();
        let array = match record["data"].as_array() {
            Some(strings) => Array::strings(dims, strings.iter().map(bytes).collect::<Vec<_>>()),
            None => Array::dense(dtype, dims, bytes(&record["data"])),
        };
        let printed = Comp::literal(array.expect("an array")).to_string();
        if printed != record["text"] {
            wrong.push(format!("{dtype}{}: {printed:?}, expected {}", record["dims"], record["text"]));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
