//! The compiler takes or refuses any computation, one that is built at random and one that is decoded; what it makes
//! of one may be used in its place, and is compiled again.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::{CompileError, CompileOptions, call_dominant, compile_to_native};
use tff_ir::Comp;
use tff_proto::{Limits, decode, v0};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(comp) = Comp::arbitrary(&mut Unstructured::new(bytes)) {
        compile(&comp);
    }
    if let Ok(proto) = decode::<v0::Computation>(&bytes.to_vec().into(), &Limits::default())
        && let Ok(comp) = Comp::from_proto_lenient(&proto)
    {
        compile(&comp);
    }
});

fn compile(comp: &Comp) {
    let mut options = CompileOptions::default();
    for insecure in [false, true] {
        options.insecure_aggregation = insecure;
        for compile in [call_dominant, compile_to_native] {
            let Some(compiled) = right(compile(comp, &options)) else { continue };
            assert!(comp.ty().is_assignable_from(compiled.comp.ty()), "{comp}");
            assert!(right(compile(&compiled.comp, &options)).is_some(), "{comp}");
        }
        let wholes = [
            right(MapReduceForm::from_comp(comp, &options)).map(|form| form.to_comp()),
            right(DistributeAggregateForm::from_comp(comp, &options)).map(|form| form.to_comp()),
            right(MergeableCompForm::from_comp(comp, &options)).map(|form| form.to_comp()),
            right(BroadcastForm::from_comp(comp, &options)).map(|form| form.to_comp()),
        ];
        for whole in wholes.into_iter().flatten() {
            let whole = whole.expect("what the parts of a form make up");
            assert!(call_dominant(&whole, &options).is_ok(), "{comp}");
        }
    }
}

/// What was compiled; none where it is refused, which is no defect of a pass.
fn right<T>(compiled: Result<T, CompileError>) -> Option<T> {
    match compiled {
        Ok(compiled) => Some(compiled),
        Err(CompileError::Invalid(_) | CompileError::Pass { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}
