//! Calling a graph: a copy of it becomes a part of the graph that calls it.
//!
//! A copy has its own nodes, shared resources and loop frames, told apart by a prefix. Functions
//! are shared by all copies of all graphs in which they are the same, except those that own
//! resources.

use super::binding::{Form, Leaf, tensors_of};
use super::builder::{GraphBuilder, Initializer};
use super::def::{prefix_session_names, rename_functions, rewrite_colocations};
use super::error::GraphError;
use super::library::Renames;
use super::source::{Init, Source, SourceInput};
use super::wire::{Tensor, Wire};
use std::collections::BTreeSet;
use std::sync::Arc;
use tff_ir::TensorFlow;
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value;
use tff_types::FunctionType;

/// One copy of a graph in the making.
struct Copy<'a> {
    source: &'a Source,
    prefix: String,
    /// What is fed to the parameter.
    arguments: Vec<Tensor>,
    renames: Renames,
    /// Whether the copy initializes itself before it runs, in the same run.
    folded: Option<&'a Init>,
}

impl GraphBuilder {
    /// Calls a computation of this type: adds a copy of its graph, with the argument in the place
    /// of what it is fed. Each call runs once in the graph, also if the computation is the same.
    ///
    /// A computation that initializes itself from nothing but the parameter of the graph does so
    /// in the op that initializes the whole. One that initializes itself from the result of
    /// another call does so within the run, between its argument and its result: when the whole is
    /// initialized that result does not exist yet.
    ///
    /// # Errors
    /// A [`GraphError`] where the computation holds no graph, a binding does not fit its type, the
    /// argument does not fit the parameter, or the graph becomes too large.
    pub fn call(
        &mut self,
        comp: &Arc<TensorFlow>,
        ty: &FunctionType,
        argument: Option<&Wire>,
    ) -> Result<Wire, GraphError> {
        check_argument(ty, argument)?;
        // Taken out while the builder changes.
        let key = (comp.clone(), ty.clone());
        let mut source = match self.sources.remove(&key) {
            Some(source) => source,
            None => Source::read(comp, ty)?,
        };
        let result = self.copy(&mut source, ty, argument);
        self.sources.insert(key, source);
        result
    }

    fn copy(&mut self, source: &mut Source, ty: &FunctionType, argument: Option<&Wire>) -> Result<Wire, GraphError> {
        let prefix = format!("call{}/", self.calls);
        self.reserve(source.nodes.len(), source.size)?;
        let renames = self.add_library(source, &prefix)?;
        self.calls += 1;
        self.add_versions(&source.versions);

        let mut given = Vec::new();
        argument.iter().for_each(|wire| wire.tensors().for_each(&mut |tensor| given.push(tensor.clone())));
        let mut arguments = Vec::with_capacity(given.len());
        for (leaf, tensor) in source.parameter.iter().zip(given) {
            arguments.push(if leaf.form == Form::DatasetGraph { self.serialize(&tensor)? } else { tensor });
        }
        let needs_call = |init: &&Init| {
            init.leaves.iter().any(|leaf| arguments.get(*leaf).is_some_and(|argument| argument.from_call))
        };
        let folded = source.init.as_ref().filter(needs_call);
        if let (Some(init), None) = (&source.init, folded) {
            self.initializers.push(Initializer { prefix: prefix.clone(), node: format!("{prefix}{}", init.node) });
        }
        let copy = Copy { source, prefix, arguments, renames, folded };
        for (node, inputs) in source.nodes.iter().zip(&source.inputs) {
            let node = copy.node(node, inputs, self)?;
            self.push(node)?;
        }
        copy.result(ty, self)
    }

    /// Adds the functions of a graph; returns the names that differ for this copy.
    fn add_library(&mut self, source: &mut Source, prefix: &str) -> Result<Renames, GraphError> {
        let first_use = source.renames.is_none();
        if first_use || !source.owners.is_empty() {
            self.reserve(0, source.library.encoded_len())?;
        }
        let from = self.calls;
        let shared = source.renames.get_or_insert_with(|| {
            let conflicts: BTreeSet<_> = source.library.conflicts_with(&self.library);
            let shared = conflicts.difference(&source.owners).cloned().collect();
            self.library.fresh_names(&source.library, &shared, from)
        });
        let mut renames = shared.clone();
        renames.extend(self.library.fresh_names(&source.library, &source.owners, from));
        self.library.add(&source.library, &renames, &source.owners, prefix, first_use);
        Ok(renames)
    }

