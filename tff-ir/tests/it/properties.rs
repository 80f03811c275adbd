//! What holds for every computation, tried on random ones.

use arbitrary::{Arbitrary, Unstructured};
use prost::Message;
use std::collections::BTreeSet;
use tff_ir::text::{Bodies, Environment, Layout, PrintOptions, parse, print};
use tff_ir::{Binder, Comp, Scope, Severity, Transformed, Walk, transform_postorder, validate, validate_proto};
use tff_proto::v0 as pb;
use tff_testing::random;

/// Runs a check on random computations.
fn check(runs: u64, mut check: impl FnMut(&Comp, &mut Unstructured<'_>)) {
    for run in 0..runs {
        let bytes = random(run, 2000);
        let mut u = Unstructured::new(&bytes);
        let comp = Comp::arbitrary(&mut u).expect("a computation");
        check(&comp, &mut u);
    }
}

#[test]
fn text_and_wire_round_trip() {
    let (mut seen, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    check(10_000, |comp, _| {
        let bytes = comp.to_proto().expect("not too deep").encode_to_vec();
        let proto = pb::Computation::decode(bytes.as_slice()).expect("a message");
        let decoded = Comp::from_proto(&proto).unwrap_or_else(|error| panic!("{comp:?}\n{error}"));
        assert_eq!(&decoded, comp);
        assert_eq!(decoded.to_proto().expect("not too deep").encode_to_vec(), bytes);

        for (layout, bodies_aside) in [(Layout::OneLine, false), (Layout::Lines, false), (Layout::Lines, true)] {
            let options = PrintOptions { layout, bodies_aside };
            let printed = print(comp, &options).expect("text");
            let bodies = Bodies::parse(&printed.bodies.to_string()).expect("definitions");
            let environment = Environment { bodies, ..Environment::default() };
            let parsed = parse(&printed.text, &environment).unwrap_or_else(|error| panic!("{error}\n{}", printed.text));
            assert_eq!(&parsed.comp, comp, "{}", printed.text);
            if layout == Layout::OneLine {
                assert_eq!(parsed.comp.to_proto().expect("not too deep").encode_to_vec(), bytes, "{}", printed.text);
            }
            assert_eq!(print(&parsed.comp, &options).expect("text"), printed);
        }
        kinds.extend(comp.preorder().map(Comp::kind_name));
        seen.insert(bytes);
    });
    assert!(seen.len() > 5000, "only {} different computations", seen.len());
    assert_eq!(kinds.len(), 12, "{kinds:?}");
}

#[test]
fn what_the_constructors_build_is_valid() {
    check(10_000, |comp, _| {
        let errors: Vec<_> = validate(comp).into_iter().filter(|it| it.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{comp:?}\n{errors:?}");
        assert!(comp.free_names().is_empty());
        // The other forms have no rules to break, but must be printable.
        assert!(!comp.formatted().to_string().is_empty() && !comp.structural().to_string().is_empty());
    });
}

/// Checks that each reference is to a name in scope, and counts what is in scope.
#[derive(Default)]
struct InScope<'c> {
    scope: Scope<(), &'c str>,
    n_bound: usize,
}

impl<'c> Walk<'c> for InScope<'c> {
    type Value = Comp;
    type Error = String;

    fn comp(&mut self, comp: &'c Comp) -> Result<Comp, String> {
        if let Some(reference) = comp.as_reference() {
            self.scope.get(&reference.name).ok_or_else(|| reference.name.to_string())?;
        }
        let mut children = Vec::new();
        self.parts(comp, |child| children.push(child))?;
        comp.with_children(children).map_err(|error| error.to_string())
    }

    fn bind(&mut self, binder: Binder<'c>, value: Option<&Comp>) {
        if let Binder::Local(local) = binder {
            assert!(value.is_some_and(|value| value.ptr_eq(&local.value)));
        }
        self.n_bound += 1;
        self.scope.bind(&**binder.name(), ());
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.n_bound -= 1;
        self.scope.unbind(binder.name()).expect("a name in scope");
    }
}

#[test]
fn walks_know_the_names_in_scope() {
    check(2_000, |comp, _| {
        let mut walk = InScope::default();
        let same = walk.walk(comp).expect("names in scope");
        assert!(same.ptr_eq(comp) && walk.n_bound == 0);
    });
}

#[test]
fn rewrites_that_change_nothing_change_nothing() {
    check(2_000, |comp, _| {
        let same = transform_postorder(comp, &mut |it| Ok::<_, tff_ir::BuildError>(Transformed::no(it)));
        let same = same.expect("a computation");
        assert!(!same.changed && same.comp.ptr_eq(comp));
        // All nodes made anew.
        let rebuilt = transform_postorder(comp, &mut |it| {
            let children: Vec<Comp> = it.children().cloned().collect();
            Ok::<_, tff_ir::BuildError>(Transformed::yes(it.with_children(children)?))
        });
        assert_eq!(&rebuilt.expect("a computation").comp, comp);
        assert!(comp.is_alpha_equivalent_to(comp));
    });
}

/// The computation with every parameter and local named after its number.
fn renamed(comp: &Comp, scope: &mut Scope<String>, count: &mut u32) -> Comp {
    use tff_ir::CompKind;
    let mut name = || {
        *count += 1;
        format!("n{count}")
    };
    match comp.kind() {
        CompKind::Reference(it) => Comp::reference(scope.get(&it.name).expect("bound").as_str(), comp.ty().clone()),
        CompKind::Lambda(it) => match &it.parameter {
            None => Comp::lambda(None::<(&str, _)>, renamed(&it.result, scope, count)),
            Some(parameter) => {
                let new = name();
                scope.bind(parameter.name.clone(), new.clone());
                let result = renamed(&it.result, scope, count);
                scope.unbind(&parameter.name);
                Comp::lambda(Some((new, parameter.ty.clone())), result)
            }
        },
        CompKind::Block(it) => {
            let mut locals = Vec::new();
            for local in it.locals.iter() {
                let value = renamed(&local.value, scope, count);
                *count += 1;
                let new = format!("n{count}");
                scope.bind(local.name.clone(), new.clone());
                locals.push((new, value));
            }
            let result = renamed(&it.result, scope, count);
            it.locals.iter().for_each(|local| drop(scope.unbind(&local.name)));
            Comp::block(locals, result)
        }
        _ => comp.with_children(comp.children().map(|it| renamed(it, scope, count)).collect()),
    }
    .expect("a computation")
}

#[test]
fn bound_names_do_not_matter() {
    let mut differ = 0;
    check(2_000, |comp, _| {
        let renamed = renamed(comp, &mut Scope::new(), &mut 0);
        differ += u32::from(&renamed != comp);
        assert!(renamed.is_alpha_equivalent_to(comp), "{comp}\n{renamed}");
        assert_eq!(renamed.alpha_hash(), comp.alpha_hash());
    });
    assert!(differ > 500, "only {differ} were renamed");
    let mut hashes = BTreeSet::new();
    let mut different = Vec::new();
    check(2_000, |comp, _| {
        hashes.insert(comp.alpha_hash());
        let renamed = renamed(comp, &mut Scope::new(), &mut 0);
        if !different.contains(&renamed) {
            different.push(renamed);
        }
    });
    assert_eq!(hashes.len(), different.len());
}

#[test]
fn damaged_messages_are_refused_or_read_the_same_again() {
    check(10_000, |comp, u| {
        let mut bytes = comp.to_proto().expect("not too deep").encode_to_vec();
        let at = u.choose_index(bytes.len()).expect("a position");
        bytes[at] ^= u.int_in_range(1..=255u8).expect("a difference");
        let Ok(proto) = pb::Computation::decode(bytes.as_slice()) else { return };
        let said = validate_proto(&proto);
        match Comp::from_proto(&proto) {
            Ok(comp) => {
                let again = comp.to_proto().expect("not too deep");
                assert_eq!(Comp::from_proto(&again).expect("a computation"), comp);
                assert_eq!(said, validate(&comp));
                let text = print(&comp, &PrintOptions::default()).expect("text").text;
                assert_eq!(
                    parse(&text, &Environment::default()).unwrap_or_else(|error| panic!("{error}\n{text}")).comp,
                    comp
                );
            }
            Err(_) => assert!(said.iter().any(|it| it.severity == Severity::Error)),
        }
        if let Ok(comp) = Comp::from_proto_lenient(&proto) {
            let again = comp.to_proto().expect("not too deep");
            assert_eq!(Comp::from_proto_lenient(&again).expect("a computation").to_string(), comp.to_string());
        }
    });
}

#[test]
fn types_left_out_are_no_obstacle() {
    check(2_000, |comp, u| {
        let mut proto = comp.to_proto().expect("not too deep");
        assert_eq!(&Comp::from_proto_lenient(&proto).expect("a computation"), comp);
        leave_out_types(&mut proto, u);
        let lenient = Comp::from_proto_lenient(&proto).unwrap_or_else(|error| panic!("{comp:?}\n{error}"));
        assert_eq!(lenient.preorder().count(), comp.preorder().count());
    });
}

fn leave_out_types(proto: &mut pb::Computation, u: &mut Unstructured<'_>) {
    use pb::computation::Computation as Kind;
    if u.ratio(1, 2).unwrap_or(true) {
        proto.r#type = None;
    }
    let mut leave_out = |proto: &mut pb::Computation| leave_out_types(proto, u);
    match proto.computation.as_mut() {
        Some(Kind::Lambda(it)) => it.result.iter_mut().for_each(|it| leave_out(it)),
        Some(Kind::Block(it)) => {
            it.local.iter_mut().filter_map(|it| it.value.as_mut()).for_each(&mut leave_out);
            it.result.iter_mut().for_each(|it| leave_out(it));
        }
        Some(Kind::Call(it)) => it.function.iter_mut().chain(&mut it.argument).for_each(|it| leave_out(it)),
        Some(Kind::Struct(it)) => it.element.iter_mut().filter_map(|it| it.value.as_mut()).for_each(leave_out),
        Some(Kind::Selection(it)) => it.source.iter_mut().for_each(|it| leave_out(it)),
        _ => {}
    }
}

#[test]
fn damaged_texts_are_refused_or_read() {
    const INSERTED: [&str; 12] = ["(", ")", "<", ">", ",", ":", "let ", "-", "\"", "`", "%", "<lambda>"];
    check(5_000, |comp, u| {
        let mut text = print(comp, &PrintOptions::default()).expect("text").text;
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = *u.choose(&starts).expect("a position");
        if u.arbitrary().expect("a choice") {
            text.remove(at);
        } else {
            text.insert_str(at, u.choose(&INSERTED).expect("a text"));
        }
        match parse(&text, &Environment::default()) {
            Ok(parsed) => {
                let printed = print(&parsed.comp, &PrintOptions::default()).expect("text").text;
                let again =
                    parse(&printed, &Environment::default()).unwrap_or_else(|error| panic!("{error}\n{printed}"));
                assert_eq!(again.comp, parsed.comp, "{text}\n{printed}");
            }
            Err(error) => {
                assert!(text.get(error.span.start..error.span.end).is_some(), "{error}\n{text}");
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    });
}

/// A graph of TFF 0.80, which writes an empty `layout_map`, and one whose map has an empty key and an empty value, beside a
/// `CacheKey` of 0: all as libraries for protobuf write them.
#[test]
fn what_is_empty_in_a_message_stays_there() {
    let read = std::fs::read(tff_testing::repository("testdata/layout_map_080.pb")).expect("a file");
    let mut message = pb::Computation::decode(&*read).expect("a message");
    let round_trip = |message: &pb::Computation| {
        let comp = Comp::from_proto(message).expect("a computation");
        let printed = print(&comp, &PrintOptions { layout: Layout::OneLine, bodies_aside: false }).expect("text");
        let bodies = Bodies::parse(&printed.bodies.to_string()).expect("definitions");
        let environment = Environment { bodies, ..Environment::default() };
        parse(&printed.text, &environment).expect("a computation").comp.to_proto().expect("a message").encode_to_vec()
    };
    assert_eq!(round_trip(&message), read);
    let Some(pb::computation::Computation::Tensorflow(graph)) = &mut message.computation else { panic!("no graph") };
    let entry = |key: &str, value: &str| pb::tensor_flow::layout_map::NameToShardingSpecEntry {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    let name_to_sharding_spec = vec![entry("z", ""), entry("", "a")];
    graph.layout_map = Some(pb::tensor_flow::LayoutMap { name_to_sharding_spec });
    graph.cache_key = Some(pb::tensor_flow::CacheKey { id: 0 });
    assert_eq!(round_trip(&message), message.encode_to_vec());
}
