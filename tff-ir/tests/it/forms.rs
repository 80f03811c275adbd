//! The forms of the reference, on computations that its goldens do not cover.

use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Comp, Scalar, UniqueNames};
use tff_testing::comp;
use tff_types::DType;

#[test]
fn compact() {
    for (text, compact) in [
        ("(x:int32 -> x)", "(x -> x)"),
        ("( -> <>)", "( -> <>)"),
        ("f:( -> int32)()", "f()"),
        ("f:(<a=bool,int32> -> <int32>)(<a=lit bool true,lit int32 -7>)[0]", "f(<a=True,-7>)[0]"),
        ("(let a=lit str \"x\",b=a in <b,@CLIENTS>)", "(let a=b'x',b=a in <b,CLIENTS>)"),
        ("(let in lit float32 1)", "(let  in 1.0)"),
        ("%federated_sum:({int32}@CLIENTS -> int32@SERVER)", "federated_sum"),
        ("lit int32[2,2] [1,2,3,4]", "[[1 2]\n [3 4]]"),
        ("data \"u\":int32", "data#4680113"),
    ] {
        assert_eq!(comp(text).to_string(), compact, "{text}");
    }
}

#[test]
fn formatted() {
    insta::assert_snapshot!(comp("(let a=lit int32 1,b=a in c:int32)").formatted(), @r"
    (let
      a=1,
      b=a
     in c)
    ");
    insta::assert_snapshot!(comp("(a:int32 -> <a,lit int32 1>[0])(lit int32 1)").formatted(), @r"
    (a -> <
      a,
      1
    >[0])(1)
    ");
    insta::assert_snapshot!(comp("(let in <p=<>,(let x=<y:T> in x)>)").formatted(), @r"
    (let

     in <
      p=<>,
      (let
        x=<
          y
        >
       in x)
    >)
    ");
}

#[test]
fn structural() {
    insta::assert_snapshot!(comp("a:(int32 -> int32)(lit int32 1)").structural(), @r"
           Call
          /    \
    Ref(a)      Lit(1)
    ");
    insta::assert_snapshot!(comp("a:( -> int32)()").structural(), @r"
           Call
          /
    Ref(a)
    ");
    insta::assert_snapshot!(comp("<a=lit int32 2,b=lit int32 2>").structural(), @r"
    Struct
    |
    [a=Lit(2), b=Lit(2)]
    ");
    insta::assert_snapshot!(comp("( -> %federated_map(<(a:int32 -> a),%federated_value_at_clients(lit int32 1)>))").structural(), @r"
                  Lambda(None)
                  |
                  Call
                 /    \
    federated_map      Struct
                       |
                       [Lambda(a),                           Call]
                        |                                   /    \
                        Ref(a)    federated_value_at_clients      Lit(1)
    ");
    insta::assert_snapshot!(comp("(let x=lit int32 1,y=f:( -> bool)() in <@SERVER>[0])").structural(), @r"
                       Block
                      /     \
    [x=Lit(1), y=Call]       Sel(0)
                /            |
          Ref(f)             Struct
                             |
                             [Placement]
    ");
}

#[test]
fn names() {
    let comp = comp("(let x=y:int32,z=(x:bool -> <x,w:T>) in <x,z>)");
    let list = |names: std::collections::BTreeSet<std::sync::Arc<str>>| {
        names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list(comp.names()), "w x y z");
    assert_eq!(list(comp.free_names()), "w y");
    let mut names = UniqueNames::new(&comp);
    assert_eq!([names.next_name(), names.next_name()].map(|it| it.to_string()), ["_var1", "_var2"]);
    let mut names = UniqueNames::with_prefix(&comp, "x");
    assert_eq!(&*names.next_name(), "x_1_1");
}

#[test]
fn alpha_equivalence() {
    for (left, right, equivalent) in [
        ("(x:int32 -> x)", "(y:int32 -> y)", true),
        ("(x:int32 -> x)", "(x:bool -> x)", false),
        ("(x:int32 -> (y:int32 -> x))", "(x:int32 -> (x:int32 -> x))", false),
        ("(let a=b:int32 in a)", "(let c=b:int32 in c)", true),
        ("(let a=b:int32 in a)", "(let b=b:int32 in b)", true),
        ("(let a=b:int32 in a)", "(let b=c:int32 in b)", false),
        ("<(x:int32 -> x),x:int32>", "<(y:int32 -> y),y:int32>", false),
        ("(x:int32 -> y:int32)", "(y:int32 -> y)", false),
        ("<a=x:int32>", "<b=x:int32>", false),
    ] {
        let (left, right) = (comp(left), comp(right));
        assert_eq!(left.is_alpha_equivalent_to(&right), equivalent, "{left} {right}");
        assert_eq!(right.is_alpha_equivalent_to(&left), equivalent, "{left} {right}");
        assert_eq!(left.alpha_hash() == right.alpha_hash(), equivalent, "{left} {right}");
    }
}

#[test]
fn places_in_the_text() {
    let text = "(x:int32 ->\n  (let a=<x,b=@SERVER> in a.b))";
    let parsed = parse(text, &Environment::default()).expect("a computation");
    let mut places = Vec::new();
    let mut pending = vec![(Vec::new(), parsed.comp.clone())];
    while let Some((steps, comp)) = pending.pop() {
        let span = parsed.span_of(&tff_ir::CompPath::new(&steps)).expect("a place");
        places.push(format!("{}: {}", tff_ir::CompPath::new(&steps), &text[span.start..span.end]));
        for (index, child) in comp.children().enumerate().collect::<Vec<_>>().into_iter().rev() {
            pending.push((steps.iter().cloned().chain(comp.step_to(index)).collect(), child.clone()));
        }
    }
    insta::assert_snapshot!(places.join("\n"), @r"
    .: (x:int32 ->
      (let a=<x,b=@SERVER> in a.b))
    .lambda.result: (let a=<x,b=@SERVER> in a.b)
    .lambda.result.block.local[0](a): <x,b=@SERVER>
    .lambda.result.block.local[0](a).struct.element[0]: x
    .lambda.result.block.local[0](a).struct.element[1](b): @SERVER
    .lambda.result.block.result: a.b
    .lambda.result.block.result.selection.source: a
    ");
}

/// As Python's `format` shows numpy's scalars.
#[test]
fn single_floats_are_drawn_with_64_bits() {
    let half = half::f16::from_f32;
    for (scalar, expected) in [
        (Scalar::Float32(0.1), "Lit(0.10000000149011612)"),
        (Scalar::Float32(1e-30), "Lit(1.0000000031710769e-30)"),
        (Scalar::Float32(1e20), "Lit(1.0000000200408773e+20)"),
        (Scalar::Float32(16.0), "Lit(16.0)"),
        (Scalar::Float32(f32::NAN), "Lit(nan)"),
        (Scalar::Float16(half(0.1)), "Lit(0.0999755859375)"),
        (Scalar::BFloat16(half::bf16::from_f32(0.1)), "Lit(0.100098)"),
        (Scalar::Float64(0.1), "Lit(0.1)"),
        (Scalar::Complex64(0.1, 0.2), "Lit((0.10000000149011612+0.20000000298023224j))"),
        (Scalar::Complex64(0.0, 0.1), "Lit(0.10000000149011612j)"),
        (Scalar::Complex64(-0.0, 0.3), "Lit((-0+0.30000001192092896j))"),
        (Scalar::Complex128(1.0, f64::INFINITY), "Lit((1+infj))"),
        (Scalar::Bool(true), "Lit(True)"),
        (Scalar::String("a".into()), "Lit(b'a')"),
    ] {
        assert_eq!(Comp::literal(Array::from_scalar(scalar)).structural().to_string(), expected);
    }
    let one = Array::from_scalars(DType::Float32, [1], &[Scalar::Float32(0.1)]).expect("an array");
    assert_eq!(Comp::literal(one).structural().to_string(), "Lit([0.1])");
}
