//! Graphs for any type, each a computation of its own: constants, operators,
//! identity, packing. The reductions of intrinsics consist of them.

use super::builder::GraphBuilder;
use super::error::GraphError;
use super::wire::Wire;
use crate::elementwise::{BinaryOp, Fill};
use std::sync::Arc;
use tff_ir::Comp;
use tff_types::{MAX_DEPTH, Type, TypeError};

/// `( -> T)`: every element of every tensor of the type is the same.
///
/// # Errors
/// As [`GraphBuilder::fill`].
pub fn constant(fill: &Fill, ty: &Type) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let result = graph.fill(fill, ty)?;
    graph.finish(&result)
}

/// `( -> T)`: zeros.
///
/// # Errors
/// As [`GraphBuilder::fill`].
pub fn zero(ty: &Type) -> Result<Comp, GraphError> {
    constant(&Fill::Zero, ty)
}

/// `(T -> T)`: the argument.
///
/// # Errors
/// As [`GraphBuilder::parameter`].
pub fn identity(ty: &Type) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(ty)?;
    graph.finish(&argument)
}

/// `(<T,U> -> R)`: an operator on the two elements of the argument, whose tensors must be of the
/// same dtypes; see [`GraphBuilder::binary`]. `ty` is the type of the argument.
///
/// # Errors
/// [`GraphError::Operand`] where that is no struct of two, and those of the operator.
pub fn binary_operator(op: BinaryOp, ty: &Type) -> Result<Comp, GraphError> {
    on_pair(ty, |graph, left, right| graph.binary(op, left, right))
}

/// As [`binary_operator`], with the right element first made fit for the left one; see
/// [`GraphBuilder::upcast`].
///
/// # Errors
/// As [`binary_operator`], and those of the conversion.
pub fn binary_operator_with_upcast(op: BinaryOp, ty: &Type) -> Result<Comp, GraphError> {
    on_pair(ty, |graph, left, right| {
        let right = graph.upcast(right, left.ty())?;
        graph.binary(op, left, &right)
    })
}

fn on_pair(
    ty: &Type,
    apply: impl FnOnce(&mut GraphBuilder, &Wire, &Wire) -> Result<Wire, GraphError>,
) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let elements = graph.parameter(ty)?.elements();
    let Some([left, right]) = elements.as_deref().ok() else {
        return Err(GraphError::Operand { what: "a struct of two elements", ty: ty.clone() });
    };
    let result = apply(&mut graph, left, right)?;
    graph.finish(&result)
}

/// What a value is made of, in terms of the argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packing {
    /// The part of the argument that these positions lead to; none is the whole of it.
    Part(Vec<usize>),
    /// A struct.
    Struct(Vec<(Option<Arc<str>>, Packing)>),
}

/// `(T -> R)`: parts of the argument, selected and put together anew.
///
/// # Errors
/// [`GraphError::Operand`] and [`GraphError::IndexOutOfRange`] for a part that is not there,
/// [`GraphError::Type`] for names that are wrong and a result nested too deep.
pub fn pack(ty: &Type, packing: &Packing) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(ty)?;
    let result = packed(&argument, packing, MAX_DEPTH)?;
    graph.finish(&result)
}

