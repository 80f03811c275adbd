//! What the tree carries without looking inside: graphs and modules of other systems, with the
//! bindings that connect them to types, and descriptions of data.

use bytes::Bytes;
use std::sync::Arc;

/// A message of another system in encoded form: a `google.protobuf.Any`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The name of the message, as `type.googleapis.com/tensorflow.GraphDef`.
    pub type_url: Arc<str>,
    /// The encoded message, shared with the buffer it was decoded from.
    pub value: Bytes,
}

/// What the runtime finds data by: the variants of the protocol's `Data`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataContent {
    /// A uri; the protocol deprecates it.
    Uri(Arc<str>),
    /// A message that the runtime understands.
    Any(Opaque),
}

/// A function given as the graph or module of another system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CompiledComputation {
    /// A TensorFlow graph.
    TensorFlow(Arc<TensorFlow>),
    /// An XLA module.
    Xla(Arc<Xla>),
}

/// A TensorFlow graph and how it computes a function: the protocol's `TensorFlow`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorFlow {
    /// The graph, a `tensorflow.GraphDef`.
    pub graph: Opaque,
    /// Where the argument is fed; `None` for a function without parameter.
    pub parameter: Option<TensorFlowBinding>,
    /// What is fetched as the result.
    pub result: TensorFlowBinding,
    /// The op to run before results are fetched; empty if there is none.
    pub initialize_op: Arc<str>,
    /// The tensor to feed a token of the session to; empty if there is none.
    pub session_token: Arc<str>,
    /// What identifies equal graphs within one machine. `None` and 0 both say that nothing does; they are different
    /// messages.
    pub cache_key: Option<u64>,
    /// Layouts of variables and inputs for DTensor, in the order of the message; other executors ignore them. TFF 0.80
    /// writes an empty map in every graph, 0.87 none.
    pub layout_map: Option<Vec<(Arc<str>, Arc<str>)>>,
}

/// The tensors of a graph that make up a value, parallel to its type: the protocol's
/// `TensorFlow.Binding`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TensorFlowBinding {
    /// A struct: a binding for each element.
    Struct(Vec<TensorFlowBinding>),
    /// A tensor: the name of the tensor in the graph, `arg:0`.
    Tensor(Arc<str>),
    /// A sequence.
    Sequence(SequenceBinding),
}

/// How a graph represents a sequence: the protocol's `TensorFlow.SequenceBinding`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SequenceBinding {
    /// The name of the variant tensor that is the dataset.
    Variant(Arc<str>),
    /// The name of the string tensor that holds the graph of the dataset.
    GraphDef(Arc<str>),
}

/// An XLA module and how it computes a function: the protocol's `Xla`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Xla {
    /// The module, an `xla.HloModuleProto`.
    pub hlo_module: Opaque,
    /// Which parameters make up the argument; `None` for a function without parameter.
    pub parameter: Option<XlaBinding>,
    /// Which results make up the result.
    pub result: XlaBinding,
}

/// The tensors of a module that make up a value, parallel to its type: the protocol's `Xla.Binding`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum XlaBinding {
    /// A struct: a binding for each element.
    Struct(Vec<XlaBinding>),
    /// A tensor: its position among the flattened parameters or results.
    Tensor(i32),
}
