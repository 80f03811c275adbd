//! Which graphs keep something from one run to the next.
//!
//! A computation is a function: every call must see fresh variables, tables and random generators.
//! A session keeps them, so a graph that has any is told from one that has none.

use prost::Message;
use std::collections::BTreeSet;
use tensorflow::Graph;
use tff_proto::tensorflow::{DataType, GraphDef, OpDef};

/// Whether a run of the graph may leave something behind in its session that a later run sees.
///
/// TensorFlow marks the ops that may. Of these, most do not: they call functions, make datasets,
/// or work on a resource that another op has made and that is looked at there. What is neither
/// known nor unmarked counts as state.
pub(super) fn keeps_state(def: &GraphDef, graph: &Graph) -> bool {
    let functions = def.library.iter().flat_map(|library| &library.function);
    let nodes = def.node.iter().chain(functions.clone().flat_map(|function| &function.node_def));
    let own: BTreeSet<&str> =
        functions.filter_map(|function| function.signature.as_ref()).map(|signature| signature.name.as_str()).collect();
    let ops: BTreeSet<&str> = nodes.map(|node| node.op.as_str()).collect();
    ops.into_iter().any(|op| !own.contains(op) && !is_harmless(op) && is_source_of_state(op, graph))
}

/// Whether TensorFlow marks the op as stateful, and it is not a mere user of a resource.
fn is_source_of_state(op: &str, graph: &Graph) -> bool {
    let def = graph.get_op_def(op).ok().and_then(|bytes| OpDef::decode(bytes.as_slice()).ok());
    def.is_none_or(|def| {
        let uses_resource = def.input_arg.iter().any(|arg| arg.is_ref || arg.r#type == DataType::DtResource as i32);
        def.is_stateful && !uses_resource
    })
}

/// Ops that TensorFlow marks as stateful so that it neither folds nor merges them, and which keep
/// nothing beyond the run.
fn is_harmless(op: &str) -> bool {
    const OPS: [&str; 13] = [
        "Assert",
        "Case",
        "DummyIterationCounter",
        "DummyMemoryCache",
        "DummySeedGenerator",
        "For",
        "If",
        "PartitionedCall",
        "Print",
        "PrintV2",
        "StatefulPartitionedCall",
        "SymbolicGradient",
        "While",
    ];
    OPS.binary_search(&op).is_ok()
        || op.contains("Dataset")
        // Alive only while a handle to it is.
        || (op.starts_with("Anonymous") && op.ends_with("V3"))
        // In the container of a single step.
        || op.starts_with("TensorArray")
        || op.starts_with("Stack")
}
