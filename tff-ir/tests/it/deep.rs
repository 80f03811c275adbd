//! Computations nested deeper than any stack: everything works on them on 2 MiB.

use std::hash::{DefaultHasher, Hash, Hasher};
use tff_ir::text::{Environment, Layout, MAX_LEVELS, PrintError, PrintOptions, parse, print};
use tff_ir::{
    Array, BuildError, Comp, CompEncodeError, CompKind, Scalar, Severity, Transformed, transform_postorder,
    transform_preorder, validate,
};

const DEPTH: usize = 100_000;

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(test).expect("a thread");
    thread.join().expect("no overflow");
}

fn int(value: i32) -> Comp {
    Comp::literal(Array::from(value))
}

/// `(let x=0 in (let x=1 in … n))`, so many blocks in the result of one another.
fn nested_in_results(depth: usize) -> Comp {
    (0..depth).rev().fold(int(-1), |inner, index| {
        let local = int(i32::try_from(index).expect("small"));
        Comp::block([("x", local)], inner).expect("a block")
    })
}

/// `(let x=(let x=… in x) in x)`, so many blocks in the local of one another.
fn nested_in_locals(depth: usize) -> Comp {
    (0..depth).fold(int(-1), |inner, _| {
        let reference = Comp::reference("x", inner.ty().clone()).expect("a reference");
        Comp::block([("x", inner)], reference).expect("a block")
    })
}

fn hash(comp: &Comp) -> u64 {
    let mut hasher = DefaultHasher::new();
    comp.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn deep_blocks_are_printed() {
    on_a_small_stack(|| {
        for comp in [nested_in_results(DEPTH), nested_in_locals(DEPTH)] {
            let text = comp.to_string();
            assert_eq!(text.matches("(let x=").count(), DEPTH);
            assert_eq!(text.matches(')').count(), DEPTH);
        }
        let text = nested_in_results(DEPTH).formatted().to_string();
        assert_eq!(text.lines().count(), 2 * DEPTH + 1);
    });
}

#[test]
fn deep_blocks_are_compared_and_hashed() {
    on_a_small_stack(|| {
        for build in [nested_in_results, nested_in_locals] {
            let (left, right, shorter) = (build(DEPTH), build(DEPTH), build(DEPTH - 1));
            assert!(left == right && left != shorter);
            assert!(left.is_alpha_equivalent_to(&right) && !left.is_alpha_equivalent_to(&shorter));
            assert_eq!((hash(&left), left.alpha_hash()), (hash(&right), right.alpha_hash()));
        }
    });
}

#[test]
fn deep_blocks_are_transformed() {
    on_a_small_stack(|| {
        let minus = |comp: Comp| -> Result<Transformed, BuildError> {
            match comp.kind() {
                CompKind::Literal(literal) if literal.array.get(0) == Some(Scalar::Int32(-1)) => {
                    Ok(Transformed::yes(int(7)))
                }
                _ => Ok(Transformed::no(comp)),
            }
        };
        for comp in [nested_in_results(DEPTH), nested_in_locals(DEPTH)] {
            let after = transform_postorder(&comp, &mut |it| minus(it)).expect("a computation");
            assert!(after.changed && after.comp.to_string().contains('7') && !after.comp.to_string().contains("-1"));
            let down = transform_preorder(&comp, &mut |it| {
                Ok(Some(minus(it.clone())?).filter(|it| it.changed).map(|it| it.comp))
            })
            .unwrap_or_else(|error: BuildError| panic!("{error}"));
            assert_eq!(down.comp, after.comp);
        }
    });
}

#[test]
fn deep_blocks_are_walked_and_validated() {
    on_a_small_stack(|| {
        for comp in [nested_in_results(DEPTH), nested_in_locals(DEPTH)] {
            assert_eq!(comp.preorder().count(), 2 * DEPTH + 1);
            assert_eq!(comp.postorder().count(), 2 * DEPTH + 1);
            assert!(comp.free_names().is_empty() && comp.names().len() == 1);
            assert!(validate(&comp).iter().all(|it| it.severity < Severity::Error));
        }
    });
}

#[test]
fn deep_blocks_are_refused_by_the_wire() {
    on_a_small_stack(|| {
        for comp in [nested_in_results(DEPTH), nested_in_locals(DEPTH)] {
            assert!(matches!(comp.to_proto(), Err(CompEncodeError::TooDeep { .. })));
        }
    });
}

#[test]
fn what_the_wire_accepts_can_be_read_again() {
    use prost::Message;
    let deepest = (0..DEPTH).map_while(|depth| nested_in_locals(depth).to_proto().ok()).last().expect("at least one");
    let bytes = deepest.encode_to_vec();
    let proto = tff_proto::v0::Computation::decode(bytes.as_slice()).expect("no deeper than protobuf allows");
    assert_eq!(proto, deepest);
    // One more block is more than it reads.
    let depth = Comp::from_proto(&proto).expect("a computation").preorder().count() / 2;
    assert_eq!(depth, 32);
}

#[test]
fn deep_text_is_read_up_to_a_limit() {
    on_a_small_stack(|| {
        // The innermost literal is a level, too.
        for build in [nested_in_results, nested_in_locals] {
            let comp = build(MAX_LEVELS - 1);
            let text = print(&comp, &PrintOptions { bodies_aside: false, layout: Layout::OneLine }).expect("text").text;
            assert!(parse(&text, &Environment::default()).expect("a computation").comp == comp);
            let error = print(&build(MAX_LEVELS), &PrintOptions::default()).expect_err("too deep");
            assert!(matches!(error, PrintError::TooDeep { .. }));
        }
        for (open, close) in [("<", ">"), ("( -> ", ")"), ("(let x=", " in x)"), ("-> ", ""), ("f(", ")")] {
            let text = |levels: usize| format!("{}<>{}", open.repeat(levels), close.repeat(levels));
            let error = parse(&text(DEPTH), &Environment::default()).expect_err("too deep").to_string();
            assert!(error.ends_with("nests more than 10000 levels"), "{error}");
        }
        for postfix in ["[0]", "()", ".a"] {
            let text = format!("f:int32{}", postfix.repeat(DEPTH));
            let error = parse(&text, &Environment::default()).expect_err("too deep").to_string();
            assert!(error.ends_with("nests more than 10000 levels"), "{error}");
        }
    });
}

/// A small text must not mean an enormous tree: what labels stand for is counted at each use.
#[test]
fn labels_that_stand_for_too_much_are_refused() {
    use prost::Message;
    use tff_ir::text::{Bodies, Environment, MAX_EXPANDED, parse};
    let environment = |n_locals: usize| {
        let one = "lit int32 1";
        let locals: Vec<String> = (0..n_locals).map(|index| format!("x{index}={one}")).collect();
        let block = parse(&format!("(let {} in x0)", locals.join(",")), &Environment::default()).expect("a block").comp;
        let mut bodies = Bodies::new();
        bodies.insert_comp("block", block.to_proto().expect("a message").encode_to_vec().into());
        Environment { bodies, ..Environment::default() }
    };
    let uses = |count: usize| format!("<{}>", vec!["comp#block"; count].join(","));
    assert!(parse(&uses(10), &environment(100)).is_ok());
    let error = parse(&uses(MAX_EXPANDED / 1_000), &environment(1_000)).unwrap_err();
    assert!(error.to_string().contains("labels stand for more than"), "{error}");
}
