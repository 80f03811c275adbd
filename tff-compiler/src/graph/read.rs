//! Reads and writes graphs, and finds which nodes of a graph are needed.

use super::def::{Input, rewrite_colocations};
use super::error::{GraphError, MAX_BYTES, MAX_NODES};
use prost::Message;
use std::collections::{HashMap, HashSet};
use tff_ir::{Opaque, TensorFlow};
use tff_proto::google::protobuf::Any;
use tff_proto::tensorflow as tf;

/// Reads the graph of a computation.
///
/// # Errors
/// [`GraphError::NotAGraph`].
pub(crate) fn unpack(graph: &Opaque) -> Result<tf::GraphDef, GraphError> {
    let any = Any { type_url: graph.type_url.as_ref().to_owned(), value: graph.value.clone() };
    any.unpack().map_err(GraphError::NotAGraph)
}

/// Packs a graph for a computation to hold.
///
/// # Errors
/// [`GraphError::TooLarge`].
pub(crate) fn pack(graph: &tf::GraphDef) -> Result<Opaque, GraphError> {
    if graph.encoded_len() > MAX_BYTES {
        return Err(GraphError::TooLarge);
    }
    let Any { type_url, value } = Any::pack(graph);
    Ok(Opaque { type_url: type_url.into(), value })
}

/// The nodes of a graph, to be found by name.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    nodes: &'a [tf::NodeDef],
    positions: HashMap<&'a str, usize>,
}

impl<'a> Index<'a> {
    /// # Errors
    /// [`GraphError::DuplicateNode`], [`GraphError::TooManyNodes`].
    pub(crate) fn new(nodes: &'a [tf::NodeDef]) -> Result<Self, GraphError> {
        if nodes.len() > MAX_NODES {
            return Err(GraphError::TooManyNodes);
        }
        let mut positions = HashMap::with_capacity(nodes.len());
        for (position, node) in nodes.iter().enumerate() {
            if positions.insert(node.name.as_str(), position).is_some() {
                return Err(GraphError::DuplicateNode { name: node.name.clone() });
            }
        }
        Ok(Self { nodes, positions })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a tf::NodeDef> {
        self.nodes.get(*self.positions.get(name)?)
    }

    /// Whether each node is needed for the roots to run. Inputs for which `is_cut` holds are not
    /// followed.
    ///
    /// # Errors
    /// [`GraphError::MissingNode`], [`GraphError::TensorName`].
    pub(crate) fn needed<'r>(
        &self,
        roots: impl IntoIterator<Item = (&'r str, &'r str)>,
        is_cut: &mut dyn FnMut(Input<'_>) -> bool,
    ) -> Result<Vec<bool>, GraphError> {
        let mut needed = vec![false; self.nodes.len()];
        let mut pending = Vec::new();
        let mut reach = |user: &str, name: &str, pending: &mut Vec<&'a tf::NodeDef>| {
            let missing = || GraphError::MissingNode { user: user.to_owned(), name: name.to_owned() };
            let &position = self.positions.get(name).ok_or_else(missing)?;
            let (Some(seen), Some(node)) = (needed.get_mut(position), self.nodes.get(position)) else {
                return Err(missing());
            };
            if !std::mem::replace(seen, true) {
                pending.push(node);
            }
            Ok::<_, GraphError>(())
        };
        for (user, name) in roots {
            reach(user, name, &mut pending)?;
        }
        while let Some(node) = pending.pop() {
            for text in &node.input {
                let input = Input::parse(text)
                    .ok_or_else(|| GraphError::TensorName { user: node.name.clone(), name: text.clone() })?;
                if !is_cut(input) {
                    reach(&node.name, input.node(), &mut pending)?;
                }
            }
        }
        Ok(needed)
    }
}

/// Keeps the needed nodes, and lets no node be placed with one that is gone.
pub(crate) fn retain(nodes: Vec<tf::NodeDef>, needed: &[bool]) -> Vec<tf::NodeDef> {
    let kept: Vec<_> = nodes.into_iter().zip(needed).filter(|(_, needed)| **needed).map(|(node, _)| node).collect();
    let names: HashSet<String> = kept.iter().map(|node| node.name.clone()).collect();
    let keep = |name: &str| names.contains(name).then(|| name.to_owned());
    kept.into_iter()
        .map(|mut node| {
            rewrite_colocations(&mut node, &keep);
            node
        })
        .collect()
}

/// The op to run first, as a root; it may be written as the name of a tensor.
pub(crate) fn init_root(comp: &TensorFlow) -> Option<(&'static str, &str)> {
    Input::parse(&comp.initialize_op).map(|input| ("the initialization", input.node()))
}
