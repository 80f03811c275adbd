//! Predicates, counts, transformations and what constructors refuse.

use crate::parse;
use tff_types::{DType, MAX_PROBLEMS, MAX_SIZE, Placement, Type, TypeError};

#[test]
fn traversal_and_counts() {
    let ty = parse("(<a=int32,b=<bool*>> -> {float32}@CLIENTS)");
    let parts: Vec<String> = ty.preorder().map(Type::to_string).collect();
    assert_eq!(
        parts,
        [
            "(<a=int32,b=<bool*>> -> {float32}@CLIENTS)",
            "<a=int32,b=<bool*>>",
            "int32",
            "<bool*>",
            "bool*",
            "bool",
            "{float32}@CLIENTS",
            "float32"
        ]
    );
    assert!(ty.contains(|part| part.as_sequence().is_some()));
}

#[test]
fn sums_say_why_not() {
    let cases = [
        ("<a=int32,b=<bool>>", "cannot sum: bool is not numeric at .b[0]"),
        ("{float32[2,?]}@CLIENTS", "cannot sum: the shape of float32[2,?] is not fully defined at @"),
        ("int32*", "cannot sum: int32* is not a structure of tensors"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).check_sum_compatible().unwrap_err().to_string(), expected);
    }
    assert_eq!(parse("<bfloat16,complex64[2],<>>").check_sum_compatible(), Ok(()));
}

#[test]
fn bfloat16_and_dtypes_without_order() {
    for (dtype, average, min_max) in [
        ("bfloat16", false, false),
        ("float16", true, true),
        ("complex64", true, false),
        ("uint8", false, true),
        ("bool", false, false),
    ] {
        let ty = parse(dtype);
        assert_eq!((ty.is_average_compatible(), ty.is_min_max_compatible()), (average, min_max), "{dtype}");
    }
}

#[test]
fn a_bound_is_one_integer_or_one_for_each_tensor() {
    let cases = [
        ("int32", "<a=float32>", true),
        ("int32[1,1]", "int32", true),
        ("int32[2]", "int32[2]", false),
        ("int32[?]", "int32", false),
        ("float32", "float32", false),
        ("<a=int32,b=<int8>>", "<a=float32[5],b=<bool>>", true),
        ("<a=int32>", "<b=int32>", false),
        ("<a=int32>", "<int32>", false),
        ("<int32>", "<int32,int32>", false),
        ("<int32>", "int32", false),
    ];
    for (bound, shape, expected) in cases {
        assert_eq!(parse(bound).is_single_integer_or_matches_structure(&parse(shape)), expected, "{bound} {shape}");
    }
}

#[test]
fn federated_types_are_checked_as_far_as_is_asked() {
    let ty = parse("{int32[3]}@CLIENTS");
    assert_eq!(ty.check_federated(None, None, None), Ok(()));
    assert_eq!(ty.check_federated(Some(&parse("int32[?]")), Some(Placement::Clients), Some(false)), Ok(()));
    let errors = [
        ty.check_federated(Some(&parse("int32")), None, None),
        ty.check_federated(None, Some(Placement::Server), None),
        ty.check_federated(None, None, Some(true)),
        parse("int32").check_federated(None, Some(Placement::Server), Some(true)),
        parse("T@p").check_federated(None, Some(Placement::Server), None),
    ];
    let messages: Vec<String> = errors.into_iter().map(|error| error.unwrap_err().to_string()).collect();
    assert_eq!(
        messages,
        [
            "not assignable: expected int32, found int32[3] (rank) at @",
            "not assignable: expected SERVER, found CLIENTS",
            "not assignable: expected int32[3]@CLIENTS, found {int32[3]}@CLIENTS (all-equal)",
            "not assignable: expected T@SERVER, found int32 (federated and tensor)",
            "not assignable: expected SERVER, found the label p",
        ]
    );
}

#[test]
fn transformations_share_what_does_not_change() {
    let ty = parse("<a=<int32,bool>,b=<float32>>");
    let same = ty.transform_postorder(&mut |part| Ok::<_, TypeError>(part)).unwrap();
    assert!(same.ptr_eq(&ty));
    let mut order = Vec::new();
    let changed = ty
        .transform_postorder(&mut |part| {
            order.push(part.to_string());
            Ok::<_, TypeError>(if part == parse("bool") { parse("int8*") } else { part })
        })
        .unwrap();
    assert_eq!(changed.to_string(), "<a=<int32,int8*>,b=<float32>>");
    assert_eq!(order, ["int32", "bool", "<int32,int8*>", "float32", "<float32>", "<a=<int32,int8*>,b=<float32>>"]);
    let second = |ty: &Type| ty.as_struct().unwrap().elements()[1].ty.clone();
    assert!(second(&changed).ptr_eq(&second(&ty)));
    let error = parse("<bool*>")
        .transform_postorder(&mut |part| Ok::<_, TypeError>(if part == parse("bool") { parse("int8*") } else { part }));
    assert_eq!(error.unwrap_err().to_string(), "a sequence type cannot contain the sequence type int8*");

    let ty = parse("(<{int32}@CLIENTS,int32*@SERVER> -> <{int32}@CLIENTS,(T@p -> bool)>)");
    assert_eq!(ty.strip_placement(), parse("(<int32,int32*> -> <int32,(T -> bool)>)"));
    assert!(!ty.strip_placement().contains_federated());
    assert_eq!(parse("int32@SERVER").with_all_equal(false), parse("{int32}@SERVER"));
    assert_eq!(parse("<int32@SERVER>").with_all_equal(false), parse("<int32@SERVER>"));
}

