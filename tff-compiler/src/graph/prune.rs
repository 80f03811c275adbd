//! Dropping what a graph does not need to compute its result.

use super::binding::leaves;
use super::def::{Input, rewrite_colocations};
use super::error::{GraphError, MAX_BYTES, MAX_NODES};
use super::library::Library;
use prost::Message;
use std::collections::HashMap;
use tff_ir::{Opaque, TensorFlow};
use tff_proto::google::protobuf::Any;
use tff_proto::tensorflow as tf;
use tff_types::Type;

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
    let names: std::collections::HashSet<String> = kept.iter().map(|node| node.name.clone()).collect();
    let keep = |name: &str| names.contains(name).then(|| name.to_owned());
    kept.into_iter()
        .map(|mut node| {
            rewrite_colocations(&mut node, &keep);
            node
        })
        .collect()
}

/// The same computation without the nodes and functions that its result and its initialization do
/// not need. The nodes that the argument is fed to stay. `ty` is the function type.
///
/// # Errors
/// A [`GraphError`] where the graph is none, or a binding does not fit.
pub fn prune(comp: &TensorFlow, ty: &Type) -> Result<TensorFlow, GraphError> {
    let function = ty.as_function().ok_or_else(|| GraphError::NotAFunction { ty: ty.clone() })?;
    let mut graph = unpack(&comp.graph)?;
    let mut bound = leaves("result", &function.result, &comp.result)?;
    match (&function.parameter, &comp.parameter) {
        (Some(ty), Some(binding)) => bound.extend(leaves("parameter", ty, binding)?),
        (None, None) => {}
        _ => return Err(GraphError::Binding { side: "parameter", ty: ty.clone() }),
    }
    let mut roots: Vec<_> = bound.iter().map(|leaf| ("a binding", leaf.tensor.node.as_ref())).collect();
    roots.extend(init_root(comp));
    let index = Index::new(&graph.node)?;
    let token = Input::parse(&comp.session_token).map(Input::node);
    roots.extend(token.filter(|token| index.get(token).is_some()).map(|token| ("the session token", token)));
    let needed = index.needed(roots, &mut |_| false)?;
    graph.node = retain(graph.node, &needed);
    let mut library = Library::read(graph.library.take())?;
    library.retain_called_by(&graph.node);
    graph.library = library.to_proto();
    graph.debug_info = None;
    Ok(TensorFlow { graph: pack(&graph)?, cache_key: 0, ..comp.clone() })
}

/// The op to run first, as a root; it may be written as the name of a tensor.
pub(crate) fn init_root(comp: &TensorFlow) -> Option<(&'static str, &str)> {
    Input::parse(&comp.initialize_op).map(|input| ("the initialization", input.node()))
}

#[cfg(test)]
mod tests {
    use super::prune;
    use crate::graph::dump::{dump, parse, tensorflow};
    use std::sync::Arc;
    use tff_ir::{Comp, CompiledComputation};

    #[test]
    fn what_the_result_and_the_initialization_need_stays() {
        let comp = parse(
            "(<int32,int32> -> int32)
            <a:0,b:0> -> x:0 init start token token:0
            a = Placeholder() dtype=int32
            b = Placeholder() dtype=int32
            token = Placeholder() dtype=string
            waits = NoOp()
            x = AddV2(a, one:1, ^waits) _class=[loc:@one,loc:@dead]
            one = Call() f=@used
            dead = Call(x) f=@dead
            start = NoOp(^v)
            v = Op()
            used:
            y = deeper(x)
            deeper:
            y = Neg(x)
            dead:
            y = deeper(x)",
        );
        let pruned = prune(tensorflow(&comp), comp.ty()).unwrap();
        let comp = Comp::compiled(CompiledComputation::TensorFlow(Arc::new(pruned)), comp.ty().clone()).unwrap();
        insta::assert_snapshot!(dump(&comp), @"
        (<int32,int32> -> int32)
        <a:0,b:0> -> x:0 init start token token:0
        a = Placeholder() dtype=int32
        b = Placeholder() dtype=int32
        token = Placeholder() dtype=string
        waits = NoOp()
        x = AddV2(a, one:1, ^waits) _class=[loc:@one]
        one = Call() f=@used
        start = NoOp(^v)
        v = Op()
        deeper:
          y = Neg(x)
        used:
          y = deeper(x)
        ");
    }

    #[test]
    fn a_graph_that_is_none() {
        let comp = parse("( -> <>)\n -> <>");
        let mut broken = tensorflow(&comp).as_ref().clone();
        broken.graph.value = bytes::Bytes::from_static(b"\x0a\xff");
        let error = prune(&broken, comp.ty()).unwrap_err();
        insta::assert_snapshot!(format!("{error}: {}", std::error::Error::source(&error).unwrap()), @"the computation holds no graph: tensorflow.GraphDef is cut off at byte 2, inside a field");
        broken.graph.type_url = "type.googleapis.com/xla.HloModuleProto".into();
        let error = prune(&broken, comp.ty()).unwrap_err();
        insta::assert_snapshot!(format!("{error}: {}", std::error::Error::source(&error).unwrap()), @r#"the computation holds no graph: expected a message of type tensorflow.GraphDef, found "type.googleapis.com/xla.HloModuleProto""#);
    }
}
