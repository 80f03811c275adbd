//! The graphs and the module that the tests name, and computations that call them.

use prost::Message;
use tff_compiler::graph::generic;
use tff_compiler::{BinaryOp, Fill};
use tff_ir::{Comp, Scalar, TensorFlowBinding};
use tff_proto::tensorflow as tf;
use tff_testing::{comp_with, message, module, ty, with_graph};

/// What `comp#LABEL` stands for:
///
/// | label | type | what it is |
/// |---|---|---|
/// | `add` | `(<int32,int32> -> int32)` | the sum |
/// | `one`, `uno` | `( -> int32)` | one; two graphs that are equal |
/// | `tf` | `(int32 -> int32)` | the argument |
/// | `vector` | `(int32[?] -> int32[?])` | the argument |
/// | `random` | `(int32 -> int32)` | an op that nobody knows |
/// | `calling` | `(int32 -> int32)` | a graph that calls a function of its own |
/// | `broken` | `(int32 -> int32)` | bytes that are not a graph |
/// | `gone` | `(int32 -> int32)` | a graph that returns a node that it does not have |
/// | `xla` | `(int32 -> int32)` | a module |
pub(crate) fn bodies() -> Vec<(&'static str, Comp)> {
    let identity = generic::identity(&ty("int32")).unwrap();
    let one = generic::constant(&Fill::Number(Scalar::Int32(1)), &ty("int32")).unwrap();
    let with_op = |op: &str| {
        with_graph(&identity, |graph| {
            let mut read: tf::GraphDef = message(graph.graph.value.clone());
            read.node.iter_mut().filter(|node| node.op == "Identity").for_each(|node| node.op = op.to_owned());
            graph.graph.value = read.encode_to_vec().into();
        })
    };
    vec![
        ("add", generic::binary_operator(BinaryOp::Add, &ty("<int32,int32>")).unwrap()),
        ("one", one.clone()),
        ("uno", one),
        ("random", with_op("RandomXY")),
        ("calling", with_op("PartitionedCall")),
        ("broken", with_graph(&identity, |graph| graph.graph.value = vec![255, 255].into())),
        ("gone", with_graph(&identity, |graph| graph.result = TensorFlowBinding::Tensor("gone:0".into()))),
        ("tf", identity),
        ("vector", generic::identity(&ty("int32[?]")).unwrap()),
        ("xla", module()),
    ]
}

/// The computation that a text says.
#[track_caller]
pub(crate) fn comp(text: &str) -> Comp {
    comp_with(text, &bodies())
}

/// The compact text, with the bodies named as they are here.
pub(crate) fn shown(comp: &Comp) -> String {
    let mut text = comp.to_string();
    for (label, body) in bodies().iter().filter(|(label, _)| *label != "uno") {
        text = text.replace(&body.to_string(), &format!("comp#{label}"));
    }
    text
}