#[test]
fn constructors_report_every_problem() {
    let element = parse("<a=int32*,b=<(int32 -> int32),c=T>,{bool}@CLIENTS>");
    assert_eq!(
        Type::sequence(element.clone()).unwrap_err().to_string(),
        "a sequence type cannot contain the sequence type int32* at .a, the function type (int32 -> int32) at .b[0], \
         the federated type {bool}@CLIENTS at [2]"
    );
    assert_eq!(
        Type::at_server(element).unwrap_err().to_string(),
        "a federated type cannot contain the function type (int32 -> int32) at .b[0], \
         the federated type {bool}@CLIENTS at [2]"
    );
    let int32 = || Type::scalar(DType::Int32);
    let names = ["a", "", "b", "a", "", "a"].map(|name| (Some(name), int32()));
    assert_eq!(
        Type::structure(names).unwrap_err().to_string(),
        "struct element 1 has an empty name, duplicate struct element name `a` at positions 0 and 3, \
         struct element 4 has an empty name, duplicate struct element name `a` at positions 0 and 5"
    );
    assert!(Type::sequence(parse("placement")).is_ok());
    assert!(Type::at_clients(parse("<T,int32*,placement>")).is_ok());
}

/// Each problem has a path, so the list could be many times as large as the type.
#[test]
fn problems_are_listed_up_to_a_number() {
    let wide = Type::tuple(vec![parse("T*"); 1000]).unwrap();
    let Err(TypeError::Nesting { problems, .. }) = Type::sequence(wide.clone()) else { panic!("accepted") };
    assert_eq!(problems.len(), MAX_PROBLEMS);
    let names = (0..1000).map(|_| (Some("a"), parse("T")));
    assert!(matches!(Type::structure(names), Err(TypeError::Names(problems)) if problems.len() == MAX_PROBLEMS));
    assert_eq!(wide.check_labels_bound().unwrap_err().0.len(), MAX_PROBLEMS);
}

#[test]
fn size_is_limited() {
    let mut ty = Type::scalar(DType::Int32);
    let error = loop {
        match Type::tuple([ty.clone(), ty.clone(), ty.clone()]) {
            Ok(larger) => ty = larger,
            Err(error) => break error,
        }
    };
    assert_eq!(error, TypeError::TooLarge);
    assert!(ty.size() <= MAX_SIZE && ty.size() > MAX_SIZE / 8);
}

/// The deepest types there are, on the stack of a test thread.
#[test]
fn the_deepest_type_is_walked_everywhere() {
    let mut ty = Type::abstract_type("T");
    while ty.depth() < tff_types::MAX_DEPTH {
        ty = Type::structure([(Some("a"), ty)]).unwrap();
    }
    let mut other = Type::scalar(DType::Int32);
    while other.depth() < tff_types::MAX_DEPTH {
        other = Type::structure([(Some("a"), other)]).unwrap();
    }
    assert_eq!(parse(&ty.formatted().to_string()), ty);
    assert_eq!(parse(&ty.quoted().to_string()), ty);
    assert!(ty.check_assignable_from(&other).unwrap_err().to_string().lines().count() == 2);
    let bindings = other.check_instance_of(&ty).unwrap();
    assert_eq!(ty.concretize(&bindings).unwrap(), other);
    assert_eq!(ty.check_labels_bound().unwrap_err().0.len(), 1);
    assert!(ty.is_alpha_equivalent_to(&ty.rename_labels(&mut |_| "U".into())));
    assert!(other.check_sum_compatible().is_ok() && other.is_structure_of_integers());
    assert_eq!(other.strip_placement(), other);
    assert!(ty.to_proto().is_err());
    let mut functions = Type::at_clients(Type::scalar(DType::Int32)).unwrap();
    while functions.depth() < tff_types::MAX_DEPTH {
        functions = Type::function(None, functions).unwrap();
    }
    assert!(Type::sequence(functions.clone()).is_err());
    assert_eq!(functions.strip_placement().depth(), tff_types::MAX_DEPTH - 1);
}