fn packed(argument: &Wire, packing: &Packing, depth: u32) -> Result<Wire, GraphError> {
    let depth = depth.checked_sub(1).ok_or(TypeError::TooDeep)?;
    match packing {
        Packing::Part(path) => path.iter().try_fold(argument.clone(), |wire, &index| wire.element(index)),
        Packing::Struct(elements) => {
            let elements: Vec<_> = elements
                .iter()
                .map(|(name, packing)| Ok((name.clone(), packed(argument, packing, depth)?)))
                .collect::<Result<_, GraphError>>()?;
            Wire::structure(elements)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dump::dump;
    use tff_ir::Scalar;

    fn ty(text: &str) -> Type {
        text.parse().unwrap()
    }

    #[track_caller]
    fn operator(op: BinaryOp, text: &str) -> String {
        binary_operator(op, &ty(text)).map_or_else(|error| error.to_string(), |comp| dump(&comp))
    }

    #[track_caller]
    fn with_upcast(op: BinaryOp, text: &str) -> String {
        binary_operator_with_upcast(op, &ty(text)).map_or_else(|error| error.to_string(), |comp| dump(&comp))
    }

    #[test]
    fn a_constant_is_one_element_of_each_shape() {
        let comp = constant(&Fill::Number(Scalar::Int32(1)), &ty("<a=float32[1000,1000],b=<int64>>")).unwrap();
        insta::assert_snapshot!(dump(&comp), @"
        ( -> <a=float32[1000,1000],b=<int64>>)
         -> <Const_0:0,<Const_1:0>>
        Const_0 = Const() dtype=float value={[1000, 1000] 1.0}
        Const_1 = Const() dtype=int64 value={[] 1}
        ");
        insta::assert_snapshot!(dump(&zero(&ty("<>")).unwrap()), @"
        ( -> <>)
         -> <>
        ");
    }

    #[test]
    fn constants_that_cannot_be() {
        let check = |fill: Fill, text: &str| constant(&fill, &ty(text)).unwrap_err().to_string();
        insta::assert_snapshot!(check(Fill::Zero, "float32[?]"), @"a constant needs a fully defined shape, found float32[?]");
        insta::assert_snapshot!(check(Fill::Zero, "str"), @"str does not have a zero number");
        insta::assert_snapshot!(check(Fill::Number(Scalar::Float32(1.0)), "<float32,int32>"), @"Float32(1.0) cannot be an element of int32");
        insta::assert_snapshot!(check(Fill::Number(Scalar::Int32(300)), "uint8"), @"Int32(300) cannot be an element of uint8");
        insta::assert_snapshot!(check(Fill::Lowest, "bool"), @"bool does not have a lowest number");
        insta::assert_snapshot!(check(Fill::Highest, "complex64"), @"complex64 does not have a highest number");
        insta::assert_snapshot!(check(Fill::Zero, "int32*"), @"a graph computes tensors, structs and sequences, found int32*");
        insta::assert_snapshot!(check(Fill::Zero, "{int32}@CLIENTS"), @"a graph computes tensors, structs and sequences, found {int32}@CLIENTS");
    }

    #[test]
    fn an_operator_takes_each_pair_of_tensors() {
        insta::assert_snapshot!(operator(BinaryOp::Add, "<<a=int32[2],b=float32>,<a=int32[2],b=float32>>"), @"
        (<<a=int32[2],b=float32>,<a=int32[2],b=float32>> -> <a=int32[2],b=float32>)
        <<arg/0:0,arg/1:0>,<arg/2:0,arg/3:0>> -> <AddV2_4:0,AddV2_5:0>
        arg/0 = Placeholder() dtype=int32 shape=[2]
        arg/1 = Placeholder() dtype=float shape=[]
        arg/2 = Placeholder() dtype=int32 shape=[2]
        arg/3 = Placeholder() dtype=float shape=[]
        AddV2_4 = AddV2(arg/0, arg/2) T=int32
        AddV2_5 = AddV2(arg/1, arg/3) T=float
        ");
        insta::assert_snapshot!(operator(BinaryOp::Divide, "<int32,int32>"), @"
        (<int32,int32> -> float64)
        <arg/0:0,arg/1:0> -> RealDiv_4:0
        arg/0 = Placeholder() dtype=int32 shape=[]
        arg/1 = Placeholder() dtype=int32 shape=[]
        Cast_2 = Cast(arg/0) DstT=double SrcT=int32
        Cast_3 = Cast(arg/1) DstT=double SrcT=int32
        RealDiv_4 = RealDiv(Cast_2, Cast_3) T=double
        ");
    }

    #[test]
    fn operands_that_do_not_go_together() {
        insta::assert_snapshot!(operator(BinaryOp::Add, "<float32[2],float32[3]>"), @"the shapes [2] and [3] cannot be combined");
        insta::assert_snapshot!(operator(BinaryOp::Add, "<float32,int32>"), @"AddV2 takes elements of the same dtype, found float32 and int32");
        insta::assert_snapshot!(operator(BinaryOp::Add, "<str,str>"), @"AddV2 takes no elements of str");
        insta::assert_snapshot!(operator(BinaryOp::Maximum, "<complex64,complex64>"), @"Maximum takes no elements of complex64");
        insta::assert_snapshot!(operator(BinaryOp::Add, "<<a=int32>,<b=int32>>"), @"the structures <a=int32> and <b=int32> differ");
        insta::assert_snapshot!(operator(BinaryOp::Add, "<int32,<int32>>"), @"the structures int32 and <int32> differ");
        insta::assert_snapshot!(operator(BinaryOp::Add, "<int32*,int32*>"), @"expected tensors or structs of them, found int32*");
        insta::assert_snapshot!(operator(BinaryOp::Add, "<int32,int32,int32>"), @"expected a struct of two elements, found <int32,int32,int32>");
        insta::assert_snapshot!(operator(BinaryOp::Add, "int32"), @"expected a struct of two elements, found int32");
    }

    #[test]
    fn the_right_operand_is_broadcast_and_then_cast() {
        insta::assert_snapshot!(with_upcast(BinaryOp::Multiply, "<<float32[2,3]>,int32[3]>"), @"
        (<<float32[2,3]>,int32[3]> -> <float32[2,3]>)
        <<arg/0:0>,arg/1:0> -> <Mul_5:0>
        arg/0 = Placeholder() dtype=float shape=[2, 3]
        arg/1 = Placeholder() dtype=int32 shape=[3]
        Const_2 = Const() dtype=int64 value={[2] [2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]}
        BroadcastTo_3 = BroadcastTo(arg/1, Const_2) T=int32 Tidx=int64
        Cast_4 = Cast(BroadcastTo_3) DstT=float SrcT=int32
        Mul_5 = Mul(arg/0, Cast_4) T=float
        ");
        insta::assert_snapshot!(with_upcast(BinaryOp::Multiply, "<<float32[2,3],float32>,int32>"), @"
        (<<float32[2,3],float32>,int32> -> <float32[2,3],float32>)
        <<arg/0:0,arg/1:0>,arg/2:0> -> <Mul_5:0,Mul_6:0>
        arg/0 = Placeholder() dtype=float shape=[2, 3]
        arg/1 = Placeholder() dtype=float shape=[]
        arg/2 = Placeholder() dtype=int32 shape=[]
        Cast_3 = Cast(arg/2) DstT=float SrcT=int32
        Cast_4 = Cast(arg/2) DstT=float SrcT=int32
        Mul_5 = Mul(arg/0, Cast_3) T=float
        Mul_6 = Mul(arg/1, Cast_4) T=float
        ");
    }

    #[test]
    fn upcasts_that_cannot_be() {
        insta::assert_snapshot!(with_upcast(BinaryOp::Divide, "<float32,<float32>>"), @"the structures float32 and <float32> differ");
        insta::assert_snapshot!(with_upcast(BinaryOp::Divide, "<<a=float32>,<b=float32>>"), @"the structures <a=float32> and <b=float32> differ");
        insta::assert_snapshot!(with_upcast(BinaryOp::Divide, "<float32[2],float32[3]>"), @"the shapes [2] and [3] cannot be combined");
        insta::assert_snapshot!(with_upcast(BinaryOp::Multiply, "<<float32[2,3],int32>,int32[1]>"), @"the shapes [] and [1] cannot be combined");
        insta::assert_snapshot!(with_upcast(BinaryOp::Divide, "<float32[?],int32[3]>"), @"a constant needs a fully defined shape, found float32[?]");
        insta::assert_snapshot!(with_upcast(BinaryOp::Divide, "<float32,str>"), @"Cast takes no elements of str");
        insta::assert_snapshot!(with_upcast(BinaryOp::Divide, "<int32*,int32>"), @"expected tensors or structs of them, found int32*");
    }

    #[test]
    fn what_is_fed_is_not_fetched() {
        insta::assert_snapshot!(dump(&identity(&ty("<a=int32[?],b=<str,float32*>>")).unwrap()), @"
        (<a=int32[?],b=<str,float32*>> -> <a=int32[?],b=<str,float32*>>)
        <arg/0:0,<arg/1:0,arg/2:0*>> -> <Identity_3:0,<Identity_4:0,Identity_5:0*>>
        arg/0 = Placeholder() dtype=int32 shape=[-1]
        arg/1 = Placeholder() dtype=string shape=[]
        arg/2 = Placeholder() dtype=variant shape=[]
        Identity_3 = Identity(arg/0) T=int32
        Identity_4 = Identity(arg/1) T=string
        Identity_5 = Identity(arg/2) T=variant
        ");
    }

    #[test]
    fn parts_are_put_together_anew() {
        let check = |packing: Packing| {
            pack(&ty("<a=int32,b=<float32,str>>"), &packing).map_or_else(|error| error.to_string(), |comp| dump(&comp))
        };
        let part = |path: &[usize]| Packing::Part(path.to_vec());
        insta::assert_snapshot!(check(Packing::Struct(vec![(Some("x".into()), part(&[1, 1])), (None, part(&[0]))])), @"
        (<a=int32,b=<float32,str>> -> <x=str,int32>)
        <arg/0:0,<arg/1:0,arg/2:0>> -> <Identity_3:0,Identity_4:0>
        arg/0 = Placeholder() dtype=int32 shape=[]
        arg/1 = Placeholder() dtype=float shape=[]
        arg/2 = Placeholder() dtype=string shape=[]
        Identity_3 = Identity(arg/2) T=string
        Identity_4 = Identity(arg/0) T=int32
        ");
        insta::assert_snapshot!(check(part(&[1, 2])), @"index 2 is out of range for a struct of 2 elements");
        insta::assert_snapshot!(check(part(&[0, 0])), @"expected a struct, found int32");
        let mut deep = part(&[0]);
        for _ in 0..1000 {
            deep = Packing::Struct(vec![(None, deep)]);
        }
        insta::assert_snapshot!(check(deep), @"the type is nested deeper than 200 levels");
    }

    #[test]
    fn the_same_calls_give_the_same_bytes() {
        let argument = ty("<<a=float32[2],b=int32>,int32>");
        let make = || binary_operator_with_upcast(BinaryOp::Divide, &argument).unwrap().to_proto().unwrap();
        assert_eq!(make(), make());
    }
}