    /// The serialized form of a dataset.
    fn serialize(&mut self, dataset: &Tensor) -> Result<Tensor, GraphError> {
        let attrs = [("external_state_policy", Value::I(0)), ("strip_device_assignment", Value::B(true))];
        self.add("DatasetToGraphV2", &[dataset], &attrs)
    }
}

impl Copy<'_> {
    fn node(
        &self,
        node: &tf::NodeDef,
        inputs: &[SourceInput],
        graph: &mut GraphBuilder,
    ) -> Result<tf::NodeDef, GraphError> {
        let prefix = &self.prefix;
        let mut copy = node.clone();
        copy.name = format!("{prefix}{}", node.name);
        copy.input = inputs.iter().map(|input| self.input(input, graph)).collect::<Result<_, _>>()?;
        if let Some(init) = self.folded.filter(|init| runs_after(init, node, inputs)) {
            copy.input.push(format!("^{prefix}{}", init.node));
        }
        rewrite_colocations(&mut copy, &|name| Some(format!("{prefix}{name}")));
        prefix_session_names(&mut copy, prefix);
        if !self.renames.is_empty() {
            rename_functions(&mut copy, &|name| self.renames.get(name).cloned());
        }
        Ok(copy)
    }

    fn input(&self, input: &SourceInput, graph: &mut GraphBuilder) -> Result<String, GraphError> {
        Ok(match input {
            SourceInput::Own { control: false, text } => format!("{}{text}", self.prefix),
            SourceInput::Own { control: true, text } => format!("^{}{text}", self.prefix),
            SourceInput::Fed { control: false, leaf } => self.argument(*leaf)?.input(),
            SourceInput::Fed { control: true, leaf } => format!("^{}", self.argument(*leaf)?.node),
            SourceInput::Token => graph.token()?.input(),
        })
    }
}

impl Copy<'_> {
    /// The result of the call.
    fn result(&self, ty: &FunctionType, graph: &mut GraphBuilder) -> Result<Wire, GraphError> {
        let mut parts = self.source.result.iter().zip(&self.source.result_leaves);
        let mismatch = || GraphError::Binding { side: "result", ty: ty.result.clone() };
        let tensors = tensors_of(&ty.result, &mut |_| {
            let (input, leaf) = parts.next().ok_or_else(mismatch)?;
            self.result_part(input, leaf, graph)
        })?;
        Ok(Wire::new(ty.result.clone(), tensors))
    }

    fn result_part(&self, input: &SourceInput, leaf: &Leaf, graph: &mut GraphBuilder) -> Result<Tensor, GraphError> {
        let tensor = match input {
            SourceInput::Fed { leaf, .. } => self.argument(*leaf)?.clone(),
            SourceInput::Token => graph.token()?,
            SourceInput::Own { .. } => Tensor {
                node: format!("{}{}", self.prefix, leaf.tensor.node).into(),
                index: leaf.tensor.index,
                from_call: true,
            },
        };
        if leaf.form == Form::DatasetGraph { graph.add("DatasetFromGraph", &[&tensor], &[]) } else { Ok(tensor) }
    }

    fn argument(&self, leaf: usize) -> Result<&Tensor, GraphError> {
        let missing = || match self.source.parameter.get(leaf) {
            Some(leaf) => GraphError::MissingArgument { parameter: leaf.ty.clone() },
            None => GraphError::IndexOutOfRange { index: leaf, len: self.source.parameter.len() },
        };
        self.arguments.get(leaf).ok_or_else(missing)
    }
}

/// Whether a node of a graph that initializes itself is the first on its way that must not run
/// before that is done: it uses what the initialization uses, and is no part of it.
fn runs_after(init: &Init, node: &tf::NodeDef, inputs: &[SourceInput]) -> bool {
    let is_needed = |input: &SourceInput| match input {
        SourceInput::Own { text, .. } => {
            let name = text.rsplit_once(':').map_or(text.as_str(), |(name, _)| name);
            init.needs.contains(name)
        }
        SourceInput::Fed { .. } | SourceInput::Token => false,
    };
    !init.needs.contains(&node.name) && inputs.iter().any(is_needed)
}

fn check_argument(ty: &FunctionType, argument: Option<&Wire>) -> Result<(), GraphError> {
    match (&ty.parameter, argument) {
        (None, None) => Ok(()),
        (Some(parameter), None) => Err(GraphError::MissingArgument { parameter: parameter.clone() }),
        (None, Some(argument)) => Err(GraphError::UnexpectedArgument { argument: argument.ty().clone() }),
        (Some(parameter), Some(argument)) => {
            parameter.check_assignable_from(argument.ty()).map_err(|mismatch| GraphError::Argument(Box::new(mismatch)))
        }
    }
}
