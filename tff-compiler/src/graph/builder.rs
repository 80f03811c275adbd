//! The builder of one graph: its parameter, its nodes, and the computation it becomes.

use super::binding::{binding, tensors_of};
use super::error::{GraphError, MAX_BYTES, MAX_NODES};
use super::identity::SameBody;
use super::library::{Library, Renames};
use super::nodes::{self, Attrs, VARIANT};
use super::read::{Index, pack, retain};
use super::source::Source;
use super::wire::{Tensor, Tensors, Wire};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tff_ir::{Comp, CompiledComputation, TensorFlow};
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value;
use tff_types::{DType, FunctionType, Shape, Type};

/// The version of graphs that TensorFlow 2.14 makes.
const PRODUCER: i32 = 1575;

/// The name of the placeholder of the session's token.
const TOKEN: &str = "session_token";

/// Makes one TensorFlow graph out of a parameter, constants, operators and calls of other graphs.
///
/// Sequences are datasets throughout; where a graph that is called has the serialized form of one,
/// it is converted. The result is one computation with at most one op to initialize it.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    nodes: Vec<tf::NodeDef>,
    /// How many bytes the nodes and functions have, roughly.
    size: usize,
    parameter: Option<Wire>,
    /// The nodes of the parameter: what they are fed cannot be fetched.
    placeholders: HashSet<Arc<str>>,
    token: Option<Tensor>,
    pub(super) library: Library,
    /// The graphs that were called.
    pub(super) sources: Vec<Arc<Source>>,
    /// Where in `sources` the graph of a computation is.
    pub(super) by_content: HashMap<(Arc<TensorFlow>, FunctionType), usize>,
    /// The same for the type that a computation had when it was called last.
    pub(super) by_identity: HashMap<SameBody, (FunctionType, usize)>,
    /// The functions of each source that have another name here, those that copies share.
    pub(super) renames: HashMap<usize, Renames>,
    pub(super) calls: usize,
    /// The ops that initialize what was called.
    pub(super) initializers: Vec<Initializer>,
    versions: Option<tf::VersionDef>,
}

/// The op that initializes one of the graphs that were called.
#[derive(Debug)]
pub(super) struct Initializer {
    /// What the names of all nodes of that copy start with.
    pub(super) prefix: String,
    pub(super) node: String,
}

impl GraphBuilder {
    /// A graph without a parameter.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the graph its parameter. The type must be of tensors, sequences and structs of them.
    ///
    /// # Errors
    /// [`GraphError::UnsupportedType`]; [`GraphError::SecondParameter`] for another call.
    pub fn parameter(&mut self, ty: &Type) -> Result<Wire, GraphError> {
        if let Some(first) = &self.parameter {
            return Err(GraphError::SecondParameter { first: first.ty().clone(), second: ty.clone() });
        }
        let single = ty.as_struct().is_none();
        let mut number = 0;
        let tensors = tensors_of(ty, &mut |ty| {
            let name = if single { "arg".to_owned() } else { format!("arg/{number}") };
            number += 1;
            self.placeholder(&name, ty)
        })?;
        let wire = Wire::new(ty.clone(), tensors);
        self.parameter = Some(wire.clone());
        Ok(wire)
    }

    fn placeholder(&mut self, name: &str, ty: &Type) -> Result<Tensor, GraphError> {
        let (dtype, shape) = match ty.as_tensor() {
            Some(tensor) => (tensor.dtype.number(), tensor.shape.clone()),
            None => (VARIANT, Shape::scalar()),
        };
        let attrs = [("dtype", Value::Type(dtype)), ("shape", nodes::shape(&shape))];
        self.push(nodes::node(name, "Placeholder", Vec::new(), &attrs))?;
        let node: Arc<str> = name.into();
        self.placeholders.insert(node.clone());
        Ok(Tensor { node, index: 0, from_call: false })
    }

    /// The placeholder of the session's token, made at its first use.
    pub(super) fn token(&mut self) -> Result<Tensor, GraphError> {
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        let token = self.placeholder(TOKEN, &Type::scalar(DType::String))?;
        self.token = Some(token.clone());
        Ok(token)
    }

    /// Adds a node with an own name; returns its first output.
    pub(super) fn add(&mut self, op: &str, inputs: &[&Tensor], attrs: Attrs<'_>) -> Result<Tensor, GraphError> {
        self.add_after(op, inputs, None, attrs)
    }

    /// Adds a node that runs after another one.
    pub(super) fn add_after(
        &mut self,
        op: &str,
        inputs: &[&Tensor],
        after: Option<&Tensor>,
        attrs: Attrs<'_>,
    ) -> Result<Tensor, GraphError> {
        let from_call = inputs.iter().any(|tensor| tensor.from_call);
        let control = after.map(|tensor| format!("^{}", tensor.node));
        let inputs = inputs.iter().map(|tensor| tensor.input()).chain(control).collect();
        // No other name starts with a capital letter.
        let name = format!("{op}_{}", self.nodes.len());
        self.push(nodes::node(&name, op, inputs, attrs))?;
        Ok(Tensor { node: name.into(), index: 0, from_call })
    }

