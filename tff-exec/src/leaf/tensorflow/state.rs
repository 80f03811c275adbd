//! What a graph keeps from one run to the next.
//!
//! A computation is a function: every call must see fresh variables, tables and random generators.
//! A session keeps them, so graphs that have any are told from those that have none.

use super::ffi::{Api, Failure, Graph};
use prost::Message;
use std::collections::BTreeMap;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::{DataType, GraphDef, NodeDef, OpDef};

/// What a run of a graph may leave behind in its session that a later run sees.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    None,
    /// The variables that these nodes give handles to, and nothing else.
    Variables(Vec<String>),
    /// Tables, random generators, iterators, or something not known.
    Other,
}

impl State {
    /// The state of a graph.
    ///
    /// TensorFlow marks the ops that may have any. Of these, most have none: they call functions,
    /// make datasets, or work on a resource that another op has made and that is looked at there.
    /// What is neither known nor unmarked counts as state.
    ///
    /// # Errors
    /// TensorFlow's, where it gives no graph at all.
    pub(super) fn of(library: &'static Api, def: &GraphDef) -> Result<Self, Failure> {
        let functions = def.library.as_ref().map_or(&[][..], |library| &library.function);
        let known = functions.iter().filter_map(|function| function.signature.as_ref());
        let mut sources = Sources {
            registry: Graph::import(library, &[])?,
            known: known.map(|signature| (signature.name.as_str(), false)).collect(),
        };
        if functions.iter().flat_map(|function| &function.node_def).any(|node| sources.contain(&node.op)) {
            return Ok(Self::Other);
        }
        let nodes: Vec<&NodeDef> = def.node.iter().filter(|node| sources.contain(&node.op)).collect();
        Ok(if nodes.is_empty() {
            Self::None
        } else if nodes.iter().all(|node| is_named_variable(node)) {
            Self::Variables(nodes.iter().map(|node| node.name.clone()).collect())
        } else {
            Self::Other
        })
    }
}

/// Whether each run of the node gives a handle to the same variable.
fn is_named_variable(node: &NodeDef) -> bool {
    /// The name that asks for a new variable in each run.
    const ANONYMOUS: &[u8] = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347";
    let name = node.attr.get("shared_name").and_then(|attr| attr.value.as_ref());
    let is_anonymous = matches!(name, Some(Attr::S(name)) if name.as_ref() == ANONYMOUS);
    node.op == "VarHandleOp" && !is_anonymous
}

/// The ops that make state.
struct Sources<'a> {
    /// An empty graph, which knows every op that is registered.
    registry: Graph,
    known: BTreeMap<&'a str, bool>,
}

impl<'a> Sources<'a> {
    fn contain(&mut self, op: &'a str) -> bool {
        let registry = &self.registry;
        *self.known.entry(op).or_insert_with(|| !is_harmless(op) && is_source(op, registry))
    }
}

/// Whether TensorFlow marks the op as stateful, and it is not a mere user of a resource.
fn is_source(op: &str, registry: &Graph) -> bool {
    let def = registry.op_def(op).and_then(|bytes| OpDef::decode(bytes.as_slice()).ok());
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
