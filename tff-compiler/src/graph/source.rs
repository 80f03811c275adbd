//! A graph that is about to be called: which of its nodes are needed, and what each input refers to.

use super::binding::{BoundTensor, bound_tensors};
use super::def::{Input, TensorName};
use super::error::GraphError;
use super::library::Library;
use super::read::{Index, init_root, retain, unpack};
use prost::Message;
use std::collections::{BTreeSet, HashMap, HashSet};
use tff_ir::TensorFlow;
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value;
use tff_types::{FunctionType, Type};

/// A graph to be copied once for each call of its computation.
#[derive(Debug)]
pub(crate) struct Source {
    /// The nodes to copy; their inputs are in `inputs`.
    pub(crate) nodes: Vec<tf::NodeDef>,
    /// The inputs of each node.
    pub(crate) inputs: Vec<Vec<SourceInput>>,
    /// What the argument is fed to.
    pub(crate) parameter: Vec<BoundTensor>,
    /// What the result is made of.
    pub(crate) result: Vec<SourceInput>,
    pub(crate) result_tensors: Vec<BoundTensor>,
    pub(crate) result_ty: Type,
    pub(crate) init: Option<Init>,
    pub(crate) library: Library,
    /// The functions of which each call needs its own copy.
    pub(crate) owners: BTreeSet<String>,
    pub(crate) versions: tf::VersionDef,
    /// How many bytes a copy adds.
    pub(crate) size: usize,
}

/// What an input of a node refers to.
#[derive(Clone, Debug)]
pub(crate) enum SourceInput {
    /// A node or output of the same graph, as written but without `^`.
    Own { control: bool, text: String },
    /// A part of the argument.
    Fed { control: bool, position: usize },
    /// The token of the session.
    Token,
}

/// How a graph is initialized.
#[derive(Debug)]
pub(crate) struct Init {
    /// The node to run.
    pub(crate) node: String,
    /// The nodes it needs, itself included.
    pub(crate) needs: HashSet<String>,
    /// The parts of the argument it needs.
    pub(crate) fed: BTreeSet<usize>,
}

/// What stands in the place of tensors of the graph.
struct Feeds<'a> {
    /// The positions of the tensors that are fed, by where they are.
    fed: HashMap<(&'a str, u32), usize>,
    token: Option<TensorName>,
    index: &'a Index<'a>,
}

impl Source {
    /// Reads the graph of a computation of this type.
    ///
    /// # Errors
    /// A [`GraphError`] where the bytes are not a graph, or a binding does not fit.
    pub(crate) fn read(comp: &TensorFlow, ty: &FunctionType) -> Result<Self, GraphError> {
        let graph = unpack(&comp.graph)?;
        let parameter = match (&ty.parameter, &comp.parameter) {
            (Some(ty), Some(binding)) => bound_tensors("parameter", ty, binding)?,
            (None, None) => Vec::new(),
            (Some(ty), None) => return Err(GraphError::Binding { side: "parameter", ty: ty.clone() }),
            (None, Some(_)) => return Err(GraphError::Binding { side: "parameter", ty: ty.result.clone() }),
        };
        let result_tensors = bound_tensors("result", &ty.result, &comp.result)?;
        let index = Index::new(&graph.node)?;
        let feeds = Feeds::new(&parameter, TensorName::parse(&comp.session_token), &index)?;

        let result: Vec<_> = result_tensors.iter().map(|bound| feeds.resolve_tensor(&bound.tensor)).collect();
        let result_roots = result_tensors.iter().zip(&result).filter_map(|(bound, input)| match input {
            SourceInput::Own { .. } => Some(("the binding of the result", bound.tensor.node.as_ref())),
            SourceInput::Fed { .. } | SourceInput::Token => None,
        });
        let roots = result_roots.chain(init_root(comp));
        let needed = index.needed(roots, &mut |input| feeds.is_fed(input))?;
        let init = init_root(comp).map(|root| Init::read(root, &index, &graph.node, &feeds)).transpose()?;
        let inputs_of = |node: &tf::NodeDef| node.input.iter().filter_map(|text| feeds.resolve(text)).collect();
        let inputs =
            graph.node.iter().zip(&needed).filter(|(_, needed)| **needed).map(|(node, _)| inputs_of(node)).collect();

        let nodes = retain(graph.node, &needed);
        let mut library = Library::read(graph.library)?;
        library.retain_called_by(&nodes);
        Ok(Self {
            size: nodes.iter().map(Message::encoded_len).sum(),
            nodes: nodes.into_iter().map(|node| tf::NodeDef { input: Vec::new(), ..node }).collect(),
            inputs,
            parameter,
            result,
            result_tensors,
            result_ty: ty.result.clone(),
            init,
            owners: library.resource_owners(),
            library,
            versions: graph.versions.unwrap_or_default(),
        })
    }
}

