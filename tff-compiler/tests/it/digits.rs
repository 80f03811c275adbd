//! Federated averaging as the frontend serializes it: every pipeline and form takes it.

use tff_compiler::forms::{DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::{CompileOptions, Compiled, call_dominant, compile_to_native};
use tff_ir::{Comp, CompiledComputation};
use tff_testing::example;

/// The intrinsics and the number of graphs that are called.
fn calls(comp: &Comp) -> String {
    let (mut intrinsics, mut graphs) = (std::collections::BTreeMap::new(), 0);
    for call in comp.preorder().filter_map(Comp::as_call) {
        if let Some(intrinsic) = call.function.as_intrinsic() {
            *intrinsics.entry(intrinsic.uri().to_owned()).or_insert(0) += 1;
        }
        graphs += usize::from(matches!(call.function.as_compiled(), Some(CompiledComputation::TensorFlow(_))));
    }
    format!("{intrinsics:?}, {graphs} graphs")
}

#[test]
fn native() {
    let native = |name: &str| {
        let comp = example(&format!("digits/{name}"));
        let Compiled { comp: compiled, stats } = compile_to_native(&comp, &CompileOptions::default()).unwrap();
        assert_eq!(compiled.ty(), comp.ty(), "{name}");
        let changed: Vec<_> = stats.iter().filter(|it| it.changed).map(|it| it.pass).collect();
        format!("{} by {}", calls(&compiled), changed.join(", "))
    };
    insta::assert_snapshot!(native("initialize.pb"), @r#"{"federated_eval_at_server": 2, "federated_value_at_server": 1, "federated_zip_at_server": 2}, 0 graphs by to_call_dominant, eliminate_common_subexpressions, add_cache_ids"#);
    insta::assert_snapshot!(native("next.pb"), @r#"{"federated_aggregate": 3, "federated_apply": 15, "federated_broadcast": 1, "federated_map": 6, "federated_value_at_server": 1, "federated_zip_at_clients": 2, "federated_zip_at_server": 8}, 3 graphs by reduce_intrinsics, disable_call_rewriting, to_call_dominant, eliminate_common_subexpressions, add_cache_ids"#);
    insta::assert_snapshot!(native("evaluate.pb"), @r#"{"federated_aggregate": 1, "federated_apply": 14, "federated_broadcast": 1, "federated_map": 1, "federated_value_at_server": 1, "federated_zip_at_clients": 1, "federated_zip_at_server": 8}, 1 graphs by reduce_intrinsics, share_equal_bodies, disable_call_rewriting, to_call_dominant, remove_unused_block_locals, eliminate_common_subexpressions, add_cache_ids"#);
}

#[test]
fn what_is_all_of_jax_stays_without_tensorflow() {
    for name in ["initialize.pb", "next.pb", "evaluate.pb"] {
        let comp = example(&format!("digits-jax/{name}"));
        let compile = || compile_to_native(&comp, &CompileOptions::default()).unwrap().comp;
        let compiled = compile();
        assert!(compiled.preorder().any(|part| part.kind_name() == "xla"), "{name}");
        assert!(compiled.preorder().all(|part| part.kind_name() != "tensorflow"), "{name}");
        let is_native =
            |part: &Comp| part.as_intrinsic().is_none_or(|it| !["federated_sum", "federated_mean"].contains(&it.uri()));
        assert!(compiled.preorder().all(is_native), "{name}");
        assert!(compiled.to_proto().unwrap() == compile().to_proto().unwrap(), "{name}");
    }
}

#[test]
fn forms() {
    let comp = example("digits/next.pb");
    let map_reduce = MapReduceForm::from_comp(&comp, &CompileOptions::default()).unwrap();
    let distribute = DistributeAggregateForm::from_comp(&comp, &CompileOptions::default()).unwrap();
    let mergeable = MergeableCompForm::from_comp(&comp, &CompileOptions::default()).unwrap();
    let wholes = [map_reduce.to_comp().unwrap(), distribute.to_comp().unwrap(), mergeable.to_comp().unwrap()];
    let jax = example("digits-jax/next.pb");
    let of_jax = MergeableCompForm::from_comp(&jax, &CompileOptions::default()).unwrap();
    assert!(of_jax.parts().iter().all(|(_, part)| part.preorder().all(|part| part.kind_name() != "tensorflow")));
    assert!(jax.ty().is_assignable_from(of_jax.to_comp().unwrap().ty()));
    for whole in wholes {
        assert!(comp.ty().is_assignable_from(whole.ty()), "{}\n{}", comp.ty(), whole.ty());
        let compiled = call_dominant(&whole, &CompileOptions::default()).unwrap().comp;
        assert_eq!(compiled.to_string().matches("federated_broadcast").count(), 1);
    }
}
