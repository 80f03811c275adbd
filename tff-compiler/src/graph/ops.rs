//! The ops that a graph uses, and whether they are allowed.

use super::error::GraphError;
use super::library::Library;
use super::read::unpack;
use std::collections::BTreeSet;
use tff_ir::TensorFlow;

/// The ops of a graph and of its functions, each once, in order. A node that calls a function by
/// its name does not count as an op; what the function uses does.
///
/// # Errors
/// [`GraphError::NotAGraph`], [`GraphError::DuplicateFunction`].
pub fn op_names(comp: &TensorFlow) -> Result<BTreeSet<String>, GraphError> {
    let graph = unpack(&comp.graph)?;
    let library = Library::read(graph.library)?;
    let ops = graph.node.iter().chain(library.nodes()).map(|node| &node.op);
    Ok(ops.filter(|op| !library.contains(op)).cloned().collect())
}

/// Checks that a graph uses none but these ops.
///
/// # Errors
/// [`GraphError::DisallowedOps`] with all the others, and those of [`op_names`].
pub fn check_allowed_ops(comp: &TensorFlow, allowed: &BTreeSet<String>) -> Result<(), GraphError> {
    refuse(op_names(comp)?.difference(allowed).cloned().collect())
}

/// Checks that a graph uses none of these ops.
///
/// # Errors
/// [`GraphError::DisallowedOps`] with all that it uses, and those of [`op_names`].
pub fn check_disallowed_ops(comp: &TensorFlow, disallowed: &BTreeSet<String>) -> Result<(), GraphError> {
    refuse(op_names(comp)?.intersection(disallowed).cloned().collect())
}

fn refuse(ops: Vec<String>) -> Result<(), GraphError> {
    if ops.is_empty() { Ok(()) } else { Err(GraphError::DisallowedOps { ops }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dump::{parse, tensorflow};

    fn set(ops: &[&str]) -> BTreeSet<String> {
        ops.iter().map(|&op| op.to_owned()).collect()
    }

    #[test]
    fn ops_of_functions_count_and_functions_do_not() {
        let comp = parse(
            "( -> int32)
             -> a:0
            a = PartitionedCall() f=@f
            b = f(a)
            f:
            c = PyFunc(x)
            d = Neg(c)",
        );
        let graph = tensorflow(&comp);
        assert_eq!(op_names(graph).unwrap(), set(&["Neg", "PartitionedCall", "PyFunc"]));
        assert_eq!(check_allowed_ops(graph, &set(&["Neg", "PartitionedCall", "PyFunc", "Add"])), Ok(()));
        assert_eq!(check_disallowed_ops(graph, &set(&["Add", "f"])), Ok(()));
        insta::assert_snapshot!(check_allowed_ops(graph, &set(&["Neg"])).unwrap_err(), @"the graph uses ops that are not allowed: PartitionedCall, PyFunc");
        insta::assert_snapshot!(check_disallowed_ops(graph, &set(&["PyFunc", "Add"])).unwrap_err(), @"the graph uses ops that are not allowed: PyFunc");
    }
}