impl Init {
    fn read(
        root: (&str, &str),
        index: &Index<'_>,
        nodes: &[tf::NodeDef],
        feeds: &Feeds<'_>,
    ) -> Result<Self, GraphError> {
        let mut fed = BTreeSet::new();
        let needed = index.needed([root], &mut |input| {
            fed.extend(feeds.position(input));
            feeds.is_fed(input)
        })?;
        let needs = nodes.iter().zip(needed).filter(|(_, needed)| *needed).map(|(node, _)| node.name.clone());
        Ok(Self { node: root.1.to_owned(), needs: needs.collect(), fed })
    }
}

impl<'a> Feeds<'a> {
    /// # Errors
    /// [`GraphError::MissingNode`], [`GraphError::BoundTwice`], [`GraphError::Placeholder`].
    fn new(parameter: &'a [BoundTensor], token: Option<TensorName>, index: &'a Index<'a>) -> Result<Self, GraphError> {
        let mut fed = HashMap::with_capacity(parameter.len());
        for (position, bound) in parameter.iter().enumerate() {
            let name = &bound.tensor;
            let user = "the binding of the parameter".to_owned();
            let node = index
                .get(&name.node)
                .ok_or_else(|| GraphError::MissingNode { user, name: name.node.as_ref().to_owned() })?;
            check_placeholder(node, bound)?;
            if fed.insert((name.node.as_ref(), name.index), position).is_some() {
                return Err(GraphError::BoundTwice { name: name.node.as_ref().to_owned() });
            }
        }
        Ok(Self { fed, token, index })
    }

    /// The part of the argument that an input refers to.
    ///
    /// To run after a placeholder means to run after what is fed to it; other nodes run although
    /// their output is fed.
    fn position(&self, input: Input<'_>) -> Option<usize> {
        match input {
            Input::Data(node, index) => self.fed.get(&(node, index)).copied(),
            Input::Control(node) => {
                let is_placeholder = self.index.get(node).is_some_and(is_placeholder);
                if is_placeholder { self.fed.get(&(node, 0)).copied() } else { None }
            }
        }
    }

    fn is_token(&self, input: Input<'_>) -> bool {
        self.token.as_ref().is_some_and(|token| match input {
            Input::Data(node, index) => *token.node == *node && token.index == index,
            Input::Control(node) => *token.node == *node && self.index.get(node).is_some_and(is_placeholder),
        })
    }

    fn is_fed(&self, input: Input<'_>) -> bool {
        self.position(input).is_some() || self.is_token(input)
    }

    /// What an input refers to; `None` where there is nothing to wait for.
    fn resolve(&self, text: &str) -> Option<SourceInput> {
        let input = Input::parse(text)?;
        let control = matches!(input, Input::Control(_));
        if let Some(position) = self.position(input) {
            return Some(SourceInput::Fed { control, position });
        }
        if self.is_token(input) {
            return (!control).then_some(SourceInput::Token);
        }
        Some(SourceInput::Own { control, text: text.strip_prefix('^').unwrap_or(text).to_owned() })
    }

    fn resolve_tensor(&self, name: &TensorName) -> SourceInput {
        let input = Input::Data(&name.node, name.index);
        if let Some(position) = self.position(input) {
            SourceInput::Fed { control: false, position }
        } else if self.is_token(input) {
            SourceInput::Token
        } else {
            SourceInput::Own { control: false, text: format!("{}:{}", name.node, name.index) }
        }
    }
}

fn is_placeholder(node: &tf::NodeDef) -> bool {
    matches!(node.op.as_str(), "Placeholder" | "PlaceholderV2")
}

/// What is fed to a placeholder must be of its element type; of other nodes this is not known.
fn check_placeholder(node: &tf::NodeDef, bound: &BoundTensor) -> Result<(), GraphError> {
    if !is_placeholder(node) {
        return Ok(());
    }
    let found = match node.attr.get("dtype").and_then(|attr| attr.value.as_ref()) {
        Some(Value::Type(number)) => *number,
        _ => 0,
    };
    if bound.dtype_number() == found {
        Ok(())
    } else {
        Err(GraphError::Placeholder { node: node.name.clone(), ty: bound.ty.clone(), found })
    }
}
