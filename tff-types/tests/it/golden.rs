//! What the reference prints, encodes, compares and asks of types: tables of `testdata/golden`.
//!
//! Every row has to come out equal. Where ours differ on purpose, the row is listed with the reason.

use crate::parse;
use prost::Message;
use serde_json::Value;
use std::collections::BTreeMap;
use tff_proto::v0 as pb;
use tff_testing::{decode_base64, field as text};
use tff_types::{TemplateError, Type};

fn lines(name: &str) -> Vec<Value> {
    tff_testing::records(&format!("testdata/golden/{name}"))
}

fn vectors() -> Value {
    tff_testing::table("testdata/golden/vectors.json")
}

/// The types of `types.jsonl` by name.
fn types() -> BTreeMap<String, Type> {
    lines("types.jsonl").iter().map(|row| (text(row, "name").to_owned(), parse(text(row, "compact")))).collect()
}

/// Prints, reads and encodes one type every way.
fn check_notation(compact: &str, formatted: &str, wire: Option<&[u8]>) {
    let ty = parse(compact);
    assert_eq!(ty.to_string(), compact);
    assert_eq!(ty.formatted().to_string(), formatted);
    assert_eq!(parse(formatted), ty, "{formatted}");
    assert_eq!(parse(&ty.quoted().to_string()), ty);
    // The reference cannot encode abstract types; the protocol can, and so do we.
    let ours = ty.to_proto().unwrap().encode_to_vec();
    if let Some(bytes) = wire {
        assert_eq!(ours, bytes, "{compact}");
    }
    assert_eq!(wire.is_none(), ty.contains_abstract(), "{compact}");
    assert_eq!(Type::from_proto(&pb::Type::decode(ours.as_slice()).unwrap()).unwrap(), ty);
}

#[test]
fn notation_and_bytes_are_those_of_the_reference() {
    for row in lines("types.jsonl") {
        let wire = row["proto"].as_str().map(decode_base64);
        check_notation(text(&row, "compact"), text(&row, "formatted"), wire.as_deref());
    }
    for row in vectors()["types"].as_array().unwrap() {
        let hex = text(row, "proto_hex");
        let wire: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        check_notation(text(row, "compact"), text(row, "formatted"), Some(&wire));
    }
}

#[test]
fn relations_are_those_of_the_reference() {
    let types = types();
    let (mut answered, mut refused) = (0, 0);
    for row in lines("type_pairs.jsonl") {
        let (target, source) = (&types[text(&row, "target")], &types[text(&row, "source")]);
        let ours = (target.is_assignable_from(source), target.check_equivalent_to(source).is_ok(), target == source);
        assert_eq!(ours.0, target.check_assignable_from(source).is_ok());
        assert_eq!(Some(ours.2), row["identical"].as_bool(), "{row}");
        if let (Some(assignable), Some(equivalent)) = (row["assignable"].as_bool(), row["equivalent"].as_bool()) {
            assert_eq!((ours.0, ours.1), (assignable, equivalent), "{row}");
            answered += 1;
        } else {
            // The reference raises where an abstract type is compared. Ours compare labels, so no
            // pair that it refuses is related, but for a type and itself.
            assert!(target.contains_abstract() || source.contains_abstract(), "{row}");
            assert_eq!((ours.0, ours.1), (ours.2, ours.2), "{row}");
            refused += 1;
        }
    }
    assert_eq!((answered, refused), (1356, 163));
}

#[test]
fn assignable_pairs_are_exactly_those_listed() {
    let vectors = vectors();
    let texts: Vec<&str> = vectors["types"].as_array().unwrap().iter().map(|row| text(row, "compact")).collect();
    let pair = |row: &Value| (row[0].as_str().unwrap().to_owned(), row[1].as_str().unwrap().to_owned());
    let listed: Vec<(String, String)> = vectors["assignable"].as_array().unwrap().iter().map(pair).collect();
    for target in &texts {
        for source in &texts {
            let expected = listed.contains(&((*target).to_owned(), (*source).to_owned()));
            assert_eq!(parse(target).is_assignable_from(&parse(source)), expected, "{target} from {source}");
        }
    }
}

/// Our own predicates say it together.
fn is_structure_of_tensors(ty: &Type) -> bool {
    ty.is_tensorflow_compatible() && !ty.contains_sequence()
}

#[test]
fn predicates_are_those_of_the_reference() {
    let types = types();
    for row in lines("type_predicates.jsonl") {
        let ty = &types[text(&row, "name")];
        let ours = [
            ("is_average_compatible", ty.is_average_compatible()),
            ("is_min_max_compatible", ty.is_min_max_compatible()),
            // What has a mean and an order.
            ("is_structure_of_floats", ty.is_average_compatible() && ty.is_min_max_compatible()),
            ("is_structure_of_integers", ty.is_structure_of_integers()),
            ("is_structure_of_tensors", is_structure_of_tensors(ty)),
            // One question with two names: they differ only where there is no type.
            ("is_generic_op_compatible_type", is_structure_of_tensors(ty)),
        ];
        assert_eq!(row.as_object().unwrap().len(), ours.len() + 1);
        for (name, answer) in ours {
            assert_eq!(row[name].as_bool(), Some(answer), "{name} of {ty}");
        }
    }
    for row in vectors()["types"].as_array().unwrap() {
        let ty = parse(text(row, "compact"));
        let ours = [
            ("sum", ty.check_sum_compatible().is_ok()),
            ("average", ty.is_average_compatible()),
            ("min_max", ty.is_min_max_compatible()),
            ("floats", ty.is_average_compatible() && ty.is_min_max_compatible()),
            ("integers", ty.is_structure_of_integers()),
            ("tensorflow", ty.is_tensorflow_compatible()),
            ("structure_of_tensors", is_structure_of_tensors(&ty)),
        ];
        for (name, answer) in ours {
            assert_eq!(row[name].as_bool(), Some(answer), "{name} of {ty}");
        }
        assert_eq!(row["count"].as_u64(), Some(u64::from(ty.size())), "{ty}");
        assert_eq!(ty.preorder().count(), ty.size() as usize);
        assert_eq!(ty.strip_placement().to_string(), text(row, "stripped"));
    }
}

#[test]
fn instances_of_templates_are_those_of_the_reference() {
    let vectors = vectors();
    let rows = vectors["templates"].as_array().unwrap();
    assert_eq!(rows.len(), 91);
    for row in rows {
        let (template, concrete) = (parse(text(row, "generic")), parse(text(row, "concrete")));
        let ours = match concrete.check_instance_of(&template) {
            Ok(_) => "ok",
            Err(TemplateError::Structure(_)) => "MismatchedStructureError",
            Err(TemplateError::Conflict { .. }) => "MismatchedConcreteTypesError",
            Err(TemplateError::NotAssignable { .. }) => "UnassignableConcreteTypesError",
            Err(TemplateError::MissingDefiningUse { .. }) => "MissingDefiningUsageError",
            Err(error) => panic!("{row}: {error}"),
        };
        assert_eq!(ours, text(row, "result"), "{row}");
    }
}
