//! Templates, their instances, and labels.

use crate::parse;
use std::sync::Arc;
use tff_types::{Bindings, Label, Placement, TemplateError, Type};

#[test]
fn instances() {
    let cases = [
        ("(T -> T)", "(int32 -> int32)", "ok T=int32"),
        ("(T -> T)", "(int32[2] -> int32[?])", "ok T=int32[2]"),
        (
            "(T -> T)",
            "(int32[?] -> int32[2])",
            "T is int32[?] at (parameter), which is not assignable to int32[2] at (result)",
        ),
        ("<T,T>", "<int32,int32>", "nothing defines T, which is used as int32 at [0] and as int32 at [1]"),
        (
            "(<T,T> -> T)",
            "(<int32,float32> -> int32)",
            "T cannot be both int32 at (parameter)[0] and float32 at (parameter)[1]",
        ),
        ("(<(T -> U),T> -> U)", "(<(int32[?] -> int32),int32[2]> -> int32)", "ok T=int32[2] U=int32"),
        (
            "(<(T -> U),T> -> U)",
            "(<(int32[2] -> int32),int32[?]> -> int32)",
            "T is int32[?] at (parameter)[1], which is not assignable to int32[2] at (parameter)[0](parameter)",
        ),
        (
            "({T}@CLIENTS -> T@SERVER)",
            "(int32@CLIENTS -> int32@SERVER)",
            "not an instance: expected {T}@CLIENTS, found int32@CLIENTS (all-equal) at (parameter)",
        ),
        ("(<T> -> T)", "(<a=int32> -> int32)", "not an instance: expected no name, found the name a at (parameter).a"),
        (
            "(T -> int32[?])",
            "(bool -> int32[2])",
            "not an instance: expected int32[?], found int32[2] (dimension 0) at (result)",
        ),
        ("T", "(int32 -> int32)", "ok T=(int32 -> int32)"),
        ("(T -> T)", "(int32 -> U)", "the type is not concrete: the abstract type U at (result)"),
        ("(T -> T)", "(int32 -> int32@p)", "the type is not concrete: the placement label p at (result)"),
        // The reference lets this pass, with nothing bound to T.
        ("(T -> T)", "( -> int32)", "not an instance: expected the parameter T, found no parameter"),
        ("( -> T)", "(int32 -> int32)", "not an instance: expected no parameter, found the parameter int32"),
        // Placement labels, which the reference does not have.
        ("(T -> T@p)", "(int32 -> int32@SERVER)", "ok T=int32 p=SERVER"),
        ("(<T,p:placement> -> T@p)", "(<int32,placement> -> int32@CLIENTS)", "ok T=int32 p=CLIENTS"),
        (
            "({T}@p -> T@p)",
            "({int32}@CLIENTS -> int32@SERVER)",
            "the placement p cannot be both CLIENTS at (parameter) and SERVER at (result)",
        ),
        ("({T}@p -> T@q)", "({int32}@CLIENTS -> int32@SERVER)", "ok T=int32 p=CLIENTS q=SERVER"),
        ("placement", "q:placement", "ok"),
    ];
    for (template, concrete, expected) in cases {
        let found = match parse(concrete).check_instance_of(&parse(template)) {
            Ok(bindings) => {
                let types = bindings.types().map(|(label, ty)| format!(" {label}={ty}"));
                let placements = bindings.placements().map(|(label, placement)| format!(" {label}={placement}"));
                format!("ok{}", types.chain(placements).collect::<String>())
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{concrete} :: {template}");
    }
}

#[test]
fn concrete_types_of_templates() {
    let mut bindings = Bindings::new();
    assert_eq!(bindings.bind_type("T", parse("<a=int32>")), None);
    assert_eq!(bindings.bind_placement("p", Placement::Server), None);
    assert_eq!(
        parse("(<{T}@CLIENTS,T*> -> T@p)").concretize(&bindings),
        Ok(parse("(<{<a=int32>}@CLIENTS,<a=int32>*> -> <a=int32>@SERVER)"))
    );
    let error = parse("(U -> <T,V@q>)").concretize(&bindings).unwrap_err().to_string();
    assert_eq!(
        error,
        "the abstract type U at (parameter) is not bound, \
         the placement label q at (result)[1] is not bound, \
         the abstract type V at (result)[1]@ is not bound"
    );
    bindings.bind_type("T", parse("int32*"));
    let error = parse("<T*>").concretize(&bindings).unwrap_err();
    assert_eq!(error.to_string(), "a sequence type cannot contain the sequence type int32*");
}

#[test]
fn templates_take_their_types_from_an_argument() {
    let aggregate = "(<{T}@CLIENTS,U,(<U,T> -> U),(<U,U> -> U),(U -> R)> -> R@SERVER)";
    let cases = [
        (
            aggregate,
            "<{int32}@CLIENTS,float32,(<float32,int32> -> float32),(<float32,float32> -> float32),(float32 -> bool)>",
            "bool@SERVER",
        ),
        ("(T -> T@SERVER)", "<a=int32>", "<a=int32>@SERVER"),
        ("((T -> U) -> U)", "(int32 -> bool)", "bool"),
        ("({T}@p -> T@p)", "{int32}@SERVER", "int32@SERVER"),
    ];
    for (template, argument, result) in cases {
        let ty = parse(template).instantiate(&parse(argument)).unwrap();
        assert_eq!(ty, parse(&format!("({argument} -> {result})")));
    }
    let error = |template: &str, argument: &str| parse(template).instantiate(&parse(argument)).unwrap_err().to_string();
    assert_eq!(error("( -> T)", "int32"), "not an instance: expected no parameter, found the parameter int32");
    assert_eq!(error("int32", "int32"), "not an instance: expected no parameter, found the parameter int32");
    assert_eq!(error("(T* -> T)", "int32"), "not an instance: expected T*, found int32 (sequence and tensor)");
    assert!(matches!(
        parse("(T -> U)").instantiate(&parse("int32")),
        Err(TemplateError::Unbound(unbound)) if unbound.0.len() == 1
    ));
}

#[test]
fn labels_in_results_are_bound_by_parameters() {
    let bound = [
        "(T -> T)",
        "(( -> T) -> T)",
        "((T -> U) -> U)",
        "( -> (T -> T))",
        "(<T,(U -> U),U> -> <T,U>)",
        "int32",
        // The reference fails on this one.
        "(placement -> int32)",
        "(<T,p:placement> -> T@p)",
        "({T}@p -> {T}@p)",
        "(T -> (U -> <T,U>))",
    ];
    for text in bound {
        assert_eq!(parse(text).check_labels_bound(), Ok(()), "{text}");
    }
    let unbound = [
        ("T", "the abstract type T is not bound"),
        ("( -> T)", "the abstract type T at (result) is not bound"),
        ("(int32 -> T)", "the abstract type T at (result) is not bound"),
        ("(T -> U)", "the abstract type U at (result) is not bound"),
        ("T*", "the abstract type T at [] is not bound"),
        ("<(T -> T),T>", "the abstract type T at [1] is not bound"),
        ("(T -> T@`T`)", "the placement label T at (result) is not bound"),
    ];
    for (text, expected) in unbound {
        assert_eq!(parse(text).check_labels_bound().unwrap_err().to_string(), expected, "{text}");
    }
    assert_eq!(parse("<T,U,(T -> <V>)>").check_labels_bound().unwrap_err().0.len(), 3);
}

#[test]
fn renaming_is_a_no_op() {
    let same = [
        ("(T -> T)", "(U -> U)"),
        ("(<T,U> -> T)", "(<U,T> -> U)"),
        ("(<T,p:placement> -> T@p)", "(<p,T:placement> -> p@`T`)"),
        ("(placement -> T@p)", "(x:placement -> T@p)"),
        ("T@p", "p@q"),
    ];
    for (one, other) in same {
        assert!(parse(one).is_alpha_equivalent_to(&parse(other)), "{one} {other}");
        assert!(parse(other).is_alpha_equivalent_to(&parse(one)), "{one} {other}");
    }
    let different = [
        ("(T -> T)", "(T -> U)"),
        ("(<T,U> -> T)", "(<U,U> -> U)"),
        ("(T -> T)", "(T -> int32)"),
        ("T@p", "T@CLIENTS"),
        ("(<p:placement,q:placement> -> T@p)", "(<p:placement,q:placement> -> T@q)"),
        ("<T>", "<T,T>"),
    ];
    for (one, other) in different {
        assert!(!parse(one).is_alpha_equivalent_to(&parse(other)), "{one} {other}");
        assert!(!parse(other).is_alpha_equivalent_to(&parse(one)), "{one} {other}");
    }

    let ty = parse("(<T,p:placement,(U -> T)> -> T@p)");
    let mut names = Vec::new();
    let renamed = ty.rename_labels(&mut |label| {
        names.push(label.to_string());
        let (Label::Type(name) | Label::Placement(name)) = label;
        Arc::from(format!("{name}_1"))
    });
    assert_eq!(renamed.quoted().to_string(), "(<T_1,p_1:placement,(U_1 -> T_1)> -> T_1@p_1)");
    assert!(renamed.is_alpha_equivalent_to(&ty));
    assert_eq!(names.len(), 6);
    let labels: Vec<String> = ty.labels().iter().map(Label::to_string).collect();
    assert_eq!(labels, ["the abstract type T", "the abstract type U", "the placement label p"]);
    let concrete = parse("(<int32,placement,(bool -> int32)> -> int32@SERVER)");
    assert!(concrete.check_instance_of(&ty).is_ok() && concrete.check_instance_of(&renamed).is_ok());
    let plain: Type = parse("<a={int32}@CLIENTS>");
    assert!(plain.rename_labels(&mut |_| Arc::from("x")).ptr_eq(&plain));
}
