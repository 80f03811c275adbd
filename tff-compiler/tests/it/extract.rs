//! What changes a type on purpose, or makes several computations of one.

use crate::bodies::{comp, shown};
use tff_compiler::extract::{
    AllowedPaths, DivisiveSplit, divisive_force_align_and_split_by_intrinsics, force_align_and_split_by_intrinsics,
    normalize_call_dominant_lambda, replace_selections, strip_placement,
};
use tff_ir::{Comp, Intrinsic};

#[test]
fn a_function_is_split_into_three() {
    let split = |text: &str, before: &[Vec<usize>]| {
        let is_sum = |intrinsic: &Intrinsic| *intrinsic == Intrinsic::FederatedSum;
        let paths = AllowedPaths { before, intrinsic: &[], after: &[vec![0]] };
        match divisive_force_align_and_split_by_intrinsics(&comp(text), &is_sum, paths) {
            Ok(DivisiveSplit { before, intrinsic, after }) => {
                [before, intrinsic, after].map(|part| format!("{}\n{}", shown(&part), part.ty())).join("\n")
            }
            Err(error) => error.to_string(),
        }
    };
    let text = "(x:<int32@SERVER,{int32}@CLIENTS> -> <%federated_sum(%federated_map(<comp#random,x[1]>)),x[0],%federated_sum(x[1])>)";
    insta::assert_snapshot!(split(text, &[vec![1]]), @r"
    (_var_1_1 -> (let _var1=federated_map(<comp#random,_var_1_1[0]>) in <intrinsic_args_from_before_comp=<_var1,_var_1_1[0]>,intermediate_state=<>>))
    (<{int32}@CLIENTS> -> <intrinsic_args_from_before_comp=<{int32}@CLIENTS,{int32}@CLIENTS>,intermediate_state=<>>)
    (_var_1_1 -> (let _var2=federated_sum(_var_1_1[0][0]),_var3=federated_sum(_var_1_1[0][1]) in <_var2,_var3>))
    (<intrinsic_args_from_before_comp=<{int32}@CLIENTS,{int32}@CLIENTS>> -> <int32@SERVER,int32@SERVER>)
    (_var_1_2 -> (let  in <_var_1_2[1][0],_var_1_2[0],_var_1_2[1][1]>))
    (<int32@SERVER,intrinsic_results=<int32@SERVER,int32@SERVER>,intermediate_state=<>> -> <int32@SERVER,int32@SERVER,int32@SERVER>)
    ");
    insta::assert_snapshot!(split(text, &[vec![0]]), @"divisive_force_align_and_split_by_intrinsics at .: it contains the unbound reference `x`: it needs what is not available to it");
}

#[test]
fn functions_are_normalized() {
    let check = |text: &str, keep_bits| {
        normalize_call_dominant_lambda(&comp(text), keep_bits).map_or_else(|error| error.to_string(), |it| shown(&it))
    };
    insta::assert_snapshot!(check("(v:int32 -> v)", false), @"(v -> (let  in v))");
    insta::assert_snapshot!(check("(let a=comp#one() in (x:int32 -> comp#add(<a,x>)))", false), @"(_var1 -> (let _var_1_1=comp#one(),_var_1_2=comp#add(<_var_1_1,_var1>) in _var_1_2))");
    insta::assert_snapshot!(check("comp#add", false), @"(_var1 -> (let _var_1_1=comp#add(_var1) in _var_1_1))");
    insta::assert_snapshot!(check("(v:{int32}@CLIENTS -> (let w=%federated_map(<(x:int32 -> x),v>) in w))", false), @"(v -> (let  in v))");
    insta::assert_snapshot!(check("lit int32 1", false), @"normalize_call_dominant_lambda at .: expected a function, found int32");
    insta::assert_snapshot!(check("(x:int32 -> y:int32)", false), @"normalize_call_dominant_lambda at .: it contains the unbound reference `y`: it needs what is not available to it");
    let bits = |keep| normalize_call_dominant_lambda(&comp("(x:int32@CLIENTS -> x)"), keep).unwrap().ty().to_string();
    insta::assert_snapshot!(bits(true), @"(int32@CLIENTS -> int32@CLIENTS)");
    insta::assert_snapshot!(bits(false), @"({int32}@CLIENTS -> {int32}@CLIENTS)");
}

#[test]
fn parts_of_a_name_are_replaced() {
    let y = Comp::reference("y", "int32".parse().unwrap()).unwrap();
    let check = |text: &str, path: &[usize]| {
        replace_selections(&comp(text), "x", &[(path.to_vec(), y.clone())]).unwrap().to_string()
    };
    insta::assert_snapshot!(check("<x:<int32,<int32>>[0],x:<int32,<int32>>>", &[0]), @"<y,x>");
    insta::assert_snapshot!(check("<x:<int32,<int32>>[0],x:<int32,<int32>>[1][0]>", &[1, 0]), @"<x[0],y>");
    // Not where the name is another one, or the type.
    insta::assert_snapshot!(check("(x:<int32> -> x[0])", &[0]), @"(x -> x[0])");
    insta::assert_snapshot!(check("x:<float32>[0]", &[0]), @"x[0]");
}

#[test]
fn placements_that_are_in_the_way() {
    let check =
        |text: &str| strip_placement(&comp(text)).map_or_else(|error| error.problem.to_string(), |it| shown(&it));
    insta::assert_snapshot!(check("(v:{int32}@CLIENTS -> %federated_sum(v))"), @"expected values of the same placement, found SERVER and CLIENTS");
    insta::assert_snapshot!(check("<v:{int32}@CLIENTS,s:int32@SERVER>"), @"expected values of the same placement, found CLIENTS and SERVER");
    insta::assert_snapshot!(check("data\"d\":{int32}@CLIENTS"), @"expected no data that are federated, found {int32}@CLIENTS");
    insta::assert_snapshot!(check("(a:<(int32 -> int32),{int32}@CLIENTS> -> %federated_map(a))"), @"(a -> (_var1 -> _var1[0](_var1[1]))(a))");
}

#[test]
fn calls_are_aligned_and_split_along() {
    let split = |text: &str| {
        let default = comp("%federated_sum(%federated_value_at_clients(lit int32 0))");
        match force_align_and_split_by_intrinsics(&comp(text), &[default]) {
            Ok((before, after)) => format!("{before}\n{}\n{after}\n{}", before.ty(), after.ty()),
            Err(error) => error.to_string(),
        }
    };
    insta::assert_snapshot!(split("(v:<{int32}@CLIENTS,{float32}@CLIENTS> -> <%federated_sum(v[0]),%federated_sum(v[1])>)"), @"
    (v -> (let _var_1_1=federated_zip_at_clients(<v[0],v[1]>) in <federated_sum_param=_var_1_1>))
    (<{int32}@CLIENTS,{float32}@CLIENTS> -> <federated_sum_param={<int32,float32>}@CLIENTS>)
    (_var_1_2 -> (let _var1=federated_apply(<(_var_1_3 -> _var_1_3[0]),_var_1_2[1][0]>),_var2=federated_apply(<(_var_1_4 -> _var_1_4[1]),_var_1_2[1][0]>) in <_var1,_var2>))
    (<original_arg=<{int32}@CLIENTS,{float32}@CLIENTS>,intrinsic_results=<federated_sum_result=<int32,float32>@SERVER>> -> <int32@SERVER,float32@SERVER>)
    ");
    insta::assert_snapshot!(split("(v:{int32}@CLIENTS -> v)"), @"
    (v -> (let  in <federated_sum_param=federated_value_at_clients(0)>))
    ({int32}@CLIENTS -> <federated_sum_param=int32@CLIENTS>)
    (_var1 -> (let  in _var1[0]))
    (<original_arg={int32}@CLIENTS,intrinsic_results=<federated_sum_result=int32@SERVER>> -> {int32}@CLIENTS)
    ");
    insta::assert_snapshot!(split("(v:{int32}@CLIENTS -> %federated_sum(%federated_map(<comp#add,%federated_zip_at_clients(<v,%federated_broadcast(%federated_sum(v))>)>)))"), @"force_align_and_split_by_intrinsics at .: an intrinsic to split along dependent on another one: federated_sum (`_var5`) needs the result of federated_sum (`_var1`)");
}