    /// Adds a node under the name it has.
    pub(super) fn push(&mut self, node: tf::NodeDef) -> Result<(), GraphError> {
        if self.nodes.len() >= MAX_NODES {
            return Err(GraphError::TooManyNodes);
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Counts what is about to be added.
    pub(super) fn reserve(&mut self, nodes: usize, bytes: usize) -> Result<(), GraphError> {
        if self.nodes.len().saturating_add(nodes) > MAX_NODES {
            return Err(GraphError::TooManyNodes);
        }
        self.size = self.size.saturating_add(bytes);
        if self.size > MAX_BYTES { Err(GraphError::TooLarge) } else { Ok(()) }
    }

    /// The graph must be read by whoever can read all of its parts, and is as old as the oldest.
    pub(super) fn add_versions(&mut self, added: &tf::VersionDef) {
        let versions = self.versions.get_or_insert_with(|| added.clone());
        versions.producer = versions.producer.min(added.producer);
        versions.min_consumer = versions.min_consumer.max(added.min_consumer);
        for version in &added.bad_consumers {
            if !versions.bad_consumers.contains(version) {
                versions.bad_consumers.push(*version);
            }
        }
    }

    /// Completes the computation: from the parameter, if there is one, to this result. What the
    /// result does not need is dropped.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`], [`GraphError::Type`]; [`GraphError::MissingNode`] for a wire of
    /// another builder.
    pub fn finish(mut self, result: &Wire) -> Result<Comp, GraphError> {
        let result = Wire::new(result.ty().clone(), self.fetchable(result.ty(), result.tensors())?);
        let parameter_ty = self.parameter.as_ref().map(|wire| wire.ty().clone());
        let ty = Type::function(parameter_ty, result.ty().clone())?;

        let mut roots: Vec<Arc<str>> = Vec::new();
        let mut root = |tensor: &Tensor| roots.push(tensor.node.clone());
        result.tensors().for_each(&mut root);
        self.parameter.iter().for_each(|wire| wire.tensors().for_each(&mut root));
        let initialize_op = self.initialize_op(&roots)?;
        roots.extend(initialize_op.iter().map(|name| name.as_str().into()));
        let needed = self.needed(&roots)?;
        let nodes = retain(self.nodes, &needed);
        self.library.retain_called_by(&nodes);

        let token = self.token.filter(|token| nodes.iter().any(|node| *node.name == *token.node));
        let default_versions = tf::VersionDef { producer: PRODUCER, ..tf::VersionDef::default() };
        let graph = tf::GraphDef {
            node: nodes,
            versions: Some(self.versions.unwrap_or(default_versions)),
            library: self.library.to_proto(),
            ..tf::GraphDef::default()
        };
        let tensorflow = TensorFlow {
            graph: pack(&graph)?,
            parameter: self.parameter.map(|wire| binding(wire.ty(), wire.tensors())),
            result: binding(result.ty(), result.tensors()),
            initialize_op: initialize_op.unwrap_or_default().into(),
            session_token: token.map(|token| token.to_string()).unwrap_or_default().into(),
            cache_key: None,
            layout_map: None,
        };
        Ok(Comp::compiled(CompiledComputation::TensorFlow(Arc::new(tensorflow)), ty)?)
    }

    /// What is fed cannot be fetched, so a part of the argument passes through a node.
    fn fetchable(&mut self, ty: &Type, tensors: &Tensors) -> Result<Tensors, GraphError> {
        match tensors {
            Tensors::Struct(elements) => {
                let types = ty.as_struct().map(tff_types::StructType::elements).unwrap_or_default();
                let pairs = types.iter().zip(elements.iter());
                let elements: Vec<_> =
                    pairs.map(|(element, tensors)| self.fetchable(&element.ty, tensors)).collect::<Result<_, _>>()?;
                Ok(Tensors::Struct(elements.into()))
            }
            Tensors::Leaf(tensor) if self.placeholders.contains(&tensor.node) => {
                let dtype = ty.as_tensor().map_or(VARIANT, |tensor| tensor.dtype.number());
                Ok(Tensors::Leaf(self.add("Identity", &[tensor], &[("T", Value::Type(dtype))])?))
            }
            Tensors::Leaf(tensor) => Ok(Tensors::Leaf(tensor.clone())),
        }
    }

    /// One op that initializes those of the called graphs that the roots need.
    fn initialize_op(&mut self, roots: &[Arc<str>]) -> Result<Option<String>, GraphError> {
        const GROUP: &str = "init";
        if self.initializers.is_empty() {
            return Ok(None);
        }
        let needed = self.needed(roots)?;
        let names = self.nodes.iter().zip(needed).filter(|(_, needed)| *needed).map(|(node, _)| node.name.as_str());
        let copies: HashSet<&str> = names.filter_map(|name| name.split_inclusive('/').next()).collect();
        let initializers = self.initializers.iter().filter(|initializer| copies.contains(initializer.prefix.as_str()));
        let mut initializers: Vec<_> = initializers.map(|initializer| initializer.node.clone()).collect();
        if initializers.len() <= 1 {
            return Ok(initializers.pop());
        }
        let inputs = initializers.iter().map(|name| format!("^{name}")).collect();
        self.push(nodes::node(GROUP, "NoOp", inputs, &[]))?;
        Ok(Some(GROUP.to_owned()))
    }

    fn needed(&self, roots: &[Arc<str>]) -> Result<Vec<bool>, GraphError> {
        let roots = roots.iter().map(|name| ("the result", name.as_ref()));
        Index::new(&self.nodes)?.needed(roots, &mut |_| false)
    }
}
