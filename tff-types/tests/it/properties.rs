//! What holds for every type, tried on random ones.

use crate::parse;
use arbitrary::{Arbitrary, Unstructured};
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;
use tff_proto::v0 as pb;
use tff_testing::random;
use tff_types::{Bindings, Label, TemplateError, Type};

/// Runs a check on random input; the same input every time.
fn check(runs: u64, mut check: impl FnMut(&mut Unstructured<'_>) -> arbitrary::Result<()>) {
    for run in 0..runs {
        check(&mut Unstructured::new(&random(run, 1024))).unwrap();
    }
}

#[test]
fn text_and_wire_round_trip() {
    let mut seen = BTreeSet::new();
    check(10_000, |u| {
        let ty = Type::arbitrary(u)?;
        let text = ty.quoted().to_string();
        let read = parse(&text);
        assert_eq!(read, ty, "{text}");
        assert_eq!(read.quoted().to_string(), text);
        let bytes = ty.to_proto().unwrap().encode_to_vec();
        assert_eq!(read.to_proto().unwrap().encode_to_vec(), bytes, "{text}");
        let decoded = Type::from_proto(&pb::Type::decode(bytes.as_slice()).unwrap()).unwrap();
        assert_eq!(decoded.quoted().to_string(), text);
        seen.insert(text);
        Ok(())
    });
    assert!(seen.len() > 3000, "only {} different types", seen.len());
}

#[test]
fn what_a_decoder_accepts_is_written_the_same() {
    check(2_000, |u| {
        let mut bytes = Type::arbitrary(u)?.to_proto().unwrap().encode_to_vec();
        // One byte wrong.
        let at = u.choose_index(bytes.len())?;
        bytes[at] = u.arbitrary()?;
        let Ok(proto) = pb::Type::decode(bytes.as_slice()) else { return Ok(()) };
        if let Ok(ty) = Type::from_proto(&proto) {
            let again = ty.to_proto().unwrap();
            assert_eq!(Type::from_proto(&again).unwrap(), ty);
        }
        Ok(())
    });
}

#[test]
fn any_text_is_read_or_refused() {
    const PIECES: [&str; 24] = [
        "int32",
        "T",
        "'",
        "(shape=None)",
        "<",
        ">",
        "(",
        ")",
        "{",
        "}",
        "@",
        "CLIENTS",
        "p",
        ":",
        "placement",
        "->",
        "*",
        "[",
        "]",
        "?",
        ",",
        "=",
        "`a b`",
        " ",
    ];
    check(5_000, |u| {
        let count = u.int_in_range(0..=12)?;
        let text = (0..count).map(|_| u.choose(&PIECES).copied()).collect::<arbitrary::Result<String>>()?;
        match text.parse::<Type>() {
            Ok(ty) => assert_eq!(parse(&ty.quoted().to_string()), ty, "{text}"),
            Err(error) => assert!(text.get(error.span.start..error.span.end).is_some(), "{text}: {error}"),
        }
        Ok(())
    });
}

#[test]
fn assignability_is_reflexive_and_transitive() {
    let mut strict = 0;
    check(5_000, |u| {
        let middle = Type::arbitrary(u)?;
        let (source, target) = (middle.arbitrary_source(u)?, middle.arbitrary_target(u)?);
        for ty in [&source, &middle, &target] {
            assert!(ty.is_assignable_from(ty) && ty.check_equivalent_to(ty).is_ok(), "{ty}");
        }
        assert!(middle.is_assignable_from(&source), "{middle} from {source}");
        assert!(target.is_assignable_from(&middle), "{target} from {middle}");
        assert!(target.is_assignable_from(&source), "{target} from {source} by {middle}");
        strict += u32::from(!source.is_assignable_from(&target));
        Ok(())
    });
    assert!(strict > 1000, "only {strict} chains go one way");
}

#[test]
fn equivalence_is_assignability_both_ways() {
    check(5_000, |u| {
        let one = Type::arbitrary(u)?;
        let other = match u.int_in_range(0..=3)? {
            0 => Type::arbitrary(u)?,
            1 => one.arbitrary_source(u)?,
            2 => one.arbitrary_target(u)?,
            _ => parse(&one.quoted().to_string()),
        };
        let both = one.is_assignable_from(&other) && other.is_assignable_from(&one);
        assert_eq!(one == other, both, "{one} {other}");
        assert_eq!(other == one, both, "{one} {other}");
        assert_eq!(one.check_equivalent_to(&other).is_ok(), both);
        assert_eq!(one.check_assignable_from(&other).is_ok(), one.is_assignable_from(&other));
        if let Err(mismatch) = one.check_assignable_from(&other) {
            let text = mismatch.to_string();
            assert!(text.lines().next().unwrap().chars().count() <= 120, "{text}");
        }
        Ok(())
    });
}

#[test]
fn what_a_template_stands_for_is_its_instance() {
    let (mut instances, mut undefined) = (0, 0);
    check(5_000, |u| {
        let template = Type::arbitrary(u)?;
        let mut bindings = Bindings::new();
        for label in template.labels() {
            match label {
                Label::Type(label) => drop(bindings.bind_type(label, Type::arbitrary_concrete(u)?)),
                Label::Placement(label) => drop(bindings.bind_placement(label, u.arbitrary()?)),
            }
        }
        let concrete = match template.concretize(&bindings) {
            Ok(concrete) => concrete,
            Err(TemplateError::Invalid(_)) => return Ok(()),
            Err(error) => panic!("{template}: {error}"),
        };
        assert!(!concrete.contains_abstract());
        match concrete.check_instance_of(&template) {
            Ok(found) => {
                for (label, ty) in found.types() {
                    assert_eq!(Some(ty), bindings.ty(label), "{concrete} :: {template}");
                }
                assert_eq!(template.concretize(&found).unwrap(), concrete);
                instances += 1;
            }
            Err(TemplateError::MissingDefiningUse { .. }) => undefined += 1,
            Err(error) => panic!("{concrete} :: {template}: {error}"),
        }
        // A renamed template stands for the same types.
        let renamed = template.rename_labels(&mut |label| match label {
            Label::Type(name) | Label::Placement(name) => Arc::from(format!("{name}~")),
        });
        assert!(renamed.is_alpha_equivalent_to(&template));
        assert_eq!(
            concrete.check_instance_of(&renamed).is_ok(),
            concrete.check_instance_of(&template).is_ok(),
            "{concrete} :: {template}"
        );
        Ok(())
    });
    assert!(instances > 3000 && undefined > 0, "{instances} instances, {undefined} undefined");
}

#[test]
fn stripping_and_counting() {
    check(3_000, |u| {
        let ty = Type::arbitrary(u)?;
        assert_eq!(ty.preorder().count(), ty.size() as usize);
        let stripped = ty.strip_placement();
        assert!(!stripped.contains_federated());
        assert_eq!(stripped.contains(|part| part.as_federated().is_some()), stripped.contains_federated());
        let federated = ty.preorder().filter(|part| part.as_federated().is_some()).count();
        assert_eq!(stripped.size() as usize + federated, ty.size() as usize);
        assert_eq!(stripped.ptr_eq(&ty), federated == 0);
        Ok(())
    });
}
