//! What holds for every computation, tried on random ones.

use arbitrary::{Arbitrary, Unstructured};
use prost::Message;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::pass::run_pass;
use tff_compiler::passes::ALL;
use tff_compiler::{CompileError, CompileOptions, call_dominant, compile_to_native};
use tff_ir::Comp;
use tff_ir::text::{Environment, parse};
use tff_proto::v0 as pb;
use tff_testing::{bytes, random, records};
use tff_types::{DType, Type};

fn comps() -> impl Iterator<Item = Comp> {
    (0..2000).map(|run| Comp::arbitrary(&mut Unstructured::new(&random(run, 2000))).unwrap())
}

/// A pass may refuse a computation, but not break it.
#[test]
fn passes_keep_computations_valid_and_of_their_type() {
    let mut changed = vec![0; ALL.len()];
    for comp in comps() {
        for (pass, changed) in ALL.iter().zip(&mut changed) {
            match run_pass(*pass, &comp) {
                Ok(transformed) => *changed += usize::from(transformed.changed),
                Err(CompileError::Pass { .. }) => {}
                Err(error) => panic!("{error}\n{comp:?}"),
            }
        }
    }
    let names: Vec<_> = ALL.iter().map(|pass| pass.name()).zip(changed).collect();
    let by_name = |name: &str| names.iter().find(|(it, _)| *it == name).unwrap().1;
    for name in ["remove_unused_block_locals", "uniquify_reference_names", "to_call_dominant"] {
        assert!(by_name(name) > 50, "{names:?}");
    }
}

#[test]
fn call_dominant_form_stays() {
    for comp in comps() {
        let Ok(once) = call_dominant(&comp, &CompileOptions::default()) else { continue };
        let twice = call_dominant(&once.comp, &CompileOptions::default()).unwrap();
        assert!(once.comp.is_alpha_equivalent_to(&twice.comp), "{comp}\n{}\n{}", once.comp, twice.comp);
    }
}

/// The forms take or refuse any computation.
#[test]
fn forms_of_random_computations() {
    for comp in comps() {
        for error in [
            MapReduceForm::from_comp(&comp, &CompileOptions::default()).err(),
            DistributeAggregateForm::from_comp(&comp, &CompileOptions::default()).err(),
            MergeableCompForm::from_comp(&comp, &CompileOptions::default()).err(),
            BroadcastForm::from_comp(&comp, &CompileOptions::default()).err(),
        ] {
            assert!(!matches!(error, Some(CompileError::Broken { .. })), "{error:?}\n{comp:?}");
        }
    }
}

#[test]
fn compiling_is_deterministic() {
    for comp in comps().take(500) {
        let compile = || compile_to_native(&comp, &CompileOptions::default()).map(|compiled| compiled.comp);
        assert_eq!(compile(), compile(), "{comp}");
    }
}

/// Computations off the wire with bytes that are wrong.
#[test]
fn damaged_computations_are_refused_or_compiled() {
    let (mut compiled, mut refused) = (0, 0);
    for (number, record) in records("testdata/golden/comps.jsonl").iter().enumerate() {
        let bytes = bytes(record, "proto").to_vec();
        for run in 0..40 {
            let mut damaged = bytes.clone();
            for place in random(number as u64 * 1000 + run, 2000).chunks(4).take(1 + run as usize % 3) {
                let at = usize::from(place[0]) << 8 | usize::from(place[1]);
                let len = damaged.len();
                damaged[at % len] ^= 1 << (place[2] % 8);
            }
            let Ok(message) = pb::Computation::decode(damaged.as_slice()) else { continue };
            let Ok(comp) = Comp::from_proto_lenient(&message) else { continue };
            match compile_to_native(&comp, &CompileOptions::default()) {
                Ok(_) => compiled += 1,
                Err(CompileError::Invalid(_) | CompileError::Pass { .. }) => refused += 1,
                Err(error) => panic!("{error}\n{comp:?}"),
            }
            let _ = MapReduceForm::from_comp(&comp, &CompileOptions::default());
            let _ = DistributeAggregateForm::from_comp(&comp, &CompileOptions::default());
            let _ = MergeableCompForm::from_comp(&comp, &CompileOptions::default());
            let _ = BroadcastForm::from_comp(&comp, &CompileOptions::default());
        }
    }
    assert!(compiled > 100 && refused > 20, "{compiled} compiled, {refused} refused");
}

fn int() -> Type {
    Type::scalar(DType::Int32)
}

/// `(f -> (let x1=f(…),x2=f(x1),… in xn))`.
fn chain(calls: usize) -> Comp {
    let ty = Type::function(Some(int()), int()).unwrap();
    let f = Comp::reference("f", ty.clone()).unwrap();
    let x = |index: usize| Comp::reference(format!("x{index}"), int()).unwrap();
    let locals = (1..=calls).map(|index| (format!("x{index}"), Comp::call(f.clone(), Some(x(index - 1))).unwrap()));
    let block = Comp::block(locals, x(calls)).unwrap();
    let inner = Comp::lambda(Some(("x0", int())), block).unwrap();
    Comp::lambda(Some(("f", ty)), inner).unwrap()
}

#[test]
fn deep_and_long_computations_do_not_overflow_the_stack() {
    let long = chain(20_000);
    let compiled = call_dominant(&long, &CompileOptions::default()).unwrap().comp;
    assert!(compiled.is_alpha_equivalent_to(&long));
    let mut deep = Comp::reference("x", int()).unwrap();
    for index in 0..5000 {
        let function = Comp::lambda(Some((format!("y{index}"), int())), deep).unwrap();
        deep = Comp::call(function, Some(Comp::reference("x", int()).unwrap())).unwrap();
    }
    let deep = Comp::lambda(Some(("x", int())), deep).unwrap();
    for pass in ALL {
        run_pass(*pass, &deep).unwrap();
    }
    assert_eq!(call_dominant(&deep, &CompileOptions::default()).unwrap().comp.to_string(), "(x -> x)");
}

/// Each function calls the one before twice.
#[test]
fn what_becomes_too_large_is_refused() {
    let mut text = "(g:(int32 -> int32) -> (let f0=(x:int32 -> g(x))".to_owned();
    for index in 1..60 {
        text += &format!(",f{index}=(x:int32 -> f{0}(f{0}(x)))", index - 1);
    }
    let comp = parse(&(text + " in f59(lit int32 1)))"), &Environment::default()).unwrap().comp;
    let error = call_dominant(&comp, &CompileOptions::default()).unwrap_err().to_string();
    assert!(error.contains("to_call_dominant at .lambda.result"), "{error}");
    assert!(error.ends_with("the rewritten computation has more than 4194304 parts"), "{error}");
}
